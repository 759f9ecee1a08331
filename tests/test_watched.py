"""watched(): a learner's training code under the recorder, and what is said of it."""

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.time_limit import TookTooLong
from amp_lessons.exercises.watched import backward_roots, linear_outputs, watched
from amp_lessons.recorder import listening


class Training:
    """A small model, its optimizer, and steps that are right or wrong."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.x, self.y = torch.randn(6, 4), torch.randn(6, 1)

    def forward(self, dtype):
        with torch.autocast("cpu", dtype=dtype):
            return F.mse_loss(self.model(self.x), self.y)

    def right(self):
        self.optimizer.zero_grad()
        loss = self.forward(torch.bfloat16)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def without_scaler(self):
        self.forward(torch.float16).backward()
        self.optimizer.step()

    def without_update(self):
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for _ in range(2):
            scaler.scale(self.forward(torch.float16)).backward()
            scaler.step(self.optimizer)

    def into_another_dtype(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = self.model[0](self.x)
        self.model[2](h)


@pytest.fixture
def training():
    return Training()


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    yield
    assert listening._sessions == []
    assert not hasattr(torch.autograd._engine_run_backward, "__wrapped__")


def test_a_right_step_gives_its_result_and_the_recording(training):
    loss, recording = watched(training.right)
    assert loss > 0
    assert recording.steps == 1
    assert recording.findings == []


def test_a_finding_is_told_with_its_rule_line_and_advice(training):
    with pytest.raises(NotYet) as told:
        watched(training.without_scaler)
    assert told.value.mistake == "fp16-without-scaler"
    rule, happened, to_do = told.value.message.split("\n")
    assert "fp16-without-scaler, test_watched.py:" in rule
    assert ".backward()`" in rule
    assert "float16" in happened
    assert "GradScaler" in to_do


def test_a_rule_can_be_ignored(training):
    _, recording = watched(training.without_scaler, ignore={"fp16-without-scaler"})
    assert [finding.rule for finding in recording.findings] == ["fp16-without-scaler"]


def test_an_exception_that_the_recorder_explains_is_told_in_its_words(training):
    with pytest.raises(NotYet) as told:
        watched(training.without_update)
    assert told.value.mistake == "missing-update"
    assert "step() has already been called since the last update()" in told.value.message
    assert "scaler.step(self.optimizer)" in told.value.message
    assert type(told.value.__cause__) is RuntimeError


def test_an_exceptions_text_is_told_once(training):
    with pytest.raises(NotYet) as told:
        watched(training.into_another_dtype)
    assert told.value.mistake == "dtype-mismatch"
    assert told.value.message.count("must have the same dtype") == 1


def test_an_exception_explained_by_an_ignored_rule_passes_through(training):
    with pytest.raises(RuntimeError, match="same dtype"):
        watched(training.into_another_dtype, ignore={"dtype-mismatch"})


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), NotYet("said already", "a-code"), SystemExit(3)])
def test_an_exception_without_explanation_passes_through(error):
    def train():
        raise error

    with pytest.raises(type(error)) as raised:
        watched(train)
    assert raised.value is error


def test_another_exception_is_not_explained_by_one_that_was_caught(training):
    def train():
        try:
            training.into_another_dtype()
        except RuntimeError:
            raise KeyError("mine") from None

    with pytest.raises(KeyError, match="mine"):
        watched(train)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, TookTooLong])
def test_an_interrupt_passes_through(stop):
    def train():
        raise stop

    with pytest.raises(stop):
        watched(train)


def test_an_interrupt_while_the_recorder_ends_leaves_nothing_behind(monkeypatch, training):
    end, times = listening.end, []

    def interrupted_once(session):
        times.append(session)
        if len(times) == 1:
            raise TookTooLong
        end(session)

    monkeypatch.setattr(listening, "end", interrupted_once)
    with pytest.raises(TookTooLong):
        watched(training.right)
    assert len(times) == 2


def test_linear_outputs_are_collected_in_order(training):
    with linear_outputs(training.model) as outputs:
        training.forward(torch.bfloat16)
        training.model(training.x)
    assert outputs == [torch.bfloat16] * 2 + [torch.float32] * 2
    training.model(training.x)
    assert len(outputs) == 4


def test_linear_outputs_counts_a_forward_without_gradients_only_where_asked(training):
    with linear_outputs(training.model) as trained, linear_outputs(training.model, evaluation=True) as all_of:
        with torch.no_grad():
            training.model(training.x)
        training.forward(torch.bfloat16)
    assert trained == [torch.bfloat16] * 2
    assert all_of == [torch.float32] * 2 + [torch.bfloat16] * 2


def test_backward_roots_are_what_backward_and_grad_begin_from(training):
    def train():
        with backward_roots() as roots:
            loss = training.forward(torch.bfloat16)
            torch.autograd.grad(loss, training.model.parameters(), retain_graph=True)
            (loss * 2).backward()
        return loss.detach(), roots

    run = torch.autograd._engine_run_backward
    (loss, roots), recording = watched(train)
    assert torch.equal(torch.stack(roots), torch.stack([loss, loss * 2]))
    assert not any(root.requires_grad for root in roots)
    assert {"grad", "backward"} <= {event.kind for event in recording.events}
    assert torch.autograd._engine_run_backward is run


def test_linear_outputs_leaves_no_hook_behind_an_exception(training):
    with pytest.raises(RuntimeError):
        with linear_outputs(training.model):
            training.into_another_dtype()
    assert not any(layer._forward_hooks for layer in training.model)


def test_a_recording_keeps_no_model_alive(training):
    _, recording = watched(training.right)
    gone = weakref.ref(training.model)
    training.model = training.optimizer = None
    gc.collect()
    assert gone() is None
    assert recording.steps == 1
