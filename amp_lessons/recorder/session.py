"""One recording while it runs: hands on each call, and never lets an error of ours out."""

import sys
import traceback

from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from amp_lessons.recorder.hearing import stepping
from amp_lessons.recorder.hearing.gradients import clip_in_a_hook
from amp_lessons.recorder.loop import Loop


class Session:
    """Between the wrappers and the state machine. Holds references to calls only while they run."""

    def __init__(self, recording):
        self.recording = recording
        self.loop = Loop(recording.judge)
        self.troubles: list[str] = []
        self._optimizer_steps: list[tuple] = []

    def guarded(self, work, *args):
        """Call ``work``; an error of ours is kept for the summary and never disturbs the loop."""
        try:
            return work(*args)
        except Exception:
            self.trouble()
            return None

    def trouble(self):
        """Keep the traceback of an error of ours, to be told at the end."""
        if len(self.troubles) < 10:
            self.troubles.append(traceback.format_exc())
        for state in self.loop.optimizers.values():
            state.unknown = True  # half a state would raise false alarms: say nothing until it is cleared

    def starts(self, heard, args, kwargs):
        """Run the first half of a hearing; return what finishes() or fails() needs, or None if not asked."""
        loop, name = self.loop, heard.name
        inside = loop.inside
        if inside:
            if "backward" in inside:
                if name == "get scale":
                    loop.read_inside_backward = True
                elif name == "clip":
                    self.guarded(clip_in_a_hook, loop, args)
                return None
            if not heard.part_of.isdisjoint(inside):
                return None
        if name == "backward" and _is_tracing():
            loop.not_seen("calls made while PyTorch was tracing (torch.compile, fake tensors)")
            return None
        if not inside:
            self.recording.call_begins()
            loop.place = None
        half = heard(loop, args, kwargs)
        try:
            next(half)
        except Exception:
            self.trouble()
        inside.append(name)
        return half, len(inside)

    def finishes(self, started, result):
        """Run the second half, with the call's result."""
        if started is not None:
            half, depth = started
            del self.loop.inside[depth - 1 :]
            try:
                half.send(result)
            except StopIteration:
                pass
            except Exception:
                self.trouble()

    def fails(self, started, error):
        """The call raised: no second half."""
        if started is not None:
            half, depth = started
            del self.loop.inside[depth - 1 :]
            half.close()
            self.guarded(self.recording.explain, self.loop, error)

    def ends(self):
        """The block is over: what waited to be confirmed or decided is."""
        self.loop.end_scan()
        self.loop.region_ends()
        stepping.decide(self.loop, wait=True)

    def optimizer_step_begins(self, optimizer):
        """Called by PyTorch's own hook; a step inside another step of the same optimizer is part of it."""
        if "backward" in self.loop.inside:
            self.guarded(stepping.optimizer_step_inside_backward, self.loop, optimizer)
            return
        depth = _stack_depth()
        while self._optimizer_steps and self._optimizer_steps[-1][1] >= depth:
            self._optimizer_steps.pop()  # ended by an exception: its second hook never came
        nested = any(key == id(optimizer) for key, _, _ in self._optimizer_steps)
        owner = None if nested else self.guarded(stepping.optimizer_step_begins, self.loop, optimizer)
        self._optimizer_steps.append((id(optimizer), depth, owner))

    def optimizer_step_ends(self, optimizer):
        """The second hook."""
        if "backward" in self.loop.inside or not self._optimizer_steps:
            return
        key, _, owner = self._optimizer_steps.pop()
        if key == id(optimizer) and owner is not None:
            self.guarded(stepping.optimizer_step_ends, self.loop, optimizer, owner)


def _is_tracing():
    """Whether PyTorch traces here, or runs without values; not if a mode only listens, as op_dtypes' does."""
    return any(mode.is_infra_mode() for mode in _get_current_dispatch_mode_stack())


def _stack_depth():
    frame, depth = sys._getframe(1), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
