"""How well do both directions of a language model know a word in its place?

Words of held-out text, drawn at random among those that the vocabulary has, by
`p_f(w) p_b(w)` alone, or divided by a prior: log-uniform by the word's rank, or by its
count in the training text. Perplexity over the words of the vocabulary; how often the
word itself is among the ten most likely.

    python benchmarks/substitutes.py --models elmo-en elmo-ko --texts enwiki kowiki
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

import common
import numpy as np

_TOP = 10
# Paragraphs that the words are drawn from, the same ones of every model.
_PARAGRAPHS = 500
_TITLES = {"none": "none", "rank": "by rank", "counts": "by counts"}


def main(arguments: Sequence[str] | None = None) -> None:
    options = common.options(
        __doc__,
        arguments,
        models=["elmo-en", "elmo-ko"],
        texts=(["enwiki", "kowiki"], "folders of dev.txt.xz, one a model"),
        data=(None, "folder of the texts", {"type": common.existing, "metavar": "DIR"}),
        places=(1000, "words to draw"),
        seed=0,
    )
    data = options.data or common.data_folder()
    rows = [
        {"model": model, "text": text, "prior": prior, **figures}
        for model, text in zip(options.models, options.texts, strict=True)
        for prior, figures in measure(
            model, data / text / "dev.txt.xz", options.places, options.seed
        ).items()
    ]
    common.publish(options, table, rows=rows)


def measure(
    model: str, text: Path, num_places: int, seed: int
) -> dict[str, dict[str, float]]:
    """Returns the figures of each prior that the model knows."""
    from keras_elmo import Vocabulary
    from keras_elmo.text.vocabulary import SPECIALS
    from keras_elmo.words.predictions import Predictions, log_prior, log_softmax
    from keras_elmo.words.sentences import read_corpus

    predictions = Predictions(model)
    words = predictions.vocabulary
    sentences = list(islice(read_corpus(text, predictions.tokenizer), _PARAGRAPHS))
    known = [
        (row, place, token_id)
        for row, tokens in enumerate(sentences)
        for place, token_id in enumerate(words.ids(tokens))
        if token_id >= len(SPECIALS)
    ]
    drawn = sorted(Random(seed).sample(known, min(num_places, len(known))))
    priors = {"none": 0.0, "rank": log_prior(Vocabulary(words.words))[len(SPECIALS) :]}
    if words.counts is not None:
        priors["counts"] = log_prior(words)[len(SPECIALS) :]
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in priors}
    needed = sorted({row for row, _, _ in drawn})
    states = predictions.states((sentences[row] for row in needed), 8)
    for row, of_row in zip(needed, states, strict=True):
        chosen = [(place, token_id) for k, place, token_id in drawn if k == row]
        places, ids = np.array(chosen).T
        directions = predictions.of_directions(of_row, places + 1)[..., len(SPECIALS) :]
        for name, prior in priors.items():
            both = log_softmax(directions.sum(axis=0) - prior)
            right = both[np.arange(len(ids)), ids - len(SPECIALS), np.newaxis]
            ranks = (both > right).sum(axis=1)
            found[name] += zip(right[:, 0].tolist(), ranks.tolist(), strict=True)
    return {name: _figures(*zip(*each, strict=True)) for name, each in found.items()}


def _figures(logs: Sequence[float], ranks: Sequence[int]) -> dict[str, float]:
    return {
        "places": len(logs),
        "perplexity": float(np.exp(-np.mean(logs))),
        "top_10": 100 * float(np.mean(np.array(ranks) < _TOP)),
    }


def table(result: common.Result) -> str:
    """A row a model and prior."""
    header = ["Model", "Text", "Prior", "Words", "Perplexity", "Among ten, %"]
    return common.markdown_table(
        header,
        (
            [
                row["model"],
                f"{row['text']}/dev",
                _TITLES[row["prior"]],
                f"{row['places']:,}",
                f"{row['perplexity']:.1f}",
                f"{row['top_10']:.1f}",
            ]
            for row in result["rows"]
        ),
    )


if __name__ == "__main__":
    main()
