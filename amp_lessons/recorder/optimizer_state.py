"""What an optimizer's gradients are at every moment of a loop: scaled, unscaled, mixed, used already."""

import weakref
from dataclasses import dataclass, field

import torch

from amp_lessons.recorder.later import Later, read
from amp_lessons.recorder.places import Place
from amp_lessons.recorder.scaler_state import ScalerState

NONE, SCALED, UNSCALED, MIXED, UNKNOWN = "none", "scaled", "unscaled", "mixed", "unknown"
_FEW = 256  # elements of a gradient that is read in Python
_FEW_ADDED = 32
_SAMPLE = 8  # gradients for a quick look: whoever edits gradients by hand edits nearly all
_MOST_BACKWARDS = 64  # of one accumulation window; rules need the first few


@dataclass
class Backward:
    """One backward pass as one optimizer felt it.

    ``onto`` says what its gradients were added to: "nothing", "window" (others of the same window),
    "unscaled" (gradients that unscale_ had divided), "used" (gradients of an earlier step) or "unknown".
    """

    kind: str
    place: Place
    step: int
    onto: str
    scale: float | None
    dtypes: frozenset = frozenset()
    divided: bool = False
    scaler: ScalerState | None = None


def fingerprint(optimizer) -> list | None:
    """Return what changes whenever a gradient is replaced or edited in place; None without gradients.

    Compares objects and version counters only: it reads no value.
    """
    try:
        found = [
            None if (gradient := parameter.grad) is None else (id(gradient), gradient._version)
            for group in optimizer.param_groups
            for parameter in group["params"]
        ]
    except (RuntimeError, AttributeError, TypeError, KeyError):  # an inference tensor, an unusual optimizer
        return []
    return found if any(found) else None


def has_gradients(optimizer) -> bool:
    """Return whether any parameter of ``optimizer`` has a gradient."""
    return any(p.grad is not None for group in optimizer.param_groups for p in group["params"])


def _spread(optimizer) -> list[tuple[int, int]]:
    """Return the positions, as (group, parameter), of a few parameters spread over all with a gradient.

    Without any gradient they are spread over all.
    """
    every = [
        (number, index, parameter.grad is not None)
        for number, group in enumerate(optimizer.param_groups)
        for index, parameter in enumerate(group["params"])
    ]
    chosen = [one[:2] for one in every if one[2]] or [one[:2] for one in every]
    return chosen[:: max(1, len(chosen) // _SAMPLE)]


def _sample(optimizer, positions) -> dict:
    """Return, for a few parameters, what changes whenever a gradient is replaced or edited in place."""
    groups, found = optimizer.param_groups, {}
    for position in positions:
        number, index = position
        try:
            gradient = groups[number]["params"][index].grad
            found[position] = None if gradient is None else (id(gradient), gradient._version)
        except (RuntimeError, IndexError):  # an inference tensor; parameters that were taken out
            found[position] = None
    return found


@dataclass
class OptimizerState:
    """The state of one optimizer; holds it weakly."""

    ref: weakref.ref
    name: str
    unknown: bool = False
    used: bool = False
    backwards: list[Backward] = field(default_factory=list)
    sample: dict = field(default_factory=dict)  # of a few, by position, at the last look
    groups: int = 0  # the optimizer's groups when these few were chosen
    change_explained: bool = False  # the next change is a call's that was heard: clipping, unscale_
    edited: bool = False
    clipped_early: tuple | None = None  # by a hook, in the backward: (place, function, limit, norm)
    limit_seen: tuple | None = None  # (what looks cut off where, place, step) at the last edit
    light: tuple | None = None  # the position of a small gradient
    weight: object = None  # a value of the gradients after the last backward: a number, a Later, UNKNOWN
    unscaled_again: Place | None = None  # by a second unscale_, which PyTorch refuses; nothing came between
    active: int = 0
    tried: int = 0
    done: int = 0
    loaded: Place | None = None
    saved_untrained: bool = False  # its state was taken before anything was trained
    old_size: Later | None = None  # of the gradients that a backward adds to

    @classmethod
    def of(cls, optimizer):
        """Return the state of an optimizer seen for the first time: its gradients are of unknown origin."""
        state = cls(weakref.ref(optimizer), type(optimizer).__name__, unknown=has_gradients(optimizer))
        state.choose_sample(optimizer)
        return state

    @property
    def waiting(self) -> list[Backward]:
        """The backward passes whose gradients nobody has divided by the scale yet."""
        return [one for one in self.backwards if not one.divided]

    @property
    def gradients(self) -> str:
        """One of NONE, SCALED, UNSCALED, MIXED, UNKNOWN."""
        if self.unknown:
            return UNKNOWN
        if not self.backwards:
            return UNSCALED if self.used else NONE
        if len(self.backwards) == 1:  # nearly always
            (only,) = self.backwards
            if not only.divided and only.onto != "used":
                return only.kind
        kinds = {one.kind for one in self.waiting}
        if any(one.divided or one.onto == "used" for one in self.backwards):
            kinds.add(UNSCALED)
        return kinds.pop() if len(kinds) == 1 else UNKNOWN if UNKNOWN in kinds else MIXED

    def forget(self) -> None:
        """The gradients were cleared: they are None, or zero."""
        self.unknown = self.used = self.change_explained = self.edited = False
        self.backwards, self.clipped_early, self.unscaled_again = [], None, None
        self.look()

    def begin_to_watch(self) -> None:
        """Nobody followed the gradients so far: those that are there are of unknown origin."""
        optimizer = self.ref()
        if optimizer is None or not (self.used or self.backwards):
            return
        if has_gradients(optimizer):
            self.unknown = True
            self.look()
        else:
            self.forget()

    def look(self, arrived: bool = False) -> None:
        """Take the gradients as they are now for the known ones; ``arrived`` from a backward just now.

        What has been frozen since, or was added, must not leave the sample without any gradient.
        """
        optimizer = self.ref()
        if optimizer is None:
            return
        if not self.sample or (arrived and len(optimizer.param_groups) != self.groups):
            self.choose_sample(optimizer)
            return
        self.sample = _sample(optimizer, self.sample)
        if arrived and not any(self.sample.values()):
            self.choose_sample(optimizer)

    def choose_sample(self, optimizer) -> None:
        """Choose the gradients for a quick look, and look at them."""
        self.groups = len(optimizer.param_groups)
        self.sample = _sample(optimizer, _spread(optimizer))

    def changed_by_hand(self) -> bool:
        """Return whether gradients changed since the last call that explains a change; handles clearing.

        ``p.grad = None`` in a loop, or gradients that the learner put there, are seen here.
        """
        optimizer, before = self.ref(), self.sample
        explained, self.change_explained = self.change_explained, False
        if optimizer is None:
            return False
        self.look()
        if not any(self.sample.values()) and not has_gradients(optimizer):
            self.forget()
            return False
        if explained or self.sample == before:
            return False
        if self.used or not self.backwards:
            self.unknown = True
        return True

    def receive(self, backward: Backward) -> None:
        """Gradients of a backward pass arrived."""
        if self.unknown:
            backward.onto = "unknown"
        elif self.used and not self.backwards:
            backward.onto = "used"
        elif self.backwards and not self.waiting:
            backward.onto = "unscaled"
        elif self.backwards:
            backward.onto = "window"
        if len(self.backwards) < _MOST_BACKWARDS:
            self.backwards.append(backward)

    def look_for_zeros(self) -> None:
        """Used gradients may be zeroed through ``p.grad.data``, which leaves no trace: look at them."""
        optimizer = self.ref()
        gradients = (p.grad for group in optimizer.param_groups for p in group["params"])
        sizes = [
            g.detach().abs().amax() for g in gradients if g is not None and g.numel() and not g.is_sparse
        ]
        self.old_size = Later(torch.stack([size.float() for size in sizes]).amax()) if sizes else None
        if self.old_size is not None and self.old_size.known() and self.old_size.value() == 0:
            self.forget()

    def receive_from(self, moment) -> None:
        """Gradients of the backward pass at ``moment`` arrived."""
        scale = moment.scaler.scale if moment.scaler is not None else None
        kind, dtypes = moment.data["scaling"], moment.data["dtypes"]
        backward = Backward(kind, moment.place, moment.step, "nothing", scale, dtypes)
        backward.scaler = moment.scaler
        self.receive(backward)

    def gradient_ids(self):
        """Yield the ids of the gradients that are there."""
        groups = getattr(self.ref(), "param_groups", ())
        gradients = (p.grad for group in groups for p in group["params"])
        return (id(gradient) for gradient in gradients if gradient is not None)

    def weigh(self) -> None:
        """Note a value of the new gradients: an edit through ``p.grad.data`` shows in it if need be."""
        size = self._size()
        self.weight = UNKNOWN if size is None else size

    def may_be_divided(self) -> bool:
        """Return whether the learner may have divided these gradients where no version tells.

        Hooks on parameters, and edits through ``p.grad.data``, are such places. Reads a value, so it is
        asked only before a finding.
        """
        optimizer = self.ref()
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if any(p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None) for p in parameters):
            return True
        if self.weight is None or self.change_explained:
            return False  # clipping has changed their size
        size, before = read(self._size()), read(self.weight)
        if size is None or before is None or before is UNKNOWN:
            return True
        return abs(size - before) > 1e-3 * abs(before)

    def _size(self):
        """The sum of magnitudes of a small gradient, as a number or a Later; None where there is none.

        Avoids operations of PyTorch's where it can: between two passes even a small one takes long.
        """
        gradient = self._light_gradient()
        if gradient is None:
            return None
        plain = type(gradient) is torch.Tensor and gradient.is_cpu
        if plain and gradient.dim() == 1 and gradient.numel() <= _FEW:
            return sum(map(abs, gradient.tolist()[:_FEW_ADDED]))
        return Later(torch.linalg.vector_norm(gradient.detach(), 1))

    def _light_gradient(self):
        """Return the smallest gradient of the sample; the same one as long as it is there."""
        groups = self.ref().param_groups
        if self.light is None or self.sample.get(self.light) is None:
            sizes = {}
            for position, entry in self.sample.items():
                gradient = entry and groups[position[0]]["params"][position[1]].grad
                if gradient is not None and not gradient.is_sparse and gradient.numel():
                    sizes[position] = gradient.numel()
            self.light = min(sizes, key=sizes.get, default=None)
        return None if self.light is None else groups[self.light[0]]["params"][self.light[1]].grad

    def divide(self) -> None:
        """unscale_ divided what was there."""
        for one in self.backwards:
            one.divided = True
        self.change_explained = True

    def stepped(self, look: bool = True) -> None:
        """A step, or a skip, used the gradients up, if there are any."""
        optimizer = self.ref()
        self.used = optimizer is None or has_gradients(optimizer)
        self.backwards, self.clipped_early, self.unscaled_again = [], None, None
        self.edited = self.change_explained = False
        if look:
            self.look()
