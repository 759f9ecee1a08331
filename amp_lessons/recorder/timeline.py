"""The calls of one step in their order, and what was in force meanwhile: what the figure shows."""

from dataclasses import dataclass, field

from amp_lessons.recorder.rules.numbers import shown

_SHOWN = {
    "zero_grad": "zero_grad",
    "scale": "scale",
    "backward": "backward",
    "grad": "autograd.grad",
    "unscale": "unscale_",
    "clip": "clip",
    "edit": "edit .grad",
    "step": "step",
    "stepped": "optimizer.step",
    "update": "update",
    "scheduler": "scheduler",
}
_MOST_CALLS = 24  # of one step: a long accumulation window is cut in its middle


@dataclass
class Call:
    """One call: its name, a detail such as "×65536", its line, and the rules that spoke there."""

    name: str
    detail: str = ""
    line: int = 0
    rules: list[str] = field(default_factory=list)


@dataclass
class Band:
    """Something in force from one call to another, both included: autocast, or what the gradients are."""

    words: str
    first: int
    last: int


@dataclass
class Timeline:
    """One step: ``calls`` in order, ``autocast`` and ``gradients`` as bands over their positions."""

    step: int
    calls: list[Call]
    autocast: list[Band]
    gradients: list[Band]
    left_out: int = 0

    def __str__(self):
        """The step in one sentence."""
        parts = []
        for call in self.calls:
            words = f"{call.name} {call.detail}".strip()
            parts.append(words + (f" [{', '.join(call.rules)}]" if call.rules else ""))
        bands = [f"autocast {band.words}" for band in self.autocast[:1]]
        return f"Step {self.step}: {', '.join(bands + parts)}."


def step_to_show(recording) -> int | None:
    """Return the step worth a picture: the first with a finding, else the last that stepped; None without."""
    kept = {event.step for event in recording.events if event.kind in ("step", "stepped", "skip")}
    found = [one.step for one in recording.findings if one.step in kept]
    return min(found) if found else max(kept, default=None)


def timeline(recording, step: int | None = None) -> Timeline | None:
    """Return the timeline of ``step`` (by default the one worth a picture), or None if there is none.

    Raises ValueError for a step whose events are not kept.
    """
    if step is None:
        step = step_to_show(recording)
        if step is None:
            return None
    events = _of_step(list(recording.events), step)
    if not events:
        raise ValueError(f"step {step} is not kept: a long recording keeps its first and its last steps")
    said = {}
    for one in [*recording.findings, *recording.notes]:
        said.setdefault((one.file, one.line), []).append(one)
    return _Drawing(step, said).follow(events)


def _of_step(events, step):
    """Return a step's events; a zero_grad at the top of the loop is counted in the step before."""
    first = next((event.kind for event in events if event.kind in ("zero_grad", "autocast on", "scale")), "")
    ahead = _ahead(events) if first == "zero_grad" else ()
    return [event for event in events if event.step + (id(event) in ahead) == step]


def _ahead(events):
    """Return the ids of the zero_grad events that follow the update of the step they are counted in."""
    ahead, done = set(), None
    for event in events:
        if event.kind in ("updated", "stepped"):
            done = event.step
        elif event.kind == "zero_grad" and done == event.step:
            ahead.add(id(event))
    return ahead


class _Drawing:
    def __init__(self, step, said):
        self.said = said
        self.timeline = Timeline(step, [], [], [])
        self.open = []

    def follow(self, events):
        for event in events:
            self._follow(event)
        last = len(self.timeline.calls) - 1
        for band in self.timeline.gradients + self.timeline.autocast:
            band.last = last if band.last < 0 else band.last
        return self.timeline

    def _follow(self, event):
        kind, calls = event.kind, self.timeline.calls
        if kind == "autocast on" and event.data.get("nesting") == 1:
            self._call("forward", event)
            words = f"{event.data['device']} {event.data['dtype']}"
            self.open.append(Band(words, len(calls) - 1, -1))
            self.timeline.autocast.append(self.open[-1])
        elif kind == "autocast end" and event.data.get("nesting") == 0 and self.open:
            self.open.pop().last = len(calls) - 1
        elif kind in ("skip", "stepped") and calls and calls[-1].name in ("step", "scaler.step"):
            calls[-1].detail = "skipped" if kind == "skip" else calls[-1].detail
            self._say(calls[-1], event, kind)
        elif kind == "updated" and calls:
            before, after = event.data.get("before"), event.data.get("scale")
            calls[-1].detail = f"→ {shown(after)}" if after is not None and before != after else ""
        elif kind in _SHOWN and not event.data.get("implicit"):
            if kind in ("scale", "backward", "grad") and not any(call.name == "forward" for call in calls):
                calls.append(Call("forward"))
            self._call(_SHOWN[kind], event)
            self._effect(event, calls[-1])

    def _effect(self, event, call):
        if event.kind == "scale":
            call.detail = f"×{shown(event.data['scale'])}" if event.data.get("scale") else ""
        elif event.kind == "clip":
            call.detail = f"to {shown(event.data['limit'])}"
        elif event.kind == "backward":
            self._gradients(
                {"scaled": "scaled", "unscaled": "not scaled"}.get(event.data["scaling"], "mixed")
            )
        elif event.kind in ("unscale", "step"):
            self._gradients("unscaled")
        elif event.kind == "zero_grad":
            self._gradients("")

    def _call(self, name, event):
        if len(self.timeline.calls) >= _MOST_CALLS:
            self.timeline.left_out += 1
            del self.timeline.calls[_MOST_CALLS // 2]
        self.timeline.calls.append(Call(name, line=event.place.line))
        self._say(self.timeline.calls[-1], event, event.kind)

    def _say(self, call, event, kind):
        for one in self.said.get((event.place.file, event.place.line), ()):
            if one.rule not in call.rules and kind in _AT.get(one.rule, (kind,)):
                call.rules.append(one.rule)

    def _gradients(self, words):
        at, bands = len(self.timeline.calls) - 1, self.timeline.gradients
        if bands and bands[-1].last < 0:
            if bands[-1].words == words:
                return
            bands[-1].last = max(at - 1, bands[-1].first)
        if words:
            bands.append(Band(words, max(at, 0), -1))


# scaler.scale(loss).backward() is one line with two calls: which of them a rule speaks about.
_AT = {
    "forward-overflow": ("scale",),
    "scaler-with-bf16": ("scale",),
    "unscaled-backward": ("backward",),
    "mixed-scaling-in-window": ("backward",),
    "backward-inside-autocast": ("backward",),
    "fp16-without-scaler": ("backward",),
    "gradients-not-zeroed": ("backward",),
    "backward-after-unscale": ("backward",),
    "autocast-wrong-device": ("autocast on",),
    "autocast-default-dtype": ("autocast on",),
}
