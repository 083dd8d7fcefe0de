"""Tells what a model is, without loading its weights."""

import collections
import unicodedata
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.finding import read_language
from keras_elmo.files.loading import open_model
from keras_elmo.importing.models import EVERY_KIND
from keras_elmo.utils.checks import check_path
from keras_elmo.utils.types import Config, StrPath

# The first words are the most frequent: what they are written in tells the language.
_FREQUENT = 5000


def inspect_model(model: StrPath) -> Config:
    """Returns what a model is, from its files and without loading its weights.

    Args:
        model: what `load` or `import_model` takes, or a `.keras` file of a `Tagger` or
            a `TextClassifier`.

    Returns:
        Dictionary that JSON can hold: `path`; `kind`; `config`, the sizes, as of
        `ElmoConfig`; `vector_units`, of each of the `num_layers + 1` layers;
        `parameters`, of the encoder and of the softmax; `dtype`; `tokenizer`;
        `task`, of a tagger or a classifier its `kind`, the `names` of its tags or
        labels, `multi_label` and `pairs`; `languages`, as its card says; `vocabulary`,
        the number of words that the softmax predicts; `scripts`, in which the 5,000
        most frequent ones are written, with shares; `mix`, its `weights`, which sum to
        1, `gamma` and `layer_norm`;
        `step`, of a run's or checkpoint's last update; `perplexity`, the lowest of the
        run; and `uses`, what can be done with it. What is not known is `None`.

    Raises:
        ValueError: there is no such model, or a file is damaged.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.export_saved_model(encoder, "my-elmo", tokenizer="whitespace")
    about = keras_elmo.inspect_model("my-elmo")
    print(about["kind"], about["mix"]["weights"])  # an exported model, a third each
    assert about["parameters"] == {"encoder": encoder.count_params(), "softmax": 0}
    ```
    """
    check_path(model=model)
    source = open_model(model, kinds=EVERY_KIND)
    described = source.describe()
    config: ElmoConfig = described.pop("config")
    language = read_language(Path(source.path))
    words = described.pop("words", None)
    num_words = described.pop("num_words", words and len(words)) or 0
    # What tells the language: the words of the softmax, or those that are looked up.
    entries = described.pop("entries", words)
    mix = described.pop("mix", None)
    options = config.to_options()
    if table := config.token_vocabulary:
        # Their numbers instead of themselves.
        numbers = {"words": len(table.words), "characters": len(table.characters)}
        options["token_vocabulary"] = numbers
    return {
        "path": source.path,
        "kind": source.kind,
        "config": options,
        "vector_units": 2 * config.projection_units,
        "parameters": {
            "encoder": config.num_weights,
            "softmax": num_words * (config.projection_units + 1),
        },
        "dtype": "float32",
        "tokenizer": None,
        "task": None,
        "languages": language.split(", ") if language else None,
        "vocabulary": num_words or None,
        "scripts": _scripts(entries) if entries else None,
        "mix": _mix(*mix) if mix else None,
        "step": None,
        "perplexity": None,
        **described,
    }


def _mix(scalars: np.ndarray, gamma: np.ndarray, layer_norm: bool) -> Config:
    weights = np.exp(scalars - scalars.max())
    weights /= weights.sum()
    return {
        "weights": [float(weight) for weight in weights],
        "gamma": float(gamma),
        "layer_norm": layer_norm,
    }


def _scripts(words: Sequence[str]) -> dict[str, float]:
    """Returns the share of frequent words in each script, the largest first."""
    counts = collections.Counter(
        unicodedata.name(word[0], "").partition(" ")[0].capitalize()
        for word in islice(words, 3, _FREQUENT)
        if word[:1].isalpha()
    )
    total = max(sum(counts.values()), 1)
    shares = {name: round(count / total, 3) for name, count in counts.most_common(5)}
    return {name: share for name, share in shares.items() if share}
