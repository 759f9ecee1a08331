"""Runs a learner's training code under the recorder, and says in the recorder's words what is wrong."""

import contextlib

import torch
from torch import nn

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.faults import kind_and_text
from amp_lessons.exercises.time_limit import INTERRUPTS
from amp_lessons.recorder import record_loop


def watched(train, ignore=()):
    """Call `train()` under the recorder and return (what it returned, its Recording).

    NotYet with the recorder's first finding: the line, what happened, what to do; the rule's name is the
    mistake's code. An exception that the recorder explains is told the same way; any other passes through.
    Rules named in `ignore` don't count: an exception that only such a rule explains passes through as well.
    """
    recording = record_loop()
    try:
        with recording:
            result = train()
    except INTERRUPTS as stop:
        if recording._session is not None:  # it came while the recorder began or ended
            recording.__exit__(type(stop), stop, stop.__traceback__)
        raise
    except Exception as error:
        explained = _explanation(recording, error, ignore)
        if explained is None:
            raise
        raise NotYet(_with_error(explained), mistake=explained.rule) from error
    for finding in recording.findings:
        if finding.rule not in ignore:
            raise NotYet(in_words(finding), mistake=finding.rule)
    return result, recording


def in_words(finding):
    """A finding for a learner: the rule's name and the line of code, what happened, what to do."""
    where = f", {finding.place}: `{finding.code}`" if finding.code else ""
    return f"{finding.rule}{where}\n{finding.happened}\n{finding.to_do}"


@contextlib.contextmanager
def linear_outputs(model, evaluation=False):
    """A `with` block; gives a list that collects the dtype of what each nn.Linear of `model` puts out.

    A forward under no_grad trains nothing, and counts only with `evaluation`.
    """
    seen = []

    def note(layer, inputs, output):
        if evaluation or output.requires_grad:
            seen.append(output.dtype)

    handles = [layer.register_forward_hook(note) for layer in model.modules() if isinstance(layer, nn.Linear)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def backward_roots():
    """A `with` block; gives a list that collects a copy of each tensor that a backward begins from."""
    seen, run = [], torch.autograd._engine_run_backward  # backward() and autograd.grad() share it

    def noting(tensors, *args, **kwargs):
        seen.extend(tensor.detach().clone() for tensor in tensors)
        return run(tensors, *args, **kwargs)

    torch.autograd._engine_run_backward = noting
    try:
        yield seen
    finally:
        torch.autograd._engine_run_backward = run


def _explanation(recording, error, ignore):
    """The finding that explains this very exception (the answer may have caught others), or None."""
    text = kind_and_text(error)
    for finding in recording.findings:
        if finding.error and text.startswith(finding.error) and finding.rule not in ignore:
            return finding
    return None


def _with_error(finding):
    """The finding in words, with the exception's own text, once."""
    words = in_words(finding)
    return words if finding.error in words else f"{finding.error}\n{words}"
