"""Models that were exported: a SavedModel, an .onnx file. Imports nothing heavy."""

import os
from functools import cached_property
from typing import TYPE_CHECKING

from keras_elmo.files.finding import (
    ASSETS,
    DESCRIPTION,
    ONNX_SUFFIX,
    is_onnx,
    is_saved_model,
)
from keras_elmo.files.sources import (
    LANGUAGE_MODEL,
    WEIGHTS,
    ModelSource,
    Softmax,
    refuse_task,
    words_in,
)
from keras_elmo.files.task_description import Task, task_of
from keras_elmo.files.validation import check_dtype, check_tokenizer, config_of
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.files import read_json_object
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config

if TYPE_CHECKING:
    from keras_elmo.files.onnx_encoder import Mix, OnnxEncoder
    from keras_elmo.files.onnx_tasks import OnnxModel
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel


class ExportedModel(ModelSource):
    """A folder that `export_saved_model` wrote."""

    kind = "an exported model"
    files = f"{ASSETS}/{DESCRIPTION}"

    @staticmethod
    def matches(path: str) -> bool:
        return is_saved_model(path)

    def task(self) -> Task | None:
        where = os.path.join(self.path, self.files)
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
        from keras_elmo.files.saved_model import read_saved_model

        self.check()
        return read_saved_model(self.path)

    def mix(self) -> "Mix":
        from keras_elmo.files.saved_model import read_mix

        return read_mix(self.path)

    def language_model(self) -> "PretrainingModel":
        from keras_elmo.files.saved_model import read_language_model

        self.check()
        return read_language_model(self.path)

    def softmax(self) -> Softmax | None:
        from keras_elmo.files.saved_model import language_model_files
        from keras_elmo.files.softmax_file import open_softmax

        return open_softmax(*language_model_files(self.path))

    def describe(self) -> Config:
        from keras_elmo.files.saved_model import language_model_files, read_description

        stored = read_description(self.path)
        where = f"{self.path}: its description"
        words = words_in(language_model_files(self.path)[0])
        about = {
            "config": config_of(stored["options"], where),
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
    files = f"*{ONNX_SUFFIX}"

    @staticmethod
    def matches(path: str) -> bool:
        return is_onnx(path) and os.path.isfile(path)

    @cached_property
    def _session(self) -> "OnnxModel":
        from keras_elmo.files.onnx_tasks import open_onnx

        return open_onnx(self.path)

    @classmethod
    def of(cls, session: "OnnxModel", argument: str) -> "OnnxFile":
        """Returns the source of a file that is open already."""
        source = cls(session.path, argument)
        source._session = session
        return source

    def task(self) -> Task | None:
        return task_of(self._session.about)

    def loaded(self) -> "OnnxModel":
        return self._session

    def encoder(self) -> "OnnxEncoder":
        from keras_elmo.files.onnx_encoder import OnnxEncoder

        if isinstance(self._session, OnnxEncoder):
            return self._session
        refuse_task(self._session.task, self.name, self.argument)

    def keras_encoder(self) -> "Encoder":
        raise ValueError(
            f"{called(self.argument)} must have weights that Keras reads; an .onnx "
            f"file has none. {received(**{self.argument: self.name})}"
        )

    def mix(self) -> "Mix":
        return self.encoder().mix

    def language_model(self) -> "PretrainingModel":
        raise ValueError(
            f"{called(self.argument)} must have a language model; an .onnx file has an "
            f"encoder alone. {received(**{self.argument: self.name})}"
        )

    def describe(self) -> Config:
        session = self._session
        about = {
            "config": session.config,
            "dtype": session.quantize or "float32",
            "tokenizer": session.tokenizer,
        }
        if task := self.task():
            return {**about, **task.describe(self.kind, task.commands[:1])}
        uses = ["embed", "nearest", "serve"]
        return {**about, "mix": self.mix(), "uses": uses}
