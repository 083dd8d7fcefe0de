"""Reads texts and labels from lists, arrays, data frames and files."""

import math
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np

from keras_elmo.text.columns import ANY_COLUMNS, Columns, named_places
from keras_elmo.text.labelled_files import read_labelled
from keras_elmo.text.name_counts import NameCounts
from keras_elmo.text.token_lists import as_list
from keras_elmo.utils.checks import called, check_type, received, refuse
from keras_elmo.utils.types import Tensor

Text: TypeAlias = str | bytes | Sequence[str | bytes]
Label: TypeAlias = str | int


class Examples(NamedTuple):
    """Texts with labels, the argument that had the labels, and their lines in files.

    Of pairs, `texts` are the first ones and the second ones.
    """

    texts: list[list[Text]]
    labels: list[list[Label]]
    argument: str
    lines: Sequence[tuple[str, int]] = ()

    def counts(self) -> NameCounts:
        """Returns how often labels occur, and where first."""
        counts = NameCounts()
        for place, row in enumerate(self.labels):
            for label in row:
                counts.add(label, self.where, place)
        return counts

    def where(self, place: int) -> str:
        """Returns where a label stands."""
        if not self.lines:
            return f"{self.argument}[{place}]"
        path, number = self.lines[place]
        return f"{path}, line {number}"


class ExampleReader:
    """Reads texts or pairs, with one label or, with `multi_label`, any number."""

    def __init__(self, pairs: bool, multi_label: bool) -> None:
        self._pairs = pairs
        self._multi_label = multi_label

    def parts(
        self,
        texts: object,
        labels: object,
        validation_data: Tensor,
        share: float,
        columns: Columns = ANY_COLUMNS,
    ) -> list[Examples]:
        """Returns the examples to train on, and those to score, if there are any."""
        examples = self.examples(texts, labels, columns=columns)
        if validation_data is None:
            return _split(examples, share)
        argument = "validation_data"
        if _has_labels(validation_data):
            return [examples, self.examples(validation_data, None, argument, columns)]
        rule = "a pair of texts and labels, files, or None"
        check_type((tuple, list), rule, validation_data=validation_data)
        if len(validation_data) != 2:
            refuse("validation_data", rule, validation_data)
        scored, right = validation_data
        return [examples, self.examples(scored, right, argument)]

    def examples(
        self,
        texts: Tensor,
        labels: object = None,
        argument: str = "",
        columns: Columns = ANY_COLUMNS,
    ) -> Examples:
        """Returns texts with their labels; `labels` is `None` if `texts` has both.

        `argument` is the argument that had both, `""` for `texts` and `labels`.
        """
        text_argument = argument or "texts"
        if labels is not None:
            argument = argument or "labels"
            given = (name for name, x in columns._asdict().items() if x is not None)
            for name in given:
                rule = "None unless a file or a data frame is given"
                refuse(f"{name}_column", rule, getattr(columns, name))
        elif isinstance(texts, Examples):
            return texts._replace(argument=text_argument)
        elif not _has_labels(texts):
            raise ValueError(
                f"{called('labels')} may be left out only where "
                f"{called(text_argument)} is a file, a list of `pathlib.Path`, "
                f"or a data frame. {received(**{text_argument: texts})}"
            )
        elif not hasattr(texts, "columns"):
            rows = read_labelled(texts, columns, self._pairs, self._multi_label)
            parts, kinds, lines = zip(*rows, strict=True)
            return Examples(_transposed(parts), [*kinds], text_argument, lines)
        else:
            argument = text_argument
            texts, labels = self._of_frame(texts, columns, argument)
        columns_of_texts = self.texts(texts, text_argument)
        rows_of_labels = self.labels(labels, argument)
        num_texts = len(columns_of_texts[0])
        if len(rows_of_labels) != num_texts:
            raise ValueError(
                f"{called(argument)} must have a label for each text. "
                f"Received: {len(rows_of_labels):,} labels of {num_texts:,} texts"
            )
        return Examples(columns_of_texts, rows_of_labels, argument)

    def _of_frame(
        self, frame: Tensor, columns: Columns, argument: str
    ) -> tuple[object, object]:
        fields = columns.fields(self._pairs)
        places = named_places([*map(str, frame.columns)], fields, called(argument))
        parts = {name: frame[frame.columns[place]] for name, place in places.items()}
        labels = parts["label"]
        if not self._pairs:
            return parts["text"], labels
        return list(zip(parts["text"], parts["pair"], strict=True)), labels

    def texts(self, texts: object, argument: str = "texts") -> list[list[Text]]:
        """Returns the texts; of pairs, the first ones and the second ones."""
        rule = "pairs of texts" if self._pairs else "texts, or lists of words"
        if hasattr(texts, "columns") and not self._pairs:
            told = received(**{argument: type(texts)})
            raise TypeError(f"{called(argument)} must be a column of a table. {told}")
        rows = []
        for place, value in enumerate(_values(texts, argument, rule)):
            row = [value]
            if self._pairs:
                row = value.tolist() if isinstance(value, np.ndarray) else value
                if not isinstance(row, list | tuple) or len(row) != 2:
                    _refuse_item(argument, rule, place, row)
            for text in row:
                if not _is_text(text):
                    empty = "texts, or lists of words, that are not empty"
                    _refuse_item(argument, empty, place, text)
            rows.append(row)
        if not rows:
            refuse(argument, f"{rule}, one at least", texts)
        return _transposed(rows)

    def labels(self, labels: object, argument: str = "labels") -> list[list[Label]]:
        """Returns the labels of each text."""
        rule = f"a {'list of labels' if self._multi_label else 'label'} for each text"
        values = _values(labels, argument, rule)
        shape = tuple(getattr(labels, "shape", ()))
        # A ragged tensor has an axis of unknown size.
        if self._multi_label and len(shape) == 2 and None not in shape:
            refuse(argument, f"{rule}, no table of zeros and ones", labels)
        rows: list[list[Label]] = []
        types: set[type] = set()
        for place, value in enumerate(values):
            row = value if self._multi_label else [value]
            if isinstance(row, str | bytes) or not isinstance(row, Iterable):
                _refuse_item(argument, rule, place, row)
            rows.append([_label(label, argument, place) for label in row])
            types.update(map(type, rows[-1]))
            if len(types) > 1:
                _refuse_item(argument, "labels of one type", place, row)
            if len(set(rows[-1])) < len(rows[-1]):
                _refuse_item(argument, "distinct labels of a text", place, row)
        return rows


def _transposed(rows: Iterable[Sequence[Text]]) -> list[list[Text]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _has_labels(texts: Tensor) -> bool:
    """Whether these are files, a data frame or `Examples`."""
    if isinstance(texts, Examples):
        return True
    if isinstance(texts, list | tuple) and texts:
        return all(isinstance(path, os.PathLike) for path in texts)
    return isinstance(texts, str | os.PathLike) or hasattr(texts, "columns")


def _split(examples: Examples, share: float) -> list[Examples]:
    """Splits off the last examples, a `share` of all, unless it is 0."""
    if not share:
        return [examples]
    place = math.floor(len(examples.labels) * (1 - share))
    if not 0 < place < len(examples.labels):
        refuse("validation_split", "a share that leaves texts on both sides", share)
    return [
        examples._replace(
            texts=[column[part] for column in examples.texts],
            labels=examples.labels[part],
            lines=examples.lines[part],
        )
        for part in (slice(place), slice(place, None))
    ]


def label_names(labels: object, least: int) -> list[Label]:
    """Returns the labels of a classifier, `least` or more that are distinct."""
    reader = ExampleReader(pairs=False, multi_label=False)
    names = [label for (label,) in reader.labels(labels)]
    if len(names) < least or len(set(names)) < len(names):
        refuse("labels", f"distinct labels, {least} at least", labels)
    return names


def targets_of(
    examples: Examples, known: Sequence[Label], multi_label: bool
) -> np.ndarray:
    """Returns the places of labels in `known`; with `multi_label`, 0 or 1 for each."""
    rows = examples.labels
    places = {label: place for place, label in enumerate(known)}
    counts = examples.counts()
    # True equals 1, but is another label.
    unknown = [x for x in counts if x not in places or type(x) is not type(known[0])]
    if unknown:
        some = ", ".join(map(repr, known[:10])) + ", ..." * (len(known) > 10)
        raise ValueError(
            f"{called(examples.argument)} must hold known labels: {some}. "
            f"Received: {counts.describe(unknown)}"
        )
    if not multi_label:
        return np.array([places[label] for (label,) in rows], "int32")
    targets = np.zeros((len(rows), len(known)), "float32")
    for target, row in zip(targets, rows, strict=True):
        target[[places[label] for label in row]] = 1
    return targets


def _values(container: object, argument: str, rule: str) -> list[Tensor]:
    values = as_list(container)
    if values is None:
        told = received(**{argument: container})
        raise TypeError(f"{called(argument)} must be {rule}. {told}")
    return values


def _is_text(value: object) -> bool:
    if isinstance(value, str | bytes):
        return bool(value.strip())
    words = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(words, list | tuple):
        return False
    if not all(isinstance(word, str | bytes) for word in words):
        return False
    # Empty ones are padding at the end of a row.
    num_words = sum(map(bool, words))
    return num_words > 0 and all(words[:num_words])


def _label(value: object, argument: str, place: int) -> Label:
    value = value.item() if isinstance(value, np.generic) else value
    value = value.decode() if isinstance(value, bytes) else value
    if isinstance(value, str | int) and value != "":
        return value
    rule = "strings, integers or booleans that are not empty"
    _refuse_item(argument, rule, place, value)


def _refuse_item(argument: str, rule: str, place: int, value: object) -> NoReturn:
    raise ValueError(
        f"{called(argument)} must hold {rule}. "
        f"{received(**{f'{argument}[{place}]': value})}"
    )
