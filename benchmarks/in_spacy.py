"""Words/s of the component of spaCy beside `embed`, and whether vectors are equal.

`nlp.pipe` of a blank pipeline splits sentences into words and embeds them, one that was
saved and loaded does so, too; `embed` is given these words. All vectors are compared.

    python benchmarks/in_spacy.py
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import common
import numpy as np
import spacy

import keras_elmo
from keras_elmo.text.lines import read_lines

_TENSOR = attrgetter("tensor")
# Sentences before the time is taken.
_FIRST = 200


def main(arguments: Sequence[str] | None = None) -> None:
    """Compares, measures, and prints a table."""
    options = common.options(
        __doc__,
        arguments,
        "enwiki/train-00-of-04.txt.xz",
        model="elmo-en",
        sentences=10_000,
        repeats=1,
    )
    lines = common.sentences(read_lines([str(options.corpus)]))
    texts = [" ".join(line.split()) for line in islice(lines, options.sentences)]
    nlp = spacy.blank("en")
    words = [[token.text for token in doc] for doc in nlp.pipe(texts)]
    nlp.add_pipe("elmo", config={"model": options.model})
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        loaded = spacy.load(folder)
    elmo = keras_elmo.load(options.model)
    systems: dict[str, Callable[[int], Iterable[Any]]] = {
        "embed": lambda num: keras_elmo.embed(elmo, words[:num], layers="mix"),
        "nlp.pipe": lambda num: map(_TENSOR, nlp.pipe(texts[:num])),
        "of a saved pipeline": lambda num: map(_TENSOR, loaded.pipe(texts[:num])),
    }
    num_words = sum(map(len, words))
    speeds: dict[str, list[float]] = {}
    differences = {}
    for name, run in systems.items():
        # Graphs are compiled.
        list(run(_FIRST))
        for _ in range(options.repeats):
            began = time.perf_counter()
            vectors = list(run(len(texts)))
            speed = num_words / (time.perf_counter() - began)
            speeds.setdefault(name, []).append(speed)
        if name == "embed":
            expected = vectors
        differences[name] = max(
            float(np.abs(one - other).max(initial=0))
            for one, other in zip(vectors, expected, strict=True)
        )
    common.publish(
        options, table, num_words=num_words, speeds=speeds, differences=differences
    )


def table(result: common.Result) -> str:
    """Returns a row for each way to the vectors."""
    header = ["", "Words/s, median", "least to most", "Greatest difference"]
    rows = [
        [name, *common.spread(speeds), f"{result['differences'][name]:.1e}"]
        for name, speeds in result["speeds"].items()
    ]
    return common.markdown_table(header, rows)


if __name__ == "__main__":
    main()
