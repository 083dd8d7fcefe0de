"""The tables of docs/results.md and of the models' cards, and the figures."""

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT, markdown_table
from data_sets import DATA_SETS
from experiments import (
    EXPERIMENTS,
    FIRST_SENSE,
    MOST_FREQUENT,
    NUM_LAYERS,
    PAIR_PROBES,
    PARADIGM,
    ROWS,
    SENSE_PROBES,
    TEXTS,
    TITLES,
    UNMET_LEMMAS,
    WORDS,
    Run,
    perplexity_key,
    probe_key,
)
from scores import Scores

PROBES = {
    SENSE_PROBES["voted"]: "SemCor, senses by ten neighbours",
    SENSE_PROBES["nearest_mean"]: "SemCor, senses by the nearest mean",
    PAIR_PROBES["of_word"]: "KoBEST, word in context (Korean)",
    PAIR_PROBES["of_place"]: "KoBEST, the place without the word (Korean)",
}
_KOREAN_PROBES = PAIR_PROBES.values()
_MOST_FREQUENT = "SemCor, the most frequent sense"
# Of a sentence's likelihood.
_DIRECTIONS = ("forward", "backward", "sum")
_BY_PHENOMENON = itemgetter("phenomenon")
_NOT_YET = "Not measured yet."
_OF_BEFORE = "† Measured with an earlier model than the one that is shipped."
_PERPLEXITIES = ROOT / "benchmarks" / "results" / "training_curves.csv"
_HEADS = Path(__file__).with_name("tasks_heads.jsonl")
_HEAD_WORDS = ("static", "elmo", "both")
_HEAD_TITLES = {
    "ewt-upos": "UD EWT, universal parts of speech",
    "ewt-xpos": "UD EWT, parts of speech of the Penn Treebank",
    "gsd-upos": "UD GSD, universal parts of speech (Korean)",
    "gsd-xpos": "UD GSD, parts of speech of Sejong (Korean)",
} | {name: TITLES[name] for name in ("wnut17", "sst2", "sst5", "nsmc")}
_TABLE = re.compile("<!-- table (.+?) -->\n.*?<!-- end -->", flags=re.DOTALL)


def write(path: Path, scores: Scores, seeds: int, words: Sequence[str]) -> None:
    """Fills the tables of a Markdown page between their marks.

    A mark names an experiment, and perhaps a language: `<!-- table main en -->`.
    `words` are what the experiments `main` and `linear` compare.
    """
    found = Found(scores, seeds)

    def filled(mark: re.Match[str]) -> str:
        name, _, language = mark[1].partition(" ")
        table = _table(name, language, found, words)
        return f"<!-- table {mark[1]} -->\n\n{table}\n\n<!-- end -->"

    text = _TABLE.sub(filled, path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


class Found:
    """The scores of all seeds."""

    def __init__(self, scores: Scores, seeds: int) -> None:
        self._scores = scores
        self._seeds = seeds

    def all(self, run: Run, name: str = "score") -> list[Any]:
        """Returns the figures of all seeds.

        None, if one is missing, or is of other vectors or another training.
        """
        keys = [run.key(seed) for seed in range(self._seeds)]
        found = [self._scores[key] for key in keys if key in self._scores]
        conditions = [(each.get("vectors"), each.get("training")) for each in found]
        same = all(each == conditions[0] for each in conditions)
        return (
            [each[name] for each in found] if same and len(found) == len(keys) else []
        )

    def is_of_before(self, run: Run) -> bool:
        """Whether a run's ELMo is not that of parts of speech below linear heads.

        Those are the quickest to measure, so a new model has them first. Static vectors
        are not compared: another processor gives others from the same text.
        """
        return self._are_of_before(self.models(run), DATA_SETS[run.task].language)

    def _are_of_before(self, models: set[str], language: str) -> bool:
        tags = "gsd" if language == "ko" else "ewt"
        linear = EXPERIMENTS["linear"](("elmo",)).rows[TITLES[tags]]
        today = set().union(*map(self.models, linear))
        return bool(today) and not models <= today

    def models(self, run: Run) -> set[str]:
        """Returns the digests of the ELMo models among a run's vectors."""
        vectors = self._scores.get(run.key(0), {}).get("vectors")
        if not vectors:
            return set()
        kinds = zip(run.words.split("+"), vectors.split("+"), strict=True)
        return {digest for name, digest in kinds if name.startswith("elmo")}

    def of_language(self, key: str, language: str) -> list[tuple[dict[str, Any], str]]:
        """Returns what begins with a key, each with a mark if it is of before."""
        found = [each for name, each in self._scores.items() if name.startswith(key)]
        marks = [self._are_of_before({each["vectors"]}, language) for each in found]
        return [(each, " †" * mark) for each, mark in zip(found, marks, strict=True)]

    def layers(self, probe: str, encoder: str) -> list[list[float]]:
        """Returns the score of each layer, in a list."""
        found = (self.one(probe_key(probe, encoder, k)) for k in count())
        return list(takewhile(bool, found))

    def one(self, key: str) -> list[float]:
        """Returns a score in a list, an empty one if it is missing."""
        return [self._scores[key]["score"]] if key in self._scores else []


def _table(name: str, language: str, found: Found, words: Sequence[str]) -> str:
    """A table; of one language's tasks, if one is named."""
    if name in _OF_LANGUAGE:
        header, rows = _OF_LANGUAGE[name](found, language)
        return _shown(header, rows)
    experiment = EXPERIMENTS[name](words)
    header = ["Task", *experiment.columns]
    compared = {
        title: runs
        for title, runs in experiment.rows.items()
        if not language or DATA_SETS[runs[0].task].language == language
    }
    rows = [
        [title, *(_cell_of(run, found) for run in runs)]
        for title, runs in compared.items()
    ]
    if name == "layers":
        # No probe is of the mix, the last column.
        rows += [[*row, ""] for row in _probe_rows(found, language)]
    if not any(any(row[1:]) for row in rows):
        return _NOT_YET
    if experiment.counts_errors:
        for name in ("elmo", "static+elmo"):
            header.append(f"Errors fewer than static, {WORDS[name]}")
            for row, runs in zip(rows, compared.values(), strict=True):
                row.append(_fewer_errors(found, runs[0], name))
    return _shown(header, rows)


def _shown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return _NOT_YET
    table = markdown_table(header, rows)
    return f"{table}\n\n{_OF_BEFORE}" if "†" in table else table


def _perplexities(found: Found, language: str) -> tuple[list[str], list[list[str]]]:
    rows = []
    for each in (language,) if language else TEXTS:
        for text in TEXTS[each]:
            kept = [found.of_language(perplexity_key(text, k), each) for k in ROWS]
            shown = ["".join(f"{k['score']:.1f}{m}" for k, m in one) for one in kept]
            rows += [[f"{text}/dev", *shown]] * any(shown)
    header = ["Development text", "Rows of up to 64 words", "Paragraphs of up to 256"]
    return header, rows


def _blimp(found: Found, language: str) -> tuple[list[str], list[list[str]]]:
    """One row per phenomenon, then the mean over all paradigms."""
    header = ["Phenomenon", "paradigms", *_DIRECTIONS]
    header += ["pairs with known words", *_DIRECTIONS]
    paradigms = found.of_language(PARADIGM, "en")
    mark = max((mark for _, mark in paradigms), default="")
    kept = sorted((each for each, _ in paradigms), key=_BY_PHENOMENON)
    rows = [
        _phenomenon_row(name.replace("_", " "), list(group))
        for name, group in groupby(kept, _BY_PHENOMENON)
    ]
    return header, [*rows, _phenomenon_row(f"all{mark}", kept)] if kept else []


def _phenomenon_row(name: str, paradigms: Sequence[dict[str, Any]]) -> list[str]:
    cells = [name, str(len(paradigms))]
    for kind in ("all", "known"):
        figures = np.array([each[kind] for each in paradigms if kind in each])
        counts = figures[:, 0] if len(figures) else np.zeros(0)
        means = [f"{counts @ of / counts.sum():.1f}" for of in figures.T[1:]]
        cells += [f"{counts.sum():,.0f}"] if kind == "known" else []
        cells += means or [""] * len(_DIRECTIONS)
    return cells


def _heads(found: Found, language: str) -> tuple[list[str], list[list[str]]]:
    """`Tagger` and `TextClassifier`, a row for each data set and head."""
    rows: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for line in _HEADS.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        head = "biLSTM, CRF" if run["head"] == "crf" else "biLSTM, softmax"
        if run["epochs"] is None and run["train"] is None:
            kept = rows.setdefault((_HEAD_TITLES[run["data_set"]], head), {})
            kept.setdefault(run["vectors"], []).append(run)
    order = list(_HEAD_TITLES.values())
    header = ["Task", "Head", "Static", "ELMo", "[static; ELMo]", "Seconds", "MB"]
    return header, [
        [*names, *(_head_cell(kept.get(words, [])) for words in _HEAD_WORDS), *cost]
        for names, kept in sorted(
            rows.items(), key=lambda row: (order.index(row[0][0]), row[0][1])
        )
        for cost in [_head_cost(kept.get("both", []))]
    ]


def _head_cell(runs: Sequence[dict[str, Any]]) -> str:
    scores = [run["scores"] for run in runs]
    return _cell([100 * each.get("f1", each["accuracy"]) for each in scores])


def _head_cost(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Seconds of training, and megabytes of the file."""
    if not runs:
        return ["", ""]
    seconds = statistics.median(run["seconds"]["training"] for run in runs)
    return [f"{seconds:,.0f}", f"{runs[0]['bytes'] / 1e6:,.0f}"]


# Tables that have one row for each model or head.
_OF_LANGUAGE = {"perplexity": _perplexities, "blimp": _blimp, "heads": _heads}


def _cell(scores: Sequence[float]) -> str:
    if not scores:
        return ""
    mean = f"{statistics.mean(scores):.2f}"
    return mean if len(scores) == 1 else f"{mean} ± {statistics.stdev(scores):.2f}"


def _cell_of(run: Run, found: Found) -> str:
    cell = _cell(found.all(run))
    return f"{cell} †" if cell and found.is_of_before(run) else cell


def _fewer_errors(found: Found, run: Run, words: str) -> str:
    """How many percent of the errors of static vectors `words` do not make."""
    static, other = (found.all(replace(run, words=each)) for each in ("static", words))
    if not static or not other:
        return ""
    before, after = (100 - statistics.mean(scores) for scores in (static, other))
    return f"{round(100 * (before - after) / before)} %"


def _probe_rows(found: Found, language: str) -> list[list[str]]:
    """The paper's table 5, and that of Korean."""
    rows = [
        [f"{title}, {WORDS[encoder]}", *map(_cell, scores)]
        for probe, title in PROBES.items()
        if language in ("", "ko" if probe in _KOREAN_PROBES else "en")
        for encoder in ("elmo", "random")
        if (scores := found.layers(probe, encoder))
    ]
    if language == "ko":
        return rows
    for score in found.one(MOST_FREQUENT):
        rows.append([_MOST_FREQUENT, *[f"{score:.2f}"] * NUM_LAYERS])
    for points in found.one(UNMET_LEMMAS):
        # They are the same whatever finds the other senses.
        rows += [
            [f"{title}; of unmet lemmas the first", *(_added(c, points) for c in cells)]
            for title, *cells in rows
            if PROBES[SENSE_PROBES["voted"]] in title or title == _MOST_FREQUENT
        ]
    for score in found.one(FIRST_SENSE):
        rows.append(["SemCor, WordNet's first sense", *[f"{score:.2f}"] * NUM_LAYERS])
    return rows


def _added(cell: str, points: float) -> str:
    return f"{float(cell) + points:.2f}"


def draw(folder: Path, scores: Scores, seeds: int) -> None:
    """Draws the figures of what was measured into a folder."""
    import figures

    from keras_elmo import plots

    found = Found(scores, seeds)
    folder.mkdir(exist_ok=True)
    figures.draw_perplexities(_PERPLEXITIES, folder)
    mixes = {
        title: [mix for (mix,) in found.all(Run(task, "elmo"), "mixes")]
        for task, title in TITLES.items()
    }
    if mixes := {task: seeds for task, seeds in mixes.items() if seeds}:
        plots.plot_mix_weights(mixes, folder / "mix-weights.png")

    layers = {
        title: [found.all(run) for run in runs[:NUM_LAYERS]]
        for title, runs in EXPERIMENTS["layers"]([]).rows.items()
    }
    layers |= {title: found.layers(probe, "elmo") for probe, title in PROBES.items()}
    if layers := {name: each for name, each in layers.items() if each and all(each)}:
        titles = [PROBES[probe] for probe in SENSE_PROBES.values()]
        baselines = {t: score for t in titles for score in found.one(MOST_FREQUENT)}
        figures.draw_layers(layers, folder / "layers.png", baselines)
