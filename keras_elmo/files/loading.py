"""Every argument that is a model comes here: a name, a path, or the model itself."""

from pathlib import Path
from typing import Any, TypeAlias

from keras import ops

from keras_elmo.files.finding import find_model
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.saved_model import (
    Mix,
    is_saved_model,
    read_language_model,
    read_mix,
    read_saved_model,
)
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.utils.types import StrPath

# What stands for a model, wherever one is an argument.
Source: TypeAlias = StrPath | Encoder | ElmoEmbedding | PretrainingModel


def load(name_or_path: Source) -> Encoder:
    """Loads an encoder.

    Args:
        name_or_path: the name of a shipped model, `"elmo-en"` or `"elmo-ko"`; the path
            of a pretraining directory, of a checkpoint in it, of a folder written by
            `export_saved_model`, or of a .zip of such a folder; or `"hf://OWNER/NAME"`,
            a repository of such files on the Hugging Face Hub (extra `hub`), and
            `"hf://OWNER/NAME@REVISION"` one revision of it. An `Encoder` is returned as
            it is, of an `ElmoEmbedding` or a `PretrainingModel` the encoder.

    Returns:
        A frozen or trainable `Encoder`, as it was saved. Its `tokenizer` names how its
        training text was split into words.

    Raises:
        TypeError: `name_or_path` is something else.
        ValueError: there is no such model, or its files are damaged.
        OSError: it cannot be downloaded.

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
    if isinstance(name_or_path, ElmoEmbedding | PretrainingModel):
        return name_or_path.encoder
    if isinstance(name_or_path, Encoder):
        return name_or_path
    path = find_model(name_or_path)
    if is_saved_model(path):
        return read_saved_model(path)
    run = PretrainingDirectory(path)
    return run.read_encoder() if run.holds_a_model() else _read_checkpoint(path).encoder


def load_language_model(name_or_path: Source) -> PretrainingModel:
    """Loads a language model: an encoder, its softmax and the words it predicts.

    Args:
        name_or_path: as of `load`. A SavedModel must have been exported with
            `language_model=True`, as the shipped models are. A `PretrainingModel` is
            returned as it is.

    Returns:
        A `PretrainingModel` with the attributes `encoder` and `vocabulary`.

    Raises:
        TypeError: `name_or_path` is something else, such as an `Encoder`, which has
            no softmax.
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
    if isinstance(name_or_path, PretrainingModel):
        return name_or_path
    if isinstance(name_or_path, Encoder | ElmoEmbedding):
        raise TypeError(
            "`model` must be a language model: a name, a path or a PretrainingModel. "
            f"Received: a {type(name_or_path).__name__}, which has no softmax"
        )
    path = find_model(name_or_path)
    if is_saved_model(path):
        return read_language_model(path)
    run = PretrainingDirectory(path)
    return run.read_model() if run.holds_a_model() else _read_checkpoint(path)


def _read_checkpoint(path: Path) -> PretrainingModel:
    """Returns the model of a run's checkpoint, or of the last one of a run."""
    if path.is_file():
        return PretrainingDirectory(path.absolute().parents[1]).read_checkpoint(path)
    return PretrainingDirectory(path).read_checkpoint()


def load_mix(source: Source) -> Mix | None:
    """Returns the first mix of a model; `None`, if it has none."""
    if isinstance(source, ElmoEmbedding):
        mix = source.mixes[0]
        scalars, gamma = map(ops.convert_to_numpy, (mix.scalars, mix.gamma))
        return scalars, gamma, source.layer_norm
    if isinstance(source, Encoder | PretrainingModel):
        return None
    path = find_model(source)
    return read_mix(path) if is_saved_model(path) else None


def load_embedding(
    source: Source, cls: type[ElmoEmbedding] = ElmoEmbedding, **kwargs: Any
) -> ElmoEmbedding:
    """Returns a new layer of a model; each mix begins as that of the model, if any."""
    mix = load_mix(source)
    if mix is None:
        return cls(load(source), **kwargs)
    scalars, gamma, layer_norm = mix
    layer = cls(load(source), **{"layer_norm": layer_norm, **kwargs})
    for each in layer.mixes:
        each.scalars.assign(scalars)
        each.gamma.assign(gamma)
    return layer
