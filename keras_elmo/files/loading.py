"""Every argument that is a model comes here: a name, a path, or the model itself."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from keras_elmo.files.finding import ONNX_SUFFIX, find_model, is_saved_model
from keras_elmo.files.onnx_encoder import Mix, OnnxEncoder
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from keras_elmo.models.elmo_embedding import ElmoEmbedding
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel

# What `load` returns.
AnyEncoder: TypeAlias = Union["Encoder", OnnxEncoder]
# What stands for a model, wherever one is an argument.
Source: TypeAlias = Union[
    StrPath, "Encoder", OnnxEncoder, "ElmoEmbedding", "PretrainingModel"
]


def resolved(source: Source, argument: str = "model") -> Source:
    """Finds a model that is named; of an archive or the Hub, every file is hashed."""
    if isinstance(source, str | os.PathLike):
        return find_model(source, argument)
    return source


def load(name_or_path: Source) -> Any:
    """Loads an encoder.

    Args:
        name_or_path: the name of a shipped model, `"elmo-en"` or `"elmo-ko"`; the path
            of a pretraining directory, of a checkpoint in it, of a folder written by
            `export_saved_model`, or of a .zip of such a folder; or `"hf://OWNER/NAME"`,
            a repository of such files on the Hugging Face Hub (extra `hub`), and
            `"hf://OWNER/NAME@REVISION"` one revision of it; or an .onnx file that
            `export_onnx` wrote. An `Encoder` is returned as it is, of an
            `ElmoEmbedding` or a `PretrainingModel` the encoder.

    Returns:
        A frozen or trainable `Encoder`, as it was saved. Its `tokenizer` names how its
        training text was split into words. Of an .onnx file, an encoder for `embed`
        and `nearest`, which ONNX Runtime runs without TensorFlow and Keras.

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
    return encoder_of(name_or_path, "name_or_path")


def encoder_of(source: Source, argument: str = "model") -> Any:
    """Returns what `load` does; errors name the caller's argument."""
    if isinstance(source, OnnxEncoder):
        return source
    if isinstance(source, str | os.PathLike):
        path = find_model(source, argument)
        return OnnxEncoder(path) if path.suffix == ONNX_SUFFIX else _read_encoder(path)
    from keras_elmo.models.elmo_embedding import ElmoEmbedding
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel

    if isinstance(source, ElmoEmbedding | PretrainingModel):
        return source.encoder
    if isinstance(source, Encoder):
        return source
    # Raises: it is something else.
    return find_model(source, argument)


def keras_encoder_of(source: Source, argument: str = "model") -> "Encoder":
    """Returns the encoder of a model that is no .onnx file."""
    encoder = encoder_of(source, argument)
    if isinstance(encoder, OnnxEncoder):
        raise ValueError(
            f"`{argument}` must have weights that Keras reads; an .onnx file has none. "
            f"Received: {argument}={encoder.path!r}"
        )
    return encoder


def _read_encoder(path: Path) -> "Encoder":
    from keras_elmo.files.run_directory import PretrainingDirectory
    from keras_elmo.files.saved_model import read_saved_model

    if is_saved_model(path):
        return read_saved_model(path)
    run = PretrainingDirectory(path)
    return run.read_encoder() if run.holds_a_model() else _read_checkpoint(path).encoder


def load_language_model(name_or_path: Source) -> "PretrainingModel":
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
    return language_model_of(name_or_path, "name_or_path")


def language_model_of(source: Source, argument: str = "model") -> "PretrainingModel":
    """Returns what `load_language_model` does; errors name the caller's argument."""
    given = getattr(source, "path", source)
    if isinstance(given, str | os.PathLike) and os.fspath(given).endswith(ONNX_SUFFIX):
        raise ValueError(
            f"`{argument}` must have a language model; an .onnx file has an encoder "
            f"alone. Received: {argument}={os.fspath(given)!r}"
        )
    from keras_elmo.files.run_directory import PretrainingDirectory
    from keras_elmo.files.saved_model import read_language_model
    from keras_elmo.models.elmo_embedding import ElmoEmbedding
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel

    if isinstance(source, PretrainingModel):
        return source
    if isinstance(source, Encoder | ElmoEmbedding | OnnxEncoder):
        raise TypeError(
            f"`{argument}` must be a language model: a name, a path or a "
            f"PretrainingModel. Received: a {type(source).__name__}, which has no "
            "softmax"
        )
    path = find_model(source, argument)
    if is_saved_model(path):
        return read_language_model(path)
    run = PretrainingDirectory(path)
    return run.read_model() if run.holds_a_model() else _read_checkpoint(path)


def _read_checkpoint(path: Path) -> "PretrainingModel":
    """Returns the model of a run's checkpoint, or of the last one of a run."""
    from keras_elmo.files.run_directory import PretrainingDirectory, run_of_step

    if path.is_file():
        return run_of_step(path).read_checkpoint(path)
    return PretrainingDirectory(path).read_checkpoint()


def load_mix(source: Source) -> Mix | None:
    """Returns the first mix of a model; `None`, if it has none."""
    if isinstance(source, str | os.PathLike):
        path = find_model(source)
        if path.suffix == ONNX_SUFFIX:
            return OnnxEncoder(path).mix
        if not is_saved_model(path):
            return None
        from keras_elmo.files.saved_model import read_mix

        return read_mix(path)
    if isinstance(source, OnnxEncoder):
        return source.mix
    from keras_elmo.models.elmo_embedding import ElmoEmbedding

    return mix_of(source) if isinstance(source, ElmoEmbedding) else None


def mix_of(layer: "ElmoEmbedding") -> Mix:
    """Returns the first mix of a layer."""
    from keras import ops

    mix = layer.mixes[0]
    scalars, gamma = map(ops.convert_to_numpy, (mix.scalars, mix.gamma))
    return scalars, gamma, layer.layer_norm


def load_embedding(
    source: Source,
    cls: "type[ElmoEmbedding] | None" = None,
    argument: str = "source",
    **kwargs: Any,
) -> "ElmoEmbedding":
    """Returns a new layer of a model; each mix begins as that of the model, if any."""
    from keras_elmo.models.elmo_embedding import ElmoEmbedding

    cls = cls or ElmoEmbedding
    source = resolved(source, argument)
    encoder = keras_encoder_of(source, argument)
    mix = load_mix(source)
    if mix is None:
        return cls(encoder, **kwargs)
    scalars, gamma, layer_norm = mix
    layer = cls(encoder, **{"layer_norm": layer_norm, **kwargs})
    for each in layer.mixes:
        each.scalars.assign(scalars)
        each.gamma.assign(gamma)
    return layer
