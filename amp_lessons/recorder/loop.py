"""What is known about the loop; each call becomes an event and a question to the rules."""

import threading
from collections import deque
from dataclasses import dataclass

from amp_lessons.recorder.events import Event, EventStore
from amp_lessons.recorder.later import Later
from amp_lessons.recorder.optimizer_state import OptimizerState
from amp_lessons.recorder.places import Place, here
from amp_lessons.recorder.scaler_state import ScalerState
from amp_lessons.recorder.scan import Scan

_SCANS = 3
_SCALERS = 16  # that are gone but stepped: for the summary


@dataclass
class Moment:
    """One call, as the rules see it: what an Event keeps, and the states it is about."""

    kind: str
    step: int
    place: Place
    data: dict
    optimizer: OptimizerState | None = None
    scaler: ScalerState | None = None


class Loop:
    """Everything known about the loop that is being recorded. Only the recording's own thread calls it."""

    def __init__(self, judge):
        self.thread = threading.get_ident()
        self.judge = judge  # called with (loop, moment)
        self.events = EventStore()
        self.step = 0
        self.between_steps = False
        self.lead = None
        self.marked = False  # some loss was scaled
        self.read_inside_backward = False
        self.withdrawn: set[str] = set()
        self.scaler_under_way = None
        self.elsewhere = 0
        self.inside: list[str] = []
        self.optimizers: dict[int, OptimizerState] = {}
        self.scalers: dict[int, ScalerState] = {}
        self.schedulers: dict[int, tuple] = {}
        self.regions: deque = deque(maxlen=32)  # since the last backward
        self.open_regions: list = []
        self.looked_at: dict[tuple, list] = {}
        self.stepped_inside = False
        self.fused_outcome = None
        self.undecided: deque = deque(maxlen=256)
        self.stale_cache: Moment | None = None
        self.penalty: Moment | None = None
        self.blind: dict[str, int] = {}
        self.models = None
        self.scan: Scan | None = None
        self.scans_left = _SCANS
        self.compiled = None
        self.backward_under_way: Moment | None = None
        self.last_backward: Moment | None = None

    # -- the record

    def happens(self, kind, optimizer=None, scaler=None, place=None, **data) -> Moment:
        """Note a call and ask the rules about it, before the states change."""
        moment = Moment(kind, self.step, here() if place is None else place, data, optimizer, scaler)
        kept = {key: value for key, value in data.items() if not isinstance(value, Later)}
        if optimizer is not None:
            kept["optimizer"] = optimizer.name
        self.events.add(Event(kind, self.step, moment.place, self.thread, kept))
        self.judge(self, moment)
        return moment

    def note(self, kind, place, **data):
        """Note something that is no call."""
        self.events.add(Event(kind, self.step, place, self.thread, data))

    def not_seen_words(self) -> list[str]:
        """Return what the recording could not look at, in words."""
        words = [f"{what}: {times}" for what, times in self.blind.items()]
        if self.compiled is not None and self.compiled.seen():
            words.append("the inside of compiled models (torch.compile)")
        if self.elsewhere:
            words.append(f"calls made by other threads: {self.elsewhere}")
        return words

    def not_seen(self, what: str) -> None:
        """Count something that the recording could not look at."""
        self.blind[what] = self.blind.get(what, 0) + 1

    def work_begins(self):
        """A forward or backward after a finished step opens the next one."""
        if self.between_steps:
            self.between_steps = False
            self.step += 1
        self.left_the_update()

    def left_the_update(self):
        """Something other than a look at the scale came after update()."""
        for state in self.scalers.values():
            state.just_updated = False

    def happened_elsewhere(self, name, args):
        """Another thread called: what it touched is no longer known here."""
        self.elsewhere += 1
        if name in ("unscale", "scaler step", "zero_grad"):
            state = self.scalers.get(id(args[0]))
            if state is not None:
                state.checked = True
            for one in (*args, None)[:2]:
                owner = self.optimizers.get(id(one))
                if owner is not None:
                    owner.unknown = True

    # -- whom it is about

    def optimizer_state(self, optimizer, active=True) -> OptimizerState:
        """Return what is known about an optimizer, or about an object that looks like one."""
        state = self.optimizers.get(id(optimizer))
        if state is None or state.ref() is not optimizer:
            try:
                state = self.optimizers[id(optimizer)] = OptimizerState.of(optimizer)
            except (TypeError, AttributeError, KeyError):  # no weak reference, or no param_groups
                return OptimizerState(lambda: None, type(optimizer).__name__, unknown=True)
        if active:
            state.active += 1
        return state

    def scaler_state(self, scaler) -> ScalerState:
        """Return what is known about a scaler."""
        state = self.scalers.get(id(scaler))
        if state is None or state.ref() is not scaler:
            for key, one in list(self.scalers.items()):
                if one.ref() is None and (len(self.scalers) > _SCALERS or not one.stepped + one.skipped):
                    del self.scalers[key]
            state = self.scalers[id(scaler)] = ScalerState.of(scaler)
        state.enabled = bool(getattr(scaler, "_enabled", True))
        return state

    def watched_optimizers(self):
        """Yield (optimizer, state) of those whose gradients are followed.

        Optimizers that lie about from earlier cells are followed only until the loop has shown which ones
        it uses.
        """
        for key, state in list(self.optimizers.items()):
            optimizer = state.ref()
            if optimizer is None or (self.step > 2 and not state.active):
                del self.optimizers[key]
            else:
                yield optimizer, state

    def only_scaler(self) -> ScalerState | None:
        """Return the enabled scaler where there is only one, which is then everybody's."""
        scalers = [scaler for scaler in self.scalers.values() if scaler.enabled]
        return scalers[0] if len(scalers) == 1 else None

    def sharing(self, owner):
        """Yield an optimizer's state, and those of others over the same gradients: what a wrapper wraps."""
        yield owner
        if len(self.optimizers) > 1:
            theirs = set(owner.gradient_ids())
            for _, other in self.watched_optimizers():
                if other is not owner and not theirs.isdisjoint(other.gradient_ids()):
                    yield other

    # -- what waits to be confirmed

    def confirm_stale_cache(self):
        """A step inside autocast was not followed by clearing the cache: now the copies are stale."""
        moment, self.stale_cache = self.stale_cache, None
        if moment is not None:
            self.judge(self, moment)

    def scan_the_next_forward(self, optimizer):
        """The loss was inf or NaN: look for the module that it comes from, in the next forward pass."""
        self.end_scan()
        if self.scans_left and optimizer is not None and not self.compiled.seen():
            self.scans_left -= 1
            self.scan = Scan(self.models.modules_of(optimizer))

    def end_scan(self):
        """Take the scan's hooks away."""
        if self.scan is not None:
            self.scan.end()
