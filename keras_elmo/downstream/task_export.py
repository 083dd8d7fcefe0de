"""Writes a tagger or a classifier whole, in a format."""

import os

import keras

from keras_elmo.config import TOKENIZERS
from keras_elmo.downstream.task_litert import write_litert
from keras_elmo.downstream.task_model import TaskModel
from keras_elmo.downstream.task_onnx import write_task_onnx
from keras_elmo.downstream.task_saved_model import write_saved_model
from keras_elmo.files.finding import LITERT_SUFFIX, ONNX_SUFFIX, check_folder_name
from keras_elmo.utils.checks import check_choice, check_path, refuse
from keras_elmo.utils.files import check_free
from keras_elmo.utils.types import StrPath

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
        write_task_onnx(self, filepath, quantize)
        return
    if keras.backend.backend() != "tensorflow":
        rule = "A SavedModel holds" if format == _SAVED_MODEL else "LiteRT's file is of"
        raise RuntimeError(
            f"{rule} a TensorFlow graph: export it in a process with "
            f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()}"
        )
    if format == _LITERT:
        write_litert(self, filepath, quantize)
    else:
        write_saved_model(self, filepath, tokenizer)
