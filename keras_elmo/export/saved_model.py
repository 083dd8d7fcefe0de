"""Exports an encoder and its mix as a SavedModel."""

import os
from collections.abc import Sequence

import keras
import numpy as np

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, TOKENIZERS
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.files.finding import check_folder_name, is_saved_model
from keras_elmo.files.loading import open_model
from keras_elmo.files.saved_model_format import (
    GAMMA,
    SCALARS,
    WEIGHTS,
    Signature,
    add_signatures,
    write_description,
    write_language_model,
)
from keras_elmo.files.sources import Source
from keras_elmo.text.character_ids import character_ids, vocabulary_encoding
from keras_elmo.utils.checks import called, check_boolean, check_choice, check_path
from keras_elmo.utils.files import is_free, replacing
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import StrPath, Tensor


def export_saved_model(
    source: Source,
    path: StrPath,
    tokenizer: str | None = "own",
    dtype: str | None = None,
    language_model: bool = False,
    half_weights: bool = False,
) -> None:
    """Writes a model as a SavedModel with the two signatures of the TF Hub module.

    - `default` takes `strings`, `(batch,)`.
    - `tokens` takes `tokens`, `(batch, time)`, padded with `""`, and `sequence_len`,
      `(batch,)` int32. Tokens beyond a sentence's length are not read; an `""` before
      another token is an error, `InvalidArgument`.

    Both return, in float32, `word_emb`, `lstm_outputs1` .. `lstm_outputsL`, `elmo` (the
    mix of the layers), `default` (the mean of `elmo` over the tokens) and
    `sequence_len`. The weights of the mix are the only trainable variables.

    Args:
        source: a name or path as of `load`, an `Encoder`, a `PretrainingModel`, or an
            `ElmoEmbedding`, whose first mix is exported.
        path: the folder to write, or an exported SavedModel to replace.
        tokenizer: how `default`, and every function that loads the model, splits
            strings into tokens: a kind of `Tokenizer`, of which `"unicode"` needs
            tensorflow-text wherever the model runs and any other TensorFlow alone, or
            `None`, which leaves `default` out. `"own"` is the tokenizer of the training
            text; `"whitespace"`, if that is not known.
        dtype: dtype policy of the encoder. `"bfloat16"` halves its size and is faster
            on processors that multiply bfloat16. `None` keeps the one of `source`.
        language_model: whether to add the vocabulary and the softmax, which
            `load_language_model` and `pretrain(init=...)` read, in a folder that
            servers ignore.
        half_weights: whether to store the encoder's weights in float16 (11 bits of
            precision; bfloat16 has 8), which halves the size. `load` widens them once,
            the signatures at every call.

    Raises:
        RuntimeError: the Keras backend is not TensorFlow.
        TypeError: `source` is something else, or has no softmax with `language_model`.
        ValueError: `source` is a path without a model, or without a language model with
            `language_model`; `path` is named like a file, or holds something that is
            not an exported model; or a weight is too large for float16 with
            `half_weights`.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.export_saved_model(encoder, "elmo", tokenizer="whitespace")

    elmo = keras.layers.TFSMLayer("elmo", call_endpoint="default")
    outputs = elmo(tf.constant(["the bank"]))
    print(outputs["elmo"].shape)  # (batch, tokens, 2 * projection_units)
    ```
    """
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "A SavedModel holds a TensorFlow graph: export it in a process with "
            f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()}"
        )
    check_path(path=path)
    check_folder_name(path=path)
    check_boolean(language_model=language_model, half_weights=half_weights)
    check_choice((*TOKENIZERS, "own", None), tokenizer=tokenizer)
    if not is_free(path) and not is_saved_model(path):
        raise ValueError(
            "`path` must not exist, or hold an exported model, which is replaced. "
            f"Received: path={os.fspath(path)!r}"
        )
    source = open_model(source, "source")
    words = source.language_model() if language_model else None
    # A copy, of which the first mix alone is trainable.
    embedding = ElmoEmbedding(source, dtype=dtype)
    encoder = embedding.encoder
    if tokenizer == "own":
        tokenizer = encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    served = tf.Module(name="elmo")
    signatures = _signatures(served, embedding, tokenizer, half_weights)
    with replacing(path) as temporary:
        tf.saved_model.save(served, temporary, signatures)
        if words is not None:
            write_language_model(temporary, words)
        write_description(temporary, encoder, tokenizer, embedding.layer_norm)


def _half(weight: keras.Variable) -> "tf.Variable":
    value = tf.cast(weight.value, "float16")
    if not np.isfinite(value).all():
        raise ValueError(
            f"{called('half_weights')} needs weights that float16 holds, of 65,504 at "
            f"most; {weight.path} has a greater one"
        )
    return tf.Variable(value, trainable=False)


def _signatures(
    served: "tf.Module",
    embedding: ElmoEmbedding,
    tokenizer: str | None,
    half_weights: bool,
) -> dict[str, Signature]:
    """Adds the variables and the signatures to what is saved."""
    # TensorFlow's own variables: through Keras's, each would be stored twice.
    stored = [
        _half(weight) if half_weights else weight.value
        for weight in embedding.encoder.weights
    ]
    setattr(served, WEIGHTS, stored)
    setattr(served, SCALARS, embedding.mixes[0].scalars.value)
    setattr(served, GAMMA, embedding.mixes[0].gamma.value)
    vocabulary = embedding.encoder.config.token_vocabulary
    if vocabulary is not None:
        served.words = vocabulary_encoding(vocabulary).table

    def from_tokens(tokens: Tensor, sequence_len: Tensor) -> dict[str, Tensor]:
        mask = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
        char_ids = character_ids(tf.where(mask, tokens, ""), vocabulary)
        outputs = _outputs(embedding, stored, char_ids)
        return {**outputs, "sequence_len": tf.identity(sequence_len)}

    return add_signatures(served, from_tokens, tokenizer)


def _outputs(
    embedding: ElmoEmbedding, stored: Sequence["tf.Variable"], char_ids: Tensor
) -> dict[str, Tensor]:
    """Returns the vectors by their names, computed with the stored weights."""
    weights = zip(embedding.encoder.weights, stored, strict=True)
    with keras.StatelessScope((w, tf.cast(value, w.dtype)) for w, value in weights):
        layers = embedding.token_layers(char_ids)
    elmo = embedding.mixed(layers, char_ids)
    layers = [tf.cast(layer, elmo.dtype) for layer in layers]
    outputs = {"word_emb": layers[0][..., : layers[0].shape[-1] // 2]}
    outputs |= {f"lstm_outputs{k}": layer for k, layer in enumerate(layers) if k > 0}
    # Padding is 0 in the sum. Counted, because a client's lengths may go beyond its
    # tokens; a sentence without any is divided by 1.
    count = tf.math.count_nonzero(char_ids[:, 2:, 0], axis=1, dtype=elmo.dtype)
    mean = tf.reduce_sum(elmo, axis=1) / tf.maximum(count, 1)[:, tf.newaxis]
    return {**outputs, "elmo": elmo, "default": mean}
