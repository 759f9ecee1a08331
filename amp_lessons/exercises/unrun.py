"""Says of an answer's function that calling it ran none of its lines: a generator, or an async function."""

import inspect

from amp_lessons.exercises.exercise import NotYet


def has_run(result, name):
    """What a call of the answer's function `name` returned; NotYet where it is a generator or a coroutine."""
    if inspect.isgenerator(result):
        if result.gi_code.co_name == "<genexpr>":
            raise NotYet(
                f"{name} gave a generator expression, `(… for …)`, which computes nothing until it is asked "
                "for values. Give it to a function that asks, such as sum() or list().",
                "gives-a-generator",
            )
        raise NotYet(
            f"Calling {name} ran none of its lines. It holds a `yield`, which makes it a generator: that "
            "runs only when it is asked for values. Write `return`.",
            "yields",
        )
    if inspect.iscoroutine(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()  # else Python warns that it was never awaited
        raise NotYet(
            f"Calling {name} ran none of its lines. It is an `async` function, which runs only when it is "
            "awaited. Begin it with `def` alone.",
            "async",
        )
    return result
