"""Loops of other kinds: no crash, no false alarm, nothing printed, nothing kept."""

import contextlib
import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
import warnings
import weakref

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import amp_lessons
from amp_lessons import op_dtypes
from amp_lessons.recorder import record_loop
from tests.recorder.cases import clip_before_unscale, half_parameters_with_scaler, no_gradients, unscale_twice
from tests.recorder.observe import observe, said
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd


def one_step(net, x, y, optimizer, scaler):
    optimizer.zero_grad()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return loss


# What is recorded


def test_an_empty_block():
    with record_loop() as recording:
        pass
    assert recording.findings == [] and recording.notes == []
    assert {event.kind for event in recording.events} <= {"begin", "end"}
    assert str(recording) and repr(recording)
    assert recording._repr_mimebundle_()["text/plain"]


def test_a_loop_that_never_steps():
    def loop():
        net, x, y = problem()
        for _ in range(3):
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            gentle_scaler().scale(loss).backward()

    assert observe(loop).findings == []


def test_only_forward_passes():
    def loop():
        net, x, _ = problem()
        with torch.inference_mode(), half():
            net(x)

    run = observe(loop)
    assert run.findings == [] and str(run.recording)


def test_a_model_on_meta():
    def loop():
        net, x, y = (each.to("meta") for each in problem())
        optimizer = sgd(net)
        for _ in range(2):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


def test_a_scaled_model_on_meta_fails_as_it_does_alone():
    def loop():
        net, x, y = (each.to("meta") for each in problem())
        one_step(net, x, y, sgd(net), gentle_scaler())

    with pytest.raises(Exception) as alone:
        loop()
    run = observe(loop)
    assert type(run.error) is alone.type and str(run.error) == str(alone.value)


def all_inside_the_region():
    net, x, y = problem()
    optimizer = sgd(net)
    for _ in range(2):
        optimizer.zero_grad()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()


@pytest.mark.parametrize("loop", [all_inside_the_region, lambda: one_step(*traced_problem())])
@pytest.mark.parametrize("recorder_outside", [False, True])
def test_a_loop_whose_ops_are_traced(loop, recorder_outside):
    """Both are taught in one lesson. Findings are those without the trace, ops those without the recorder."""
    with record_loop() as alone:
        loop()
    with op_dtypes.trace() as ops_alone:
        loop()
    with contextlib.ExitStack() as stack:
        recording = stack.enter_context(record_loop()) if recorder_outside else None
        ops = stack.enter_context(op_dtypes.trace())
        recording = recording or stack.enter_context(record_loop())
        loop()
    assert [finding.rule for finding in recording.findings] == [finding.rule for finding in alone.findings]
    assert [event.kind for event in recording.events] == [event.kind for event in alone.events]
    assert list(ops) == list(ops_alone)


def traced_problem():
    net, x, y = problem()
    return net, x, y, sgd(net), gentle_scaler()


def test_a_backward_of_fake_tensors_is_not_judged():
    with FakeTensorMode(), record_loop() as recording:
        all_inside_the_region()
    assert "fake tensors" in str(recording)
    assert "backward-inside-autocast" not in [finding.rule for finding in recording.findings]


@pytest.mark.slow
def test_a_compiled_model():
    def loop():
        torch._dynamo.reset()
        net, x, y = problem()
        optimizer, scaler = sgd(net), gentle_scaler()
        compiled = torch.compile(net, backend="eager")
        return [one_step(compiled, x, y, optimizer, scaler).item() for _ in range(3)]

    def warned(inside):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with inside as recording:
                losses = loop()
        return losses, sorted(str(each.message) for each in caught), recording

    loop()  # what is warned of once only
    alone, recorded = warned(contextlib.nullcontext()), warned(record_loop())
    assert recorded[:2] == alone[:2]
    recording = recorded[2]
    assert recording.findings == []
    assert "compiled" in str(recording), "it should say that it does not look into a compiled model"


@pytest.mark.slow
def test_a_compiled_step_and_a_skip():
    def loop():
        torch._dynamo.reset()
        net, x, y = problem()
        optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=2.0**24)
        compiled = torch.compile(net, backend="eager", fullgraph=True)
        for _ in range(3):
            one_step(compiled, x, y, optimizer, scaler)

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


@pytest.mark.slow
def test_a_region_inside_what_is_compiled():
    """One graph without the recorder is one graph with it."""

    def loop():
        torch._dynamo.reset()
        net, x, y = problem()
        optimizer, scaler = sgd(net), gentle_scaler()

        @torch.compile(backend="eager", fullgraph=True)
        def forward():
            with torch.autocast("cpu", dtype=torch.float16):
                return nn.functional.mse_loss(net(x), y)

        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(forward()).backward()
            scaler.step(optimizer)
            scaler.update()
        return [p.tolist() for p in net.parameters()]

    alone = loop()
    with record_loop() as recording:
        assert loop() == alone
    assert recording.findings == []


@pytest.mark.slow
def test_a_compiled_optimizer():
    def loop():
        torch._dynamo.reset()
        net, x, y = problem()
        optimizer = sgd(net)
        step = torch.compile(optimizer.step, backend="eager")
        for _ in range(2):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            step()
        return [p.tolist() for p in net.parameters()]

    def warned(inside):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with inside as recording:
                weights = loop()
        return weights, sorted(str(each.message) for each in caught), recording

    loop()
    alone, recorded = warned(contextlib.nullcontext()), warned(record_loop())
    assert recorded[:2] == alone[:2]
    assert recorded[2].findings == []


@pytest.mark.slow
def test_a_compiled_optimizer_beside_a_scaler():
    """PyTorch's hooks do not run in it: the scaler's own check tells that no step was skipped."""

    def loop():
        torch._dynamo.reset()
        net, x, y = problem()
        optimizer, scaler = torch.optim.AdamW(net.parameters()), gentle_scaler()
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
        optimizer.step = torch.compile(optimizer.step, backend="eager")
        for _ in range(4):
            one_step(net, x, y, optimizer, scaler)
            scheduler.step()

    run = observe(loop)
    recording = run.recording
    assert run.error is None
    assert recording.findings == [] and recording.notes == []
    assert [(each["stepped"], each["skipped"]) for each in recording.scalers] == [(4, 0)]


def test_transformed_functions():
    """Gradients of functions, of gradients, and of a whole batch at once."""
    weights = torch.ones(3)

    def loss(w):
        return (w * torch.arange(3.0)).square().sum()

    def loop():
        first = torch.func.grad(loss)(weights)
        second = torch.func.hessian(loss)(weights)
        each = torch.func.vmap(torch.func.grad(loss))(torch.ones(2, 3))
        old = torch.autograd.functional.hessian(loss, weights)
        return [answer.tolist() for answer in (first, second, each, old)]

    alone = loop()
    with record_loop() as recording:
        assert loop() == alone
    assert recording.findings == []


def test_a_scaled_loss_in_a_transformed_function():
    scaler = gentle_scaler()

    def loss(w):
        return scaler.scale(w.square().sum())

    alone = torch.func.grad(loss)(torch.ones(3)).tolist()
    with record_loop() as recording:
        assert torch.func.grad(loss)(torch.ones(3)).tolist() == alone
    assert recording.findings == []


def test_objects_copied_and_pickled_while_recording():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with record_loop() as recording:
        one_step(net, x, y, optimizer, scaler)
        net2, scaler2 = copy.deepcopy(net), copy.deepcopy(scaler)
        optimizer2 = sgd(net2)
        optimizer2.load_state_dict(optimizer.state_dict())
        scaler2.load_state_dict(scaler.state_dict())
        one_step(net2, x, y, optimizer2, scaler2)
        pickle.dumps((optimizer, scaler))
    assert recording.findings == []


class LoudScaler(torch.amp.GradScaler):
    """Other names and other arguments over the same calls."""

    def scale(self, losses, weight=1.0, *, log=None):
        return super().scale(losses * weight)

    def step(self, optimizer, *, model, log=None):
        return super().step(optimizer)

    def unscale_(self, optimizer, max_norm=None):
        super().unscale_(optimizer)
        if max_norm:
            nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], max_norm)

    def update(self, *, log=None):
        super().update()

    def get_scale(self, log=None):
        return super().get_scale()


TELLS_OF_HOOKS = hasattr(torch._C._autograd.SavedTensor, "unpack_hook")


@pytest.mark.skipif(not TELLS_OF_HOOKS, reason="this PyTorch does not tell whether saved tensors have hooks")
def test_a_small_factor_is_no_scale():
    def penalty():
        net, x, y = problem()
        scaler = gentle_scaler()
        loss = nn.functional.mse_loss(net(x), y)
        (gradient,) = torch.autograd.grad(scaler.scale(loss), [net[0].weight], create_graph=True)
        (loss + (0.1 * gradient).square().sum()).backward()

    def weighted_losses():
        net, x, y = problem()
        optimizer, scaler = sgd(net), gentle_scaler()
        scaler.scale(torch.zeros(()))
        output = net(x)
        (nn.functional.mse_loss(output, y) + 0.3 * nn.functional.l1_loss(output, y)).backward()
        scaler.step(optimizer)

    def weighted_with_hooks_on_saved_tensors():
        def unpack(tensor):
            raise AssertionError("only the backward itself may ask for what was saved")

        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            weight = nn.Parameter(torch.ones(()))
            loss = weight * 0.3
        with contextlib.suppress(AssertionError):
            gentle_scaler().scale(torch.zeros(()))
            loss.backward()

    assert [one.rule for one in observe(penalty).recording.findings] == ["gradient-penalty-still-scaled"]
    assert [one.rule for one in observe(weighted_losses).recording.findings] == ["unscaled-backward"]
    assert observe(weighted_with_hooks_on_saved_tensors).recording.troubles == []


def test_pickling_after_update_is_no_look_at_the_scale():
    def loop():
        net, x, y = problem()
        optimizer, scaler = torch.optim.Adam(net.parameters()), gentle_scaler()
        for _ in range(2):
            one_step(net, x, y, optimizer, scaler)
            pickle.dumps(scaler)
            net, optimizer, scaler = copy.deepcopy((net, optimizer, scaler))

    recording = observe(loop).recording
    assert recording.findings == [] and recording.notes == []


def test_a_scaler_with_other_signatures():
    def loop():
        net, x, y = problem()
        optimizer, scaler = sgd(net), LoudScaler("cpu", init_scale=128.0)
        for _ in range(3):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss, 0.5, log="loss").backward()
            scaler.unscale_(optimizer, max_norm=1.0)
            scaler.step(optimizer, model=net)
            scaler.update(log="scale")

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


class OwnUnscale(torch.amp.GradScaler):
    """Unscales by itself, as sharded scalers do: the method of PyTorch never runs."""

    def unscale_(self, optimizer):
        state = self._per_optimizer_states[id(optimizer)]
        found = torch.zeros(())
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad.div_(self._scale)
                found += (~p.grad.isfinite()).any()
        state["found_inf_per_device"] = {torch.device("cpu"): found}
        state["stage"] = torch.amp.grad_scaler.OptState.UNSCALED


def test_a_scaler_that_unscales_by_itself():
    def loop():
        net, x, y = problem()
        optimizer, scaler = sgd(net), OwnUnscale("cpu", init_scale=128.0)
        for _ in range(3):
            one_step(net, x, y, optimizer, scaler)

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


class ByHandOptimizer(torch.optim.Optimizer):
    """step() with arguments of its own, and an answer that is no loss."""

    def __init__(self, params, speed):
        super().__init__(params, {"speed": speed})

    @torch.no_grad()
    def step(self, speed=None, *, verbose=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p -= (speed or group["speed"]) * p.grad
        return "stepped"


def test_an_optimizer_with_other_signatures():
    def loop():
        net, x, y = problem()
        optimizer, scaler = ByHandOptimizer(net.parameters(), 0.01), gentle_scaler()
        for _ in range(3):
            optimizer.zero_grad()
            with half():
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            assert scaler.step(optimizer, 0.02, verbose=True) == "stepped"
            scaler.update()

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


class Wrapper:
    """Looks like an optimizer and hands on to one, as LARC does."""

    def __init__(self, inner):
        self.inner, self.param_groups = inner, inner.param_groups

    def step(self):
        self.inner.step()

    def zero_grad(self):
        self.inner.zero_grad()


def test_a_wrapped_optimizer():
    def loop():
        net, x, y = problem()
        optimizer, scaler = Wrapper(sgd(net)), gentle_scaler()
        for _ in range(3):
            one_step(net, x, y, optimizer, scaler)

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


@pytest.mark.parametrize("part", ["forward", "backward", "step", "all"])
def test_a_scaler_passed_between_threads(part):
    def loop():
        net, x, y = problem()
        optimizer, scaler = sgd(net), gentle_scaler()
        loss = []

        def forward():
            with half():
                loss.append(scaler.scale(nn.functional.mse_loss(net(x), y)))

        def backward():
            loss.pop().backward()

        def step():
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

        for _ in range(3):
            for work in (forward, backward, step):
                if part in (work.__name__, "all"):
                    thread = threading.Thread(target=work)
                    thread.start()
                    thread.join()
                else:
                    work()

    run = observe(loop)
    assert run.error is None
    assert run.findings == []


def test_begun_in_the_middle_of_an_iteration():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    with record_loop() as recording:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        one_step(net, x, y, optimizer, scaler)
    assert recording.findings == []


def test_begun_inside_autocast():
    net, x, y = problem()
    optimizer, scaler = sgd(net), gentle_scaler()
    with half():
        with record_loop() as recording:
            loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
    assert [finding.rule for finding in recording.findings] == ["backward-inside-autocast"]
    assert not torch.is_autocast_enabled("cpu")
    optimizer.zero_grad()


def test_ended_inside_autocast():
    region = half()
    with record_loop() as recording:
        region.__enter__()
    region.__exit__(None, None, None)
    assert recording.findings == []
    assert not torch.is_autocast_enabled("cpu")


# What is raised


@pytest.mark.parametrize(
    ("loop", "text", "rule"),
    [
        (unscale_twice.wrong, "has already been called", "unscale-twice"),
        (half_parameters_with_scaler.wrong, "Attempting to unscale FP16", "half-parameters-with-scaler"),
        (no_gradients.wrong, "No inf checks", "no-gradients"),
    ],
)
def test_an_exception_is_explained_and_raised_unchanged(loop, text, rule):
    run = observe(loop)
    assert text in str(run.error)
    assert run.error.__cause__ is None and run.error.__context__ is None
    assert not getattr(run.error, "__notes__", [])
    assert [finding.rule for finding in run.recording.findings] == [rule]


def test_a_dtype_mismatch_at_the_edge_of_the_region_is_explained():
    def loop():
        net, x, _ = problem()
        with half():
            hidden = net[0](x)
        net[2](hidden)

    run = observe(loop)
    assert "dtype" in str(run.error)
    (finding,) = run.recording.findings
    assert (finding.file, finding.line) == (__file__, loop.__code__.co_firstlineno + 4)
    assert "float" in finding.to_do.lower()


def test_an_exception_is_the_same_object():
    raised = KeyError("of the loop")
    with pytest.raises(KeyError) as caught:
        with record_loop() as recording:
            raise raised
    assert caught.value is raised
    assert recording.findings == []


def test_an_exception_of_torch_is_the_same_object():
    class Scaler(torch.amp.GradScaler):
        def step(self, optimizer):
            try:
                super().step(optimizer)
            except AssertionError as error:
                self.error = error
                raise

    net, _, _ = problem()
    scaler = Scaler("cpu")
    scaler.scale(torch.ones(()))
    with pytest.raises(AssertionError) as caught, record_loop():
        scaler.step(sgd(net))
    assert caught.value is scaler.error


def test_an_exception_that_the_loop_catches_is_reported_all_the_same():
    def loop():
        with contextlib.suppress(AssertionError):
            no_gradients.wrong()

    assert [finding.rule for finding in observe(loop).recording.findings] == ["no-gradients"]


def test_an_exception_with_the_id_of_an_earlier_one_is_explained():
    def loop():
        net, x, y = problem()
        for _ in range(3):
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            with contextlib.suppress(RuntimeError):
                loss.backward()
        net(x.half())

    assert [finding.rule for finding in observe(loop).recording.findings] == ["dtype-mismatch"]


def test_an_exception_is_told_with_the_finding_that_is_shown():
    def loop():
        net, x, y = problem()
        optimizer, scaler = sgd(net), gentle_scaler()
        with half():
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        optimizer.step()
        scaler.update()

    (finding,) = observe(loop).recording.findings
    assert finding.rule == "bare-optimizer-step"
    assert "No inf checks were recorded" in finding.error


# What is kept and what is shown


class Witness:
    """Lives as long as the graph."""


class Passing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.witness = Witness()
        Passing.seen = weakref.ref(ctx.witness)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@pytest.mark.parametrize("scale", [128.0, 2.0**24])
def test_no_tensor_and_no_graph_is_kept_alive(scale):
    net, x, y = problem()
    optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=scale)
    gc.disable()
    try:
        with record_loop() as recording:
            for _ in range(3):
                with half():
                    output = Passing.apply(net(x))
                    loss = nn.functional.mse_loss(output, y)
                scaled = scaler.scale(loss)
                scaled.backward()
                scaler.step(optimizer)
                scaler.update()
                refs = [weakref.ref(each) for each in (output, loss, scaled)] + [Passing.seen]
                refs += [weakref.ref(p.grad) for p in net.parameters()]
                del output, loss, scaled
                optimizer.zero_grad()
                assert [ref() for ref in refs] == [None] * len(refs)
    finally:
        gc.enable()
    refs = [weakref.ref(each) for each in (net, x, y, optimizer, scaler, net[0].weight)]
    del net, x, y, optimizer, scaler
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)
    assert recording.events


def test_a_loop_that_fails_is_not_kept_alive_either():
    net, x, y = problem()
    ref = weakref.ref(net)
    with contextlib.suppress(AssertionError), record_loop() as recording:
        gentle_scaler().step(sgd(net))
    del net, x, y
    gc.collect()
    assert ref() is None
    assert recording is not None


@pytest.mark.slow
def test_memory_is_bounded_over_ten_thousand_steps():
    torch.manual_seed(0)
    net, x = nn.Linear(1, 1), torch.ones(1, 1)
    optimizer, scaler = sgd(net), gentle_scaler()
    sizes, counts = [], []
    tracemalloc.start()
    try:
        with record_loop() as recording:
            for step in range(10_000):
                optimizer.zero_grad()
                with half():
                    loss = net(x).float().square().mean()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                if step in (4_999, 9_999):
                    sizes.append(tracemalloc.get_traced_memory()[0])
                    counts.append(len(recording.events))
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 50_000
    assert counts[0] == counts[1] < 5_000
    assert recording.findings == []
    steps = [event.step for event in recording.events]
    assert steps[-1] - steps[0] == 9_999
    assert len(pickle.dumps(recording.events)) < 2_000_000


def test_nothing_is_printed_and_no_warning_added(capfd):
    def loop():
        net, x, y = problem()
        optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=2.0**24)
        for _ in range(12):
            one_step(net, x, y, optimizer, scaler)
        clip_before_unscale.wrong()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with record_loop() as recording:
            loop()
        _ = recording.findings
    assert [str(each.message) for each in caught] == []
    assert capfd.readouterr() == ("", "")


def test_the_answer_can_be_read_while_recording():
    with record_loop() as recording:
        clip_before_unscale.wrong()
        assert [finding.rule for finding in recording.findings] == ["clip-before-unscale"]
        assert "clip-before-unscale" in str(recording)


def test_the_answer_is_plain_data():
    recording = observe(clip_before_unscale.wrong).recording
    again = pickle.loads(pickle.dumps(recording))
    assert said(again.findings) == said(recording.findings)
    assert len(again.events) == len(recording.events)


def test_the_summary_fits_a_terminal():
    text = str(observe(clip_before_unscale.wrong).recording)
    assert "clip-before-unscale" in text and "clip_before_unscale.py" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_right_loop_is_told_so():
    text = str(observe(clip_before_unscale.right).recording)
    assert "no finding" in text.lower()


CELL = """
import torch
from torch import nn
from amp_lessons.recorder import record_loop
from tests.recorder.toy_training import gentle_scaler, half, problem, sgd

net, x, y = problem()
optimizer, scaler = sgd(net), gentle_scaler()
with record_loop() as recording:
    with half():
        loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0 if 1 <2 else "<b>")
    scaler.step(optimizer)
    scaler.update()
"""


def test_a_notebook_cell_is_named_by_its_number(notebook):
    notebook.run_cell("x = 1", store_history=True)
    notebook.run_cell(CELL, store_history=True)
    recording = notebook.user_ns["recording"]
    (finding,) = recording.findings
    assert finding.rule == "clip-before-unscale"
    assert "2" in finding.file and "/" not in finding.file and os.sep not in finding.file
    text = str(recording)
    assert "clip_grad_norm_(net.parameters(), 1.0 if 1 <2" in text
    page = recording._repr_mimebundle_()["text/html"]
    assert "1 <2" not in page and "1 &lt;2" in page
    assert '"<b>"' not in page


def test_a_timed_cell_is_named_by_its_number_and_line(notebook):
    notebook.run_cell("x = 1", store_history=True)
    notebook.run_cell("%%time\n" + CELL.lstrip(), store_history=True)
    (finding,) = notebook.user_ns["recording"].findings
    assert (finding.file, finding.line) == ("cell 2", 2 + CELL.lstrip().splitlines().index(finding_line()))
    assert finding.code == finding_line().strip()


def finding_line():
    return next(line for line in CELL.splitlines() if "clip_grad_norm_" in line)


def test_an_exception_in_a_timed_cell(notebook):
    cell = "%%time\nwith record_loop() as recording:\n    x = 1\n    torch.ones(2).half() @ torch.ones(2)"
    notebook.user_ns.update(torch=torch, record_loop=record_loop)
    notebook.run_cell(cell, store_history=True)
    (finding,) = notebook.user_ns["recording"].findings
    assert (finding.rule, finding.file, finding.line) == ("dtype-mismatch", "cell 1", 4)
    assert finding.code == "torch.ones(2).half() @ torch.ones(2)"


def test_a_timed_line_and_a_function_from_a_timed_cell(notebook):
    body = CELL.partition("with record_loop() as recording:\n")
    notebook.run_cell("%%time\n" + body[0] + "\ndef train():\n" + body[2], store_history=True)
    notebook.user_ns["record_loop"] = record_loop
    notebook.run_cell("\nwith record_loop() as recording:\n    %time train()", store_history=True)
    (finding,) = notebook.user_ns["recording"].findings
    assert finding.file == "cell 2"
    assert "train()" in finding.code


def test_it_is_exported_and_imports_no_pictures():
    code = (
        "import sys, amp_lessons; amp_lessons.record_loop; import amp_lessons.recorder;"
        "print([name for name in ('matplotlib', 'ipywidgets', 'sklearn') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
    assert amp_lessons.record_loop is record_loop
