"""Tags and labels: how often each occurs, and where first."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

Where: TypeAlias = Callable[[int], str]

# A message shows this many names.
_SHOWN = 5
# A file with more rows, whose first name occurs once, may have a header.
FEW_ROWS = 4


class NameCounts:
    """Counts names; iterates over them in the order of their first places.

    With the names of a sentence or a text stands what describes the place of each.
    """

    def __init__(self, rows: Iterable[tuple[Sequence[object], Where]]) -> None:
        self._numbers: Counter[object] = Counter()
        self._first: dict[object, tuple[Where, int]] = {}
        for names, where in rows:
            self._numbers.update(names)
            for place, name in enumerate(names):
                self._first.setdefault(name, (where, place))

    def __iter__(self) -> Iterator[object]:
        return iter(self._first)

    def describe(self, names: Iterable[object]) -> str:
        """Returns how often names occur and where first, for a message."""
        described = []
        for name in names:
            number, (where, place) = self._numbers[name], self._first[name]
            times = f"{number:,} times, first in" if number > 1 else "in"
            described.append(f"{name!r} ({times} {where(place)})")
        rest = len(described) - _SHOWN
        more = f" and {rest:,} more" if rest > 0 else ""
        return ", ".join(described[:_SHOWN]) + more

    def warn_of_spellings(self, what: str, stacklevel: int) -> None:
        """Warns if names differ only by case or by surrounding spaces."""
        spellings: dict[str, list[object]] = {}
        for name in self:
            if isinstance(name, str):
                spellings.setdefault(name.strip().casefold(), []).append(name)
        similar = [x for names in spellings.values() if len(names) > 1 for x in names]
        if similar:
            warnings.warn(
                f"{what} that differ by case or by spaces alone are different ones: "
                f"{self.describe(similar)}",
                stacklevel=stacklevel,
            )


def may_be_header(names: Sequence[str]) -> bool:
    """Whether the first name occurs once, and most names after it more often."""
    first, *rows = names
    return len(rows) >= FEW_ROWS and first not in rows and 2 * len({*rows}) <= len(rows)
