"""What the tables of the benchmarks have in common."""

import statistics
from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(speeds: Sequence[float]) -> list[str]:
    """Returns two cells: the median, and the least to the most."""
    least, most = min(speeds), max(speeds)
    return [f"{statistics.median(speeds):,.0f}", f"{least:,.0f} to {most:,.0f}"]


def megabytes(count: float) -> str:
    """Returns a number of bytes as a cell."""
    return f"{count / 1e6:,.0f}"
