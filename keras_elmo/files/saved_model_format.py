"""The format of a SavedModel; reads one without running its graph."""

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from keras_elmo.files.description import Description, Task, new_description
from keras_elmo.files.finding import ASSETS, description_file
from keras_elmo.files.onnx_session import Mix
from keras_elmo.files.published import (
    read_datasets,
    softmax_datasets,
    write_datasets,
)
from keras_elmo.files.tf_checkpoint import TFCheckpoint
from keras_elmo.files.validation import NoLanguageModel, check_size
from keras_elmo.models.encoder import Encoder, copy_weights
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.tokenizer import Tokenizer, register_operations
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.utils.checks import called
from keras_elmo.utils.files import write_json
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import StrPath, Tensor

# Of TensorFlow: arguments to outputs, by their names.
Signature: TypeAlias = Callable[..., dict[str, Tensor]]

# Names in the checkpoint: the variables of the encoder, in the order of
# `Encoder.weights`, and the variables of the mix.
WEIGHTS = "encoder_weights"
SCALARS = "mix_scalars"
GAMMA = "mix_gamma"


def read_saved_model(path: StrPath, about: Description) -> Encoder:
    """Rebuilds the encoder of an exported SavedModel, on any backend."""
    variables = _variables(path)
    num_weights = about.config.num_weights
    check_size(num_weights, variables.files(), description_file(path))
    encoder = Encoder(
        about.config, trainable=False, tokenizer=about.tokenizer, dtype=about.dtype
    )
    for k, weight in enumerate(encoder.weights):
        weight.assign(variables.read(f"{WEIGHTS}/{k}", tuple(weight.shape)))
    return encoder


def read_mix(path: StrPath, about: Description) -> Mix:
    """Returns the mix of an exported SavedModel."""
    variables = _variables(path)
    scalars = variables.read(SCALARS, (about.config.num_layers + 1,))
    return scalars, variables.read(GAMMA, ()), about.layer_norm


def write_description(
    folder: StrPath,
    encoder: Encoder,
    signature_tokenizer: str | None,
    layer_norm: bool,
    task: Task | None = None,
) -> None:
    """Writes what a model says of itself into the folder of a SavedModel.

    `signature_tokenizer` is how the signature `default` splits texts, if it is there.
    """
    about = new_description(
        encoder.config,
        task,
        tokenizer=encoder.tokenizer or signature_tokenizer,
        signature_tokenizer=signature_tokenizer,
        dtype=encoder.get_config()["dtype"],
        layer_norm=layer_norm,
    )
    write_json(description_file(folder), about)


def add_signatures(
    module: "tf.Module",
    compute: Callable[..., dict[str, Tensor]],
    tokenizer: str | None,
    prefixes: Sequence[str] = ("",),
) -> dict[str, Signature]:
    """Adds the functions `tokens` and, with a tokenizer, `default` to what is saved.

    Concrete functions are saved as they are; any other would be traced once more.
    `compute` takes `tokens`, `(batch, tokens)`, and `sequence_len` of each text, and
    returns outputs by name. The names of a text's arguments begin with its prefix.
    """
    register_operations(tokenizer)

    def traced(function: Callable[..., Tensor], *inputs: "tf.TensorSpec") -> Signature:
        return tf.function(function, inputs, autograph=False).get_concrete_function()

    tokens = [
        spec
        for prefix in prefixes
        for spec in (
            tf.TensorSpec([None, None], tf.string, f"{prefix}tokens"),
            tf.TensorSpec([None], tf.int32, f"{prefix}sequence_len"),
        )
    ]
    module.tokens = traced(compute, *tokens)
    if tokenizer is None:
        return {"tokens": module.tokens}
    split = Tokenizer(tokenizer)

    def from_strings(*texts: Tensor) -> dict[str, Tensor]:
        arguments = {}
        for prefix, strings in zip(prefixes, texts, strict=True):
            tokens = split.ragged(strings)
            lengths = tf.cast(tokens.row_lengths(), tf.int32)
            arguments[f"{prefix}tokens"] = tokens.to_tensor("")
            arguments[f"{prefix}sequence_len"] = lengths
        return module.tokens(**arguments)

    strings = [tf.TensorSpec([None], tf.string, f"{p}strings") for p in prefixes]
    module.default = traced(from_strings, *strings)
    # The last is for clients that name no signature.
    default = dict.fromkeys(("default", "serving_default"), module.default)
    return {"tokens": module.tokens, **default}


def _variables(path: StrPath) -> TFCheckpoint:
    """Returns the variables of a SavedModel, by the attribute that holds them."""
    prefix = os.path.join(path, "variables", "variables")
    return TFCheckpoint(prefix, "/.ATTRIBUTES/VARIABLE_VALUE")


# === The language model ===


def language_model_files(path: StrPath) -> tuple[str, str]:
    """Names the files of an exported model's words and of its softmax."""
    folder = os.path.join(path, ASSETS)
    return os.path.join(folder, "vocabulary.txt"), os.path.join(folder, "softmax.hdf5")


def write_language_model(path: StrPath, model: PretrainingModel) -> None:
    """Writes the words and the softmax of a model into an exported SavedModel."""
    if model.vocabulary is None:
        raise ValueError(
            f"{called('source')} must know the words that its softmax predicts, to be "
            "exported as a language model"
        )
    words, softmax = language_model_files(path)
    os.makedirs(os.path.dirname(words), exist_ok=True)
    write_datasets(softmax, softmax_datasets(model.head), "float16")
    model.vocabulary.save(words)


def read_language_model(path: StrPath, about: Description) -> PretrainingModel:
    """Returns the language model of an exported SavedModel."""
    words, softmax = language_model_files(path)
    if not os.path.exists(words):
        raise NoLanguageModel(
            f"{os.fspath(path)}: holds an encoder but no language model: it was "
            "exported without"
        )
    encoder = read_saved_model(path, about)
    vocabulary = Vocabulary.load(words)
    num_weights = len(vocabulary) * (encoder.config.projection_units + 1)
    check_size(num_weights, [softmax], words)
    model = PretrainingModel(encoder.config, len(vocabulary), len(vocabulary))
    read_datasets(softmax, softmax_datasets(model.head), words)
    copy_weights(encoder, model.encoder)
    model.encoder.tokenizer = encoder.tokenizer
    model.vocabulary = vocabulary
    return model
