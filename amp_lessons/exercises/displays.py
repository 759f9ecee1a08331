"""What an answer asks of the notebook itself while it is checked: to display something, or to end."""

import contextlib
import sys

from amp_lessons.exercises.watch import notebook


@contextlib.contextmanager
def displays_counted(count):
    """Call `count()` for each thing displayed, which is not shown. `exit()` raises SystemExit, as sys.exit().

    Figures that pyplot would show after the cell are closed and counted too.
    """

    def displayed(*_, **__):
        count()

    def exited(*_, **__):
        raise SystemExit

    shell = notebook()
    with contextlib.ExitStack() as stack:
        if shell is not None:
            stack.enter_context(_replaced(shell.display_pub, "publish", displayed))
            stack.enter_context(_replaced(shell.display_pub, "clear_output", lambda *_, **__: None))
            stack.enter_context(_replaced(shell, "ask_exit", exited))
        stack.enter_context(_figures_closed(displayed))
        yield


@contextlib.contextmanager
def _replaced(owner, name, function):
    """`owner.name` is `function`, on this one object; the object itself stays, as its kernel uses it too."""
    own = vars(owner).get(name)  # None: it comes from the class
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own is None:
            vars(owner).pop(name, None)
        else:
            setattr(owner, name, own)


@contextlib.contextmanager
def _figures_closed(displayed):
    before = _figures()
    try:
        yield
    finally:
        for number in _figures() - before:
            displayed()
            sys.modules["matplotlib.pyplot"].close(number)


def _figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()
