"""A SavedModel with TF Hub's two signatures."""

import os
from typing import Any

import keras
import numpy as np

from keras_elmo.files.loading import load_embedding, load_language_model
from keras_elmo.files.saved_model import (
    ASSETS,
    DESCRIPTION,
    FORMAT,
    GAMMA,
    SCALARS,
    WEIGHTS,
    is_saved_model,
    write_language_model,
)
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.character_ids import character_ids
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils.files import replacing, write_json
from keras_elmo.utils.lazy import tf


def export_saved_model(
    source: Any,
    path: str | os.PathLike[str],
    tokenizer: str | None = "own",
    dtype: str | None = None,
    language_model: bool = False,
    half_weights: bool = False,
) -> None:
    """Writes a SavedModel whose only trainable variables are the mix's.

    Signature `default` takes `strings`, [batch]; `tokens` takes `tokens`, [batch,
    time] padded with "", and `sequence_len`, [batch]. Both return `word_emb`,
    `lstm_outputs1` .. `lstm_outputsL`, `elmo` (the mix), `default` (its mean over the
    tokens) and `sequence_len`.

    Args:
        source: a pretraining directory, an exported SavedModel, an `Encoder`, or an
            `ElmoEmbedding`, whose first mix is kept.
        path: the folder to write; a SavedModel that stands there is replaced.
        tokenizer: how `default` cuts strings into words: `"unicode"`, which needs
            tensorflow-text's ops wherever the model runs, `"whitespace"`, which needs
            TensorFlow's own alone, or `None`, which leaves `default` out. `"own"` is
            what cut the text that `source` was trained on; `"unicode"`, if that is not
            known.
        dtype: dtype policy of the encoder, `"bfloat16"` for half the size and, where
            the processor multiplies it, more speed; that of `source` if `None`. What
            comes out is float32 either way.
        language_model: whether to keep, in a folder that servers ignore, the words and
            the softmax, too, which `load_language_model` and a run's `init` read.
        half_weights: whether to store the encoder's weights in float16, for half the
            size, whatever it computes in: a weight keeps 11 bits, of bfloat16 8.
            `load` widens them once, the signatures at every call.

    Raises:
        RuntimeError: Keras does not run on TensorFlow.
        TypeError: `source` is something else, or no path, where a language model is
            asked for.
        ValueError: `source` is a path without a model, or without a language model
            that is asked for, or `path` holds something that is not an exported model;
            a weight is too great for float16, where it is asked for.
    """
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "A SavedModel holds a TensorFlow graph: export it in a process with "
            f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()}"
        )
    if os.path.exists(path) and not is_saved_model(path):
        if not os.path.isdir(path) or os.listdir(path):
            raise ValueError(
                "`path` must not exist, or hold an exported model, which is replaced. "
                f"Received: path={os.fspath(path)!r}"
            )
    words = _language_model(source) if language_model else None
    source = _frozen(load_embedding(source), dtype)
    if tokenizer == "own":
        tokenizer = source.encoder.tokenizer or "unicode"
    served = _served(source, tokenizer, half_weights)
    signatures = {"tokens": served.tokens.get_concrete_function()}
    if tokenizer is not None:
        signatures["default"] = served.default.get_concrete_function()
        # What a client gets that asks for no signature by name.
        signatures["serving_default"] = signatures["default"]
    with replacing(path) as temporary:
        tf.saved_model.save(served, temporary, signatures)
        if words is not None:
            write_language_model(temporary, words)
        write_json(
            os.path.join(temporary, ASSETS, DESCRIPTION),
            {
                "format": FORMAT,
                "tokenizer": tokenizer or source.encoder.tokenizer,
                "dtype": source.encoder.get_config()["dtype"],
                "layer_norm": source.layer_norm,
                "options": source.encoder.config.to_options(),
            },
        )


def _language_model(source: Any) -> PretrainingModel:
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "`source` must be the path of a language model where `language_model` is "
            f"set: an encoder has no softmax. Received: source={source!r}"
        )
    return load_language_model(source)


def _frozen(embedding: ElmoEmbedding, dtype: str | None) -> ElmoEmbedding:
    """A copy whose first mix alone is trainable."""
    encoder = embedding.encoder
    encoder = encoder if dtype is None else encoder.with_dtype(dtype)
    copy = ElmoEmbedding(encoder, layer_norm=embedding.layer_norm)
    for ours, given in zip(
        copy.mixes[0].weights, embedding.mixes[0].weights, strict=True
    ):
        ours.assign(given)
    return copy


def _half(weight: Any) -> Any:
    value = tf.cast(weight.value, "float16")
    if not np.isfinite(value).all():
        raise ValueError(
            "`half_weights` needs weights that float16 holds, of 65,504 at most; "
            f"{weight.path} has a greater one"
        )
    return tf.Variable(value, trainable=False)


def _served(embedding: ElmoEmbedding, tokenizer: str | None, half_weights: bool) -> Any:
    """A trackable object with the variables and what the signatures compute."""
    weights = embedding.encoder.weights
    # TensorFlow's own variables: through Keras's, each would be stored twice.
    stored = [weight.value for weight in weights]
    if half_weights:
        stored = [_half(weight) for weight in weights]

    def from_tokens(tokens: Any, sequence_len: Any) -> dict[str, Any]:
        mask = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
        char_ids = character_ids(tf.where(mask, tokens, ""))
        pairs = zip(weights, stored, strict=True)
        with keras.StatelessScope((ours, tf.cast(v, ours.dtype)) for ours, v in pairs):
            layers = embedding.token_layers(char_ids)
        elmo = embedding.mixed(layers, char_ids)
        layers = [tf.cast(layer, elmo.dtype) for layer in layers]
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
    setattr(served, WEIGHTS, stored)
    setattr(served, SCALARS, embedding.mixes[0].scalars.value)
    setattr(served, GAMMA, embedding.mixes[0].gamma.value)
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
