"""Loads a model by name or path, whatever kind of folder holds it."""

import os
from pathlib import Path
from typing import TypeAlias

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.saved_model import (
    is_saved_model,
    read_embedding,
    read_language_model,
    read_saved_model,
)
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.utils.types import StrPath

# What can be exported.
Source: TypeAlias = Encoder | ElmoEmbedding | StrPath

# A source checkout has finished models beside the package.
_SHIPPED = Path(__file__).parents[2] / "saved_models"


def load(name_or_path: StrPath) -> Encoder:
    """Loads an encoder.

    Args:
        name_or_path: a pretraining directory, a folder written by
            `export_saved_model`, or the name of a shipped model, `"elmo-en"` or
            `"elmo-ko"`, in a source checkout.

    Returns:
        A frozen or trainable `Encoder`, as it was saved. Its `tokenizer` names how its
        training text was split into words.

    Raises:
        TypeError: `name_or_path` is neither a name nor a path.
        ValueError: there is no such model, or its files are damaged.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.save_published_weights(
        encoder, "my-elmo/options.json", "my-elmo/weights.hdf5"
    )
    encoder = keras_elmo.load("my-elmo")
    (layers,) = keras_elmo.embed(encoder, [["the", "bank"]])
    print(layers.shape)  # (layers, tokens, 2 * projection_units)
    ```
    """
    path = find_model(name_or_path)
    if is_saved_model(path):
        return read_saved_model(path)
    return PretrainingDirectory(path).read_encoder()


def load_language_model(name_or_path: StrPath) -> PretrainingModel:
    """Loads a language model: an encoder, its softmax and the words it predicts.

    Args:
        name_or_path: as of `load`. A SavedModel must have been exported with
            `language_model=True`, as the shipped models are.

    Returns:
        A `PretrainingModel` with the attributes `encoder` and `vocabulary`.

    Raises:
        TypeError: `name_or_path` is neither a name nor a path.
        ValueError: there is no such model, it has no softmax, or its files are damaged.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the boat lies at the bank\\nthe bank lends money\\n" * 20)
    config = keras_elmo.ElmoConfig.preset("tiny")
    keras_elmo.pretrain(
        config, "text.txt", directory="run", num_sampled=4, steps=1, progress=False
    )
    model = keras_elmo.load_language_model("run")
    print(model.vocabulary.words)
    ```
    """
    path = find_model(name_or_path)
    if is_saved_model(path):
        return read_language_model(path)
    return PretrainingDirectory(path).read_model()


def find_model(name_or_path: StrPath) -> Path:
    """Returns the folder of a model; the errors are those of `load`."""
    if not isinstance(name_or_path, str | os.PathLike):
        raise TypeError(
            "a model must be given as a name or a path here. "
            f"Received: a {type(name_or_path).__name__}"
        )
    candidates = [Path(name_or_path)]
    if len(candidates[0].parts) == 1:
        candidates.append(_SHIPPED / name_or_path)
    for path in candidates:
        if is_saved_model(path) or PretrainingDirectory(path).holds_a_model():
            return path
    run = PretrainingDirectory(candidates[0])
    if run.holds_a_run():
        raise ValueError(
            f"{run.path}: the run has no weights yet ({run.weights}): it writes them "
            "at its first validation; train on until then"
        )
    shipped = sorted(path.name for path in _SHIPPED.glob("*/") if is_saved_model(path))
    raise ValueError(
        "`name_or_path` must be a pretraining directory (options.json and "
        "weights.hdf5), a folder written by export_saved_model, or the name of a "
        f"shipped model in a source checkout: {_SHIPPED} has "
        f"{', '.join(shipped) or 'none'}. "
        f"Received: name_or_path={os.fspath(name_or_path)!r}"
    )


def load_embedding(source: Source) -> ElmoEmbedding:
    """Returns an encoder with its mix."""
    if isinstance(source, str | os.PathLike):
        path = find_model(source)
        if is_saved_model(path):
            return read_embedding(path)
        source = load(path)
    if isinstance(source, Encoder):
        source = ElmoEmbedding(source)
    if not isinstance(source, ElmoEmbedding):
        raise TypeError(
            "`source` must be a path, an Encoder or an ElmoEmbedding. "
            f"Received: source={source!r}"
        )
    return source
