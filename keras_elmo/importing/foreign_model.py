"""A model that another program made; base of a class for each format."""

import glob
import os
from typing import ClassVar

from keras_elmo.files.finding import FOREIGN_FORMATS
from keras_elmo.files.run_directory import write_encoder
from keras_elmo.files.sources import ModelSource
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.types import StrPath


class ForeignModel(ModelSource):
    """A model that has to be imported.

    A format overrides `encoder` and `describe`; `convert` writes the encoder with
    published weights, and the tokenizer that it names unless another one is given.

    Attributes:
        key: of the format in `FOREIGN_FORMATS`, which says the rest of it.
    """

    key: ClassVar[str]
    is_foreign = True

    def __init_subclass__(cls) -> None:
        cls.kind = FOREIGN_FORMATS[cls.key].kind

    @classmethod
    def matches(cls, path: str) -> bool:
        return FOREIGN_FORMATS[cls.key].matches(path)

    @property
    def file(self) -> str:
        """The file of a format that has one: what was named, or the only one there.

        Raises:
            ValueError: the folder holds several, or none.
        """
        if not os.path.isdir(self.path):
            return self.path
        pattern = FOREIGN_FORMATS[self.key].files
        files = sorted(glob.glob(pattern, root_dir=self.path))
        if len(files) != 1:
            names = ", ".join(files) or "none"
            raise ValueError(
                f"{self.path}: must hold one file {pattern}; else name the file. "
                f"Received: {names}"
            )
        return os.path.join(self.path, files[0])

    def convert(
        self, directory: StrPath, tokenizer: str | None, vocabulary: StrPath | None
    ) -> None:
        self.refuse_words(vocabulary)
        encoder = self.encoder()
        encoder.tokenizer = tokenizer or encoder.tokenizer
        write_encoder(encoder, directory)

    def refuse_words(self, vocabulary: StrPath | None) -> None:
        """Raises `ValueError` if words are given to a format that has its own."""
        if vocabulary is not None:
            raise ValueError(
                f"{called('vocabulary')} applies only to a checkpoint or to published "
                f"weights, and {self.path} holds {self.kind}. "
                + received(vocabulary=vocabulary)
            )
