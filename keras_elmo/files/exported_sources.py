"""Models in one piece: a SavedModel, an .onnx file, a task in a `.keras` file.

Imports nothing heavy.
"""

import json
import os
import zipfile
from functools import cached_property
from typing import TYPE_CHECKING, Any

from keras_elmo.config import read_options
from keras_elmo.files.finding import (
    description_file,
    is_litert,
    is_onnx,
    is_saved_model,
)
from keras_elmo.files.sources import (
    LANGUAGE_MODEL,
    WEIGHTS,
    ModelSource,
    Softmax,
    open_softmax,
    refuse_task,
    words_in,
)
from keras_elmo.files.task_description import CLASSIFIER, TAGGER, Task, task_of
from keras_elmo.files.validation import check_dtype, check_tokenizer
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


class ExportedModel(ModelSource):
    """A folder that `export_saved_model` wrote."""

    kind = "an exported model"

    @staticmethod
    def matches(path: str) -> bool:
        return is_saved_model(path)

    def task(self) -> Task | None:
        where = description_file(self.path)
        # A damaged description is told by what reads it whole.
        with reading(where):
            return task_of(read_json_object(where))

    def check(self) -> None:
        if task := self.task():
            refuse_task(task, self.name, self.argument)

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
        return read_saved_model(self.path)

    def mix(self) -> "Mix":
        from keras_elmo.files.saved_model_format import read_mix

        return read_mix(self.path)

    def language_model(self) -> "PretrainingModel":
        from keras_elmo.files.saved_model_format import read_language_model

        self.check()
        return read_language_model(self.path)

    def softmax(self) -> Softmax | None:
        from keras_elmo.files.saved_model_format import language_model_files

        return open_softmax(*language_model_files(self.path))

    def describe(self) -> Config:
        from keras_elmo.files.saved_model_format import (
            language_model_files,
            read_description,
        )

        stored = read_description(self.path)
        where = f"{self.path}: its description"
        words = words_in(language_model_files(self.path)[0])
        about = {
            "config": read_options(stored["options"], where),
            "dtype": check_dtype(stored["dtype"], where),
            "tokenizer": check_tokenizer(stored["tokenizer"], where),
        }
        if task := self.task():
            return {**about, **task.describe("a SavedModel", [])}
        return {
            **about,
            "words": words,
            "mix": self.mix(),
            "uses": [*WEIGHTS, "serve", *(LANGUAGE_MODEL if words else [])],
        }


class OnnxFile(ModelSource):
    """A file of an encoder, a tagger or a classifier, which need no Keras."""

    kind = "an ONNX file"

    @staticmethod
    def matches(path: str) -> bool:
        return is_onnx(path) and os.path.isfile(path)

    @cached_property
    def _session(self) -> "InGraphFile":
        from keras_elmo.files.exported_tasks import open_graph_file

        return open_graph_file(self.path)

    @classmethod
    def of(cls, session: "InGraphFile", argument: str) -> "OnnxFile":
        """Returns the source of a file that is open already."""
        kind = LiteRtFile if is_litert(session.path) else cls
        source = kind(session.path, argument)
        source._session = session
        return source

    def task(self) -> Task | None:
        return task_of(self._session.about)

    def loaded(self) -> "InGraphFile":
        return self._session

    def encoder(self) -> "OnnxEncoder":
        from keras_elmo.files.onnx_session import OnnxEncoder

        if isinstance(self._session, OnnxEncoder):
            return self._session
        refuse_task(self._session.task, self.name, self.argument)

    def keras_encoder(self) -> "Encoder":
        raise ValueError(
            f"{called(self.argument)} must have weights that Keras reads; {self.kind} "
            f"has none. {received(**{self.argument: self.name})}"
        )

    def mix(self) -> "Mix":
        return self.encoder().mix

    def language_model(self) -> "PretrainingModel":
        raise ValueError(
            f"{called(self.argument)} must have a language model; {self.kind} has "
            f"none. {received(**{self.argument: self.name})}"
        )

    def describe(self) -> Config:
        session = self._session
        about = {
            "config": session.config,
            "dtype": session.quantize or "float32",
            "tokenizer": session.tokenizer,
        }
        if task := self.task():
            return {**about, **task.describe(self.kind, task.commands[:-1])}
        uses = ["embed", "nearest", "distill", "serve"]
        return {**about, "mix": self.mix(), "uses": uses}


class LiteRtFile(OnnxFile):
    """A file of a tagger or a classifier; to describe it, its graph is not read."""

    kind = "a LiteRT file"

    @staticmethod
    def matches(path: str) -> bool:
        return is_litert(path) and os.path.isfile(path)

    @cached_property
    def _description(self) -> tuple[Config, Task]:
        from keras_elmo.files.litert_graph import read_litert_description

        return read_litert_description(self.path)

    def task(self) -> Task:
        return self._description[1]

    def check(self) -> None:
        refuse_task(self.task(), self.name, self.argument)

    def encoder(self) -> "OnnxEncoder":
        refuse_task(self.task(), self.name, self.argument)

    def describe(self) -> Config:
        about, task = self._description
        with reading(self.path, "its description is damaged"):
            return {
                "config": read_options(about["options"], self.path),
                "dtype": "int8" if about["quantize"] == "int8" else "float32",
                "tokenizer": check_tokenizer(about["tokenizer"], self.path),
                **task.describe(self.kind, task.commands[:-1]),
            }


class KerasFile(ModelSource):
    """A file that `save` of a tagger or a classifier wrote.

    `describe` and `task` read its config, without Keras.
    """

    kind = f"a {KERAS_SUFFIX} file"

    @staticmethod
    def matches(path: str) -> bool:
        return path.endswith(KERAS_SUFFIX) and os.path.isfile(path)

    def task(self) -> Task | None:
        name, config = self._config()
        kind = CLASSES.get(name)
        if kind is None:
            return None
        names = config.get("tags" if kind == TAGGER else "labels") or ()
        with reading(self.path):
            return Task(
                kind,
                tuple(map(str, names)),
                bool(config.get("multi_label", False)),
                bool(config.get("pairs", False)),
            )

    def loaded(self) -> Any:
        """Returns the model of Keras, whose class has been imported before.

        In Keras's safe mode nothing in the file is run.
        """
        import keras

        with reading(self.path, "cannot be loaded"):
            model = keras.saving.load_model(self.path)
            if (name := type(model).__name__) not in CLASSES:
                raise ValueError(f"its model is a {name}")
            return model

    def describe(self) -> Config:
        task = self.task()
        if task is None:
            raise ValueError(
                f"{self.name}: holds neither a Tagger nor a TextClassifier, the only "
                f"models in {self.kind} that are known here"
            )
        _, config = self._config()
        with reading(self.path):
            encoder = config["encoder"]
            # Keras's form of an object, or its config.
            encoder = encoder.get("config", encoder)["encoder"]
            return {
                "config": read_options(encoder["options"], self.path),
                "dtype": check_dtype(encoder["dtype"], self.path),
                "tokenizer": check_tokenizer(encoder["tokenizer"], self.path),
                **task.describe(self.kind, task.commands),
            }

    def _config(self) -> tuple[str, Config]:
        """Returns the name of the model's class, and its config."""
        with reading(self.path), zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo("config.json")
            if info.file_size > _MAX_BYTES:
                raise ValueError(f"its config.json has {info.file_size:,} bytes")
            stored = json.loads(archive.read(info))
            return str(stored["registered_name"]).removeprefix("keras_elmo>"), dict(
                stored["config"]
            )
