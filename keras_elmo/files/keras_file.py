"""A tagger or a classifier in a `.keras` file. Imports nothing heavy."""

import json
import os
import zipfile

from keras_elmo.files.sources import ModelSource
from keras_elmo.files.task_description import CLASSIFIER, TAGGER, Task
from keras_elmo.files.validation import check_dtype, check_tokenizer, config_of
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config

_CLASSES = {"Tagger": TAGGER, "TextClassifier": CLASSIFIER}
KERAS_SUFFIX = ".keras"
# The words of static vectors are in it, too.
_MAX_BYTES = 2**28


class KerasFile(ModelSource):
    """A file that `save` of a tagger or a classifier wrote.

    Its config is read, and no weights: Keras alone reads those.
    """

    kind = f"a {KERAS_SUFFIX} file"
    files = f"*{KERAS_SUFFIX}"

    @staticmethod
    def matches(path: str) -> bool:
        return path.endswith(KERAS_SUFFIX) and os.path.isfile(path)

    def task(self) -> Task | None:
        name, config = self._config()
        kind = _CLASSES.get(name)
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
                "config": config_of(encoder["options"], self.path),
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
