"""``record_loop``: watch a training loop and say what is wrong with it."""

from amp_lessons.recorder import listening
from amp_lessons.recorder.explanations import rule_that_explains
from amp_lessons.recorder.findings import Finding, Findings
from amp_lessons.recorder.living import snapshot
from amp_lessons.recorder.places import NOWHERE, here, place_of_exception
from amp_lessons.recorder.rules import RULES
from amp_lessons.recorder.session import Session

_BY_KIND: dict[str, list] = {}
for _rule in RULES.values():
    for _kind in _rule.on:
        _BY_KIND.setdefault(_kind, []).append(_rule)


def record_loop() -> "Recording":
    """Record the training loop in a ``with`` block::

        with record_loop() as recording:
            train(...)
        recording.findings

    The loop computes exactly what it would compute without; an exception passes through unchanged. Only the
    thread that enters the block is recorded.
    """
    return Recording()


class Recording:
    """What a loop did and what is wrong with it; filled while the ``with`` block runs.

    ``findings``    mistakes, as a list of ``Finding``
    ``notes``       what looks alarming and is normal, or is worth a thought, as a list of ``Finding``
    ``events``      the calls seen, as ``Event``; of a long loop the first and the last ones
    ``steps``       how many steps the loop took
    ``scales``      for each scaler the pairs (step, scale) at which its scale changed
    ``not_seen``    sentences on what the recording could not look at
    """

    def __init__(self):
        self._session = None
        self._found = Findings()
        self._explained = None
        self._findings: list[Finding] = []
        self._notes: list[Finding] = []
        self.events = ()
        self.steps = 0
        self.scales: list[list[tuple[int, float]]] = []
        self.optimizers: list[dict] = []
        self.scalers: list[dict] = []
        self.not_seen: list[str] = []
        self.ended_by = ""
        self.troubles: list[str] = []

    def __enter__(self):
        if self._session is not None or self.events:
            raise RuntimeError("this recording has been used: write `with record_loop() as recording:` again")
        self._session = Session(self)
        loop = self._session.loop
        self.events, loop.withdrawn = loop.events, self._found.withdrawn
        optimizers, loop.models, loop.compiled = snapshot()
        for optimizer in optimizers:
            loop.optimizer_state(optimizer, active=False)
        listening.begin(self._session)
        return self

    def __exit__(self, kind, error, traceback):
        session = self._session
        listening.end(session)
        session.guarded(session.ends)
        if error is not None:
            session.guarded(self.explain, session.loop, error, place_of_exception(error))
            self.ended_by = kind.__name__
        session.guarded(self._freeze, session)
        self._session, self.troubles = None, session.troubles
        return False

    @property
    def findings(self) -> list[Finding]:
        """Mistakes, in the order of their steps."""
        return self._found.of("finding") if self._session is not None else list(self._findings)

    @property
    def notes(self) -> list[Finding]:
        """What looks alarming and is normal, or is worth a thought."""
        return self._found.of("note") if self._session is not None else list(self._notes)

    # -- called by the session

    def judge(self, loop, moment) -> None:
        """Ask the rules that look at moments of this kind."""
        rules = _BY_KIND.get(moment.kind)
        if rules is None:
            return
        for rule in rules:
            try:
                for sighting in rule.look(loop, moment):
                    self._add(rule, sighting, moment)
            except Exception:  # a rule that fails must not keep the others, or the states, from going on
                self._session.trouble()

    def _add(self, rule, sighting, moment):
        numbers = dict(sighting.numbers)
        if moment.optimizer is not None:
            numbers.setdefault("optimizer", moment.optimizer.name)
        step = moment.step if sighting.step is None else sighting.step
        self._found.add(rule, sighting.place or moment.place, step, numbers)

    def call_begins(self) -> None:
        """A call of the loop's begins: what is found from now on explains its exception."""
        self._found.recent.clear()

    def explain(self, loop, error, place=None) -> None:
        """Explain an exception that the loop raised, unless a rule has seen its cause just now."""
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".strip(": ")
        if self._explained == (id(error), text):
            return
        self._explained = id(error), text  # an id alone may be that of a later exception
        place = place or place_of_exception(error)
        if place is NOWHERE:
            place = here()
        loop.note("exception", place, error=text)
        if self._found.recent:
            self._found.shown(self._found.recent[-1]).error = text
            return
        name = rule_that_explains(error)
        if name is None:
            return
        known = self._found.of_rules((name, *RULES[name].beside), loop.step)
        if known is not None:
            known = self._found.shown(known)
            known.error = known.error or text
        else:
            self._found.add(RULES[name], place, loop.step, {}, text)

    def _count(self, session, wait=False):
        """Take plain numbers from the loop's state."""
        loop = session.loop
        for state in loop.scalers.values():
            state.settle(wait)
        self.steps = max((state.tried for state in loop.optimizers.values()), default=0)
        self.scales = [list(state.history) for state in loop.scalers.values()]
        self.optimizers = [
            {"name": state.name, "tried": state.tried, "done": state.done}
            for state in loop.optimizers.values()
            if state.tried
        ]
        self.scalers = [
            {"name": s.name, "enabled": s.enabled, "skipped": s.skipped, "stepped": s.stepped}
            for s in loop.scalers.values()
        ]
        self.not_seen = loop.not_seen_words()

    def _freeze(self, session):
        """Keep plain values only: a finished recording can be pickled and outlives everything it saw."""
        self._count(session, wait=True)
        self._findings, self._notes = self._found.of("finding"), self._found.of("note")
        self._found = None

    # -- shown

    def __repr__(self):
        from amp_lessons.recorder.summary import summary

        if self._session is not None:
            self._session.guarded(self._count, self._session)
        return summary(self)

    def _repr_mimebundle_(self, include=None, exclude=None):
        from amp_lessons.recorder.page import page

        return {"text/plain": repr(self), "text/html": page(self)}
