"""What a GradScaler did and holds: its scale, its stage per optimizer, its skips."""

import weakref
from collections import deque
from dataclasses import dataclass, field

import torch

from amp_lessons.recorder.later import Later, read
from amp_lessons.recorder.places import Place

READY, DIVIDED, STEPPED = "ready", "unscaled", "stepped"


@dataclass
class ScalerState:
    """The state of one scaler; holds it weakly."""

    ref: weakref.ref
    name: str
    enabled: bool
    stages: dict[int, str] = field(default_factory=dict)
    checked: bool = False  # something was unscaled or stepped since the last update
    updates: int = 0
    scale: object = None  # a number or Later
    looks: deque = field(default_factory=lambda: deque(maxlen=256))  # at the scale: (step, number or Later)
    history: list[tuple[int, float]] = field(default_factory=list)  # (step, scale) where it changed
    calls: int = 0  # of scale()
    backward_call: int = 0  # the last one whose result went backward
    scaled_losses: deque = field(default_factory=lambda: deque(maxlen=32))  # (call, place, step, value)
    losses: list = field(default_factory=list)  # (place, step, value) of those that went backward
    _seen: tuple | None = None  # the scale's tensor and its version at the last look
    last_scale_call: Place | None = None
    used_before: bool = False
    made_here: bool = False  # while recording: else it may have been loaded before
    starts_as_read: bool = False  # at a scale that the loop read from an earlier scaler
    loaded: bool = False
    loaded_before_first_scale: bool | None = None
    read_since_update: bool = False
    read_in_window: bool = False
    just_updated: bool = False
    scale_was_read: bool = False
    scale_is_known: bool = False  # the loop read it, and may divide by it
    in_a_row: int = 0
    skipped: int = 0
    stepped: int = 0
    clean_since_skip: int = 0

    @classmethod
    def of(cls, scaler):
        """Return the state of a scaler seen for the first time."""
        state = cls(
            weakref.ref(scaler),
            type(scaler).__name__,
            bool(getattr(scaler, "_enabled", True)),
            used_before=getattr(scaler, "_scale", None) is not None,
        )
        # A growth tracker of its own: its state was loaded before the recording began.
        state.loaded = bool(getattr(scaler, "_init_growth_tracker", 0))
        state.look_at_scale(0)
        return state

    def look_at_scale(self, step: int) -> None:
        """Note the scale as it is now, without making the CPU wait."""
        scaler = self.ref()
        tensor = getattr(scaler, "_scale", None)
        counted = isinstance(tensor, torch.Tensor) and not tensor.is_inference()
        seen = (id(tensor), tensor._version) if counted else None
        if counted and seen == self._seen:
            return
        self._seen = seen
        self.scale = Later(tensor) if tensor is not None else getattr(scaler, "_init_scale", None)
        if isinstance(self.scale, Later) and self.scale.known():
            self.scale = self.scale.value()
        if self.looks or not self.history or self.history[-1][1] != self.scale:  # a Later equals nothing
            self.looks.append((step, self.scale))
            self.settle()

    def settle(self, wait: bool = False) -> None:
        """Write what is known by now of the scale's course; with ``wait`` all of it."""
        while self.looks and (wait or not isinstance(self.looks[0][1], Later) or self.looks[0][1].known()):
            step, scale = self.looks.popleft()
            scale = read(scale)
            if not self.history or self.history[-1][1] != scale:
                self.history.append((step, scale))
        if len(self.history) > 4096:  # growth and backoff for ever: keep both ends
            del self.history[1024:2048]

    @property
    def last_known_scale(self) -> float | None:
        """The latest scale that is known without waiting."""
        return self.history[-1][1] if self.history else None

    @property
    def scale_now(self) -> float | None:
        """The current scale as a number; waits for an accelerator, so for messages only."""
        return read(self.scale)

    def was_read_at(self, scale) -> bool:
        """Return whether the loop read this scaler's scale, and it was ``scale`` at the end or in between."""
        course = [one for _, one in self.history]
        return self.scale_was_read and scale in course[-1:] + [one for one in course if one != course[0]]

    def stage(self, optimizer: int) -> str:
        """Return READY, DIVIDED or STEPPED for an optimizer's id; the scaler itself knows best."""
        own = getattr(self.ref(), "_per_optimizer_states", None)
        if isinstance(own, dict):
            stage = getattr(own.get(optimizer, {}).get("stage"), "name", "READY")
            return {"UNSCALED": DIVIDED, "STEPPED": STEPPED}.get(stage, READY)
        return self.stages.get(optimizer, READY)

    def has_checks_of(self, optimizer: int) -> bool:
        """Return whether the scaler holds a check for inf of an optimizer's id."""
        own = getattr(self.ref(), "_per_optimizer_states", {}).get(optimizer, {})
        return bool(own.get("found_inf_per_device"))

    def has_checks(self) -> bool:
        """Return whether the scaler itself holds a check for inf: of a step before the recording began."""
        own = getattr(self.ref(), "_per_optimizer_states", {})
        return any(one.get("found_inf_per_device") for one in list(own.values()))

    def go_backward(self, calls: list[int]) -> None:
        """A backward began at losses of these calls of scale()."""
        first = min(calls, default=self.calls + 1)
        self.backward_call = max(self.backward_call, *calls, 0)
        for one in reversed(self.scaled_losses):
            if one[0] < first or len(self.losses) >= 32:
                break
            if one[0] in calls:
                self.losses.append(one[1:])

    def window_ends(self) -> None:
        """update() ran."""
        self.stages.clear()
        self.checked, self.losses, self.scale_is_known = False, [], False
        self.updates += 1
        self.read_since_update, self.read_in_window = self.read_in_window, False
        self.just_updated = True

    def non_finite_loss(self):
        """Return (place, step, value) of the first loss of this window that was inf or NaN, or None."""
        for place, step, value in self.losses:
            number = read(value)
            if number is not None and not abs(number) < float("inf"):
                return place, step, number
        return None
