"""Tags and labels: how often each comes, and where first."""

import warnings
from collections.abc import Callable, Container, Iterable, Iterator

# Of many names, those that a message shows.
_SHOWN = 5


class NameCounts:
    """Counts names; an iteration yields each once, in the order of their places."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._first: dict[object, tuple[Callable[[int], str], int]] = {}

    def add(self, name: object, where: Callable[[int], str], place: int) -> None:
        """Counts a name; `where` names its place, should a message need it."""
        self._numbers[name] = self._numbers.get(name, 0) + 1
        self._first.setdefault(name, (where, place))

    def __iter__(self) -> Iterator[object]:
        return iter(self._numbers)

    def unknown(self, known: Container[object]) -> list[object]:
        """Returns the names that are not among those known."""
        return [name for name in self if name not in known]

    def told(self, names: Iterable[object]) -> str:
        """Returns what a message tells of some of the names."""
        told = []
        for name in names:
            number, (where, place) = self._numbers[name], self._first[name]
            times = f"{number:,} times, first in" if number > 1 else "in"
            told.append(f"{name!r} ({times} {where(place)})")
        more = f" and {len(told) - _SHOWN:,} more" if len(told) > _SHOWN else ""
        return ", ".join(told[:_SHOWN]) + more

    def warn_of_spellings(self, what: str, stacklevel: int) -> None:
        """Warns of names that differ by case or by spaces around them alone."""
        spellings: dict[str, list[object]] = {}
        for name in self:
            if isinstance(name, str):
                spellings.setdefault(name.strip().casefold(), []).append(name)
        similar = [x for names in spellings.values() if len(names) > 1 for x in names]
        if similar:
            warnings.warn(
                f"{what} that differ by case or by spaces alone are different ones: "
                f"{self.told(similar)}",
                stacklevel=stacklevel,
            )
