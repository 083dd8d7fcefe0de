"""What an exported model says of itself, in a file of any format."""

import reprlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from keras_elmo.config import ElmoConfig, read_options
from keras_elmo.files.validation import check_dtype, check_tokenizer
from keras_elmo.utils.files import read_key
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config

# Version of the description.
FORMAT = 1
TAGGER, CLASSIFIER = "tagger", "classifier"
# Input of a graph that takes ids; the prefix of inputs for the second text of a pair.
STATIC_IDS = "static_ids"
PREFIXES = ("", "second_")


class Task(NamedTuple):
    """What a tagger or a classifier does with words.

    Attributes:
        kind: `TAGGER` or `CLASSIFIER`.
        names: of the tags or labels, in the order of their indices.
        multi_label: whether a text has any number of labels.
        pairs: whether two texts have a label together.
    """

    kind: str
    names: tuple[str, ...]
    multi_label: bool = False
    pairs: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefix of argument names, for each text."""
        return PREFIXES if self.pairs else PREFIXES[:1]

    @property
    def title(self) -> str:
        """What messages call it: `"a tagger"`."""
        return f"a {self.kind}"

    @property
    def class_name(self) -> str:
        """The name of the Keras model."""
        return "Tagger" if self.kind == TAGGER else "TextClassifier"

    def describe(self, where: str, commands: Sequence[str]) -> Config:
        """Returns what `inspect_model` tells of a kind of file, and its commands."""
        return {
            "kind": f"{self.title} in {where}",
            "task": {**self._asdict(), "names": list(self.names)},
            "uses": [*commands, "serve"],
        }

    @property
    def commands(self) -> list[str]:
        """The commands that take the `.keras` file; the last one takes no other."""
        group = "tag" if self.kind == TAGGER else "classify"
        return [f"{group} predict", f"{group} evaluate", "export"]


class Description(NamedTuple):
    """What every exported model says of itself.

    Attributes:
        config: the sizes of the biLM.
        tokenizer: the kind of `Tokenizer` for texts, if it is known.
        dtype: dtype policy of the encoder, or `"int8"`.
        layer_norm: whether the mix normalises the layers.
        task: what a tagger or a classifier does; `None` for an encoder.
        stored: all of it as stored, with what one format alone has.
    """

    config: ElmoConfig
    tokenizer: str | None
    dtype: str
    layer_norm: bool
    task: Task | None
    stored: Config

    def sizes(self) -> Config:
        """Returns what `ModelSource.describe` tells of any model."""
        return {
            "config": self.config,
            "dtype": self.dtype,
            "tokenizer": self.tokenizer,
        }


def new_description(
    config: ElmoConfig, task: Task | None = None, **more: object
) -> Config:
    """Returns what every description has, and more, to be stored."""
    about = {"format": FORMAT, "options": config.to_options(), **more}
    return about if task is None else {**about, "task": task._asdict()}


def read_description(stored: Config, where: str) -> Description:
    """Checks a description that anybody may have written; errors begin with `where`."""
    read = partial(read_key, stored, where)
    with reading(where, "its description is damaged"):
        if read("format") != FORMAT:
            raise ValueError(
                f"{where}: the format must be {FORMAT}; a later keras_elmo may know "
                f"others. Received: {reprlib.repr(stored['format'])}"
            )
        # An .onnx file of an encoder has the whole mix.
        *_, layer_norm = read("mix", default=None) or [read("layer_norm")]
        if not isinstance(layer_norm, bool):
            raise ValueError(f"{where}: layer_norm must be true or false")
        # Who exports a model for text that is split differently from the training text
        # means every function, not the signature of a SavedModel alone.
        tokenizer = read("signature_tokenizer", default=None) or read("tokenizer")
        is_int8 = read("quantize", default=None) == "int8"
        dtype = check_dtype(read("dtype", default="float32"), where)
        return Description(
            read_options(read("options"), where),
            check_tokenizer(tokenizer, where),
            "int8" if is_int8 else dtype,
            layer_norm,
            _read_task(read("task", default=None)),
            stored,
        )


def _read_task(stored: Config | None) -> Task | None:
    if stored is None:
        return None
    task = Task(**stored)
    if (
        stored.keys() != set(Task._fields)
        or task.kind not in (TAGGER, CLASSIFIER)
        or not isinstance(task.names, list)
        or not task.names
        or not all(isinstance(name, str) for name in task.names)
        or not all(isinstance(flag, bool) for flag in (task.multi_label, task.pairs))
    ):
        raise ValueError("its task is damaged")
    return task._replace(names=tuple(task.names))
