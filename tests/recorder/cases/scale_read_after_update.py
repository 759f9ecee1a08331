"""get_scale() after update() answers for the next iteration."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd, steep_scaler


def wrong():
    net, x, y = problem()
    optimizer, scaler, losses = sgd(net), gentle_scaler(), []
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(scaled.item() / scaler.get_scale())  # <- note scale-read-after-update


def right_before_update():
    net, x, y = problem()
    optimizer, scaler, losses = sgd(net), gentle_scaler(), []
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        losses.append(scaled.item() / scaler.get_scale())
        scaler.update()


def right_guard():
    net, x, y = problem()
    optimizer, scaler, skipped = sgd(net), steep_scaler(), 0
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # <- note calibration-skips
        before = scaler.get_scale()
        scaler.update()
        skipped += scaler.get_scale() < before
