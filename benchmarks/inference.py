"""How fast are vectors, next to simple_elmo? Words/s and memory, outputs compared.

Both systems read the same published-size weights, random ones, from the same files, and
embed the same real sentences in their natural order, each in a process of its own, in
turn. The first batch is compared before anything is timed.

    python benchmarks/inference.py --peer peer/bin/python --out inference.json

`embedder_simple_elmo.py` says how to make the peer's environment.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from markdown_table import markdown_table, megabytes, spread

OPTIONS = ("preset", "repeats")

_HERE = Path(__file__).parent
# Sentences of a repetition, by batch size: some seconds each.
_SENTENCES = {1: 20, 32: 160, 128: 256}
_SENTENCE_END = re.compile(r"(?<= [.!?]) ")
_TOLERANCE = 1e-5


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    sentences = read_sentences(common.corpus(options))
    with tempfile.TemporaryDirectory() as scratch:
        model, text = Path(scratch) / "model", Path(scratch) / "sentences.json"
        common.call_in_process(
            "random_model", "write_random_model", options.preset, model
        )
        text.write_text(json.dumps(sentences), encoding="utf-8")
        rows = [
            _measure(batch_size, model, text, options)
            for batch_size in options.batch_sizes
        ]
    result = {
        "benchmark": "inference",
        **common.settings(options, OPTIONS),
        "batch_sizes": options.batch_sizes,
        "rows": rows,
    }
    common.publish(result, table, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__, corpus="wikitext2/valid.txt.xz")
    parser.add_argument(
        "--peer",
        metavar="PYTHON",
        help="the interpreter that has simple_elmo; keras_elmo alone if not given",
    )
    parser.add_argument("--preset", default="original", help="(original)")
    parser.add_argument(
        "--batch-sizes",
        type=int,
        nargs="+",
        default=list(_SENTENCES),
        choices=list(_SENTENCES),
        metavar="N",
    )
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="(5)")
    return parser


def read_sentences(path: Path) -> list[list[str]]:
    """Returns the sentences of tokenised paragraphs, titles left out."""
    from keras_elmo.text.lines import read_lines

    lines = (line for line in read_lines([str(path)]) if not line.startswith(" ="))
    sentences = (part for line in lines for part in _SENTENCE_END.split(line))
    return [words for words in map(str.split, sentences) if words]


def _measure(
    batch_size: int, model: Path, text: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Times every system on the same sentences, in turn."""
    children = {
        "keras_elmo": _Child(sys.executable, "keras_elmo", model, batch_size),
        "keras_elmo, bfloat16": _Child(
            sys.executable, "keras_elmo", model, batch_size, "bfloat16"
        ),
    }
    if options.peer:
        children["simple_elmo"] = _Child(options.peer, "simple_elmo", model, batch_size)
    try:
        first = {
            name: child.embed(text, batch_size, compare=True)
            for name, child in children.items()
        }
        agreements = {
            name: agreement(first["keras_elmo"]["vectors"], answer["vectors"])
            for name, answer in first.items()
        }
        peer = agreements.get("simple_elmo")
        if peer and peer["greatest_difference"] > _TOLERANCE:
            raise RuntimeError(f"simple_elmo computes something else: {peer}")
        answers: dict[str, list[dict[str, Any]]] = {name: [] for name in children}
        for repeat in range(-1, options.repeats):
            for name, child in children.items():
                answer = child.embed(text, _SENTENCES[batch_size])
                speed = answer["words"] / answer["seconds"]
                print(
                    f"batches of {batch_size}, {name}: {speed:,.0f} words/s",
                    file=sys.stderr,
                    flush=True,
                )
                # The first round is for the graphs to be made.
                if repeat >= 0:
                    answers[name].append(answer)
    finally:
        for child in children.values():
            child.stop()
    return {
        "batch_size": batch_size,
        "sentences": _SENTENCES[batch_size],
        "systems": {
            name: _summary(measured, agreements[name])
            for name, measured in answers.items()
        },
    }


def _summary(
    answers: Sequence[dict[str, Any]], agreement: dict[str, float]
) -> dict[str, Any]:
    speeds = [answer["words"] / answer["seconds"] for answer in answers]
    return {
        "median": statistics.median(speeds),
        "words_per_second": speeds,
        "words": answers[0]["words"],
        "peak_bytes": answers[-1]["peak_bytes"],
        **agreement,
    }


def agreement(
    ours: Sequence[np.ndarray], others: Sequence[np.ndarray]
) -> dict[str, float]:
    """How far two systems' vectors of the same words are apart."""
    difference = max(
        float(np.abs(one - other).max())
        for one, other in zip(ours, others, strict=True)
    )
    cosine = min(
        float(_cosines(one, other).min())
        for one, other in zip(ours, others, strict=True)
    )
    return {"greatest_difference": difference, "least_cosine": cosine}


def _cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    one, other = one.astype("float64"), other.astype("float64")
    norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return (one * other).sum(axis=-1) / norms


class _Child:
    """A process that embeds."""

    def __init__(
        self,
        python: str,
        system: str,
        model: Path,
        batch_size: int,
        dtype: str = "float32",
    ) -> None:
        command = [python, str(_HERE / f"embedder_{system}.py")]
        command += ["--model", str(model), "--batch-size", str(batch_size)]
        self._process = subprocess.Popen(
            [*command, "--dtype", dtype],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._system = system
        self._answer()

    def embed(self, text: Path, count: int, compare: bool = False) -> dict[str, Any]:
        """Has the first sentences embedded; their vectors are given for comparison."""
        out = text.with_name("vectors.npz")
        request = {"sentences": str(text), "count": count}
        request["out"] = str(out) if compare else None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._answer()
        if compare:
            with np.load(out) as vectors:
                answer["vectors"] = [vectors[f"arr_{k}"] for k in range(count)]
        return answer

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError(f"{self._system} ended, status {self._process.wait()}")
        return json.loads(line)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def table(results: Sequence[common.Result]) -> str:
    """Returns the figures, a row a batch size and a system."""
    header = [
        "Preset",
        "Sentences a batch",
        "System",
        "Words/s, median",
        "least to most",
        "of simple_elmo's",
        "Peak memory, MB",
        "Greatest difference",
        "Least cosine",
    ]
    rows = (
        _table_row(result, row, system)
        for result in results
        for row in result["rows"]
        for system in row["systems"]
    )
    return markdown_table(header, rows)


def _table_row(result: common.Result, row: dict[str, Any], system: str) -> list[str]:
    figures = row["systems"][system]
    peer = row["systems"].get("simple_elmo")
    return [
        result["preset"],
        str(row["batch_size"]),
        system,
        *spread(figures["words_per_second"]),
        f"{figures['median'] / peer['median']:.2f}" if peer else "",
        megabytes(figures["peak_bytes"]),
        f"{figures['greatest_difference']:.1e}",
        f"{figures['least_cosine']:.5f}",
    ]


if __name__ == "__main__":
    main()
