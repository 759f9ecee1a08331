"""A training loop in a file of its own."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def imported_from_elsewhere():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
