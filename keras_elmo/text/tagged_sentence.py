"""Sentences with tags that know where they stand, and warnings of what looks wrong."""

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_elmo.text.name_counts import FEW_ROWS, NameCounts, may_be_header
from keras_elmo.utils.tag_schemes import are_span_tags, strange_tags


class TaggedSentence(NamedTuple):
    """The words of a sentence, and the tag of each.

    For messages: the name of its file, with the lines of its words, or another name.
    """

    words: list[str]
    tags: list[str]
    name: str = ""
    lines: Sequence[int] = ()

    def where(self, place: int) -> str:
        """Returns where a word stands."""
        return f"{self.name}, line {self.lines[place]}" if self.lines else self.name


def count_tags(sentences: Iterable[TaggedSentence]) -> NameCounts:
    """Returns how often tags occur, and where first."""
    return NameCounts((sentence.tags, sentence.where) for sentence in sentences)


def warn_of_header(sentences: Sequence[TaggedSentence]) -> None:
    """Warns if the tag of the first line looks like the name of a column.

    Tags of spans are left to `warn_of_names`.
    """
    first, *tags = [tag for sentence in sentences for tag in sentence.tags]
    if first in tags or are_span_tags(tags):
        return
    # Such as Wortart among VERB and NOUN.
    is_odd = not first.isupper() and all(map(str.isupper, tags))
    if (is_odd and len(tags) >= FEW_ROWS) or may_be_header([first, *tags]):
        warnings.warn(
            f"{sentences[0].where(0)}: the tag {first!r} comes in this line alone; if "
            "it is a header, delete it",
            stacklevel=5,
        )


def warn_of_names(sentences: Sequence[TaggedSentence]) -> None:
    """Warns of tags that mark no span among others that do, and of spellings."""
    counts = count_tags(sentences)
    counts.warn_of_spellings("tags", stacklevel=5)
    if strange := strange_tags(map(str, counts)):
        first = sentences[0]
        is_header = first.lines and [first.tags[0]] == strange
        hint = "; if it is a header, delete it" if is_header else ""
        warnings.warn(
            "all tags are plain ones, scored word by word, because some mark no span "
            "(O, or B, I, E, S, L or U with - and a type): "
            f"{counts.describe(strange)}{hint}",
            stacklevel=4,
        )
