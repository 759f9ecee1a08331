"""What a learner's notebook holds for one exercise."""

from amp_lessons.exercises.exercise import NotYet
from amp_lessons.exercises.shown import kind_and_value
from amp_lessons.exercises.stub import is_left_open


class ToDo(NotYet):
    """Part of the answer is not written yet. `name` says which."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name


class Answer:
    """The learner's objects of one exercise, as attributes: `answer.becomes_zero(0.5)`.

    Asking for one that is missing or left at `...` raises ToDo, for one that should be callable and is not
    NotYet, for a name that the stub does not define AttributeError.
    """

    def __init__(self, exercise, namespace):
        self._exercise = exercise
        self._namespace = namespace

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._exercise.names:
            raise AttributeError(f"The stub of {self._exercise.id!r} defines no {name!r}.")
        if name not in self._namespace:
            raise ToDo(name, f"`{name}` is still to do: the notebook has no `{name}` yet.")
        value = self._namespace[name]
        if is_left_open(value):
            raise ToDo(name, f"`{name}` is still to do: it is `...`.")
        if self._exercise.parsed_stub.is_callable(name) and not callable(value):
            raise NotYet(f"`{name}` should be a function or a class; it now is {kind_and_value(value)}.")
        return value


def names_left(exercise, namespace):
    """The names to fill that the learner has not touched: missing, `...`, or still the stub."""
    stub = exercise.parsed_stub
    return {
        name for name in stub.to_fill if name not in namespace or stub.is_untouched(name, namespace[name])
    }
