"""Exports an encoder and its mix to ONNX."""

import os
import warnings
from typing import Any

import keras
import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.files.loading import open_model
from keras_elmo.files.onnx_session import new_metadata
from keras_elmo.files.sources import LayerInMemory, Source
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.onnx_graphs.encoder_graph import add_encoder
from keras_elmo.onnx_graphs.graph import OnnxGraph, check_size, write_onnx
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.utils.checks import called, check_choice, check_path, received, refuse
from keras_elmo.utils.files import replacing
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.types import Config, StrPath

# What the cost of 8 bits is measured on, in several languages.
_SAMPLE = [
    sentence.encode().split()
    for sentence in (
        "The bank of the river was steep , and nobody sat on it .",
        "Shares fell 5.3 % in 1998 after the bank raised its rates .",
        "What does ` deep ' mean here ?",
        "Er ging über die Brücke zurück nach Hause .",
        "은행 앞 강가 에 아무도 없 었 다 .",
        "ELMo",
    )
]


def export_onnx(
    source: Source | keras.Model, path: StrPath, quantize: str | None = None
) -> dict[str, float]:
    """Writes a model as an ONNX file, which runs without TensorFlow and Keras.

    Of a Keras model with an `ElmoEmbedding` in it, the file has the model's own inputs
    and outputs; the model has to begin with the character ids, because ONNX has no
    tokenizer.

    Of an encoder, the file computes from character ids what an exported SavedModel
    computes from tokens. Its input is `char_ids`, `(batch, tokens + 2, 50)` int32, as
    `CharacterIds` returns them: with the boundaries of each sentence, 0 where masked; a
    model with a `TokenVocabulary` has as many ids a token as that has. The numbers of
    sentences and of tokens are free. Its outputs, all without the boundaries and 0
    where masked, are

    - `word_emb`: `(batch, tokens, projection_units)` float32, the token alone;
    - `lstm_outputs1` .. `lstm_outputsL`: `(batch, tokens, 2 * projection_units)`;
    - `elmo`: the mix of the layers, of the same shape;
    - `default`: `(batch, 2 * projection_units)`, the mean of `elmo` over the tokens;
    - `sequence_len`: `(batch,)` int32, the number of tokens.

    The metadata of the file has the `tokenizer` of the training text, if it is known,
    and what `load` needs: it reads the file without TensorFlow and Keras.

    With `quantize="int8"` the matrices are stored in 8 bits, a scale a column, which
    takes a quarter of the room and of the time to read them; inputs of a product are
    rounded to 8 bits, too, when it is computed. Weights are rounded to 7 of the 8 bits:
    with more, processors without VNNI instructions compute other vectors. Embeddings
    and convolutions stay float32. Such a file needs ONNX Runtime: other programs lack
    its operator.

    Args:
        source: a name or path as of `load`, an `Encoder`, a `PretrainingModel`, an
            `ElmoEmbedding`, whose first mix is exported, or a Keras model with an
            `ElmoEmbedding` in it.
        path: the file to write or to replace.
        quantize: `"int8"`, or `None` for float32.

    Returns:
        With `quantize`, the least cosine of each output and the one in float32 among
        the tokens of some sentences, by the name of the output; else an empty
        dictionary. The metadata of the file have it, too.

    Raises:
        ImportError: the extra `onnx` is not installed.
        OSError: the disk has no room for the file.
        TypeError: `source` is something else.
        ValueError: `source` is a path without a model, `path` is a folder, `quantize`
            is another one, or given for a Keras model with an `ElmoEmbedding` in it, or
            the model is larger than an ONNX file can be, 2 GB, begins with strings, or
            does not compute in float32.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.export_onnx(encoder, "elmo.onnx")

    import onnxruntime

    session = onnxruntime.InferenceSession("elmo.onnx")
    char_ids = keras_elmo.CharacterIds()(tf.constant([["the", "bank"]]))
    elmo, lengths = session.run(
        ["elmo", "sequence_len"], {"char_ids": char_ids.numpy()}
    )
    assert elmo.shape == (1, 2, 2 * encoder.config.projection_units)
    ```
    """
    check_choice((None, "int8"), quantize=quantize)
    check_path(path=path)
    path = os.fspath(path)
    if os.path.isdir(path):
        raise ValueError(
            f"{called('path')} must be a file. {received(path=path)}, a folder"
        )
    if isinstance(source, keras.Model) and not isinstance(
        source, Encoder | PretrainingModel
    ):
        if quantize is not None:
            rule = "None for a model with an ElmoEmbedding in it: export its encoder"
            refuse("quantize", rule, quantize)
        _export_downstream(source, path)
        return {}
    embedding = ElmoEmbedding(open_model(source, "source"))
    check_size(embedding.encoder.weights, path)
    graph = _graph(embedding, quantize is not None)
    config, tokenizer = embedding.encoder.config, embedding.encoder.tokenizer
    scalars, gamma, layer_norm = LayerInMemory(embedding, "source").mix()
    about: Config = {"mix": [scalars.tolist(), float(gamma), layer_norm]}
    cosines: dict[str, float] = {}
    if quantize is not None:
        exact = _graph(embedding).serialize({})
        cosines = _cosines(exact, graph.serialize({}), config)
        about["least_cosines"] = cosines
        del exact
    write_onnx(path, graph, new_metadata(config, tokenizer, quantize, **about))
    return cosines


def _cosines(exact: bytes, rounded: bytes, config: ElmoConfig) -> dict[str, float]:
    """Returns the least cosine of each layer and of the mix, among some tokens."""
    runtime: Any = import_extra("onnxruntime", "Writing int8", "onnx")
    ids = PlainIds(config.token_vocabulary)(_SAMPLE)
    names = [*(f"lstm_outputs{k + 1}" for k in range(config.num_layers)), "elmo"]
    one, other = (
        runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(
            names, {"char_ids": ids}
        )
        for path in (exact, rounded)
    )
    is_token = ids[:, 2:, 0] > 0
    lowest = {}
    for name, x, y in zip(names, one, other, strict=True):
        x, y = x[is_token], y[is_token]
        norms = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
        cosines = (x * y).sum(axis=-1) / np.maximum(norms, 1e-30)
        lowest[name] = round(float(cosines.min()), 6)
    return lowest


def _export_downstream(model: keras.Model, path: str) -> None:
    import_extra("tf2onnx", "Writing a downstream model as ONNX", "onnx")
    check_size(model.weights, path)
    # Keras finds the signature of a model that has been called; this one may be new.
    specs = [
        keras.InputSpec(shape=(None, *x.shape[1:]), dtype=x.dtype, name=x.name)
        for x in model.inputs
    ]
    signature = specs if len(specs) == 1 else None
    with replacing(path) as temporary, warnings.catch_warnings():
        # Keras asks NumPy for a name that it has no more.
        warnings.simplefilter("ignore", FutureWarning)
        model.export(temporary, format="onnx", verbose=False, input_signature=signature)


def _graph(embedding: ElmoEmbedding, int8: bool = False) -> OnnxGraph:
    units = embedding.encoder.config.projection_units
    graph = OnnxGraph("elmo", int8=int8)
    num_ids = embedding.encoder.config.ids_per_token
    char_ids = graph.input("char_ids", "int32", ("batch", "positions", num_ids))

    encoded = add_encoder(graph, embedding.encoder, char_ids)
    layers, mask = encoded.layers, encoded.mask
    elmo = encoded.mixed(graph, embedding.mixes[0], 2 * units)

    # === Outputs, named as in the SavedModel ===
    tokens = graph.add("ReduceSum", mask, graph.integers(1), keepdims=0)
    total = graph.add("ReduceSum", elmo, graph.integers(1), keepdims=0)
    mean = graph.add("Div", total, graph.add("Max", tokens, graph.constant(1)))
    word_emb = graph.slice(layers[0], 0, units, axis=2)
    graph.output(word_emb, "float32", ("batch", "tokens", units), "word_emb")
    vectors = {f"lstm_outputs{k}": layer for k, layer in enumerate(layers) if k > 0}
    for name, vector in {**vectors, "elmo": elmo}.items():
        graph.output(vector, "float32", ("batch", "tokens", 2 * units), name)
    graph.output(mean, "float32", ("batch", 2 * units), "default")
    graph.output(encoded.lengths(graph), "int32", ("batch",), "sequence_len")
    return graph
