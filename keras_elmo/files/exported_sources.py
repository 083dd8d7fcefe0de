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
    words_in,
)
from keras_elmo.files.validation import check_dtype, check_tokenizer, config_of
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.types import Config

if TYPE_CHECKING:
    from keras_elmo.files.onnx_encoder import Mix, OnnxEncoder
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel


class ExportedModel(ModelSource):
    """A folder that `export_saved_model` wrote."""

    kind = "an exported model"
    files = f"{ASSETS}/{DESCRIPTION}"

    @staticmethod
    def matches(path: str) -> bool:
        return is_saved_model(path)

    def encoder(self) -> "Encoder":
        from keras_elmo.files.saved_model import read_saved_model

        return read_saved_model(self.path)

    def mix(self) -> "Mix":
        from keras_elmo.files.saved_model import read_mix

        return read_mix(self.path)

    def language_model(self) -> "PretrainingModel":
        from keras_elmo.files.saved_model import read_language_model

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
        return {
            "config": config_of(stored["options"], where),
            "dtype": check_dtype(stored["dtype"], where),
            "tokenizer": check_tokenizer(stored["tokenizer"], where),
            "words": words,
            "mix": self.mix(),
            "uses": [*WEIGHTS, "serve", *(LANGUAGE_MODEL if words else [])],
        }


class OnnxFile(ModelSource):
    """A file that `export_onnx` wrote; its encoder needs no Keras."""

    kind = "an ONNX file"
    files = f"*{ONNX_SUFFIX}"

    @staticmethod
    def matches(path: str) -> bool:
        return is_onnx(path) and os.path.isfile(path)

    @cached_property
    def _encoder(self) -> "OnnxEncoder":
        from keras_elmo.files.onnx_encoder import OnnxEncoder

        return OnnxEncoder(self.path)

    @classmethod
    def of(cls, encoder: "OnnxEncoder", argument: str) -> "OnnxFile":
        """Returns the file of an encoder that is open already."""
        source = cls(encoder.path, argument)
        source._encoder = encoder
        return source

    def encoder(self) -> "OnnxEncoder":
        return self._encoder

    def keras_encoder(self) -> "Encoder":
        raise ValueError(
            f"{called(self.argument)} must have weights that Keras reads; an .onnx "
            f"file has none. {received(**{self.argument: self.name})}"
        )

    def mix(self) -> "Mix":
        return self._encoder.mix

    def language_model(self) -> "PretrainingModel":
        raise ValueError(
            f"{called(self.argument)} must have a language model; an .onnx file has an "
            f"encoder alone. {received(**{self.argument: self.name})}"
        )

    def describe(self) -> Config:
        encoder = self._encoder
        return {
            "config": encoder.config,
            "dtype": encoder.quantize or "float32",
            "tokenizer": encoder.tokenizer,
            "mix": encoder.mix,
            "uses": ["embed", "nearest", "serve"],
        }
