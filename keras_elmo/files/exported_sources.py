"""Models in one piece: a SavedModel, an .onnx, a .tflite or a `.keras` file.

Imports nothing heavy.
"""

import json
import os
import zipfile
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from keras_elmo.files.description import (
    CLASSIFIER,
    FORMAT,
    TAGGER,
    Description,
    Task,
    read_description,
)
from keras_elmo.files.finding import (
    LITERT_SUFFIX,
    ONNX_SUFFIX,
    description_file,
    is_saved_model,
)
from keras_elmo.files.sources import (
    LANGUAGE_MODEL,
    WEIGHTS,
    ModelSource,
    refuse_task,
    words_in,
)
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.files import read_json_object
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config

if TYPE_CHECKING:
    from keras_elmo.files.exported_tasks import InGraphFile
    from keras_elmo.files.onnx_session import Mix, OnnxEncoder
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel

KERAS_SUFFIX = ".keras"
CLASSES = {"Tagger": TAGGER, "TextClassifier": CLASSIFIER}
# Of the config in a `.keras` file, which holds the words of static vectors, too.
_MAX_BYTES = 2**28


class Exported(ModelSource):
    """A model in one piece, which describes itself; base of a class for each format.

    Attributes:
        suffix: what the name of a file ends in.
    """

    suffix: ClassVar[str]

    @property
    def description(self) -> Description:
        """What the model says of itself."""
        raise NotImplementedError  # Every format has its own.

    @classmethod
    def matches(cls, path: str) -> bool:
        return path.endswith(cls.suffix) and os.path.isfile(path)

    def task(self) -> Task | None:
        return self.description.task

    def check(self) -> None:
        if task := self.task():
            refuse_task(task, self.name, self.argument)


class ExportedModel(Exported):
    """A folder that `export_saved_model` wrote."""

    kind = "an exported model"

    @classmethod
    def matches(cls, path: str) -> bool:
        return is_saved_model(path)

    @cached_property
    def description(self) -> Description:
        where = description_file(self.path)
        return read_description(read_json_object(where), where)

    def loaded(self) -> "Encoder":
        if task := self.task():
            raise ValueError(
                f"{self.name}: is {task.title} in a SavedModel, which "
                "tf.saved_model.load and `keras-elmo serve` run. In Python load the "
                f"file that {task.class_name}.save wrote, or an .onnx file"
            )
        return self.encoder()

    def encoder(self) -> "Encoder":
        from keras_elmo.files.saved_model_format import read_saved_model

        self.check()
        return read_saved_model(self.path, self.description)

    def mix(self) -> "Mix":
        from keras_elmo.files.saved_model_format import read_mix

        return read_mix(self.path, self.description)

    def language_model(self) -> "PretrainingModel":
        from keras_elmo.files.saved_model_format import read_language_model

        self.check()
        return read_language_model(self.path, self.description)

    def describe(self) -> Config:
        from keras_elmo.files.saved_model_format import language_model_files

        about = self.description.sizes()
        if task := self.task():
            return {**about, **task.describe("a SavedModel", [])}
        words = words_in(language_model_files(self.path)[0])
        uses = [*WEIGHTS, "serve", *(LANGUAGE_MODEL if words else [])]
        return {**about, "words": words, "mix": self.mix(), "uses": uses}


class GraphFile(Exported):
    """A file whose graph a runtime computes without Keras; base of both formats."""

    @cached_property
    def _session(self) -> "InGraphFile":
        from keras_elmo.files.exported_tasks import open_graph_file

        return open_graph_file(self.path)

    @staticmethod
    def of(session: "InGraphFile", argument: str) -> "GraphFile":
        """Returns the source of a file that is open already."""
        is_litert = session.path.endswith(LITERT_SUFFIX)
        source = (LiteRtFile if is_litert else OnnxFile)(session.path, argument)
        source._session = session
        return source

    def loaded(self) -> "InGraphFile":
        return self._session

    def encoder(self) -> "OnnxEncoder":
        super().check()
        # What has no task is an encoder.
        return self._session  # type: ignore[return-value]

    def mix(self) -> "Mix":
        return self.encoder().mix

    def keras_encoder(self) -> "Encoder":
        self._refuse("weights that Keras reads")

    def language_model(self) -> "PretrainingModel":
        self._refuse("a language model")

    def _refuse(self, wanted: str) -> NoReturn:
        raise ValueError(
            f"{called(self.argument)} must have {wanted}; {self.kind} has none. "
            + received(**{self.argument: self.name})
        )

    def describe(self) -> Config:
        about = self.description.sizes()
        if task := self.task():
            return {**about, **task.describe(self.kind, task.commands[:-1])}
        uses = ["embed", "nearest", "distill", "serve"]
        return {**about, "mix": self.mix(), "uses": uses}


class OnnxFile(GraphFile):
    """A file of an encoder, a tagger or a classifier."""

    kind = "an ONNX file"
    suffix = ONNX_SUFFIX

    @property
    def description(self) -> Description:
        return self._session.about

    def check(self) -> None:
        """Leaves it to `encoder`, because the description is in the graph."""


class LiteRtFile(GraphFile):
    """A file of a tagger or a classifier; to describe it, its graph is not read."""

    kind = "a LiteRT file"
    suffix = LITERT_SUFFIX

    @cached_property
    def description(self) -> Description:
        from keras_elmo.files.litert_graph import read_stored_description

        return read_description(read_stored_description(self.path), self.path)


class KerasFile(Exported):
    """A file that `keras.Model.save` wrote; its config is read without Keras.

    The config of a tagger or a classifier is a description.
    """

    kind = f"a {KERAS_SUFFIX} file"
    suffix = KERAS_SUFFIX

    def task(self) -> Task | None:
        name, config = self._config
        package, _, class_name = name.rpartition(">")
        kind = CLASSES.get(class_name)
        if kind is None or package != "keras_elmo":
            return None
        with reading(self.path):
            names = config.get("tags" if kind == TAGGER else "labels") or ()
            return Task(
                kind,
                tuple(map(str, names)),
                bool(config.get("multi_label", False)),
                bool(config.get("pairs", False)),
            )

    @cached_property
    def description(self) -> Description:
        with reading(self.path):
            elmo = self._config[1]["encoder"]
            # Keras's form of an object, or its config.
            elmo = elmo.get("config", elmo)
            more = {"format": FORMAT, "layer_norm": elmo["layer_norm"]}
            stored = {**elmo["encoder"], **more}
        return read_description(stored, self.path)

    def loaded(self, compile: bool = True) -> Any:
        """Returns the model, whose own classes have been imported before.

        In Keras's safe mode nothing in the file is run.
        """
        import keras

        with reading(self.path, "cannot be loaded"):
            # Of any other file Keras says that there is none.
            zipfile.ZipFile(self.path).close()
            return keras.saving.load_model(self.path, compile=compile)

    def describe(self) -> Config:
        task = self.task()
        if task is None:
            raise ValueError(
                f"{self.name}: holds neither a Tagger nor a TextClassifier, the only "
                f"models in {self.kind} that are known here"
            )
        return {**self.description.sizes(), **task.describe(self.kind, task.commands)}

    @cached_property
    def _config(self) -> tuple[str, Config]:
        """The registered name of the model's class, and its config."""
        with reading(self.path), zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo("config.json")
            if info.file_size > _MAX_BYTES:
                raise ValueError(f"its config.json has {info.file_size:,} bytes")
            stored = json.loads(archive.read(info))
            return str(stored["registered_name"]), dict(stored["config"])
