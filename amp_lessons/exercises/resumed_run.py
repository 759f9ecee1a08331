"""Trains, saves and resumes with a learner's two functions, and compares with the run that never stopped."""

import copy
import pathlib
import re
import shutil
import tempfile
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.faults import kind_and_text
from amp_lessons.exercises.time_limit import INTERRUPTS

FILE = "checkpoint.pt"


@dataclass(frozen=True)
class State:
    """All that a run's next step depends on: copies, so that the run may go on."""

    weights: dict
    optimizer: dict
    scaler: dict
    random: torch.Tensor


@dataclass(frozen=True)
class Epoch:
    """What an epoch did: the order of the samples, the loss of each batch, and the state at its end."""

    order: list
    losses: list
    end: State


@dataclass(frozen=True)
class Resumed:
    """An interrupted run: states and epochs of both halves."""

    saved: State
    made: State  # of the objects that the checkpoint is loaded into, before that
    loaded: State
    attached: bool  # whether the loaded optimizer steps on the loaded model's parameters
    uninterrupted: Epoch  # the epoch after `saved`, without a stop
    resumed: Epoch | None  # the same, with the loaded objects; None where they can't train
    error: str  # why they can't


class Run:
    """A small FP16 training on the CPU: model, optimizer, scaler, and shuffled batches.

    Its targets are large, so that the first steps overflow and the scale falls from where it starts.
    """

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", growth_interval=5)
        numbers = torch.Generator().manual_seed(7)
        self.x = torch.randn(32, 4, generator=numbers)
        self.y = 40 * self.x.sum(1, keepdim=True)

    @property
    def attached(self):
        """Whether the optimizer steps on the model's parameters."""
        held = {id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]}
        return held == {id(parameter) for parameter in self.model.parameters()}

    @property
    def parts(self):
        """What a checkpoint is made of and loaded into."""
        return self.model, self.optimizer, self.scaler

    def state(self):
        """The run's State now."""
        states = [copy.deepcopy(part.state_dict()) for part in self.parts]
        return State(*states, torch.get_rng_state())

    def epoch(self):
        """Train once through the data in a random order."""
        order, losses = torch.randperm(len(self.x)), []
        for rows in order.split(4):
            self.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.mse_loss(self.model(self.x[rows]), self.y[rows])
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            losses.append(loss.item())
        return Epoch(order.tolist(), losses, self.state())


def resumed(save_checkpoint, load_checkpoint):
    """Train an epoch, save, train on, save; load the earlier file, and nothing else, into objects made anew
    and train on. Return all as a Resumed.

    NotYet where saving changes the run, or leaves no file that torch.load reads with its defaults, or more
    files than this one are needed.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path, later, elsewhere = (pathlib.Path(folder) / name / FILE for name in ("1", "2", "moved"))
        for each in (path, later, elsewhere):
            each.parent.mkdir()
        first = Run(seed=1)
        saved = first.epoch().end
        save_checkpoint(path, *first.parts)
        _same_after_saving(saved, first.state())
        _can_be_read(path)
        uninterrupted = first.epoch()
        save_checkpoint(later, *first.parts)
        shutil.copyfile(path, elsewhere)
        second = Run(seed=2)
        made = second.state()
        try:
            load_checkpoint(elsewhere, *second.parts)
        except FileNotFoundError as error:
            _all_in_one_file(path, error)
            raise
        loaded, attached = second.state(), second.attached
        epoch, error = _tried(second.epoch)
        return Resumed(saved, made, loaded, attached, uninterrupted, epoch, error)


def _tried(epoch):
    try:
        return epoch(), ""
    except INTERRUPTS:
        raise
    except Exception as error:  # whatever was loaded, it does not fit
        return None, kind_and_text(error)


def same(one, other):
    """Whether two states are equal bit for bit: dicts, lists and tuples of tensors and plain values."""
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        both = isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)
        return both and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def _same_after_saving(before, after):
    names = {
        "weights": "the model's weights",
        "optimizer": "the optimizer's state",
        "scaler": "the scaler's state",
        "random": "torch's random state",
    }
    for name, text in names.items():
        if not same(getattr(before, name), getattr(after, name)):
            raise NotYet(
                f"save_checkpoint changed {text}: the training that goes on after saving is no longer the "
                "one it was. Saving should only read.",
                "saving-changes-the-run",
            )


def _all_in_one_file(path, error):
    others = sorted(each.name for each in path.parent.iterdir() if each != path)
    if others:
        raise NotYet(
            f"load_checkpoint got the file {path.name} alone, and asked for another one. Beside it "
            f"save_checkpoint left {', '.join(others)}. Put all into one dict, and save it to `path`.",
            "several-files",
        ) from error


def was_just_seeded(state):
    """Whether a random state is one that torch.manual_seed leaves."""
    generator = torch.Generator()
    generator.set_state(state)
    return torch.equal(generator.manual_seed(generator.initial_seed()).get_state(), state)


def _can_be_read(path):
    if not path.is_file():
        found = ", ".join(sorted(each.name for each in path.parent.iterdir())) or "nothing"
        raise NotYet(
            f"save_checkpoint left no file at `path`: asked for {path.name}, its folder holds {found}.",
            "ignores-the-path",
        )
    try:
        torch.load(path, weights_only=True)
    except INTERRUPTS:
        raise
    except Exception as error:
        found = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f"it holds {found[1]}" if found else type(error).__name__
        raise NotYet(
            f"torch.load refuses your file ({what}): by default it reads dicts, tensors, numbers and texts, "
            "but no whole objects, which could run any code. Save state_dict()s.",
            "pickles-whole-objects",
        ) from error
