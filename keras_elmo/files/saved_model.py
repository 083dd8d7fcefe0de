"""A SavedModel with TF Hub's two signatures, and the way back from it."""

import json
import os
from typing import Any

import keras

from keras_elmo.atomic import replacing, write_json
from keras_elmo.config import ElmoConfig
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder
from keras_elmo.optional import import_tensorflow
from keras_elmo.text.character_ids import character_ids
from keras_elmo.text.tokenizer import Tokenizer

# Servers ignore this folder; the layer is rebuilt from what stands in it.
_ASSETS = "assets.extra"
_DESCRIPTION = "keras_elmo.json"
# The encoder's variables in the checkpoint, in the order of `Encoder.weights`.
_WEIGHTS = "encoder_weights"
_SCALARS = "mix_scalars"
_GAMMA = "mix_gamma"


def export_saved_model(
    source: Any, path: str | os.PathLike[str], tokenizer: str | None = "unicode"
) -> None:
    """Writes a SavedModel whose only trainable variables are the mix's.

    Signature `default` takes `strings`, [batch]; `tokens` takes `tokens`, [batch,
    time] padded with "", and `sequence_len`, [batch]. Both return `word_emb`,
    `lstm_outputs1` .. `lstm_outputsL`, `elmo` (the mix), `default` (its mean over the
    tokens) and `sequence_len`.

    Args:
        source: an `Encoder`, or an `ElmoEmbedding`, whose first mix is kept.
        path: the folder to write; one that stands there is replaced.
        tokenizer: how `default` cuts strings into words: `"unicode"`, which needs
            tensorflow-text's ops wherever the model runs, `"whitespace"`, which needs
            TensorFlow's own alone, or `None`, which leaves `default` out.

    Raises:
        RuntimeError: Keras does not run on TensorFlow.
        TypeError: `source` is something else.
    """
    tf = import_tensorflow("Exporting a SavedModel")
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "A SavedModel holds a TensorFlow graph: export it in a process with "
            f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()}"
        )
    if isinstance(source, Encoder):
        source = ElmoEmbedding(source)
    if not isinstance(source, ElmoEmbedding):
        raise TypeError(
            f"`source` must be an Encoder or an ElmoEmbedding. Received: {source!r}"
        )
    served = _served(_frozen(source), tokenizer)
    signatures = {"tokens": served.tokens.get_concrete_function()}
    if tokenizer is not None:
        signatures["default"] = served.default.get_concrete_function()
        # What a client gets that asks for no signature by name.
        signatures["serving_default"] = signatures["default"]
    with replacing(path) as temporary:
        tf.saved_model.save(served, temporary, signatures)
        write_json(
            os.path.join(temporary, _ASSETS, _DESCRIPTION),
            {
                "format": 1,
                "tokenizer": tokenizer or source.encoder.tokenizer,
                "options": source.encoder.config.to_options(),
            },
        )


def _frozen(embedding: ElmoEmbedding) -> ElmoEmbedding:
    """A copy whose first mix alone is trainable."""
    copy = ElmoEmbedding(embedding.encoder, layer_norm=embedding.layer_norm)
    for ours, given in zip(
        copy.mixes[0].weights, embedding.mixes[0].weights, strict=True
    ):
        ours.assign(given)
    return copy


def is_saved_model(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder that `export_saved_model` wrote."""
    return os.path.exists(os.path.join(path, _ASSETS, _DESCRIPTION))


def read_saved_model(path: str | os.PathLike[str]) -> Encoder:
    """Rebuilds the encoder of an exported SavedModel, on whichever backend.

    Raises:
        ValueError: the folder is not one that `export_saved_model` wrote.
    """
    description = os.path.join(path, _ASSETS, _DESCRIPTION)
    if not os.path.exists(description):
        raise ValueError(
            f"`path` must be a folder that export_saved_model wrote; {description} is "
            f"missing. Received: path={os.fspath(path)!r}"
        )
    with open(description, encoding="utf-8") as file:
        try:
            stored = json.load(file)
            options, tokenizer = stored["options"], stored["tokenizer"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{description}: damaged: {error!r}") from error
    encoder = Encoder(
        ElmoConfig.from_options(options), trainable=False, tokenizer=tokenizer
    )
    variables = _Variables(path)
    for k, weight in enumerate(encoder.weights):
        weight.assign(variables.read(f"{_WEIGHTS}/{k}"))
    return encoder


def read_mix(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Returns the mix's raw scalars and its gamma, as they were exported."""
    variables = _Variables(path)
    return variables.read(_SCALARS), variables.read(_GAMMA)


class _Variables:
    """The variables of a SavedModel, by the attribute that holds them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        tf = import_tensorflow("Reading a SavedModel")
        self._path = os.path.join(path, "variables", "variables")
        self._errors = (tf.errors.OpError, ValueError)
        try:
            self._checkpoint = tf.train.load_checkpoint(self._path)
        except self._errors as error:
            raise ValueError(f"{self._path}: cannot be read: {error}") from error

    def read(self, attribute: str) -> Any:
        name = f"{attribute}/.ATTRIBUTES/VARIABLE_VALUE"
        if not self._checkpoint.has_tensor(name):
            raise ValueError(f"{self._path}: lacks the variable {attribute}")
        try:
            return self._checkpoint.get_tensor(name)
        except self._errors as error:
            raise ValueError(f"{self._path}: cannot be read: {error}") from error


def _served(embedding: ElmoEmbedding, tokenizer: str | None) -> Any:
    """A trackable object with the variables and what the signatures compute."""
    tf = import_tensorflow("Exporting a SavedModel")

    def from_tokens(tokens: Any, sequence_len: Any) -> dict[str, Any]:
        mask = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
        char_ids = character_ids(tf.where(mask, tokens, ""))
        layers = embedding.token_layers(char_ids)
        elmo = embedding.mixed(layers, char_ids)
        outputs = {"word_emb": layers[0][..., : layers[0].shape[-1] // 2]}
        for k, layer in enumerate(layers[1:], start=1):
            outputs[f"lstm_outputs{k}"] = layer
        # Padding is 0 in the sum. Counted, because a client's lengths may go beyond
        # its tokens; a sentence without any is divided by 1.
        count = tf.math.count_nonzero(char_ids[:, 2:, 0], axis=1, dtype=elmo.dtype)
        outputs["elmo"] = elmo
        mean = tf.reduce_sum(elmo, axis=1) / tf.maximum(count, 1)[:, tf.newaxis]
        outputs["default"] = mean
        outputs["sequence_len"] = tf.identity(sequence_len)
        return outputs

    served = tf.Module(name="elmo")
    # TensorFlow's own variables: through Keras's, each would be stored twice.
    setattr(served, _WEIGHTS, [weight.value for weight in embedding.encoder.weights])
    setattr(served, _SCALARS, embedding.mixes[0].scalars.value)
    setattr(served, _GAMMA, embedding.mixes[0].gamma.value)
    if tokenizer is not None:
        cut = Tokenizer(tokenizer)

        def from_strings(strings: Any) -> dict[str, Any]:
            tokens = cut.ragged(strings)
            lengths = tf.cast(tokens.row_lengths(), tf.int32)
            return from_tokens(tokens.to_tensor(""), lengths)

        strings = tf.TensorSpec([None], tf.string, "strings")
        served.default = tf.function(from_strings, [strings], autograph=False)
    tokens = tf.TensorSpec([None, None], tf.string, "tokens")
    lengths = tf.TensorSpec([None], tf.int32, "sequence_len")
    served.tokens = tf.function(from_tokens, [tokens, lengths], autograph=False)
    return served
