"""Writes a tagger or a classifier whole, in a format."""

import json
import os
import tempfile

import keras

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, TOKENIZERS
from keras_elmo.downstream.task_model import OnnxText, TaskModel
from keras_elmo.files.description import TAGGER, Task, new_description
from keras_elmo.files.finding import LITERT_SUFFIX, ONNX_SUFFIX, check_folder_name
from keras_elmo.files.litert_graph import write_litert_file
from keras_elmo.files.onnx_session import CHAR_IDS, STATIC_WORDS, new_metadata
from keras_elmo.files.saved_model_format import add_signatures, write_description
from keras_elmo.onnx_graphs.encoder_graph import add_encoder
from keras_elmo.onnx_graphs.graph import Axes, OnnxGraph, check_size, write_onnx
from keras_elmo.onnx_graphs.heads import add_static
from keras_elmo.text.character_ids import character_ids, vocabulary_encoding
from keras_elmo.utils.checks import check_choice, check_path, refuse
from keras_elmo.utils.files import check_free, replacing
from keras_elmo.utils.keras_private import exporting
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import StrPath, Tensor

_SAVED_MODEL, _ONNX, _LITERT = "tf_saved_model", "onnx", "litert"
_SUFFIXES = {_ONNX: ONNX_SUFFIX, _LITERT: LITERT_SUFFIX}


def export(
    self: TaskModel,
    filepath: StrPath,
    format: str | None = None,
    quantize: str | None = None,
    tokenizer: str | None = "own",
) -> None:
    """Writes the model for programs without Keras: words in, names out.

    A SavedModel has the signatures `tokens`, which takes `tokens`, `(batch, tokens)`
    strings padded with `""`, and `sequence_len`, `(batch,)` int32; and `default`, which
    takes `strings`, `(batch,)`. Both return `sequence_len`; a tagger's also `tags`,
    `(batch, tokens)` strings, and `scores`, the probability of each tag; a classifier's
    `labels`, `(batch,)` strings, and `probabilities`, `(batch, labels)`. With
    `multi_label`, `labels` is `(batch, labels)`, with `""` for a label that a text does
    not have. A classifier of pairs takes each argument twice, the second time as
    `second_strings` and so on.

    An ONNX or a LiteRT file takes `char_ids`, `(batch, tokens + 2, 50)` int32 from
    `CharacterIds`, and with static vectors `static_ids`, `(batch, tokens)`, from
    `StaticEmbedding.ids`. Its `tags` are indices, -1 where masked; it also has
    `marginals`, `(batch, tokens, tags)` probabilities. A classifier returns only
    `probabilities`. The file has the names: `keras_elmo.load` reads it without
    TensorFlow and Keras, LiteRT with the package `ai-edge-litert`; a LiteRT file is
    also a zip archive, with `keras_elmo.json` in it.

    Args:
        filepath: the folder or the file to write.
        format: `"tf_saved_model"`, `"onnx"` or `"litert"`; by default what the name
            ends in: `.onnx`, `.tflite`, or else a SavedModel.
        quantize: `"int8"` for a file with matrices in 8 bits, or `None`.
        tokenizer: how `default` splits texts: a kind of `Tokenizer`; `"own"` as the
            training text was split; `None` for no such signature. With `"unicode"`
            a SavedModel needs tensorflow-text wherever it runs.

    Raises:
        ImportError: the extra `onnx` is not installed.
        ValueError: an argument is out of range, the model is not trained yet, or
            `filepath` exists already or, of a SavedModel, is named like a file.
        RuntimeError: Keras does not run on TensorFlow, which all formats but ONNX need.
    """
    check_path(filepath=filepath)
    suffix = os.path.splitext(os.fspath(filepath))[1]
    if format is None:
        formats = {suffix: format for format, suffix in _SUFFIXES.items()}
        format = formats.get(suffix, _SAVED_MODEL)
    check_choice((_SAVED_MODEL, _ONNX, _LITERT), format=format)
    check_choice((None, "int8"), quantize=quantize)
    check_choice((*TOKENIZERS, "own", None), tokenizer=tokenizer)
    wanted = _SUFFIXES.get(format)
    if suffix != (wanted or suffix):
        refuse("filepath", f"a name in {wanted} for this format", filepath)
    if format == _SAVED_MODEL:
        check_folder_name(filepath=filepath)
        if quantize is not None:
            refuse("quantize", "None for a SavedModel", quantize)
    if format != _SAVED_MODEL and tokenizer != "own":
        refuse("tokenizer", "'own' for a file, which takes ids", tokenizer)
    check_free(filepath)
    # Raises unless it is trained.
    _ = self.task
    if format == _ONNX:
        _write_onnx(self, filepath, quantize)
        return
    if keras.backend.backend() != "tensorflow":
        rule = "A SavedModel holds" if format == _SAVED_MODEL else "A LiteRT file holds"
        raise RuntimeError(
            f"{rule} a TensorFlow graph: export it in a process with "
            f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()}"
        )
    if format == _LITERT:
        _write_litert(self, filepath, quantize)
    else:
        _write_saved_model(self, filepath, tokenizer)


# === A SavedModel: strings in, names out ===


def _write_saved_model(model: TaskModel, path: StrPath, tokenizer: str | None) -> None:
    """Writes a SavedModel that TensorFlow runs alone; see `export`."""
    encoder, task = model.elmo.encoder, model.task
    if tokenizer == "own":
        tokenizer = encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    vocabulary = encoder.config.token_vocabulary
    module = tf.Module(name=task.kind)
    # TensorFlow's own variables: through Keras's, each would be stored twice.
    module.weights = [weight.value for weight in model.weights]
    if vocabulary is not None:
        module.words = vocabulary_encoding(vocabulary).table
    if model.static is not None:
        module.static_words = model.static.table()

    def make_ids(tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        num_tokens = tf.shape(tokens)[1]
        tokens = tf.where(tf.sequence_mask(lengths, num_tokens), tokens, "")
        # A batch without words has a position.
        tokens = tf.pad(tokens, [[0, 0], [0, tf.maximum(0, 1 - num_tokens)]])
        ids = [character_ids(tokens, vocabulary)]
        return ids if model.static is None else [*ids, model.static.ids(tokens)]

    def compute(*texts: Tensor) -> dict[str, Tensor]:
        tokens, lengths = texts[:2]
        pairs = zip(texts[::2], texts[1::2], strict=True)
        outputs = model.outputs_of_ids([make_ids(*pair) for pair in pairs])
        named = _named(task, outputs, tf.shape(tokens)[1])
        return {**named, "sequence_len": tf.identity(lengths)}

    signatures = add_signatures(module, compute, tokenizer, task.prefixes)
    signatures.setdefault("serving_default", signatures["tokens"])
    with replacing(path) as temporary:
        tf.saved_model.save(module, temporary, signatures)
        layer_norm = model.elmo.layer_norm
        write_description(temporary, encoder, tokenizer, layer_norm, task)


def _named(
    task: Task, outputs: dict[str, Tensor], num_tokens: Tensor
) -> dict[str, Tensor]:
    """Returns names for indices."""
    names = tf.constant(task.names)
    if task.kind == TAGGER:
        tags, scores = (outputs[name][:, :num_tokens] for name in ("tags", "scores"))
        strings = tf.gather(names, tf.maximum(tags, 0))
        return {"tags": tf.where(tags < 0, "", strings), "scores": scores}
    probabilities = outputs["probabilities"]
    if task.multi_label:
        labels = tf.where(probabilities >= 0.5, names, "")
    else:
        labels = tf.gather(names, tf.argmax(probabilities, axis=-1))
    return {"labels": labels, "probabilities": probabilities}


# === ONNX: ids in, Viterbi inside ===


def _write_onnx(model: TaskModel, path: StrPath, quantize: str | None) -> None:
    """Writes an ONNX file; `quantize` is `"int8"`, or `None` for float32."""
    check_size(model.weights, path)
    encoder = model.elmo.encoder
    metadata = new_metadata(
        encoder.config,
        encoder.tokenizer,
        quantize,
        model.task,
        layer_norm=model.elmo.layer_norm,
    )
    if model.static is not None:
        metadata[STATIC_WORDS] = json.dumps(model.static.words, ensure_ascii=False)
    write_onnx(path, _onnx_graph(model, quantize is not None), metadata)


def _onnx_graph(model: TaskModel, int8: bool) -> OnnxGraph:
    graph = OnnxGraph(model.task.kind, int8=int8)
    num_ids = model.elmo.encoder.config.ids_per_token
    ids = []
    for names in model.input_names():
        # The texts of a pair have numbers of tokens of their own.
        tokens = names[0].replace(CHAR_IDS, "tokens")
        axes = [("batch", f"{tokens} + 2", num_ids), ("batch", tokens)]
        pairs = zip(names, axes, strict=False)
        ids.append([graph.input(name, "int32", sizes) for name, sizes in pairs])
    if len(ids) == 2:
        ids = [_one_batch(graph, *ids)]
    ((char_ids, *static_ids),) = ids

    encoded = add_encoder(graph, model.elmo.encoder, char_ids)
    units = model.elmo.layers_shape[-1]
    elmo = encoded.mixed(graph, model.elmo.mixes[0], units)
    static = None
    if model.static is not None:
        static = add_static(graph, model.static.vectors, *static_ids)
    text = OnnxText(elmo, static, encoded.is_token, encoded.lengths(graph))
    for name, x in model.add_outputs(graph, text).items():
        dtype = "int32" if name == "tags" else "float32"
        graph.output(x, dtype, _axes(name, len(model.task.names)), name)
    return graph


def _axes(name: str, num_names: int) -> Axes:
    if name == "probabilities":
        return "batch", num_names
    return ("batch", "tokens", *([num_names] if name == "marginals" else ()))


def _one_batch(graph: OnnxGraph, first: list[str], second: list[str]) -> list[str]:
    """Joins the ids of two texts to one batch, the first texts first."""
    sizes = [
        graph.slice(graph.add("Shape", x[0]), 1, 2, axis=0) for x in (first, second)
    ]
    longest = graph.add("Max", *sizes)
    joined = []
    for k, pair in enumerate(zip(first, second, strict=True)):
        # Character ids have an axis more.
        before = graph.integers(*[0] * (4 - k))
        after = [graph.integers(0)] * (1 - k)
        padded = []
        for x, size in zip(pair, sizes, strict=True):
            missing = graph.add("Sub", longest, size)
            pads = graph.add("Concat", before, missing, *after, axis=0)
            padded.append(graph.add("Pad", x, pads))
        joined.append(graph.add("Concat", *padded, axis=0))
    return joined


# === LiteRT: ids in, Viterbi inside ===


def _write_litert(model: TaskModel, path: StrPath, quantize: str | None) -> None:
    """Writes a LiteRT file with operators that every interpreter has."""
    encoder = model.elmo.encoder
    names = model.input_names()
    specs = []
    for char_ids, *static_ids in names:
        sizes = [None, None, encoder.config.ids_per_token]
        specs.append(tf.TensorSpec(sizes, tf.int32, char_ids))
        specs += [tf.TensorSpec([None, None], tf.int32, name) for name in static_ids]

    def outputs(*ids: Tensor) -> dict[str, Tensor]:
        size = len(names[0])
        texts = [ids[k : k + size] for k in range(0, len(ids), size)]
        return model.outputs_of_ids(texts)

    module = tf.Module(name=model.task.kind)
    module.weights = [weight.value for weight in model.weights]
    with exporting("LiteRT"):
        function = tf.function(outputs, specs, autograph=False)
        concrete = function.get_concrete_function()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, concrete)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        if quantize is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        content = converter.convert()
    about = new_description(
        encoder.config,
        model.task,
        tokenizer=encoder.tokenizer,
        quantize=quantize,
        layer_norm=model.elmo.layer_norm,
    )
    if model.static is not None:
        about[STATIC_WORDS] = model.static.words
    with replacing(path) as temporary:
        write_litert_file(temporary, content, about)
