"""Sentences in any form to lists of tokens."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, groupby
from typing import NoReturn, TypeAlias, cast

import numpy as np

from keras_elmo.text.batching import Tokens, split_stream
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.splitting import text_splitter
from keras_elmo.utils.types import Tensor

Sentence: TypeAlias = str | bytes | Sequence[str | bytes]

# How columns, arrays of Arrow and tensors become lists, in the order of preference.
_AS_LIST = ("to_list", "to_pylist", "to_numpy", "numpy")
# Text that is tokenized at a time.
_CHUNK_CHARACTERS = 1_000_000


def read_sentences(
    sentences: Iterable[Sentence] | Tensor,
    tokenizer: str | PlainTokenizer,
    max_ahead: int,
) -> Iterator[Tokens]:
    """Yields the tokens of each sentence, in any form that `embed` takes.

    Up to `max_ahead` texts are read before the first is yielded.
    """
    return _tokenized(_rows(sentences), tokenizer, max_ahead)


def _tokenized(
    rows: Iterable[Sentence], tokenizer: str | PlainTokenizer, max_ahead: int
) -> Iterator[Tokens]:
    for is_text, group in groupby(rows, lambda row: isinstance(row, str | bytes)):
        if not is_text:
            yield from map(utf8_tokens, group)
            continue
        chunks = split_stream(group, len, _CHUNK_CHARACTERS, max_ahead)
        yield from chain.from_iterable(map(text_splitter(tokenizer), chunks))


def _rows(sentences: Iterable[Sentence] | Tensor) -> Iterable[Sentence]:
    """Returns texts and lists of words; refuses types whose items are neither."""
    if isinstance(sentences, str | bytes):
        return [sentences]
    if (spec := getattr(sentences, "element_spec", None)) is not None:
        return _rows_of_dataset(sentences, spec)
    if hasattr(sentences, "columns"):
        _refuse("a table: pass a column of it, such as frame['text']", sentences)
    if isinstance(sentences, Mapping):
        _refuse("a dictionary: pass a value of it", sentences)
    if isinstance(sentences, Set):
        _refuse("a set: it has no order", sentences)
    if isinstance(sentences, bytearray | memoryview):
        _refuse("a buffer: pass bytes(...)", sentences)
    if _is_array(sentences):
        return _strings(sentences)
    if not isinstance(sentences, Iterable):
        _refuse("a single object", sentences)
    return chain.from_iterable(map(_rows_of_item, sentences))


def _rows_of_dataset(dataset: Iterable[Tensor], spec: Tensor) -> Iterable[Sentence]:
    """Returns the texts or words of a `tf.data.Dataset`, batch by batch."""
    if getattr(spec, "dtype", None) != "string":
        _refuse("a dataset of more than strings: map it to them first", spec)
    # An element of a ragged tensor holds the words of a sentence.
    words = spec.shape.rank == 1 and hasattr(spec, "ragged_rank")
    return chain.from_iterable(map(_rows_of_item if words else _strings, dataset))


def _rows_of_item(item: Sentence | Tensor) -> Sequence[Sentence]:
    """Returns the sentences of what an iterable yields: one, or a batch of words."""
    if not _is_array(item) or isinstance(item, str | bytes):
        return [item]
    array: Tensor = item
    strings = _strings(array)
    return [strings] if len(array.shape) == 1 else strings


def _is_array(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _strings(array: Tensor) -> Tensor:
    """Returns the strings of a tensor, an array or a column of a table, as lists."""
    if len(array.shape) > 2:
        _refuse(f"an array of {len(array.shape)} axes", array)
    if hasattr(array, "numpy") and not hasattr(array, "to_list"):
        array = np.asarray(array.numpy(), object if array.dtype == "string" else None)
    # NumPy has strings of four kinds; a list without a word becomes numbers.
    is_text = getattr(array.dtype, "kind", "O") in "OSTU"
    if not is_text and np.size(array):
        _refuse("an array of numbers", array)
    if hasattr(array, "to_list"):
        # A ragged tensor, or a column.
        return array.to_list()
    values = array.tolist() if isinstance(array, np.ndarray) else array
    return values if isinstance(values, list) else [values]


def _refuse(what: str, value: object) -> NoReturn:
    raise TypeError(
        "`sentences` must be texts, lists of words, or string tensors or arrays of "
        f"them, not {what}. Received: {type(value).__name__}"
    )


def as_list(container: object) -> list[Tensor] | None:
    """Returns the items of a list, an array, a tensor or a column of a data frame.

    `None` if it is a string, has no order, or has no items.
    """
    values: Tensor = container
    if isinstance(container, str | bytes | Mapping | Set):
        return None
    for name in _AS_LIST:
        if hasattr(values, name):
            values = getattr(values, name)()
            break
    if hasattr(values, "tolist"):
        values = values.tolist()
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    return list(values) if is_list else None


def utf8_tokens(sentence: Sentence) -> Tokens:
    """Returns the tokens as bytes, without the padding `""` at their end."""
    if (
        isinstance(sentence, str | bytes)
        or not isinstance(sentence, Sequence)
        or not all(isinstance(token, str | bytes) for token in sentence)
    ):
        raise TypeError(
            f"`sentences` must hold lists of tokens. Received: a sentence {sentence!r}"
        )
    tokens = list(cast(Sequence[str | bytes], sentence))
    while tokens and not tokens[-1]:
        tokens.pop()
    if not all(tokens):
        raise ValueError(
            "`sentences` must hold tokens that are not empty, but for padding at the "
            f"end of a row. Received: a sentence {sentence!r}"
        )
    return [token if isinstance(token, bytes) else token.encode() for token in tokens]
