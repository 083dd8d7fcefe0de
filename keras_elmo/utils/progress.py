"""Shows progress: a bar on a terminal, elsewhere a line every ten seconds."""

import sys
from collections import deque
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from keras_elmo.utils.checks import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# When the command began, as `monotonic` tells; `None` outside commands.
BEGAN: ContextVar[float | None] = ContextVar("BEGAN", default=None)

# Seconds between two updates of the bar, and between two plain lines.
_REDRAW = 0.1
_PLAIN_LINE = 10.0
# The speed is an average over the last seconds.
_SPEED_OVER = 30.0


class Progress:
    """Shows the progress of a task while its `with` block runs.

    The task goes from the position `start` to `total`.
    """

    def __init__(
        self,
        label: str,
        total: float | None = None,
        start: float = 0,
        visible: bool = True,
    ) -> None:
        self._label = label
        self._total = total
        self._visible = visible
        self._start = self._position = start
        self._count = 0.0
        self._metrics: dict[str, float] = {}
        self._bar: Bar | None = None

    def __enter__(self) -> "Progress":
        # A command may have replaced the stream since the import.
        self._out = stream = sys.stderr
        self._began = self._shown = monotonic()
        self._samples = deque([(self._began, 0.0)])
        if self._visible and stream.isatty():
            self._bar = _bar(stream)
            self._task = self._bar.add_task(self._label, total=self._total, text="")
            self._bar.start()
        return self

    def update(
        self, advance: float, position: float | None = None, **metrics: float
    ) -> None:
        """Advances the task by a number of words, and shows it from time to time.

        `position` is necessary if `total` does not count words. A resumed task begins
        with an advance of 0. Metrics, such as `loss=4.2`, are shown until they change.
        """
        now = monotonic()
        if not (advance or self._count):
            # A resumed task: speed and time left count from here.
            self._start = self._position if position is None else position
            self._began = now
            self._samples = deque([(now, 0.0)])
        self._count += advance
        self._position = self._position + advance if position is None else position
        self._metrics.update(metrics)
        if now - self._samples[-1][0] >= 1:
            self._samples.append((now, self._count))
            while len(self._samples) > 2 and now - self._samples[1][0] > _SPEED_OVER:
                self._samples.popleft()
        if now - self._shown >= (_PLAIN_LINE if self._bar is None else _REDRAW):
            self._shown = now
            self._show(now)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        now = monotonic()
        if self._bar is not None:
            self._show(now)
            self._bar.stop()
        elif kind is None:
            self._print(self._facts(now, finished=True))

    def _show(self, now: float) -> None:
        facts = self._facts(now)
        if self._bar is None:
            self._print(facts)
        else:
            # The bar shows the percentage, the first fact, itself.
            text = ", ".join(facts if self._total is None else facts[1:])
            self._bar.update(self._task, completed=self._position, text=text)
            self._bar.refresh()

    def _print(self, facts: list[str]) -> None:
        if self._visible:
            print(f"{self._label}: {', '.join(facts)}", file=self._out, flush=True)

    def _facts(self, now: float, finished: bool = False) -> list[str]:
        elapsed = now - self._began
        facts = []
        if self._total is not None:
            share = self._position / self._total if self._total else 1.0
            facts.append(f"{100 * min(share, 1.0):.0f} %")
        then, count = (self._began, 0.0) if finished else self._samples[0]
        if speed := (self._count - count) / max(now - then, 1e-9):
            digits = ",.0f" if speed >= 1 else ".1g"
            facts.append(f"{speed:{digits}} words/s")
        words = counted(round(self._count), "word")
        if finished:
            facts.append(f"{words} in {_time(elapsed)}")
        elif self._total is not None and self._position > self._start:
            left = max(self._total - self._position, 0)
            seconds = elapsed * left / (self._position - self._start)
            facts.append(f"{_time(seconds)} left")
        if not (finished or self._metrics):
            facts.append(words)
        # Last, because a narrow terminal cuts off the end.
        facts += [f"{name} {_number(value)}" for name, value in self._metrics.items()]
        return facts


def _bar(stream: TextIO) -> "Bar":
    from rich import progress
    from rich.console import Console
    from rich.table import Column

    text_column = Column(no_wrap=True, overflow="ellipsis")
    return progress.Progress(
        progress.TextColumn(
            "{task.description}", markup=False, table_column=Column(min_width=13)
        ),
        progress.BarColumn(bar_width=12, table_column=Column(min_width=6)),
        progress.TaskProgressColumn(table_column=Column(min_width=4)),
        progress.TextColumn(
            "{task.fields[text]}", markup=False, table_column=text_column
        ),
        console=Console(file=stream, force_terminal=True, force_jupyter=False),
        # `update` draws it: a thread could outlive an interrupted task.
        auto_refresh=False,
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _time(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
