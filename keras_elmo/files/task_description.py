"""What a file says of a tagger or a classifier that was exported whole."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keras_elmo.utils.types import Config

TAGGER, CLASSIFIER = "tagger", "classifier"
# Inputs of a graph that takes ids; those of the second text of a pair begin with this.
STATIC_IDS = "static_ids"
PREFIXES = ("", "second_")
_KEYS = {"kind", "names", "multi_label", "pairs"}


class Task(NamedTuple):
    """What is done with words.

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

    def as_dict(self) -> Config:
        """Returns what `task_of` reads."""
        return {"task": self._asdict()}

    @property
    def prefixes(self) -> tuple[str, ...]:
        """What the names of arguments begin with, for each text."""
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


def task_of(about: Mapping[str, object]) -> Task | None:
    """Returns the task in the description of a file; `None` for an encoder."""
    stored = about.get("task")
    if stored is None:
        return None
    if not isinstance(stored, dict) or stored.keys() != _KEYS:
        raise ValueError("its task is damaged")
    kind, names = stored["kind"], stored["names"]
    flags = stored["multi_label"], stored["pairs"]
    if (
        kind not in (TAGGER, CLASSIFIER)
        or not isinstance(names, list)
        or not names
        or not all(isinstance(name, str) for name in names)
        or not all(isinstance(flag, bool) for flag in flags)
    ):
        raise ValueError("its task is damaged")
    return Task(kind, tuple(names), *flags)
