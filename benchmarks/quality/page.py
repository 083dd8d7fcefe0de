"""The tables of docs/results.md and of the models' cards, from the file of scores."""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import probes
import tasks
from common import markdown_table
from language_models import PARADIGM, ROWS, TEXTS, perplexity_key
from scores import Scores
from task_data import DATA_SETS

# A header and rows. Without a language all languages are shown.
Table = tuple[list[str], list[list[str]]]

# What is compared with static vectors.
_COMPARED = {"elmo": "ELMo", "both": "[static; ELMo]"}
# The log-likelihoods of a sentence.
_DIRECTIONS = ("forward", "backward", "sum")
_BY_PHENOMENON = itemgetter("phenomenon")
_NOT_YET = "Not measured yet."
_TABLE = re.compile("<!-- table (.+?) -->\n.*?<!-- end -->", flags=re.DOTALL)


def write(path: Path, scores: Scores) -> None:
    """Fills the tables of a Markdown page between their marks.

    A mark names a table, and perhaps a language: `<!-- table tasks en -->`.
    """

    def filled(mark: re.Match[str]) -> str:
        name, _, language = mark[1].partition(" ")
        text = table(name, language, scores)
        return f"<!-- table {mark[1]} -->\n\n{text}\n\n<!-- end -->"

    text = _TABLE.sub(filled, path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


def table(name: str, language: str, scores: Scores) -> str:
    """Returns a table as Markdown, without scores of former models."""
    header, rows = _TABLES[name](scores, language)
    return markdown_table(header, rows) if rows else _NOT_YET


def _languages(language: str) -> Sequence[str]:
    return (language,) if language else tuple(TEXTS)


def _current(
    scores: Scores, language: str, keys: Iterable[str]
) -> list[dict[str, Any]]:
    """Returns those scores under `keys` that belong to the newest model.

    Its perplexity is measured first.
    """
    newest = scores.get(perplexity_key(TEXTS[language][0], "rows"), {}).get("vectors")
    present = [scores[key] for key in keys if key in scores]
    return [
        score
        for score in present
        if newest is None or newest in score["vectors"].split("+")
    ]


def _perplexities(scores: Scores, language: str) -> Table:
    rows = []
    for name in _languages(language):
        for text in TEXTS[name]:
            keys = [perplexity_key(text, length) for length in ROWS]
            kept = [_current(scores, name, [key]) for key in keys]
            cells = ["".join(f"{k['score']:.1f}" for k in one) for one in kept]
            rows += [[f"{text}/dev", *cells]] * any(cells)
    header = ["Development text", "Rows of up to 64 words", "Paragraphs of up to 256"]
    return header, rows


def _blimp(scores: Scores, language: str) -> Table:
    """One row per phenomenon, then the mean over all paradigms."""
    header = ["Phenomenon", "paradigms", *_DIRECTIONS]
    header += ["pairs with known words", *_DIRECTIONS]
    keys = [key for key in scores if key.startswith(PARADIGM)]
    kept = sorted(_current(scores, "en", keys), key=_BY_PHENOMENON)
    rows = [
        _phenomenon_row(name.replace("_", " "), list(group))
        for name, group in groupby(kept, _BY_PHENOMENON)
    ]
    return header, [*rows, _phenomenon_row("all", kept)] if kept else []


def _phenomenon_row(name: str, paradigms: Sequence[dict[str, Any]]) -> list[str]:
    cells = [name, str(len(paradigms))]
    for kind in ("all", "known"):
        figures = np.array([score[kind] for score in paradigms if kind in score])
        counts = figures[:, 0] if len(figures) else np.zeros(0)
        means = [f"{counts @ right / counts.sum():.1f}" for right in figures.T[1:]]
        cells += [f"{counts.sum():,.0f}"] if kind == "known" else []
        cells += means or [""] * len(_DIRECTIONS)
    return cells


def _tasks(scores: Scores, language: str) -> Table:
    """One row per data set, below the head of `Tagger` or `TextClassifier`."""
    rows = []
    for name, data_set in DATA_SETS.items():
        kept = {
            vectors: _seeds(scores, data_set.language, name, vectors)
            for vectors in tasks.VECTORS
        }
        if data_set.language in _languages(language) and any(kept.values()):
            values = {v: [run["score"] for run in kept[v]] for v in kept}
            cells = [_cell(values[v]) for v in kept]
            fewer = [_fewer_errors(values["static"], values[v]) for v in _COMPARED]
            rows.append([data_set.title, *cells, *fewer, *_cost(kept["both"])])
    fewer = [f"Errors fewer than static, {title}" for title in _COMPARED.values()]
    header = ["Task", "Static", *_COMPARED.values(), *fewer, "Seconds", "MB"]
    return header, rows


def _seeds(
    scores: Scores, language: str, name: str, vectors: str
) -> list[dict[str, Any]]:
    """Returns the scores of all seeds that have the vectors of the first one."""
    keys = []
    while (key := tasks.key(name, vectors, seed=len(keys))) in scores:
        keys.append(key)
    if vectors == "static":
        kept = [scores[key] for key in keys]
    else:
        kept = _current(scores, language, keys)
    return [run for run in kept if run["vectors"] == kept[0]["vectors"]]


def _fewer_errors(static: Sequence[float], other: Sequence[float]) -> str:
    """Returns by how much the mean error is smaller."""
    if not static or not other:
        return ""
    error, smaller = (100 - statistics.mean(values) for values in (static, other))
    return f"{1 - smaller / error:.0%}".replace("%", " %")


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def _cost(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Returns two cells: seconds of training, and megabytes of the file."""
    if not runs:
        return ["", ""]
    seconds = statistics.median(run["seconds"] for run in runs)
    return [f"{seconds:,.0f}", f"{runs[0]['bytes'] / 1e6:,.0f}"]


def _layers(scores: Scores, language: str) -> Table:
    """Senses by layer, the paper's table 5, and the same for Korean."""
    rows = []
    for name in _languages(language):
        for probe, title in probes.TITLES[name].items():
            for vectors, called in probes.VECTORS.items():
                keys = [probes.key(probe, vectors, k) for k in range(probes.NUM_LAYERS)]
                kept = [scores[key] for key in keys if key in scores]
                if vectors == "elmo":
                    kept = _current(scores, name, keys)
                cells = [f"{score['score']:.2f}" for score in kept]
                rows += [[f"{title}, {called}", *cells]] * bool(cells)
        if name == "en" and probes.MOST_FREQUENT in scores:
            cell = f"{scores[probes.MOST_FREQUENT]['score']:.2f}"
            title = "SemCor, the most frequent sense"
            rows.append([title, *[cell] * probes.NUM_LAYERS])
    return ["Task", *(f"Layer {k}" for k in range(probes.NUM_LAYERS))], rows


_TABLES: dict[str, Callable[[Scores, str], Table]] = {
    "perplexity": _perplexities,
    "blimp": _blimp,
    "tasks": _tasks,
    "layers": _layers,
}
