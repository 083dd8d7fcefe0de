"""SIGINT and SIGTERM, handled between two training steps."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn


class Interrupted(Exception):
    """A signal came inside `SignalGuard.interruptible`."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number


class SignalGuard(contextlib.ExitStack):
    """Holds back the first SIGINT or SIGTERM while its `with` block runs.

    The signal only sets `requested`: the run finishes its step, writes a checkpoint
    and then exits. A second Ctrl-C (SIGINT) interrupts at once. SIGTERM is what a
    preempted machine or a cluster's scheduler sends some seconds before it kills.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requested: signal.Signals | None = None
        self._interruptible = False

    def __enter__(self) -> "SignalGuard":
        # Python lets only the main thread handle signals.
        if threading.current_thread() is threading.main_thread():
            self._sigint_handler = signal.getsignal(signal.SIGINT)
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.signal(number, self._request)
                self.callback(signal.signal, number, handler)
        return self

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = signal.Signals(number)
        # Not that of SIGTERM, which is often sent to a process and to its group.
        signal.signal(signal.SIGINT, self._sigint_handler)
        if self._interruptible:
            raise Interrupted(self.requested)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raises `Interrupted` at a signal; for code that changes no state."""
        self._interruptible = True
        try:
            if self.requested is not None:
                raise Interrupted(self.requested)
            yield
        finally:
            self._interruptible = False


def exit_for_signal(
    number: signal.Signals, message: str, log: Callable[[str], None]
) -> NoReturn:
    """Ends the process as a signal asks: with status 0 after SIGTERM."""
    if number == signal.SIGTERM:
        log(message)
        raise SystemExit(0)
    raise KeyboardInterrupt(message)
