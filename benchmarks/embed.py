"""How fast is a long text embedded, and what does twice the text cost?

`keras_elmo.embed` beside the encoder, called or compiled, batch by batch in the order
of the file, on slices of real sentences in turn, the vectors compared first. And
`keras-elmo embed` in fresh processes, on half of the sentences and on all: seconds and
peak memory.

    python benchmarks/embed.py --out embed.json
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread

_BATCH_SIZE = 32
_COMPARED = 512
_TOLERANCE = 1e-5

Sentences = Sequence[Sequence[bytes]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/train-00-of-04.txt.xz",
        preset="mini",
        lines=(100_000, "sentences"),
        slices=(5, "to read in turn"),
        slice_lines=5_000,
    )
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder) / "text.txt", Path(folder) / "model"
        call = common.call_in_process
        call("embed", "write_sentences", options.corpus, text, options.lines)
        call("random_model", "write_random_model", options.preset, model)
        # Before this process grows.
        doubling = [
            _run(text, count, model) for count in (options.lines // 2, options.lines)
        ]
        speeds, difference = _compare(text, model, options)
    figures = {"words_per_second": speeds, "greatest_difference": difference}
    common.publish(options, table, **figures, doubling=doubling)


def write_sentences(corpus: str, text: str, count: str) -> None:
    """Writes so many tokenised sentences of raw text, a line each."""
    from keras_elmo.text.batching import tokenized_lines
    from keras_elmo.text.lines import read_lines
    from keras_elmo.text.stats import CorpusStats

    lines = islice(common.sentences(read_lines([corpus])), int(count))
    with open(text, "wb") as file:
        for tokens in tokenized_lines(lines, "unicode", CorpusStats()):
            file.write(b" ".join(tokens) + b"\n")


def _run(text: Path, count: int, model: Path) -> dict[str, Any]:
    """Embeds the first lines with the command line, in a fresh process."""
    part, out = text.with_name(f"first-{count}.txt"), text.with_name("out.hdf5")
    with open(text, encoding="utf-8") as file:
        part.write_text("".join(islice(file, count)), encoding="utf-8")
    figures = common.run_measured(
        *("embed", "--model", model, "--input", part, "--out", out, "--layers", "mix")
    )
    out.unlink()
    return {
        "lines": count,
        "seconds": figures["ended"] - figures["imported"],
        "peak_bytes": figures["peak_bytes"],
    }


def _compare(
    text: Path, model: Path, options: argparse.Namespace
) -> tuple[dict[str, list[float]], float]:
    """Words per second of either way, slice by slice, and how far apart they are."""
    import numpy as np

    import keras_elmo
    from keras_elmo.text.character_ids import character_ids

    encoder = keras_elmo.load(model)

    def in_file_order(
        call: Callable[[Any], Any], sentences: Sentences
    ) -> Iterator[Any]:
        for start in range(0, len(sentences), _BATCH_SIZE):
            batch = sentences[start : start + _BATCH_SIZE]
            longest = max(map(len, batch))
            padded = [[*row, *[b""] * (longest - len(row))] for row in batch]
            layers = list(map(np.asarray, call(character_ids(padded).numpy())))
            for row, sentence in enumerate(batch):
                yield np.stack([layer[row, 1 : len(sentence) + 1] for layer in layers])

    ways: dict[str, Callable[[Sentences], Iterator[Any]]] = {
        # As many rows a pass as `keras-elmo embed` takes.
        "embed": partial(keras_elmo.embed, encoder, batch_size=128),
        "call": partial(in_file_order, encoder),
        "predict_on_batch": partial(in_file_order, encoder.predict_on_batch),
    }
    lines = text.read_bytes().splitlines()
    sentences = [line.split() for line in lines]
    first = sentences[:_COMPARED]
    difference = max(
        float(np.abs(vectors - other).max(initial=0.0))
        for vectors, *others in zip(*(way(first) for way in ways.values()), strict=True)
        for other in others
    )
    if difference > _TOLERANCE:
        raise RuntimeError(f"the vectors differ by {difference}")
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    # From all over the text.
    distance = len(sentences) // options.slices
    for start in range(0, distance * options.slices, distance):
        part = sentences[start : start + options.slice_lines]
        for name, way in ways.items():
            began = time.perf_counter()
            for _ in way(part):
                pass
            seconds = time.perf_counter() - began
            speeds[name].append(sum(map(len, part)) / seconds)
            median = statistics.median(speeds[name])
            print(f"{name}: {median:,.0f} words/s", file=sys.stderr, flush=True)
    return speeds, difference


def table(result: common.Result) -> str:
    """Returns two tables: a row a way, and a row a length of the text."""
    header = ["Preset", "What", "Words/s, median", "least to most", "Ratio"]
    medians = {
        way: statistics.median(speeds)
        for way, speeds in result["words_per_second"].items()
    }
    rows = (
        [
            result["preset"],
            way,
            *spread(speeds),
            f"{medians[way] / medians['call']:.2f}",
        ]
        for way, speeds in result["words_per_second"].items()
    )
    speeds = markdown_table(header, rows)
    header = ["Preset", "Sentences", "Seconds", "Ratio", "Peak memory, MB"]
    base = result["doubling"][0]["seconds"]
    rows = (
        [
            result["preset"],
            f"{run['lines']:,}",
            f"{run['seconds']:.1f}",
            f"{run['seconds'] / base:.2f}",
            megabytes(run["peak_bytes"]),
        ]
        for run in result["doubling"]
    )
    return f"{speeds}\n\n{markdown_table(header, rows)}"


if __name__ == "__main__":
    main()
