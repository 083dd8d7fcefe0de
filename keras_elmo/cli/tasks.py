"""Trains, runs, scores and exports taggers and classifiers for the commands."""

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import keras_elmo
from keras_elmo.cli.parsing import MODEL, Arguments, import_keras, no_notes
from keras_elmo.cli.process import STANDARD, not_empty, written
from keras_elmo.files.description import Task
from keras_elmo.files.exported_sources import (
    KERAS_SUFFIX,
    KerasFile,
    LiteRtFile,
    OnnxFile,
)
from keras_elmo.files.finding import needs_no_keras
from keras_elmo.files.loading import open_trained
from keras_elmo.files.sources import ModelSource
from keras_elmo.text.lines import expand_files, is_pipe
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.files import check_free, replacing
from keras_elmo.utils.options import Option

if TYPE_CHECKING:
    import keras

# A model, its examples or its scores: Keras is not imported yet.
Data: TypeAlias = Any


def _check_keras_name(argument: str, path: str) -> None:
    if not path.endswith(KERAS_SUFFIX):
        refuse(argument, f"a name in {KERAS_SUFFIX}", path)
    check_free(path)


PREDICTS = Option(
    "model",
    "A .keras file that train has written, or an .onnx or .tflite file of it",
    "FILE",
    required=True,
)
# Kinds of such files.
_KINDS = (KerasFile, OnnxFile, LiteRtFile)
JSON = Option("json", "Print all scores as JSON", type=bool)
TRAIN_OUT = Option(
    "out",
    "The file to write, a name in .keras",
    "FILE",
    required=True,
    check=_check_keras_name,
)
DEV = Option(
    "validation_data",
    "Files that are scored after each epoch; the best epoch is kept",
    "GLOB",
    flag="--dev",
    many=True,
)


def setting(name: str, help: str, default: float, metavar: str = "N") -> Option:
    """Returns an option of training that is a number."""
    return Option(name, help, metavar, default=default, group="training")


def train_options(lstm_units: int, epochs: int, patience: int) -> tuple[Option, ...]:
    """Returns the options of training, by the defaults of a class, for their help."""
    return (
        MODEL,
        Option(
            "static",
            "Static vectors beside ELMo's, in the text format of word2vec, GloVe or "
            "fastText",
            "FILE",
            check=lambda argument, path: expand_files(path, of_sentences=False),
        ),
        setting(
            "lstm_units",
            "Units of the biLSTM in each direction; 0 for none",
            lstm_units,
        ),
        setting("dropout", "Rate of dropout", 0.5, "RATE"),
        setting("epochs", "Greatest number of epochs", epochs),
        setting("batch_size", "Examples of a step", 32),
        setting(
            "patience",
            "Epochs without a better score on {validation_data} after which training "
            "stops",
            patience,
        ),
        setting("seed", "Seed of the weights, the dropout and the order", 0),
    )


# Options of `fit`; the model takes the rest.
_FIT = ("epochs", "batch_size", "patience")


def _taken(arguments: Arguments, *names: str) -> Arguments:
    """Moves the named arguments out of all, if they are there."""
    return {name: arguments.pop(name) for name in names if name in arguments}


def check_column(column: str) -> str | int:
    """Returns the place of a column if it is a number, otherwise its name."""
    return int(column) if column.removeprefix("-").isdecimal() else column


# === Training ===


def train(
    name: str, arguments: Arguments, read: Callable[[list[str]], Data], data: str
) -> None:
    """Trains a `"Tagger"` or `"TextClassifier"` and writes it, also after Ctrl-C.

    `read` reads files; `data` is the argument that has the files to train on.
    """
    out = arguments.pop("out")
    examples = read(arguments.pop(data))
    dev = arguments.pop("validation_data", None)
    if dev is not None:
        dev = read(dev)
    encoder, tokenizer = arguments.pop("model"), arguments.pop("tokenizer", None)
    fit, seed = _taken(arguments, *_FIT), arguments.pop("seed", 0)
    import_keras()
    import keras

    from keras_elmo.downstream.best_epoch import score_of

    keras.utils.set_random_seed(seed)
    model = getattr(keras_elmo, name)(encoder, **arguments)
    if tokenizer is not None:
        # Also the tokenizer of the file that is written.
        model.elmo.encoder.tokenizer = tokenizer
    scores: list[tuple[float, float]] = []
    began = time.monotonic()

    def say(epoch: int, logs: dict[str, float]) -> None:
        is_best = dev is not None and score_of(logs) > max(scores, default=(-1, 0))
        scores.append(score_of(logs))
        parts = [f"loss {logs['loss']:.4f}"]
        for name in ("F1", "precision", "recall", "accuracy"):
            if (score := logs.get(f"val_{name.lower()}")) is not None:
                parts.append(f"{name} {100 * score:.2f}")
        parts.append(f"{time.monotonic() - began:.0f} s")
        parts += ["best so far"] * is_best
        print(f"Epoch {epoch + 1}: {', '.join(parts)}", file=sys.stderr, flush=True)

    callback = keras.callbacks.LambdaCallback(on_epoch_end=say)
    stopped = ""
    try:
        model.fit(examples, validation_data=dev, **fit, verbose=0, callbacks=[callback])
    except KeyboardInterrupt as interrupt:
        stopped = str(interrupt) or "interrupted"
        if not scores:
            raise KeyboardInterrupt(f"{stopped} before an epoch ended") from None
    _save(model, out)
    kept = f"{out} has the weights of epoch {len(scores)}"
    if dev is not None:
        best = scores.index(max(scores)) + 1
        kept = f"{out} has the weights of epoch {best}, the best of {len(scores)}"
        if max(scores)[0] == 0 and not stopped:
            kept += (
                "; its score is 0: a greater --epochs and --patience, "
                "or a smaller --batch-size, may help"
            )
        elif best == len(scores) and not stopped:
            kept += "; it is the last one: a greater --epochs may help"
    if stopped:
        raise KeyboardInterrupt(f"{stopped}; {kept}")
    print(kept, file=sys.stderr)
    print(f"next: keras-elmo {_predicting(model.task, out)}", file=sys.stderr)


def _save(model: "keras.Model", path: str) -> None:
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


# === A trained model ===


def predict(
    name: str,
    arguments: Arguments,
    lines: Callable[[Data, str, BinaryIO | None], Iterable[str]],
) -> None:
    """Writes the lines that a model predicts for a file or standard input.

    `lines` takes the model and the path of a file, or the stream that it names.
    """
    out, path = arguments.get("out", STANDARD), arguments["input"]
    is_stream = path == STANDARD or is_pipe(path)
    if not is_stream:
        path, *more = expand_files(path, of_sentences=False)
        if more:
            paths = ", ".join([path, *more])
            raise ValueError(f"--input must be one file. Received: {paths}")
    source, _ = open_trained(arguments["model"], name, _KINDS)
    model = _load(source, arguments.get("tokenizer"))
    with written(out) as file, contextlib.ExitStack() as opened:
        stream = sys.stdin.buffer if path == STANDARD else None
        if is_stream and stream is None:
            stream = opened.enter_context(open(path, "rb"))
        for line in not_empty(lines(model, path, stream), path):
            file.write(f"{line}\n")


def evaluate(name: str, arguments: Arguments, read: Callable[[Task], Data]) -> None:
    """Prints a model's scores on the examples that `read` returns."""
    source, task = open_trained(arguments["model"], name, _KINDS)
    data = read(task)
    scores = _load(source, arguments.get("tokenizer")).evaluate(data)
    # It takes NumPy.
    from keras_elmo.text.tag_scores import conlleval_table, label_table

    table = conlleval_table if name == "Tagger" else label_table
    print(json.dumps(scores) if "json" in arguments else table(scores))


def export_trained(arguments: Arguments) -> None:
    """Writes a tagger or a classifier whole, by the arguments of `export`."""
    path, out = arguments.pop("source"), arguments.pop("path")
    source = KerasFile(path)
    task = source.task()
    if task is None:
        raise ValueError(f"{path}: must hold a Tagger or a TextClassifier")
    options = _taken(arguments, "quantize", "tokenizer")
    for name in arguments:
        raise ValueError(f"{called(name)} does not apply to {task.title}")
    if options.get("tokenizer") == "none":
        options["tokenizer"] = None
    model = _load(source)
    model.export(out, **options)
    print(f"wrote {out}")
    kind = options.get("tokenizer", model.elmo.encoder.tokenizer)
    if not needs_no_keras(out) and kind == "unicode":
        print(
            "it needs tensorflow-text, imported before it is loaded, also for words "
            "alone; with --tokenizer none it does not"
        )
    serve = shlex.join(["serve", "--model", out])
    print(
        f"next: keras-elmo {_predicting(task, out) if needs_no_keras(out) else serve}"
    )


def _load(source: ModelSource, tokenizer: str | None = None) -> Data:
    """Loads a model; `tokenizer`, if any, replaces its own."""
    import_keras(source.path)
    is_keras = isinstance(source, KerasFile)
    if is_keras:
        # Registers the classes.
        import keras_elmo.downstream  # noqa: F401
    with contextlib.nullcontext() if is_keras else no_notes():
        model = source.loaded()
    if tokenizer is not None:
        (model.elmo.encoder if is_keras else model).tokenizer = tokenizer
    return model


def _predicting(task: Task, path: str) -> str:
    """Returns a call that predicts with a file."""
    words = task.commands[0].split()
    return shlex.join([*words, "--model", path, "--input", "text.txt"])
