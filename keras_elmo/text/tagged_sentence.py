"""Sentences with tags that know where they stand, and warnings of what looks wrong."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from keras_elmo.text.name_counts import NameCounts
from keras_elmo.utils.tag_schemes import are_span_tags, strange_tags

# A file of more words, whose first tag comes once, may have a header.
_FEW_WORDS = 4


class _WordsAndTags(NamedTuple):
    words: list[str]
    tags: list[str]


class TaggedSentence(_WordsAndTags):
    """The words of a sentence, and the tag of each.

    For messages it knows the file and the lines of its words, or another `name`.
    """

    name: str
    lines: Sequence[int]

    def __new__(
        cls,
        words: list[str],
        tags: list[str],
        name: str = "",
        lines: Sequence[int] = (),
    ) -> Self:
        sentence = super().__new__(cls, words, tags)
        sentence.name, sentence.lines = name, lines
        return sentence

    def with_tags(self, tags: list[str]) -> "TaggedSentence":
        """Returns the same words with other tags."""
        return TaggedSentence(self.words, tags, self.name, self.lines)

    def where(self, place: int) -> str:
        """Returns where a word stands."""
        return f"{self.name}, line {self.lines[place]}" if self.lines else self.name


def counts_of(sentences: Iterable[TaggedSentence]) -> NameCounts:
    """Returns how often tags come, and where they come first."""
    counts = NameCounts()
    for sentence in sentences:
        for place, tag in enumerate(sentence.tags):
            counts.add(tag, sentence.where, place)
    return counts


def warn_of_unspecified(
    sentences: Sequence[TaggedSentence], tag: str, column: str
) -> None:
    """Warns of the words that a treebank has no tag for."""
    told = counts_of(sentences).told([tag])
    warnings.warn(
        f"column {column} has words without a tag; {tag} is taken for theirs: {told}",
        stacklevel=5,
    )


def warn_of_header(sentences: Sequence[TaggedSentence]) -> None:
    """Warns if the tag of the first line looks like the name of a column.

    Among tags of spans, `warn_of_names` tells it.
    """
    counts = Counter(tag for sentence in sentences for tag in sentence.tags)
    first, *others = counts
    if counts[first] > 1 or counts.total() <= _FEW_WORDS or are_span_tags(others):
        return
    # Such as Wortart among VERB and NOUN.
    is_odd = not first.isupper() and all(tag.isupper() for tag in others)
    if is_odd or all(counts[tag] > 1 for tag in others):
        warnings.warn(
            f"{sentences[0].where(0)}: the tag {first!r} comes in this line alone; if "
            "it is a header, delete it",
            stacklevel=5,
        )


def warn_of_names(sentences: Sequence[TaggedSentence]) -> None:
    """Warns of tags that mark no span among others that do, and of spellings."""
    counts = counts_of(sentences)
    counts.warn_of_spellings("tags", stacklevel=5)
    if strange := strange_tags(map(str, counts)):
        first = sentences[0]
        is_header = first.lines and [first.tags[0]] == strange
        hint = "; if it is a header, delete it" if is_header else ""
        warnings.warn(
            "all tags are plain ones, scored word by word, because some mark no span "
            "(O, or B, I, E, S, L or U with - and a type): "
            f"{counts.told(strange)}{hint}",
            stacklevel=4,
        )
