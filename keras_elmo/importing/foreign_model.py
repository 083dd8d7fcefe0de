"""A model that another program made; base of a class for each format."""

from typing import ClassVar

from keras_elmo.files.run_directory import write_encoder
from keras_elmo.files.sources import ModelSource
from keras_elmo.utils.types import StrPath


class ForeignModel(ModelSource):
    """A model that has to be imported.

    A format overrides `matches`, `encoder` and `describe`; `convert` writes the encoder
    with published weights.

    Attributes:
        key: what `import_model(kind=...)` takes.
    """

    key: ClassVar[str]
    is_foreign = True

    def convert(
        self, directory: StrPath, tokenizer: str | None, vocabulary: StrPath | None
    ) -> None:
        self.refuse_words(vocabulary)
        encoder = self.encoder()
        encoder.tokenizer = tokenizer
        write_encoder(encoder, directory)

    def refuse_words(self, vocabulary: StrPath | None) -> None:
        """Raises `ValueError` if words are given to a format that has its own."""
        if vocabulary is not None:
            raise ValueError(
                "`vocabulary` is of a checkpoint or of published weights, and "
                f"{self.path} holds {self.kind}. Received: vocabulary={vocabulary!r}"
            )
