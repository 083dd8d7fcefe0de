"""Finds the folder of a model: by its path or name, in an archive, or on the Hub.

Imports nothing heavy, so that a command finds a mistake in a name at once.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from keras_elmo.files.downloads import HUB, cached_folders, download, unpack
from keras_elmo.utils.types import StrPath

_PACKAGE = Path(__file__).parents[1]
# A wheel has the models inside the package, a clone of the repository beside it.
SHIPPED = _PACKAGE / "saved_models"
if not SHIPPED.is_dir():
    SHIPPED = _PACKAGE.parent / "saved_models"

# What an exported SavedModel says of itself, in a folder that servers ignore.
ASSETS = "assets.extra"
DESCRIPTION = "keras_elmo.json"
ONNX_SUFFIX = ".onnx"
# What `keras.Model.save` writes.
_KERAS_SUFFIXES = (".keras", ".h5")


class RunFiles:
    """Names the files of a pretraining directory.

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


class ModelInfo(NamedTuple):
    """A model that needs no download.

    Attributes:
        name: what `keras_elmo.load` takes.
        language: of its text, such as `"en"`; `""` if its card does not say.
        num_bytes: size of its files.
        license: of its weights, such as `"cc-by-sa-3.0"`; `""` if its card does not
            say.
    """

    name: str
    language: str
    num_bytes: int
    license: str


def list_models() -> list[ModelInfo]:
    """Lists the models that are on this machine: shipped, or in a cache.

    Returns:
        A list of `ModelInfo(name, language, num_bytes, license)`: the shipped models,
        then those that `load` has downloaded from the Hugging Face Hub or unpacked from
        an archive.

    Example:

    ```python
    for model in keras_elmo.list_models():
        print(model.name, model.language, f"{model.num_bytes / 1e6:.0f} MB")
    ```
    """
    found = [
        _info(name, SHIPPED / name, SHIPPED / f"{name}.md") for name in shipped_names()
    ]
    for name, folder in cached_folders():
        model = _model_in(folder)
        if model is not None:
            found.append(_info(name or str(model), model, model / "README.md"))
    return found


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


def _info(name: str, folder: Path, card: Path) -> ModelInfo:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return ModelInfo(name, _said(card, "language"), size, _said(card, "license"))


def language_of(folder: Path) -> str:
    """Returns the language of a model's text; "" if its card does not say."""
    shipped = folder.resolve().parent == SHIPPED.resolve()
    card = folder.with_suffix(".md") if shipped else folder / "README.md"
    return _said(card, "language")


def _said(card: Path, key: str) -> str:
    """Returns a value of the head of a card, as the Hub reads it; "" without."""
    if not card.is_file():
        return ""
    text = card.read_text(encoding="utf-8", errors="replace")
    head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    # One value, or a list of them.
    values = re.search(rf"^{key}:(.*(?:\n *- .*)*)", head[1] if head else "", re.M)
    return ", ".join(re.findall(r"\w[\w.-]*", values[1])) if values else ""


def find_model(name_or_path: StrPath, argument: str = "model") -> Path:
    """Returns the folder of a model; the errors are those of `load`.

    Args:
        name_or_path: what `load` takes.
        argument: the name of the caller's argument, for errors.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise TypeError(
            f"`{argument}` must be a name, a path, an Encoder, an ElmoEmbedding or a "
            f"PretrainingModel. Received: a {type(name_or_path).__name__}"
        )
    given = os.fspath(name_or_path)
    path = Path(given)
    packed = None
    if given.startswith(HUB):
        packed = download(given, argument)
    elif path.suffix == ".zip" and path.is_file():
        packed = unpack(path)
    if packed is not None:
        found = _model_in(packed)
        if found is None:
            raise ValueError(f"{given}: holds no model that keras_elmo reads")
        return found
    if path.suffix == ONNX_SUFFIX and path.is_file():
        return path
    is_checkpoint = path.suffix == ".npz" and path.is_file()
    if is_checkpoint or _holds_a_model(path):
        return path
    if len(path.parts) == 1 and _holds_a_model(SHIPPED / path):
        return SHIPPED / path
    run = RunFiles(path)
    if run.holds_a_run():
        raise ValueError(
            f"{run.path}: the run has no weights yet: neither {run.weights}, which its "
            "first validation writes, nor a checkpoint; train on until then"
        )
    if path.suffix in _KERAS_SUFFIXES and path.is_file():
        raise ValueError(
            f"{given}: `{argument}` must not be a file of Keras. Read it with "
            "keras.models.load_model, and give the Encoder, ElmoEmbedding or "
            "PretrainingModel that it holds, or export that"
        )
    raise ValueError(
        f"`{argument}` must be an exported model or a pretraining directory "
        "(options.json and weights.hdf5), such a folder in a .zip file, an .onnx file, "
        "hf://OWNER/NAME, or a "
        f"shipped model ({', '.join(shipped_names()) or 'there is none'}). "
        f"Received: {argument}={given!r}"
    )


def _holds_a_model(path: Path) -> bool:
    if is_saved_model(path):
        return True
    run = RunFiles(path)
    return run.holds_a_model() or run.holds_a_checkpoint()


def _model_in(folder: Path) -> Path | None:
    """Returns the folder, or the only one in it, whichever holds a model."""
    folders = [folder, *(path for path in folder.glob("*/") if path.is_dir())]
    models = [path for path in folders if _holds_a_model(path)]
    return models[0] if len(models) == 1 or folder in models else None
