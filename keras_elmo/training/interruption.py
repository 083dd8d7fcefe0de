"""Ctrl-C between two steps instead of within one."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """While its `with` block runs, a first Ctrl-C only sets `requested`.

    The step under way is finished, and the run can write a checkpoint of a consistent
    state. A second Ctrl-C interrupts at once.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> "Interruption":
        # Python lets only the main thread handle signals.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._request)
        return self

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, self._before)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
