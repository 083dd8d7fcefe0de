"""The one door into a model: a name, a path, or the model itself.

Imports nothing heavy, so that a command finds a mistake in a name at once.
"""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from keras_elmo.files import finding
from keras_elmo.files.description import Task
from keras_elmo.files.downloads import HUB, cached_folders, download, unpack
from keras_elmo.files.exported_sources import (
    CLASSES,
    ExportedModel,
    GraphFile,
    KerasFile,
    LiteRtFile,
    OnnxFile,
)
from keras_elmo.files.finding import is_shipped, read_card, shipped_names
from keras_elmo.files.run_sources import PublishedFolder, Run, RunCheckpoint
from keras_elmo.files.sources import ModelSource, Source, in_memory, refuse_task
from keras_elmo.utils.checks import called, did_you_mean
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from keras_elmo.models.pretraining import PretrainingModel

Kind: TypeAlias = type[ModelSource]

# What every function takes. The first that matches is the one.
MODELS: tuple[Kind, ...] = (
    ExportedModel,
    OnnxFile,
    LiteRtFile,
    RunCheckpoint,
    Run,
    PublishedFolder,
)

# What `keras.Model.save` writes.
_KERAS_SUFFIXES = (".keras", ".h5")


def open_model(
    source: Source,
    argument: str = "model",
    kinds: tuple[Kind, ...] = MODELS,
    named: tuple[Kind, ...] = (),
) -> ModelSource:
    """Finds what kind of model a source is, once. Reads no weights.

    Args:
        source: what `load` takes, or what this function returned.
        argument: name of the caller's argument, for messages.
        kinds: the kinds of files that the caller takes. Of those that match, the first
            is the one. A model in memory is always taken.
        named: the kinds that an error names; `kinds` if empty.
    """
    if isinstance(source, ModelSource):
        return source
    if not isinstance(source, str | os.PathLike):
        from keras_elmo.files.onnx_session import GraphSession

        if isinstance(source, GraphSession):
            return GraphFile.of(source, argument)
        return in_memory(source, argument)
    name = os.fspath(source)
    path: str | None = name
    if name.startswith(HUB):
        path = _model_in(download(name, argument), kinds)
    elif name.endswith(".zip") and os.path.isfile(name):
        path = _model_in(unpack(Path(name)), kinds)
    if path is None:
        raise ValueError(f"{name}: holds no model that keras_elmo reads")
    kind = find_kind(path, kinds)
    if kind is None and len(Path(name).parts) == 1:
        path = os.fspath(finding.SHIPPED / name)
        kind = find_kind(path, kinds)
    if kind is None:
        raise ValueError(_refusal(name, argument, named or kinds))
    return kind(path, argument, name)


def open_trained(
    path: str, name: str, kinds: tuple[Kind, ...], argument: str = "model"
) -> tuple[ModelSource, Task]:
    """Finds a trained model of the class `name`, and what it does, without Keras."""
    if is_shipped(path):
        wanted = Task(CLASSES[name], ())
        raise ValueError(
            f"{path}: is a shipped model, not {wanted.title}; train one on it with "
            f"`keras-elmo {wanted.commands[0].split()[0]} train`"
        )
    source = open_model(path, argument, kinds)
    task = source.task()
    if task is None or task.class_name != name:
        received = "another model" if task is None else f"a {task.class_name}"
        raise ValueError(f"{path}: must hold a {name}. Received: {received}")
    return source, task


def find_kind(path: StrPath, kinds: tuple[Kind, ...] = MODELS) -> Kind | None:
    """Returns the kind of a file or folder, if it is one of some."""
    path = os.fspath(path)
    matching = [kind for kind in kinds if kind.matches(path)]
    if len(matching) > 1 and matching[0].is_foreign:
        raise ValueError(
            f"{path}: holds {' and '.join(kind.kind for kind in matching)}: "
            f"{called('kind')} must say which one to import"
        )
    return matching[0] if matching else None


def _refusal(name: str, argument: str, kinds: tuple[Kind, ...]) -> str:
    """Says why a name or path is no model that is taken: what is wrong comes first."""
    *former, last = (kind.kind for kind in kinds)
    wanted = " or ".join([", ".join(former), last] if former else [last])
    exactly = f"{called(argument)} must be {wanted}"
    taken = exactly if len(kinds) < 4 else f"{called(argument)} must be a model's path"
    if is_shipped(name):
        return f"{name}: is a shipped model; {exactly}"
    if not os.path.exists(name):
        is_named = ExportedModel in kinds
        names = shipped_names() if is_named else []
        hint = did_you_mean(name, names) or "."
        others = ", ".join(["", *names])
        others += f" or {HUB}OWNER/NAME" if is_named else ""
        return f"{name}: no such file or folder{hint} {taken}{others}"
    if KerasFile.matches(name) and (task := KerasFile(name).task()):
        refuse_task(task, name, argument)
    if name.endswith(_KERAS_SUFFIXES) and os.path.isfile(name):
        return (
            f"{name}: {called(argument)} must not be a .keras file. Read it with "
            "keras.models.load_model, and give the Encoder, ElmoEmbedding or "
            "PretrainingModel that it holds, or export that"
        )
    if other := find_kind(name):
        return f"{name}: is {other.kind}; {exactly}"
    for foreign in finding.FOREIGN_FORMATS.values():
        if foreign.matches(name):
            return f"{name}: is {foreign.kind}; import it with `keras-elmo import`"
    return f"{name}: holds no model; {exactly}"


def _model_in(folder: Path, kinds: tuple[Kind, ...]) -> str | None:
    """Returns the folder, or the only one in it, whichever holds a model."""

    def holds_weights(path: Path) -> bool:
        kind = find_kind(path, kinds)
        with contextlib.suppress(ValueError):
            if kind is not None:
                kind(path).check()
                return True
        return False

    if holds_weights(folder):
        return os.fspath(folder)
    inner = [path for path in folder.glob("*/") if path.is_dir()]
    models = [os.fspath(path) for path in inner if holds_weights(path)]
    return models[0] if len(models) == 1 else None


def load(name_or_path: Source) -> Any:
    """Loads an encoder, or a tagger or classifier in an .onnx or .tflite file.

    Args:
        name_or_path: the name of a shipped model, `"elmo-en"` or `"elmo-ko"`; the path
            of a pretraining directory, of a checkpoint in it, of a folder written by
            `export_saved_model`, or of a .zip of such a folder; or `"hf://OWNER/NAME"`,
            a repository of such files on the Hugging Face Hub (extra `hub`), and
            `"hf://OWNER/NAME@REVISION"` one revision of it; or an .onnx or
            .tflite file that `export` or `export_onnx` wrote. An `Encoder` is returned
            as it is, of an `ElmoEmbedding` or a `PretrainingModel` the encoder.

    Returns:
        A frozen or trainable `Encoder`, as it was saved. Its `tokenizer` names how its
        training text was split into words. Of an .onnx file, an encoder for `embed`
        and `nearest`, which ONNX Runtime runs without TensorFlow and Keras; of an .onnx
        or .tflite file that `Tagger.export` or `TextClassifier.export` wrote, a tagger
        or a classifier, with their methods `predict`, `tag` and `predict_proba`.

    Raises:
        TypeError: `name_or_path` is something else.
        ValueError: there is no such model, or its files are damaged.
        OSError: it cannot be downloaded.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.save_published_weights(
        encoder, "my-elmo/options.json", "my-elmo/weights.hdf5"
    )
    encoder = keras_elmo.load("my-elmo")
    (layers,) = keras_elmo.embed(encoder, [["the", "bank"]])
    print(layers.shape)  # (layers, tokens, 2 * projection_units)
    ```
    """
    return open_model(name_or_path, "name_or_path").loaded()


def load_language_model(name_or_path: Source) -> "PretrainingModel":
    """Loads a language model: an encoder, its softmax and the words it predicts.

    Args:
        name_or_path: as of `load`. A SavedModel must have been exported with
            `language_model=True`, as the shipped models are. A `PretrainingModel` is
            returned as it is.

    Returns:
        A `PretrainingModel` with the attributes `encoder` and `vocabulary`.

    Raises:
        TypeError: `name_or_path` is something else, such as an `Encoder`, which has
            no softmax.
        ValueError: there is no such model, it has no softmax, or its files are damaged.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the boat lies at the bank\\nthe bank lends money\\n" * 20)
    config = keras_elmo.ElmoConfig.preset("tiny")
    keras_elmo.pretrain(
        config, "text.txt", directory="run", num_sampled=4, steps=1, progress=False
    )
    model = keras_elmo.load_language_model("run")
    print(model.vocabulary.words)
    ```
    """
    return open_model(name_or_path, "name_or_path").language_model()


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
    shipped = finding.SHIPPED
    models = [
        _info(name, shipped / name, shipped / f"{name}.md") for name in shipped_names()
    ]
    for name, folder in cached_folders():
        path = _model_in(folder, MODELS)
        if path is not None:
            models.append(_info(name or path, Path(path), Path(path, "README.md")))
    return models


def _info(name: str, folder: Path, card: Path) -> ModelInfo:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return ModelInfo(
        name, read_card(card, "language"), size, read_card(card, "license")
    )
