"""Ctrl-C, or a machine that is taken away, between two steps instead of within one."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class SignalGuard:
    """While its `with` block runs, a first SIGINT or SIGTERM only sets `requested`.

    The step under way is finished, and the run can write a checkpoint of a consistent
    state before it ends. A second Ctrl-C interrupts at once.

    SIGINT is Ctrl-C. SIGTERM is what a preempted machine, a container or a cluster's
    scheduler sends some seconds before it kills the process.

    Attributes:
        requested: the signal, or `None`.
    """

    def __init__(self) -> None:
        self.requested: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._interruptible = False

    def __enter__(self) -> "SignalGuard":
        # Python lets only the main thread handle signals.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._request)
        return self

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = signal.Signals(number)
        # Not that of SIGTERM, which is often sent to a process and to its group.
        signal.signal(signal.SIGINT, self._before[signal.SIGINT])
        if self._interruptible:
            raise Interrupted(self.requested)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within, a signal raises `Interrupted`: what runs there changes nothing."""
        self._interruptible = True
        try:
            if self.requested is not None:
                raise Interrupted(self.requested)
            yield
        finally:
            self._interruptible = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class Interrupted(Exception):
    """A signal came where nothing needs to be finished."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number


def exit_for_signal(
    number: signal.Signals, message: str, log: Callable[[str], None]
) -> NoReturn:
    """Ends the process as a signal asks.

    Raises:
        SystemExit: of status 0, after SIGTERM: the process did what was asked of it.
        KeyboardInterrupt: with the message, after SIGINT.
    """
    if number == signal.SIGTERM:
        log(message)
        raise SystemExit(0)
    raise KeyboardInterrupt(message)
