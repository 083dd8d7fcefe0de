"""What can be asked of a model, wherever it is; base of a class for each kind.

Imports nothing heavy, so that a command finds a mistake in a name at once.
"""

import os
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NoReturn,
    Protocol,
    TypeAlias,
    Union,
)

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, TOKENIZERS
from keras_elmo.files.description import Task
from keras_elmo.files.validation import NoLanguageModel
from keras_elmo.utils.checks import called, check_choice
from keras_elmo.utils.types import Config, StrPath

if TYPE_CHECKING:
    from keras_elmo.files.onnx_session import Mix, OnnxEncoder
    from keras_elmo.layers.scalar_mix import ScalarMix
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel
    from keras_elmo.text.plain_tokenizer import PlainTokenizer


class MixingLayer(Protocol):
    """What a model is read from in an `ElmoEmbedding`, which stands above this room."""

    encoder: "Encoder"
    mixes: "list[ScalarMix]"
    layer_norm: bool


# What `load` returns.
AnyEncoder: TypeAlias = Union["Encoder", "OnnxEncoder"]
# What stands for a model, wherever one is an argument.
Source: TypeAlias = Union[
    StrPath, "ModelSource", AnyEncoder, MixingLayer, "PretrainingModel"
]

# What can be done with a model, by the names of commands.
ENCODER = [
    "embed",
    "nearest",
    "distill",
    "explore",
    "export",
    "tag train",
    "classify train",
]
LANGUAGE_MODEL = ["evaluate", "score", "substitutes"]
# Not from a checkpoint, whose weights no validation has chosen.
WEIGHTS = [*ENCODER, "pretrain --init"]


class ModelSource:
    """A model in files; `open_model` finds the class of its kind.

    A kind overrides what it can answer. The rest raises, with the name of the caller's
    argument. Nothing is read before it is asked for.

    Attributes:
        argument: name of the caller's argument, for messages.
        name: what the caller named, or else the path.
        kind: what messages call it.
        is_foreign: whether another program wrote it. A folder of several such kinds
            is refused.
        is_validated: whether a validation has chosen its weights.
    """

    kind: ClassVar[str]
    is_foreign: ClassVar[bool] = False
    is_validated = True

    def __init__(
        self, path: StrPath, argument: str = "model", name: StrPath | None = None
    ) -> None:
        self.path = os.fspath(path)
        self.argument = argument
        self.name = self.path if name is None else os.fspath(name)

    @staticmethod
    def matches(path: str) -> bool:
        """Whether a file or folder has this kind, judged by file names alone."""
        raise NotImplementedError  # Every kind of files has its own.

    def check(self) -> None:
        """Raises `ValueError` if it has no encoder, or no weights yet. Reads none."""

    def encoder(self) -> Any:
        """Returns the encoder."""
        raise NotImplementedError  # Every kind has its own.

    def loaded(self) -> Any:
        """Returns what `load` does: the encoder, or what does a task."""
        return self.encoder()

    def task(self) -> Task | None:
        """Returns what is done with words; `None` for any other model."""
        return None

    def keras_encoder(self) -> "Encoder":
        """Returns the encoder, which must be one of Keras."""
        return self.encoder()

    def mix(self) -> "Mix | None":
        """Returns the first mix; `None` without one."""
        return None

    def language_model(self) -> "PretrainingModel":
        """Returns the encoder with its softmax and the words it predicts."""
        raise NoLanguageModel(f"{self.path}: holds an encoder but no language model")

    def describe(self) -> Config:
        """Returns what `inspect_model` tells, from the files and without weights.

        `config` is required; `words`, or `num_words` alone, are of the softmax;
        `entries` are of the tokens, if it has none; `mix` is as of the method. All
        else is what `inspect_model` returns.
        """
        raise NotImplementedError  # Every kind of files has its own.

    def convert(
        self, directory: StrPath, tokenizer: str | None, vocabulary: StrPath | None
    ) -> None:
        """Writes what `import_model` makes of another program's model."""
        raise ValueError(
            f"{self.path}: is {self.kind} already; there is nothing to import"
        )


def refuse_task(task: Task, name: str, argument: str) -> NoReturn:
    """Raises a `ValueError`: there is a tagger where an encoder has to be."""
    raise ValueError(
        f"{name}: is {task.title}; {called(argument)} must be an encoder or a language "
        f"model. In Python, the attribute `elmo` of a {task.class_name} has its encoder"
    )


def words_in(path: str) -> list[str] | None:
    """Returns the words of a vocabulary's file; `None` if there is no file."""
    from keras_elmo.text.vocabulary import Vocabulary

    return Vocabulary.load(path).words if os.path.exists(path) else None


def tokenizer_of(
    encoder: AnyEncoder, tokenizer: str | None = None
) -> "str | PlainTokenizer":
    """Returns the kind of `Tokenizer` for texts, or one without TensorFlow."""
    from keras_elmo.files.onnx_session import OnnxEncoder
    from keras_elmo.text.plain_tokenizer import PlainTokenizer

    check_choice((None, *TOKENIZERS), tokenizer=tokenizer)
    kind = tokenizer or encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    return PlainTokenizer(kind) if isinstance(encoder, OnnxEncoder) else kind


# === Models in memory ===


class InMemory(ModelSource):
    """An encoder; base of what holds one as its attribute `encoder`."""

    kind = "a model in memory"

    def __init__(self, model: Any, argument: str) -> None:
        self._model = model
        super().__init__("", argument, name_of(model))

    def encoder(self) -> "Encoder":
        return getattr(self._model, "encoder", self._model)

    def language_model(self) -> "PretrainingModel":
        raise TypeError(
            f"{called(self.argument)} must be a language model: a name, a path or a "
            f"PretrainingModel. Received: a {type(self._model).__name__}, which has no "
            "softmax"
        )


class LayerInMemory(InMemory):
    """An `ElmoEmbedding`, with its first mix."""

    def mix(self) -> "Mix":
        from keras import ops

        mix = self._model.mixes[0]
        scalars, gamma = map(ops.convert_to_numpy, (mix.scalars, mix.gamma))
        return scalars, gamma, self._model.layer_norm


class LanguageModelInMemory(InMemory):
    """A `PretrainingModel`."""

    def language_model(self) -> "PretrainingModel":
        return self._model


def in_memory(model: object, argument: str) -> ModelSource:
    """Opens a model of Keras; raises `TypeError` if it is something else."""
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel

    if isinstance(model, Encoder):
        return InMemory(model, argument)
    if isinstance(model, PretrainingModel):
        return LanguageModelInMemory(model, argument)
    if hasattr(model, "mixes"):
        return LayerInMemory(model, argument)
    name = type(model).__name__
    # A Tagger, a TextClassifier.
    hint = ", whose attribute `elmo` is one" if hasattr(model, "elmo") else ""
    raise TypeError(
        f"{called(argument)} must be a name, a path, an Encoder, an ElmoEmbedding or a "
        f"PretrainingModel. Received: a {name}{hint}"
    )


def name_of(source: Source) -> str:
    """Returns the path of a model, or the class of a model in memory."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return f"{type(source).__name__} in memory"
