"""What is known about the loop; each call becomes an event and a question to the rules."""

import threading
from collections import deque
from dataclasses import dataclass

import torch

from amp_lessons.recorder import graph
from amp_lessons.recorder.events import Event, EventStore
from amp_lessons.recorder.optimizer_state import OptimizerState
from amp_lessons.recorder.places import Place, here, running_code
from amp_lessons.recorder.scaler_state import ScalerState
from amp_lessons.recorder.scan import Scan

_SCANS = 3
_SCALERS = 16  # that are gone but stepped: for the summary


@dataclass(slots=True)
class Moment:
    """One call, as the rules see it: what an Event keeps, and the states it is about."""

    kind: str
    step: int
    place: Place
    data: dict
    optimizer: OptimizerState | None = None
    scaler: ScalerState | None = None


@dataclass(slots=True)
class StaleCache:
    """A step inside an autocast region, whose copies of the weights are old from then on.

    ``began`` and ``stepped`` are autograd's sequence numbers, of the region's begin and of the step.
    """

    moment: Moment
    began: int
    stepped: int
    weights: set[int]
    likely: bool  # autocast was on, and the gradients come from a backward


def _may_clear_unheard() -> bool:
    """Return whether running code knows clear_autocast_cache by a name that it took before the recording."""
    clear = torch._C.clear_autocast_cache
    return any(
        clear.__name__ in code.co_names or any(value is clear for value in list(names.values()))
        for code, names in running_code()
    )


class Loop:
    """Everything known about the loop that is being recorded. Only the recording's own thread calls it."""

    def __init__(self, judge):
        self.thread = threading.get_ident()
        self.judge = judge  # called with (loop, moment)
        self.events = EventStore()
        self.step = 0
        self.between_steps = False
        self.lead = None
        self.watchful = False  # a scaler or FP16 is in use: the gradients are followed
        self.trained = self.saved = False  # an optimizer stepped; and its state was taken after that
        self.scaler_met = False  # an enabled scaler is, or was, there
        self.saved_beside_scaler = False
        self.marked = False  # some loss was scaled
        self.read_inside_backward = False
        self.withdrawn: set[str] = set()
        self.scaler_under_way = None
        self.elsewhere = 0
        self.inside: list[str] = []
        self.place: Place | None = None  # of the call that is heard now, once somebody asked
        self.optimizers: dict[int, OptimizerState] = {}
        self.scalers: dict[int, ScalerState] = {}
        self.schedulers: dict[int, tuple] = {}
        self.regions: dict = {}  # since the last backward: the first of each kind
        self.open_regions: list = []
        self.looked_at: dict[tuple, list] = {}
        self.stepped_inside = False
        self.fused_outcome = None
        self.undecided: deque = deque(maxlen=256)
        self.stale_cache: StaleCache | None = None
        self.cleared_unheard = False  # clear_autocast_cache() ran under a name that nobody listens to
        self.penalty: Moment | None = None
        self.blind: dict[str, int] = {}
        self.models = None
        self.scan: Scan | None = None
        self.scans_left = _SCANS
        self.compiled = None
        self.backward_under_way: Moment | None = None
        self.last_backward: Moment | None = None
        self.clip_inside_backward: tuple | None = None  # by a hook: (place, function, limit, norm)

    # -- the record

    def happens(self, kind, optimizer=None, scaler=None, place=None, **data) -> Moment:
        """Note a call and ask the rules about it, before the states change."""
        if place is None:
            place = self.here()
        kept = data if optimizer is None else {**data, "optimizer": optimizer.name}
        self.events.add(Event(kind, self.step, place, self.thread, kept))
        moment = Moment(kind, self.step, place, data, optimizer, scaler)
        self.judge(self, moment)
        return moment

    def here(self) -> Place:
        """Return the learner's line with the call that is heard now; only hearings ask."""
        if self.inside:
            return here()
        if self.place is None:
            self.place = here()
        return self.place

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
        if state.enabled:
            self.scaler_met = True
            if not self.watchful:
                self.begin_to_watch()
        return state

    def begin_to_watch(self):
        """From now on gradients may be scaled, or too small for FP16; until now nobody asked about them."""
        self.watchful = True
        for state in self.optimizers.values():
            state.begin_to_watch()

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

    def sharing(self, owner) -> list[OptimizerState]:
        """Return an optimizer's state, and those of others over the same gradients: what a wrapper wraps."""
        found = [owner]
        if len(self.optimizers) > 1:
            theirs = set(owner.gradient_ids())
            for _, other in self.watched_optimizers():
                if other is not owner and not theirs.isdisjoint(other.gradient_ids()):
                    found.append(other)
        return found

    # -- what waits to be confirmed

    def look_for_stale_copies(self, roots):
        """A backward begins after a step inside autocast: was its loss computed from the copies of before?"""
        stale = self.stale_cache
        roots = [root for root in roots if graph.made_at(root) >= stale.stepped]
        copies = [made for root in roots for made in graph.weight_copies(root, stale.weights)]
        if any(stale.began <= made < stale.stepped for made in copies):
            self.stale_cache = None
            self.judge(self, stale.moment)
        elif copies:
            self.stale_cache, self.cleared_unheard = None, True

    def region_ends(self):
        """Nobody cleared the cache after a step: what might have followed would have used old copies."""
        stale, self.stale_cache = self.stale_cache, None
        if stale is not None and stale.likely and not self.cleared_unheard and not _may_clear_unheard():
            self.judge(self, stale.moment)

    def scan_the_next_forward(self, optimizer):
        """The loss was inf or NaN: look for the module that it comes from, in the next forward pass."""
        self.end_scan()
        if self.scans_left and optimizer is not None and not self.compiled.seen():
            self.scans_left -= 1
            self.scan = Scan(self.models.modules_of(optimizer))

    def end_scan(self):
        """Take the scan's hook away."""
        if self.scan is not None:
            self.scan.end()
