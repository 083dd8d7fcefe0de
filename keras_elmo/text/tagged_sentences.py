"""Reads sentences with tags in every form that `Tagger.fit` takes."""

import os
import reprlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NoReturn, TypeAlias

from keras_elmo.text.batching import Tokens
from keras_elmo.text.tagged_sentence import TaggedSentence, count_tags, warn_of_names
from keras_elmo.text.tagged_text import read_tagged
from keras_elmo.text.token_lists import as_list, utf8_tokens
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.tag_schemes import (
    Scheme,
    are_span_tags,
    convert,
    scheme_of,
    scheme_of_names,
)

# In place of an unknown tag, and of padding.
NO_TAG = -1

# Words and tags of sentences, in any of these forms, or a part of them.
Data: TypeAlias = Any

_FORMS = (
    "files, (words, tags) of each sentence, words with their tags in `y`, or a "
    "tf.data.Dataset of (words, tags)"
)


def tagged_sentences(
    x: Data, y: Data = None, column: str | int | None = None, argument: str = "x"
) -> list[TaggedSentence]:
    """Returns the sentences that have a word.

    `x` is in any form that `Tagger.fit` takes; in a dataset `""` pads the end of a row.
    Messages call it `argument`, and name the sentence, or the file and the line.
    """
    if y is not None:
        pairs = _zipped(x, y, argument)
    elif _are_paths(x):
        return list(read_tagged(x, column))
    else:
        pairs = _pairs(x, argument)
    if column is not None:
        refuse("column", f"None where `{argument}` holds no files", column)
    sentences = [
        pair
        if isinstance(pair, TaggedSentence)
        else _checked(pair, f"{called(argument)}, sentence {place}")
        for place, pair in enumerate(pairs)
    ]
    sentences = [sentence for sentence in sentences if sentence.words]
    if not sentences:
        raise ValueError(f"{called(argument)} must have a sentence with a word")
    return sentences


def in_parts(data: Data) -> tuple[Data, Data]:
    """Returns Keras's tuple `(x, y)` as it is, other data as `(data, None)`."""
    if isinstance(data, tuple) and len(data) == 2 and not _are_paths(data):
        return data
    return data, None


def tags_of(sentences: Sequence[TaggedSentence]) -> list[str]:
    """Returns the tags of training data; IOB1 becomes BIO for the same spans."""
    warn_of_names(sentences)
    tags = {tag for sentence in sentences for tag in sentence.tags}
    if scheme := scheme_of_names(tags):
        tags = {tag for row in sentences for tag in convert(row.tags, scheme)}
    if len(tags) < 2:
        raise ValueError(
            f"{called('x')} must have at least 2 different tags. Received: {[*tags]}"
        )
    return sorted(tags)


def in_scheme_of(
    tags: Sequence[str], sentences: list[TaggedSentence]
) -> list[TaggedSentence]:
    """Returns the sentences in the scheme of a tagger's tags.

    Raises a `ValueError` if these mark spans, and a tag of the sentences does not.
    Warns of files in another scheme.
    """
    scheme = scheme_of_names(tags)
    if scheme is None:
        return sentences
    for sentence in sentences:
        for place, tag in enumerate(sentence.tags):
            if not are_span_tags([tag]):
                raise ValueError(
                    f"{sentence.where(place)}: must have a tag that marks a span, as "
                    f"the tagger's do ({scheme}): {reprlib.repr(tags)}. "
                    f"Received: {tag!r}"
                )
    converted = [row._replace(tags=convert(row.tags, scheme)) for row in sentences]
    pairs = zip(sentences, converted, strict=True)
    for name, rows in groupby(pairs, lambda pair: pair[0].name):
        _warn_of_scheme(name, [*rows], scheme)
    return converted


def _warn_of_scheme(
    name: str, pairs: Sequence[tuple[TaggedSentence, TaggedSentence]], scheme: Scheme
) -> None:
    """Warns of a file that was in another scheme."""
    changes = [
        f"{tag} in line {number} to {new}"
        for before, after in pairs
        for tag, number, new in zip(before.tags, before.lines, after.tags, strict=False)
        if tag != new
    ]
    if not changes:
        return
    recognised = scheme_of(before.tags for before, _ in pairs)
    what = f"{recognised} is recognised and"
    if recognised == scheme:
        what = f"what {scheme} does not allow ({len(changes):,} in all) is"
    warnings.warn(
        f"{name}: {what} converted to {scheme}, such as {changes[0]}", stacklevel=4
    )


def words_of(sentences: Iterable[TaggedSentence]) -> list[Tokens]:
    """Returns the words as UTF-8."""
    return [utf8_tokens(sentence.words) for sentence in sentences]


def labels_of(
    sentences: Iterable[TaggedSentence], tags: Sequence[str]
) -> list[list[int]]:
    """Returns the places of the tags of each word, or `NO_TAG`."""
    places = {tag: place for place, tag in enumerate(tags)}
    return [[places.get(tag, NO_TAG) for tag in row.tags] for row in sentences]


def check_known(
    sentences: Iterable[TaggedSentence], tags: Sequence[str], argument: str
) -> None:
    """Raises a `ValueError` if training data have a tag that a tagger does not know."""
    if unknown := _unknown(sentences, tags):
        raise ValueError(
            f"{called(argument)} must have tags that the tagger knows, "
            f"{reprlib.repr(tags)}. Received: {unknown}"
        )


def warn_of_unknown(sentences: Iterable[TaggedSentence], tags: Sequence[str]) -> None:
    """Warns of tags that a tagger does not know, in data that it is scored on."""
    if unknown := _unknown(sentences, tags):
        warnings.warn(
            f"tags that the tagger does not know count as mistakes: {unknown}",
            stacklevel=3,
        )


def _unknown(sentences: Iterable[TaggedSentence], tags: Sequence[str]) -> str:
    counts = count_tags(sentences)
    return counts.describe(tag for tag in counts if tag not in tags)


def _are_paths(x: Data) -> bool:
    if isinstance(x, list | tuple) and x:
        return all(isinstance(path, str | os.PathLike) for path in x)
    return isinstance(x, str | os.PathLike)


def _pairs(x: Data, argument: str) -> Iterator[Sequence[Data]]:
    """Yields words and tags of each sentence."""
    is_dataset = hasattr(x, "element_spec")
    items = as_list(x)
    if items is None:
        _refuse(argument, x)
    for place, item in enumerate(items):
        if isinstance(item, TaggedSentence):
            yield item
            continue
        if not isinstance(item, tuple | list) or len(item) != 2:
            _refuse(argument, item, f", item {place}")
        words, tags = item
        if is_dataset and len(words.shape) > 1:
            yield from _zipped(words, tags, argument)
        else:
            yield item


def _zipped(x: Data, y: Data, argument: str) -> Iterator[Sequence[Data]]:
    words, tags = as_list(x), as_list(y)
    if words is None:
        _refuse(argument, x)
    if tags is None:
        raise TypeError(f"`y` must hold the tags of each sentence. Received: y={y!r}")
    if len(words) != len(tags):
        raise ValueError(
            f"`y` must have as many sentences as `{argument}`. "
            f"Received: {len(words)} and {len(tags)}"
        )
    return zip(words, tags, strict=True)


def _checked(pair: Sequence[Data], where: str) -> TaggedSentence:
    words, tags = pair
    texts = _texts(words, f"{where}: words"), _texts(tags, f"{where}: tags")
    if len(texts[0]) != len(texts[1]):
        raise ValueError(
            f"{where}: must have one tag for each word. "
            f"Received: {len(texts[0])} words and {len(texts[1])} tags"
        )
    return TaggedSentence(*texts, name=where)


def _texts(values: Data, where: str) -> list[str]:
    """Returns strings without the padding `""` at their end."""
    items = as_list(values)
    if items is None:
        raise TypeError(f"{where} must be a list of strings. Received: {values!r}")
    texts = []
    for value in items:
        text = value.decode() if isinstance(value, bytes) else value
        if not isinstance(text, str):
            raise TypeError(f"{where} must be strings. Received: {value!r}")
        texts.append(str(text))
    while texts and not texts[-1]:
        texts.pop()
    if "" in texts:
        raise ValueError(
            f"{where} must not be empty, but for padding at the end of a row. "
            f"Received: {texts!r}"
        )
    return texts


def _refuse(argument: str, value: Data, place: str = "") -> NoReturn:
    raise TypeError(f"`{argument}`{place} must be {_FORMS}. Received: {value!r}")
