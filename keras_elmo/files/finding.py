"""Where the files of a model are. Imports nothing heavy."""

import glob
import os
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from keras_elmo.utils.checks import refuse
from keras_elmo.utils.types import StrPath

_PACKAGE = Path(__file__).parents[1]
# A wheel has the models inside the package, a clone of the repository beside it.
SHIPPED = _PACKAGE / "saved_models"
if not SHIPPED.is_dir():
    SHIPPED = _PACKAGE.parent / "saved_models"

# What an exported SavedModel says of itself, in a folder that servers ignore.
ASSETS = "assets.extra"
DESCRIPTION = "keras_elmo.json"
ONNX_SUFFIX, LITERT_SUFFIX = ".onnx", ".tflite"
# Any other suffix may end the name of a folder, such as elmo-v1.0.
_FILE_SUFFIXES = (
    *(".onnx", ".tflite", ".keras", ".h5", ".hdf5", ".pb", ".pt", ".pth", ".bin"),
    *(".safetensors", ".npy", ".npz", ".zip", ".tar", ".gz", ".xz", ".json", ".jsonl"),
    *(".txt", ".csv", ".tsv", ".conll", ".conllu", ".parquet", ".md", ".pdf", ".png"),
)


class ForeignFormat(NamedTuple):
    """What another program writes, and `import_model` reads.

    Attributes:
        kind: what messages call such a model.
        files: patterns of file names: a folder must match all of them; a single file
            must match the only one.
        help: help text of the command-line option for the format.
        value: what its help calls the value of that option, `"DIR"` or `"FILE"`.
    """

    kind: str
    files: str
    help: str
    value: str = "DIR"

    def matches(self, path: StrPath) -> bool:
        """Whether a file or folder has this format, judged by names alone."""
        path = os.fspath(path)
        if os.path.isfile(path):
            return fnmatch(os.path.basename(path), self.files)
        return all(glob.glob(name, root_dir=path) for name in self.files.split(", "))


# By what `import_model(kind=...)` takes. `keras-elmo import` has an option for each.
FOREIGN_FORMATS = {
    "checkpoint": ForeignFormat(
        "a training folder of bilm-tf",
        "model.ckpt-*.index",
        "A training folder of bilm-tf (options.json, model.ckpt-*), or the "
        "prefix of one checkpoint there; pretrain --resume goes on with it",
    ),
    "hub": ForeignFormat(
        "a TF Hub module",
        "variables/variables.index",
        "A module of TensorFlow Hub, with its mix",
    ),
    "many_langs": ForeignFormat(
        "a model of ELMoForManyLangs",
        "config.json, encoder.pkl, token_embedder.pkl",
        'A model of ELMoForManyLangs. Needs the extra "torch".',
    ),
}


class RunFiles:
    """Names the files in a pretraining directory.

    - `options.json`: the sizes of the model, in the published format.
    - `weights.hdf5`: the best encoder so far, in the published format, and its softmax.
    - `vocabulary.txt`: the words that the softmax predicts, in the published format;
      `vocabulary.counts.txt`: how often each occurs in the text.
    - `training.json`: the manifest: the tokenizer, and what else the run began with.
    - `checkpoints/`: the last states of the run, to resume from.
    - `history.csv`, `history.png`: the learning curves; `tensorboard/` has them for
      TensorBoard, if asked for.

    Args:
        path: the folder; it need not exist.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = os.fspath(path)
        self.options = os.path.join(self.path, "options.json")
        self.weights = os.path.join(self.path, "weights.hdf5")
        self.vocabulary = os.path.join(self.path, "vocabulary.txt")
        self.training = os.path.join(self.path, "training.json")
        self.checkpoints = os.path.join(self.path, "checkpoints")
        self.history = os.path.join(self.path, "history.csv")
        self.curves = os.path.join(self.path, "history.png")
        self.tensorboard = os.path.join(self.path, "tensorboard")

    def holds_a_model(self) -> bool:
        return os.path.exists(self.options) and os.path.exists(self.weights)

    def holds_a_language_model(self) -> bool:
        return self.holds_a_model() and os.path.exists(self.vocabulary)

    def holds_a_checkpoint(self) -> bool:
        return os.path.exists(self.options) and bool(checkpoint_steps(self.checkpoints))

    def holds_a_run(self) -> bool:
        return os.path.exists(self.training)


def checkpoint_steps(folder: StrPath) -> list[int]:
    """Returns the steps of all checkpoints in a folder, in order."""
    if not os.path.isdir(folder):
        return []
    names = [re.fullmatch(r"step-(\d+)\.npz", name) for name in os.listdir(folder)]
    return sorted(int(name[1]) for name in names if name)


def needs_no_keras(path: StrPath) -> bool:
    """Whether a path is named like a file that a runtime computes without Keras."""
    return os.fspath(path).endswith((ONNX_SUFFIX, LITERT_SUFFIX))


def check_folder_name(**arguments: StrPath) -> None:
    """Raises a `ValueError` if the folder of a SavedModel is named like a file."""
    for name, path in arguments.items():
        suffix = os.path.splitext(path)[1].lower()
        if suffix in _FILE_SUFFIXES:
            rule = "the name of a folder, for a SavedModel, or of a file in .onnx"
            if suffix == LITERT_SUFFIX:
                rule += (
                    f", and not end in {suffix}: LiteRT is for taggers and classifiers"
                )
            else:
                rule += (
                    f" or, of a tagger or classifier, .tflite, and not end in {suffix}"
                )
            refuse(name, rule, path)


def is_saved_model(path: StrPath) -> bool:
    """Whether `path` is a folder that `export_saved_model` wrote."""
    return os.path.exists(description_file(path))


def description_file(path: StrPath) -> str:
    """Returns the file that describes an exported SavedModel."""
    return os.path.join(path, ASSETS, DESCRIPTION)


def shipped_names() -> list[str]:
    """Returns the names of the models that come with the package: each has a card."""
    cards = SHIPPED.glob("*.md")
    return sorted(card.stem for card in cards if is_saved_model(card.with_suffix("")))


def is_shipped(name: StrPath) -> bool:
    """Whether a shipped model is meant, and no file or folder."""
    return not os.path.exists(name) and os.fspath(name) in shipped_names()


def read_language(folder: Path) -> str:
    """Returns the language of a model's text; "" if its card has none."""
    shipped = folder.resolve().parent == SHIPPED.resolve()
    card = folder.with_suffix(".md") if shipped else folder / "README.md"
    return read_card(card, "language")


def read_card(card: Path, key: str) -> str:
    """Returns a value in the head of a card, as the Hub reads it; "" without."""
    if not card.is_file():
        return ""
    text = card.read_text(encoding="utf-8", errors="replace")
    head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    # One value, or a list of them.
    values = re.search(rf"^{key}:(.*(?:\n *- .*)*)", head[1] if head else "", re.M)
    return ", ".join(re.findall(r"\w[\w.-]*", values[1])) if values else ""
