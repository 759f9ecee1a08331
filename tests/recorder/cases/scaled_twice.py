"""The loss goes through scaler.scale twice, and is unscaled once."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = scaler.scale(nn.functional.mse_loss(net(x), y))
        scaler.scale(loss).backward()  # <- scaled-twice
        scaler.step(optimizer)  # <- note calibration-skips
        scaler.update()


def wrong_in_a_sum():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        output = net(x)
        loss = scaler.scale(nn.functional.mse_loss(output, y)) + scaler.scale(output.float().abs().mean())
    scaled = scaler.scale(loss)  # <- scaled-twice
    scaled.backward()
    scaler.step(optimizer)
    scaler.update()


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            output = net(x)
            loss = nn.functional.mse_loss(output, y)
        (scaler.scale(loss) + scaler.scale(output.float().abs().mean())).backward()
        scaler.step(optimizer)
        scaler.update()


def right_divided_between():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        loss = scaler.scale(loss) / scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
