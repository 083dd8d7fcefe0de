"""Reads texts and labels from lists, arrays, data frames and files."""

import math
import os
from collections.abc import Iterable, Sequence
from typing import NoReturn, TypeAlias, TypeGuard

import numpy as np

from keras_elmo.text.columns import ANY_COLUMNS, Columns, named_places
from keras_elmo.text.labelled_files import LabelledText, read_labelled
from keras_elmo.text.name_counts import NameCounts
from keras_elmo.text.token_lists import as_list
from keras_elmo.utils.checks import called, check_type, received, refuse
from keras_elmo.utils.types import Tensor

Text: TypeAlias = str | bytes | Sequence[str | bytes]
Label: TypeAlias = str | int


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
    ) -> list[list[LabelledText]]:
        """Returns the texts to train on, and those to score, if there are any."""
        rows = self.labelled(texts, labels, columns=columns)
        argument = "validation_data"
        if validation_data is None:
            place = math.floor(len(rows) * (1 - share))
            if share and not 0 < place < len(rows):
                rule = "a share that leaves texts on both sides"
                refuse("validation_split", rule, share)
            return [rows[:place], rows[place:]] if share else [rows]
        if _has_labels(validation_data):
            return [rows, self.labelled(validation_data, None, argument, columns)]
        rule = "a pair of texts and labels, files, or None"
        check_type((tuple, list), rule, validation_data=validation_data)
        if len(validation_data) != 2:
            refuse("validation_data", rule, validation_data)
        scored, right = validation_data
        return [rows, self.labelled(scored, right, argument)]

    def labelled(
        self,
        texts: Tensor,
        labels: object = None,
        argument: str = "",
        columns: Columns = ANY_COLUMNS,
    ) -> list[LabelledText]:
        """Returns texts with their labels; `labels` is `None` if `texts` has both.

        `argument` is the argument that had both, `""` for `texts` and `labels`.
        """
        text_argument, argument = argument or "texts", argument or "labels"
        if labels is not None:
            for name, column in columns._asdict().items():
                if column is not None:
                    rule = "None unless a file or a data frame is given"
                    refuse(f"{name}_column", rule, column)
        elif not _has_labels(texts):
            raise ValueError(
                f"{called('labels')} may be left out only where "
                f"{called(text_argument)} is a file, a list of `pathlib.Path`, "
                f"or a data frame. {received(**{text_argument: texts})}"
            )
        elif _are_labelled(texts):
            return texts
        elif not hasattr(texts, "columns"):
            return read_labelled(texts, columns, self._pairs, self._multi_label)
        else:
            argument = text_argument
            texts, labels = self._of_frame(texts, columns, argument)
        rows = self.texts(texts, text_argument)
        labels_of_rows = self.labels(labels, argument)
        if len(labels_of_rows) != len(rows):
            raise ValueError(
                f"{called(argument)} must have a label for each text. "
                f"Received: {len(labels_of_rows):,} labels of {len(rows):,} texts"
            )
        pairs = enumerate(zip(rows, labels_of_rows, strict=True))
        return [LabelledText(*pair, f"{argument}[{place}]") for place, pair in pairs]

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

    def texts(self, texts: object, argument: str = "texts") -> list[Sequence[Text]]:
        """Returns a list for each text, or for each pair."""
        rule = "pairs of texts" if self._pairs else "texts, or lists of words"
        if hasattr(texts, "columns") and not self._pairs:
            told = received(**{argument: type(texts)})
            raise TypeError(f"{called(argument)} must be a column of a table. {told}")
        rows: list[Sequence[Text]] = []
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
        return rows

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


def _has_labels(texts: Tensor) -> bool:
    """Whether these are files, a data frame or a list of `LabelledText`."""
    if isinstance(texts, list | tuple) and texts:
        return all(isinstance(x, os.PathLike | LabelledText) for x in texts)
    return isinstance(texts, str | os.PathLike) or hasattr(texts, "columns")


def _are_labelled(texts: Tensor) -> TypeGuard[list[LabelledText]]:
    return isinstance(texts, list) and isinstance(texts[0], LabelledText)


def label_names(labels: object, least: int) -> list[Label]:
    """Returns the labels of a classifier, `least` or more that are distinct."""
    reader = ExampleReader(pairs=False, multi_label=False)
    names = [label for (label,) in reader.labels(labels)]
    if len(names) < least or len(set(names)) < len(names):
        refuse("labels", f"distinct labels, {least} at least", labels)
    return names


def count_labels(rows: Iterable[LabelledText]) -> NameCounts:
    """Returns how often labels occur, and where first."""
    return NameCounts((row.labels, row.where) for row in rows)


def targets_of(
    rows: Sequence[LabelledText],
    known: Sequence[Label],
    multi_label: bool,
    argument: str = "labels",
) -> np.ndarray:
    """Returns the places of labels in `known`; with `multi_label`, 0 or 1 for each.

    Messages call the labels `argument`.
    """
    places = {label: place for place, label in enumerate(known)}
    counts = count_labels(rows)
    # True equals 1, but is another label.
    unknown = [x for x in counts if x not in places or type(x) is not type(known[0])]
    if unknown:
        some = ", ".join(map(repr, known[:10])) + ", ..." * (len(known) > 10)
        raise ValueError(
            f"{called(argument)} must hold known labels: {some}. "
            f"Received: {counts.describe(unknown)}"
        )
    if not multi_label:
        return np.array([places[row.labels[0]] for row in rows], "int32")
    targets = np.zeros((len(rows), len(known)), "float32")
    for target, row in zip(targets, rows, strict=True):
        target[[places[label] for label in row.labels]] = 1
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
