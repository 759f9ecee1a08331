"""Right training loops, each with a twin: one line changed, and one mistake made."""

import inspect
import itertools
import re
from dataclasses import dataclass

LOOPS = {}


@dataclass(frozen=True)
class RightLoop:
    """A loop without a finding; its twin has `becomes` in the place of `line`.

    `finds` gives, for every finding of the twin, the text of the line that it names.
    """

    train: object
    line: str
    becomes: str
    finds: dict

    @property
    def source(self):
        """The loop's text from its `def` on."""
        lines = inspect.getsource(self.train).splitlines()
        return list(itertools.dropwhile(lambda line: not line.startswith("def "), lines))

    def write_twin(self, path):
        """Write the twin to a file; give the function and its findings as (rule, file name, line)."""
        lines = self.source
        place = number_of(self.line, lines) - 1
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines[place] = indent + self.becomes
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        namespace = dict(inspect.getmodule(self.train).__dict__)
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
        findings = sorted((rule, path.name, number_of(line, lines)) for rule, line in self.finds.items())
        return namespace[self.train.__name__], findings


def number_of(text, lines):
    """The number, from 1, of the only line that says this; spaces before and markers after do not count."""
    code = [re.sub(r"\s*# <-.*", "", line).strip() for line in lines]
    numbers = [number for number, line in enumerate(code, start=1) if line == text.strip()]
    assert len(numbers) == 1, f"{text!r} stands in {len(numbers)} lines"
    return numbers[0]


def right(line, becomes, finds):
    """Enter a right loop. `finds` is a rule when the finding names the changed line itself."""

    def enter(train):
        assert train.__name__ not in LOOPS, train.__name__
        at = finds if isinstance(finds, dict) else {finds: becomes}
        LOOPS[train.__name__] = RightLoop(train, line, becomes, at)
        return train

    return enter
