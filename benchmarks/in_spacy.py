"""Words/s of the component of spaCy beside `embed`, and whether vectors are equal.

`nlp.pipe` of a blank pipeline splits sentences into words and embeds them; `embed` is
given these words. Every vector is compared first, which also prepares all graphs.

    python benchmarks/in_spacy.py
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import common
import numpy as np
import spacy

import keras_elmo
from keras_elmo.text.lines import read_lines


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
        pipes = {"nlp.pipe": nlp.pipe, "of a saved pipeline": spacy.load(folder).pipe}
    embed = partial(
        keras_elmo.embed, keras_elmo.load(options.model), words, layers="mix"
    )
    differences = {
        name: max(
            float(np.abs(doc.tensor - vectors).max(initial=0))
            for doc, vectors in zip(pipe(texts), embed(), strict=True)
        )
        for name, pipe in pipes.items()
    }
    num_words = sum(map(len, words))
    systems = {name: partial(pipe, texts) for name, pipe in pipes.items()}
    speeds: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        for name, run in {"embed": embed, **systems}.items():
            speeds.setdefault(name, []).append(num_words / _seconds(run))
    common.publish(
        options, table, num_words=num_words, speeds=speeds, differences=differences
    )


def _seconds(run: Callable[[], Iterable[Any]]) -> float:
    began = time.perf_counter()
    for _ in run():
        pass
    return time.perf_counter() - began


def table(result: common.Result) -> str:
    """Returns a row for each way to the vectors."""
    header = ["", "Words/s, median", "least to most", "Greatest difference"]
    differences = {"embed": 0.0, **result["differences"]}
    rows = [
        [name, *common.spread(speeds), f"{differences[name]:.1e}"]
        for name, speeds in result["speeds"].items()
    ]
    return common.markdown_table(header, rows)


if __name__ == "__main__":
    main()
