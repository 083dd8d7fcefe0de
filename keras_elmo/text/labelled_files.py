"""Files of texts with labels."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from keras_elmo.text.lines import Files, expand_files, strict_lines
from keras_elmo.text.table_rows import Columns, Row, TableRows, form_of
from keras_elmo.utils.checks import called

# A text or two, and a label or any number of them.
Texts: TypeAlias = Any
Labels: TypeAlias = Texts

ANY_COLUMNS = Columns()

# A file of more examples, whose first label comes once, may have a header.
_FEW_EXAMPLES = 10
# Of a text, or of a word of one.
_NOT_EMPTY = "that is not empty"


class LabelledTexts(NamedTuple):
    """Texts, or pairs of them, with a label or a list of labels for each."""

    texts: list[Texts]
    labels: list[Labels]


def read_labelled(
    files: Files,
    columns: Columns = ANY_COLUMNS,
    pairs: bool = False,
    multi_label: bool = False,
) -> LabelledTexts:
    """Reads texts, or pairs of them, and their labels.

    The form follows from the name, `.tsv`, `.csv` or `.jsonl`, perhaps with `.gz` or
    `.xz` after it, or else from the first line. In TSV a quotation mark is a character
    like any other; CSV is quoted as Python's `csv` has it. In JSON lines a text may be
    a list of words. With `multi_label` a row has any number of labels: in JSON a list
    of them, otherwise with commas between.
    """
    texts: list[Texts] = []
    labels: list[Labels] = []
    for path in expand_files(files, of_sentences=False):
        rows = TableRows(path, columns, [*_text_names(pairs), "label"])
        kinds: set[type] = set()
        first = len(texts)
        for row in rows:
            texts.append(_texts(rows, row, pairs))
            labels.append(_label(rows, row, multi_label))
            kinds.update(map(type, labels[-1] if multi_label else labels[-1:]))
            if len(kinds) > 1:
                rule = "have labels of the type that other lines have"
                rows.refuse(row, rule, row.values["label"])
        if len(texts) == first:
            raise ValueError(f"{path}: must hold texts with labels. Received: none")
        if not rows.has_header:
            _warn_of_header(path, labels[first:])
    return LabelledTexts(texts, labels)


def read_texts(
    path: str,
    stream: BinaryIO | None = None,
    columns: Columns = ANY_COLUMNS,
    pairs: bool = False,
) -> Iterator[object]:
    """Yields the texts of a file, or of a stream that `path` names in messages.

    Unless there are pairs or columns are given, a name that tells no form is that of
    text: one on each line, `None` for a blank one.
    """
    if pairs or form_of(path) or columns.text is not None:
        rows = TableRows(path, columns, _text_names(pairs), stream)
        for row in rows:
            yield _texts(rows, row, pairs)
        return
    for _, line in strict_lines(path, stream):
        yield line if line.strip() else None


def _text_names(pairs: bool) -> list[str]:
    return ["text", "pair"] if pairs else ["text"]


def _texts(rows: TableRows, row: Row, pairs: bool) -> object:
    """Returns the text of a row, or a tuple of two."""
    texts = []
    for name in _text_names(pairs):
        text = row.values[name]
        words = [text] if isinstance(text, str) else text
        if not isinstance(words, list) or not words:
            rows.refuse(row, f"have a {name} {_NOT_EMPTY}", text)
        if not all(isinstance(word, str) and word.strip() for word in words):
            rows.refuse(row, f"have a {name} {_NOT_EMPTY}", text)
        texts.append(text)
    return tuple(texts) if pairs else texts[0]


def _label(rows: TableRows, row: Row, multi_label: bool) -> object:
    """Returns the label of a row, or the list of them with `multi_label`."""
    value = row.values["label"]
    label = value.strip() if isinstance(value, str) else value
    if not multi_label:
        if isinstance(label, str | int) and label != "":
            return label
        rows.refuse(row, "have a label: a string or an integer", value)
    if isinstance(label, str) and rows.form != "jsonl":
        label = [part.strip() for part in label.split(",") if part.strip()]
    if not isinstance(label, list) or not all(
        isinstance(part, str | int) and part != "" for part in label
    ):
        rows.refuse(row, "have a list of labels, strings or integers", value)
    if len({*label}) < len(label):
        rows.refuse(row, "have distinct labels", value)
    return label


def _warn_of_header(path: str, labels: Sequence[object]) -> None:
    """Warns if the first label of a file without a header looks like a name."""
    first, *others = map(repr, labels)
    if len(others) < _FEW_EXAMPLES or first in others:
        return
    if len({*others}) < len(others):
        warnings.warn(
            f"{path}: the label {first} comes in the first line alone; if that is a "
            f"header, name a column of it with {called('label_column')}",
            stacklevel=4,
        )
