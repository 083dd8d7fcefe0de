"""What the commands of taggers and of classifiers have in common."""

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from keras_elmo.cli.parsing import MODEL, Arguments, import_keras
from keras_elmo.files.exported_sources import KERAS_SUFFIX, KerasFile, OnnxFile
from keras_elmo.files.finding import is_onnx
from keras_elmo.files.loading import Kind, open_model
from keras_elmo.files.sources import ModelSource
from keras_elmo.text.lines import expand_files
from keras_elmo.utils.checks import called
from keras_elmo.utils.files import check_free, replacing, replacing_text
from keras_elmo.utils.options import Option

if TYPE_CHECKING:
    import keras

STANDARD = "-"
LITERT_SUFFIX = ".tflite"
_TRAINING = "training"

PREDICTS = Option(
    "model",
    "A .keras file that train has written, or an .onnx file of it",
    "FILE",
    required=True,
)
# The files that it names.
_KINDS: tuple[Kind, ...] = (KerasFile, OnnxFile)
OUT = Option("out", "The file to write; if not given, or -, standard output", "FILE")
JSON = Option("json", "Print all scores as JSON", type=bool)
TRAIN_OUT = Option("out", "The file to write, a name in .keras", "FILE", required=True)
TRAIN_OPTIONS = (
    MODEL,
    Option(
        "static",
        "Static vectors beside ELMo's, in the text format of word2vec, GloVe or "
        "fastText",
        "FILE",
    ),
    Option(
        "lstm_units",
        "Units of the biLSTM in each direction; 0 for none",
        type=int,
        group=_TRAINING,
    ),
    Option("dropout", "Rate of dropout", "RATE", type=float, group=_TRAINING),
    Option("epochs", "Greatest number of epochs", type=int, group=_TRAINING),
    Option("batch_size", "Examples of a step", type=int, group=_TRAINING),
    Option(
        "patience",
        "Epochs without a better score on {validation_data} after which training stops",
        type=int,
        group=_TRAINING,
    ),
    Option(
        "seed",
        "Seed of the weights, the dropout and the order",
        type=int,
        default=0,
        group=_TRAINING,
    ),
)
# What `fit` takes of them; the model takes the others.
FIT = ("epochs", "batch_size", "patience")


def taken(arguments: Arguments, *names: str) -> Arguments:
    """Takes some arguments out of all, those that are there."""
    return {name: arguments.pop(name) for name in names if name in arguments}


def check_new_model(path: str) -> None:
    """Checks that a file in `.keras` can be written."""
    if not path.endswith(KERAS_SUFFIX):
        raise ValueError(
            f"--out must be a name in {KERAS_SUFFIX}. Received: --out {path!r}"
        )
    check_free(path)


def check_column(column: str | int | None) -> str | int | None:
    """Returns the place of a column if it is a number, otherwise its name."""
    if isinstance(column, str) and column.removeprefix("-").isdecimal():
        return int(column)
    return column


def train(model: "keras.Model", out: str, data: Arguments, **fit: object) -> None:
    """Trains a model, and writes it, also after Ctrl-C.

    Args:
        model: a `Tagger` or a `TextClassifier`.
        out: the file.
        data: arguments of its `fit`.
        **fit: other ones.
    """
    import keras

    is_scored = "validation_data" in data
    # What decides which epoch is best, of each.
    epochs: list[tuple[float, float]] = []
    began = time.monotonic()

    def say(epoch: int, logs: dict[str, float]) -> None:
        f1_or_accuracy = logs.get("val_f1", logs.get("val_accuracy", 0.0))
        epochs.append((f1_or_accuracy, -logs.get("val_loss", 0.0)))
        parts = [f"loss {logs['loss']:.4f}"]
        for name in ("F1", "precision", "recall", "accuracy"):
            if (score := logs.get(f"val_{name.lower()}")) is not None:
                parts.append(f"{name} {100 * score:.2f}")
        parts.append(f"{time.monotonic() - began:.0f} s")
        if is_scored and max(epochs) == epochs[-1]:
            parts.append("best so far")
        print(f"Epoch {epoch + 1}: {', '.join(parts)}", file=sys.stderr, flush=True)

    callback = keras.callbacks.LambdaCallback(on_epoch_end=say)
    stopped = ""
    try:
        model.fit(**data, **fit, verbose=0, callbacks=[callback])
    except KeyboardInterrupt as interrupt:
        stopped = str(interrupt) or "interrupted"
        if not epochs:
            raise KeyboardInterrupt(f"{stopped} before an epoch ended") from None
    save(model, out)
    kept = f"{out} has the weights of epoch {len(epochs)}"
    if is_scored:
        best = epochs.index(max(epochs)) + 1
        kept = f"{out} has the weights of epoch {best}, the best of {len(epochs)}"
    if stopped:
        raise KeyboardInterrupt(f"{stopped}; {kept}")
    print(kept, file=sys.stderr)
    print(f"next: keras-elmo {_predicting(out)}", file=sys.stderr)


def save(model: "keras.Model", path: str) -> None:
    """Writes a model whole or not at all."""
    with replacing(path) as temporary:
        # Keras wants the ending.
        whole = temporary + KERAS_SUFFIX
        try:
            model.save(whole)
            os.replace(whole, temporary)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(whole)


def open_trained(path: str, name: str) -> ModelSource:
    """Finds a trained model, without Keras.

    Args:
        path: the file.
        name: of its class.
    """
    source = open_model(path, "model", _KINDS)
    task = source.task()
    if task is None or task.class_name != name:
        received = "another model" if task is None else f"a {task.class_name}"
        raise ValueError(f"{path}: must hold a {name}. Received: {received}")
    return source


def load_trained(source: ModelSource, tokenizer: str | None = None) -> Any:
    """Loads a `Tagger` or a `TextClassifier`, or one that was exported.

    Args:
        source: what `open_trained` returned.
        tokenizer: splits texts, or `None` for what the model has.
    """
    import_keras(source.path)
    if isinstance(source, KerasFile):
        import keras

        # Registers the classes.
        from keras_elmo import Tagger, TextClassifier  # noqa: F401

        model = keras.models.load_model(source.path)
        splits = model.elmo.encoder
    else:
        model = splits = source.loaded()
    if tokenizer is not None:
        splits.tokenizer = tokenizer
    return model


def export_trained(arguments: Arguments) -> None:
    """Writes a tagger or a classifier whole, for programs without Keras.

    Args:
        arguments: those of `export`, checked but for what no such model has.
    """
    path, out = arguments.pop("source"), arguments.pop("path")
    task = open_model(path, "model", (KerasFile,)).task()
    if task is None:
        raise ValueError(f"{path}: must hold a Tagger or a TextClassifier")
    options = taken(arguments, "quantize", "tokenizer")
    for name in arguments:
        raise ValueError(f"{called(name)} does not apply to {task.title}")
    if options.get("tokenizer") == "none":
        options["tokenizer"] = None
    load_trained(KerasFile(path)).export(out, **options)
    print(f"wrote {out}")
    if out.endswith(LITERT_SUFFIX):
        return
    serve = shlex.join(["serve", "--model", out])
    print(f"next: keras-elmo {_predicting(out) if is_onnx(out) else serve}")


def _predicting(path: str) -> str:
    """Returns a call that predicts with a file."""
    task = open_model(path, "model", _KINDS).task()
    words = task.commands[0].split() if task else []
    return shlex.join([*words, "--model", path, "--input", "text.txt"])


@contextlib.contextmanager
def written(path: str | None) -> Iterator[TextIO]:
    """Yields what is written to: a file, whole or not at all, or standard output."""
    if path in (None, STANDARD):
        yield sys.stdout
    else:
        with replacing_text(str(path)) as file:
            yield file


def check_output(path: str | None) -> None:
    """Checks that a file can be written, unless it is standard output."""
    if path not in (None, STANDARD):
        check_free(str(path))


def input_file(path: str) -> str:
    """Checks that a text is there, and returns its path.

    Raises:
        ValueError: no file, or more than one, matches.
    """
    if path == STANDARD:
        return path
    paths = expand_files(path, of_sentences=False)
    if len(paths) > 1:
        raise ValueError(f"--input must be one file. Received: {', '.join(paths)}")
    return paths[0]


def standard_input(path: str) -> BinaryIO | None:
    """Returns the stream of standard input if `path` names it, else `None`."""
    return sys.stdin.buffer if path == STANDARD else None
