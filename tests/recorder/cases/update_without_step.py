"""update() where no step, or no step since the last update(), has looked for infs."""

from torch import nn

from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def wrong():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(4):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 2
        scaler.scale(loss).backward()
        if number % 2 == 1:
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()  # <- update-without-step


def wrong_twice_in_a_row():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.update()  # <- update-without-step


def right():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for number in range(4):
        with half():
            loss = nn.functional.mse_loss(net(x), y) / 2
        scaler.scale(loss).backward()
        if number % 2 == 1:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def right_with_a_scale_of_its_own():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    for _ in range(3):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scaler.update(64.0)
