"""Ends a call that runs on for too long, without leaving an interrupt behind for anyone else.

A thread interrupts the main thread, whose signal handler raises TookTooLong, but only while the call is still
on the stack. So an interrupt that arrives a moment too late does nothing. An answer that swallows the
exception is interrupted again: at once when it lets go of the exception, and every half second anyway. (One
that collects what it catches, in a loop without end, may go on until the kernel is restarted.) Code inside
torch is not interrupted; it ends at its next Python line. Outside the main thread nothing can be interrupted:
the caller looks at the clock afterwards.

The learner's own interrupt, the stop button, also raises only while the call is on the stack. What stands
beside the call in the `with` block, to set up and to clean up, is never broken off half-way.
"""

import _thread
import contextlib
import signal
import threading
import time
import weakref

REPEAT = 0.5  # seconds between interrupts


class TookTooLong(BaseException):
    """The call ran over its time. No Exception, so that `except Exception` does not swallow it."""


INTERRUPTS = (TookTooLong, KeyboardInterrupt)  # what ends an answer from outside


@contextlib.contextmanager
def limited_to(seconds):
    """A `with` block; gives a function `call`: `call(function)` returns `function()`.

    It raises TookTooLong where the block has lasted `seconds`, KeyboardInterrupt where the learner stops it.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is None:
        yield _inside
        return
    with _Limit(seconds, before):
        yield _inside


def is_inside(frame):
    """Whether a stack frame stands below a limited call."""
    while frame is not None:
        if frame.f_code is _inside.__code__:
            return True
        frame = frame.f_back
    return False


def _inside(function):
    """Marks the stack: the handler raises only below this call."""
    return function()


class _Limit:
    def __init__(self, seconds, before):
        self._seconds = seconds
        self._before = before
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._due = False  # the next interrupt is ours, not the learner's
        self._let_go = None

    def __enter__(self):
        signal.signal(signal.SIGINT, self._handle)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(self, *_):
        self._let_go = None
        with self._lock:  # from here on the thread sends nothing
            self._over.set()
        time.sleep(0)  # the system delivers what was sent
        signal.signal(signal.SIGINT, self._before)  # handles what has arrived with our handler, then swaps

    def _watch(self):
        wait = self._seconds
        while not self._over.wait(wait):
            with self._lock:
                if self._over.is_set():
                    return
                self._due = True
                _interrupt_main_thread()
            wait = REPEAT

    def _handle(self, _, frame):
        if not is_inside(frame):
            return
        if not self._due:
            raise KeyboardInterrupt
        self._due = False
        raise self._new_error()

    def _new_error(self):
        # Not made in _handle: the frame that raises is kept by the traceback, and would keep the exception.
        error = TookTooLong()
        self._let_go = _InterruptAgain(error, _thread.interrupt_main)
        self._let_go.limit = self
        return error


class _InterruptAgain(weakref.ref):
    """Interrupts once more when the exception is thrown away, as in `while True: try: ... except: pass`.

    The interrupt then comes at the first line after the `except`, outside the `try` that swallowed it.
    `interrupt_main` is called with this object for its signal number: a callback written in Python would
    meet the interrupt itself.
    """

    def __index__(self):
        self.limit._due = True
        return int(signal.SIGINT)


def _interrupt_main_thread():
    if hasattr(signal, "pthread_kill"):  # also ends a sleep
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        _thread.interrupt_main()
