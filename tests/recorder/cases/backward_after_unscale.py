"""A second loss is added after the gradients were unscaled: its part stays scaled."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss, extra = nn.functional.mse_loss(net(x), y), net(-x).float().abs().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.scale(extra).backward()  # <- backward-after-unscale
        scaler.step(optimizer)
        scaler.update()


def wrong_after_gradients_were_cleared():
    """A batch is done once more, and only the gradients of the first time were unscaled."""
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        for tried in range(2):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()  # <- backward-after-unscale
            if not tried:
                scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


def right_divided_by_hand_after_gradients_were_cleared():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        for tried in range(2):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            if not tried:
                scaler.unscale_(optimizer)
        for p in net.parameters():
            p.grad.data /= 128.0
        scaler.step(optimizer)
        scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss, extra = nn.functional.mse_loss(net(x), y), net(-x).float().abs().mean()
        scaler.scale(loss).backward()
        scaler.scale(extra).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def right_unscaled_as_well():
    """A penalty on the weights that needs no scale, added to gradients that have none any more."""
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        (0.01 * net[0].weight.square().sum()).backward()
        scaler.step(optimizer)
        scaler.update()
