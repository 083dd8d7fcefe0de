"""Tells what a model is, without loading its weights."""

import collections
import os
import unicodedata
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.finding import checkpoint_steps, find_model, language_of
from keras_elmo.files.hdf5 import open_hdf5
from keras_elmo.files.onnx_encoder import OnnxEncoder
from keras_elmo.files.published import published_config
from keras_elmo.files.run_directory import PretrainingDirectory, run_of_step
from keras_elmo.files.saved_model import (
    language_model_files,
    read_description,
    read_mix,
)
from keras_elmo.files.validation import (
    check_dtype,
    check_size,
    check_tokenizer,
    config_of,
)
from keras_elmo.importing import kinds
from keras_elmo.importing.bilm_variables import MODULE, BilmVariables
from keras_elmo.importing.checkpoint import open_checkpoint, read_step
from keras_elmo.importing.hub import read_hub_mix, read_sizes
from keras_elmo.importing.many_langs import read_config
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.history import read_history
from keras_elmo.utils.checks import check_path
from keras_elmo.utils.types import Config, StrPath

_ENCODER = ["embed", "nearest", "export"]
_LANGUAGE_MODEL = ["evaluate", "score", "substitutes"]
# Not from a checkpoint, whose weights no validation has chosen.
_WEIGHTS = [*_ENCODER, "pretrain --init"]
# The first words are the most frequent: what they are written in tells the language.
_FREQUENT = 5000


def inspect_model(model: StrPath) -> Config:
    """Returns what a model is, from its files and without loading its weights.

    Args:
        model: what `load` or `import_model` takes.

    Returns:
        Dictionary that JSON can hold: `path`; `kind`; `config`, the sizes, as of
        `ElmoConfig`; `vector_units`, of each of the `num_layers + 1` layers;
        `parameters`, of the encoder and of the softmax; `dtype`; `tokenizer`;
        `languages`, as its card says; `vocabulary`, the number of words that the
        softmax predicts; `scripts`, in which the 5,000 most frequent ones are written,
        with shares; `mix`, its `weights`, which sum to 1, `gamma` and `layer_norm`;
        `step`, of a run's or checkpoint's last update; `perplexity`, the lowest of the
        run; and `uses`, what can be done with it. What is not known is `None`.

    Raises:
        ValueError: there is no such model, or a file is damaged.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.export_saved_model(encoder, "my-elmo", tokenizer="whitespace")
    found = keras_elmo.inspect_model("my-elmo")
    print(found["kind"], found["mix"]["weights"])  # an exported model, a third each
    assert found["parameters"] == {"encoder": encoder.count_params(), "softmax": 0}
    ```
    """
    check_path(model=model)
    path = os.fspath(model)
    if not os.path.exists(path) or path.endswith(".zip"):
        path = os.fspath(find_model(model))
    kind = kinds.kind_of(path)
    described = {
        kinds.EXPORTED: _exported,
        kinds.ONNX: _onnx,
        kinds.RUN: _run,
        kinds.STEP: _step,
        kinds.PUBLISHED: _published,
        kinds.CHECKPOINT: _checkpoint,
        kinds.HUB: _hub,
        kinds.MANY_LANGS: _many_langs,
    }[kind](path)
    config: ElmoConfig = described.pop("config")
    language = language_of(Path(path))
    words = described.pop("words", None)
    num_words = described.pop("num_words", words and len(words)) or 0
    options = config.to_options()
    if table := config.token_vocabulary:
        # Their numbers instead of themselves.
        numbers = {"words": len(table.words), "characters": len(table.characters)}
        options["token_vocabulary"] = numbers
    return {
        "path": path,
        "kind": kind,
        "config": options,
        "vector_units": 2 * config.projection_units,
        "parameters": {
            "encoder": config.num_weights,
            "softmax": num_words * (config.projection_units + 1),
        },
        "dtype": "float32",
        "tokenizer": None,
        "languages": language.split(", ") if language else None,
        "vocabulary": num_words or None,
        "scripts": _scripts(words) if words else None,
        "mix": None,
        "step": None,
        "perplexity": None,
        **described,
    }


def _exported(path: str) -> Config:
    stored = read_description(path)
    where = f"{path}: its description"
    words, _ = language_model_files(path)
    has_words = os.path.exists(words)
    return {
        "config": config_of(stored["options"], where),
        "dtype": check_dtype(stored["dtype"], where),
        "tokenizer": check_tokenizer(stored["tokenizer"], where),
        "words": Vocabulary.load(words).words if has_words else None,
        "mix": _mix(*read_mix(path)),
        "uses": [*_WEIGHTS, "serve", *(_LANGUAGE_MODEL if has_words else [])],
    }


def _onnx(path: str) -> Config:
    encoder = OnnxEncoder(path)
    return {
        "config": encoder.config,
        "dtype": encoder.quantize or "float32",
        "tokenizer": encoder.tokenizer,
        "mix": encoder.mix and _mix(*encoder.mix),
        "uses": ["embed", "nearest", "serve"],
    }


def _step(path: str) -> Config:
    step = int(Path(path).stem.removeprefix("step-"))
    run = _run(run_of_step(path).path)
    return {**run, "step": step, "uses": [*_ENCODER, *_LANGUAGE_MODEL]}


def _run(path: str) -> Config:
    files = PretrainingDirectory(path)
    manifest = files.read_manifest()
    steps = checkpoint_steps(files.checkpoints)
    rows = [row.perplexity_mean for row in read_history(files.history)]
    config = ElmoConfig.from_options(files.options)
    has_words = os.path.exists(files.vocabulary)
    uses: list[str] = []
    if files.holds_a_model():
        _check_weights(config, [files.weights], files.options)
        uses = [*_WEIGHTS, *(_LANGUAGE_MODEL if has_words else [])]
    elif files.holds_a_checkpoint():
        uses = [*_ENCODER, *_LANGUAGE_MODEL]
    return {
        "config": config,
        "tokenizer": check_tokenizer(manifest.get("tokenizer"), files.training),
        "words": Vocabulary.load(files.vocabulary).words if has_words else None,
        "step": steps[-1] if steps else None,
        "perplexity": min((row for row in rows if row is not None), default=None),
        # Imported weights have a manifest, too, if their tokenizer is known.
        "uses": [*uses, *["pretrain --resume"] * ("num_sampled" in manifest)],
    }


def _published(path: str) -> Config:
    options, weights = kinds.published_files(path)
    config = published_config(options[0])
    _check_weights(config, weights, options[0])
    # Under these names, it needs no import.
    has_names = PretrainingDirectory(path).holds_a_model()
    return {
        "config": config,
        "uses": _WEIGHTS if has_names else ["import"],
    }


def _checkpoint(path: str) -> Config:
    variables, config, _ = open_checkpoint(path)
    return {
        "config": config,
        "tokenizer": "whitespace",
        "num_words": variables.shape("softmax/W")[0],
        "step": read_step(variables),
        "uses": ["import --vocabulary FILE"],
    }


def _hub(path: str) -> Config:
    variables = BilmVariables(os.path.join(path, "variables", "variables"), MODULE)
    config = read_sizes(variables)
    return {
        "config": config,
        "tokenizer": "whitespace",
        "mix": _mix(*read_hub_mix(variables, config)),
        "uses": ["import"],
    }


def _many_langs(path: str) -> Config:
    config = read_config(path)
    vocabulary = config.token_vocabulary
    entries = vocabulary and (vocabulary.words or vocabulary.characters)
    return {
        "config": config,
        "scripts": _scripts(entries) if entries else None,
        "uses": ["import"],
    }


def _mix(scalars: np.ndarray, gamma: np.ndarray, layer_norm: bool = False) -> Config:
    weights = np.exp(scalars - scalars.max())
    weights /= weights.sum()
    return {
        "weights": [float(weight) for weight in weights],
        "gamma": float(gamma),
        "layer_norm": layer_norm,
    }


def _check_weights(config: ElmoConfig, files: Sequence[str], options: str) -> None:
    """Raises `ValueError` if files are too small for the sizes, or cut short."""
    check_size(config.num_weights, files, options)
    for file in files:
        with open_hdf5(file):
            pass


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
