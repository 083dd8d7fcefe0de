"""How fast are vectors, next to simple_elmo? Words/s and memory, outputs compared.

Both systems read the same published-size weights, random ones, from the same files, and
embed the same real sentences in their natural order, each in a process of its own, in
turn. The first batch is compared before anything is timed.

    python benchmarks/inference.py --peer peer/bin/python --out inference.json

`embedder.py` says how to make the peer's environment.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import markdown_table, megabytes, spread

# Sentences of a repetition, by batch size: some seconds each.
_SENTENCES = {1: 20, 32: 160, 128: 256}
_SENTENCE_END = re.compile(r"(?<= [.!?]) ")
_TOLERANCE = 1e-5
# The ONNX files of the model.
_ONNX = ("float32", "int8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        peer=(None, "that has simple_elmo; keras_elmo alone", {"metavar": "PYTHON"}),
        preset="original",
        batch_sizes=(list(_SENTENCES), "", {"choices": list(_SENTENCES)}),
        systems=(None, "of ours; all if not given", {"nargs": "+"}),
        repeats=5,
    )
    sentences = read_sentences(options.corpus)
    with tempfile.TemporaryDirectory() as scratch:
        model, text = Path(scratch) / "model", Path(scratch) / "sentences.json"
        common.call_in_process(
            "random_model", "write_random_model", options.preset, model
        )
        files = [model.with_suffix(f".{kind}.onnx") for kind in _ONNX]
        common.call_in_process("random_model", "export_onnx", model, *files)
        text.write_text(json.dumps(sentences), encoding="utf-8")
        rows = [
            _measure(batch_size, model, text, options)
            for batch_size in options.batch_sizes
        ]
    common.publish(options, table, rows=rows)


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
    ours = (sys.executable, "keras_elmo", "float32")
    exact, rounded = (model.with_suffix(f".{kind}.onnx") for kind in _ONNX)
    systems: dict[str, tuple[Any, ...]] = {
        "keras_elmo": (*ours, model),
        "keras_elmo, bfloat16": (sys.executable, "keras_elmo", "bfloat16", model),
        "keras_elmo, ONNX": (*ours, exact),
        "keras_elmo, ONNX int8": (*ours, rounded),
    }
    if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0":
        # The commands turn it on, and so can a program: docs/models.md.
        systems["keras_elmo, oneDNN"] = (*ours, model, {"TF_ENABLE_ONEDNN_OPTS": "1"})
    if options.systems:
        systems = {name: systems[name] for name in options.systems}
    if options.peer:
        systems["simple_elmo"] = (options.peer, "simple_elmo", "float32", model)
    with contextlib.ExitStack() as stack:
        children = {
            name: stack.enter_context(Child(batch_size, *system))
            for name, system in systems.items()
        }
        first = {
            name: child.embed(text, batch_size, compare=True)
            for name, child in children.items()
        }
        reference = first[next(iter(first))]["vectors"]
        agreements = {
            name: agreement(reference, answer["vectors"])
            for name, answer in first.items()
        }
        peer = agreements.get("simple_elmo")
        if peer and peer["greatest_difference"] > _TOLERANCE:
            raise RuntimeError(f"simple_elmo computes something else: {peer}")
        answers: dict[str, dict[str, Any]] = {}

        def speed(name: str) -> float:
            answers[name] = children[name].embed(text, _SENTENCES[batch_size])
            return answers[name]["words"] / answers[name]["seconds"]

        speeds = common.in_turn(
            {name: partial(speed, name) for name in children},
            options.repeats,
            f"words/s, batches of {batch_size}, ",
        )
    return {
        "batch_size": batch_size,
        "sentences": _SENTENCES[batch_size],
        "systems": {
            name: {
                "median": statistics.median(speeds[name]),
                "words_per_second": speeds[name],
                "words": answers[name]["words"],
                "peak_bytes": answers[name]["peak_bytes"],
                **agreements[name],
            }
            for name in children
        },
    }


def agreement(
    ours: Sequence[np.ndarray], others: Sequence[np.ndarray]
) -> dict[str, float]:
    """How far two systems' vectors of the same words are apart."""
    if len(ours) != len(others):
        raise ValueError(f"{len(others)} sentences instead of {len(ours)}")
    one, other = (np.concatenate(rows).astype("float64") for rows in (ours, others))
    norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return {
        "greatest_difference": float(np.abs(one - other).max()),
        "least_cosine": float(((one * other).sum(axis=-1) / norms).min()),
    }


class Child:
    """A process that embeds."""

    def __init__(
        self,
        batch_size: int,
        python: str,
        system: str,
        dtype: str,
        model: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        child = Path(__file__).with_name("embedder.py")
        command = [python, str(child), "--system", system, "--dtype", dtype]
        command += ["--model", str(model), "--batch-size", str(batch_size)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
            text=True,
        )
        self._system = system
        self._answer()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def embed(self, text: Path, count: int, compare: bool = False) -> dict[str, Any]:
        """Embeds the first sentences; with `compare`, gives their vectors, too."""
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


def table(result: common.Result) -> str:
    """Returns the figures, one row per batch size and system."""
    header = ["Preset", "Sentences a batch", "System", "Words/s, median"]
    header += ["least to most", "of simple_elmo's", "Peak memory, MB"]
    header += ["Greatest difference", "Least cosine"]
    rows = []
    for row in result["rows"]:
        peer = row["systems"].get("simple_elmo")
        rows += [
            [
                result["preset"],
                str(row["batch_size"]),
                system,
                *spread(figures["words_per_second"]),
                f"{figures['median'] / peer['median']:.2f}" if peer else "",
                megabytes(figures["peak_bytes"]),
                f"{figures['greatest_difference']:.1e}",
                f"{figures['least_cosine']:.5f}",
            ]
            for system, figures in row["systems"].items()
        ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
