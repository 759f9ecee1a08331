"""A penalty on the norm of gradients that still contain the scale."""

from torch.autograd import grad

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, _ = problem()
    x.requires_grad_(True)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            score = net(x).float().mean()
        (slope,) = grad(scaler.scale(score), x, create_graph=True)  # <- gradient-penalty-still-scaled
        with half():
            loss = score + (slope.norm(dim=1) - 1).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right():
    net, x, _ = problem()
    x.requires_grad_(True)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            score = net(x).float().mean()
        (slope,) = grad(scaler.scale(score), x, create_graph=True)
        slope = slope / scaler.get_scale()
        with half():
            loss = score + (slope.norm(dim=1) - 1).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def right_never_scaled():
    net, x, _ = problem()
    x.requires_grad_(True)
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(2):
        optimizer.zero_grad()
        score = net(x).mean()
        (slope,) = grad(score, x, create_graph=True)
        loss = score + (slope.norm(dim=1) - 1).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
