import re

import numpy as np
import pytest

from keras_elmo.text.columns import Columns
from keras_elmo.text.labelled_files import LabelledText
from keras_elmo.text.labelled_texts import (
    ExampleReader,
    count_labels,
    label_names,
    targets_of,
)

TEXTS = ["a warm film", "a dull film", "long"]


class Column:
    """What a data frame of pandas or Polars has for a column."""

    def __init__(self, values):
        self.values = values

    def to_list(self):
        return self.values


class Arrow:
    def __init__(self, values):
        self.values = values

    def to_pylist(self):
        return self.values


class Table:
    columns = ("premise", "hypothesis")

    def __init__(self, rows):
        self.rows = rows

    def to_numpy(self):
        return np.array(self.rows, object)


def reader(pairs=False, multi_label=False):
    return ExampleReader(pairs, multi_label)


@pytest.mark.parametrize(
    "container",
    [list, tuple, iter, np.array, lambda x: np.array(x, object), Column, Arrow],
)
def test_containers(container):
    assert reader().texts(container(TEXTS)) == [[text] for text in TEXTS]
    assert reader().labels(container(["b", "a", "b"])) == [["b"], ["a"], ["b"]]
    assert reader().labels(container([2, 0, 2])) == [[2], [0], [2]]


def test_tensors():
    tf = pytest.importorskip("tensorflow")
    assert reader().texts(tf.constant(TEXTS)) == [[text.encode()] for text in TEXTS]
    assert reader().labels(tf.constant(["a", "b"])) == [["a"], ["b"]]
    words = tf.ragged.constant([["a", "film"], ["long"]])
    assert reader().texts(words) == [[[b"a", b"film"]], [[b"long"]]]


def test_words_and_pairs():
    words = [["a", "film"], ("long",), np.array(["a", "b"])]
    assert len(reader().texts(words)) == 3
    # Padded at the end alone.
    assert reader().texts(np.array([["a", "film"], ["a", ""]]))
    pairs = [("a film", "a dog"), (["a"], "b"), ["a", ["b", "c"]]]
    assert reader(pairs=True).texts(pairs) == pairs
    rows = [["a", "b"], ["c", "d"]]
    for table in (Table(rows), Table(rows).to_numpy()):
        assert reader(pairs=True).texts(table) == rows


def test_label_types():
    for labels in (["a", "b"], [1, 0], [True, False]):
        read = [label for (label,) in reader().labels(np.array(labels))]
        assert read == labels
        assert type(read[0]) is type(labels[0])
    several = [["a", "b"], [], ("b",)]
    assert reader(multi_label=True).labels(several) == [["a", "b"], [], ["b"]]


TEXTS_OF, PAIRS_OF = reader().texts, reader(pairs=True).texts
LABELS_OF, LISTS_OF = reader().labels, reader(multi_label=True).labels


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        *(
            (TEXTS_OF, values, "`texts` must be texts, or lists of words. Received: te")
            for values in ("a film", None, {"text": TEXTS}, np.array("a film"))
        ),
        (TEXTS_OF, Table([["a", "b"]]), "`texts` must be a column of a table"),
        (TEXTS_OF, [], "`texts` must be texts, or lists of words, one at least"),
        (TEXTS_OF, ["a", ""], "that are not empty. Received: texts[1]=''"),
        (TEXTS_OF, ["a", " \n"], r"not empty. Received: texts[1]=' \n'"),
        (TEXTS_OF, ["a", float("nan")], "not empty. Received: texts[1]=nan"),
        (TEXTS_OF, [[]], "not empty. Received: texts[0]=[]"),
        (TEXTS_OF, [["", ""]], "not empty. Received: texts[0]=['', '']"),
        (TEXTS_OF, [["", "film"]], "not empty. Received: texts[0]=['', 'film']"),
        (TEXTS_OF, [["a", None]], "not empty. Received: texts[0]=['a', None]"),
        (PAIRS_OF, TEXTS, "hold pairs of texts. Received: texts[0]='a warm film'"),
        (PAIRS_OF, [("a", "b"), ("a",)], "pairs of texts. Received: texts[1]=('a',)"),
        (PAIRS_OF, [("a", None)], "that are not empty. Received: texts[0]=None"),
        (PAIRS_OF, [], "`texts` must be pairs of texts, one at least"),
        (LABELS_OF, "good", "`labels` must be a label for each text. Received: label"),
        (LABELS_OF, ["a", None], "not empty. Received: labels[1]=None"),
        (LABELS_OF, [0.0, 1.0], "strings, integers or booleans that are not empty. R"),
        (LABELS_OF, ["a", ""], "not empty. Received: labels[1]=''"),
        (LABELS_OF, ["a", 1], "labels of one type. Received: labels[1]=[1]"),
        (LABELS_OF, [1, True], "labels of one type. Received: labels[1]=[True]"),
        (LABELS_OF, [["a"], ["b"]], "Received: labels[0]=['a']"),
        *(
            (LISTS_OF, values, "a list of labels for each text")
            for values in (["ab", "a"], [None], [3])
        ),
        (LISTS_OF, np.eye(2, dtype=int), "list of labels for each text, no table of z"),
        (LISTS_OF, [["a"], ["a", "a"]], "distinct labels of a text. Received: labels["),
    ],
)
def test_wrong_values(read, values, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        read(values)


def test_one_label_for_each_text():
    with pytest.raises(ValueError, match="`labels` must have .*: 2 labels of 3 texts"):
        reader().labelled(TEXTS, ["a", "b"])
    with pytest.raises(
        ValueError, match="`validation_data` must have a label for each"
    ):
        reader().parts(TEXTS, ["a", "b", "a"], (TEXTS, ["a"]), 0)
    for wrong in ((TEXTS,), (TEXTS, TEXTS, TEXTS), 3):
        with pytest.raises(
            (TypeError, ValueError), match="`validation_data` must be a"
        ):
            reader().parts(TEXTS, ["a", "b", "a"], wrong, 0)


def test_names_of_files_are_texts(tmp_path):
    """Without labels, they are asked for by the name of what was given."""
    with pytest.raises(
        ValueError, match=r"`labels` may .*: texts=\['a\.tsv', 'b\.tsv'\]"
    ):
        reader().labelled(["a.tsv", "b.tsv"], None)


def test_split():
    train, validation = reader().parts(TEXTS, ["a", "b", "a"], None, 0.3)
    assert [row.texts for row in train] == [[text] for text in TEXTS[:2]]
    assert validation == [LabelledText([TEXTS[2]], ["a"], "labels[2]")]
    assert len(reader().parts(TEXTS, ["a", "b", "a"], None, 0)) == 1
    for share in (1.0, 1e-9):
        with pytest.raises(ValueError, match="`validation_split` must be a share"):
            reader().parts(TEXTS[:1], ["a"], None, share)


def test_targets():
    examples = reader().labelled(TEXTS, ["b", "a", "b"])
    np.testing.assert_array_equal(targets_of(examples, ["a", "b"], False), [1, 0, 1])
    several = reader(multi_label=True).labelled(TEXTS, [["b"], [], ["b", "a"]])
    found = targets_of(several, ["a", "b"], True)
    np.testing.assert_array_equal(found, [[0, 1], [0, 0], [1, 1]])
    with pytest.raises(
        ValueError, match=r"known labels: 'a', 'c'.*: 'b' \(2 .* labels\[0"
    ):
        targets_of(examples, ["a", "c"], False)
    # Of another type, though equal.
    numbers = reader().labelled(TEXTS, [1, 0, 1])
    with pytest.raises(
        ValueError, match=r"known labels: False, True\. .*: 1 \(2 .* labels"
    ):
        targets_of(numbers, [False, True], False)
    many = [f"kind {k}" for k in range(10_000)]
    with pytest.raises(ValueError, match=r"'kind 9', \.\.\.\. Received"):
        targets_of(examples, many, False)


def test_labels_of_files(tmp_path):
    """A message names the file and the line, also of the part that is split off."""
    path = tmp_path / "file.tsv"
    path.write_text("text\tlabel\na\tgood\nb\tbad\n\nc\tGood \nd\tbad\n")
    rows = reader().parts(path, None, None, 0.5)
    assert [row.labels for row in rows[1]] == [["Good"], ["bad"]]
    said = f"labels: 'good'. Received: 'Good' (in {path}, line 5), 'bad' (in {path}, li"
    with pytest.raises(ValueError, match=re.escape(said)):
        targets_of(rows[1], ["good"], False)
    numbers = tmp_path / "numbers.jsonl"
    numbers.write_text('{"text": "a", "label": 1}\n')
    with pytest.raises(ValueError, match=r"numbers.jsonl, line 1: must have labels"):
        reader().labelled([path, numbers], None)


def test_spellings():
    """Labels that differ by case or spaces alone; others are different enough."""
    rows = reader().labelled(TEXTS, ["OTHER", "Other", "OTHER "])
    said = r"alone are different ones: 'OTHER' \(in labels\[0\]\), 'Other' .*'OTHER ' "
    with pytest.warns(UserWarning, match=said):
        count_labels(rows).warn_of_spellings("labels", stacklevel=1)
    for labels in (["other", "others", "other"], [1, 2, 1]):
        rows = reader().labelled(TEXTS, labels)
        count_labels(rows).warn_of_spellings("labels", stacklevel=1)


def test_label_names():
    assert label_names(("b", "a"), least=2) == ["b", "a"]
    for wrong in (["a"], ["a", "a"], []):
        with pytest.raises(ValueError, match="`labels` must be distinct labels, 2 at"):
            label_names(wrong, least=2)


class Frame(dict):
    """What a data frame has of columns."""

    @property
    def columns(self):
        return [*self]


def test_files_and_frames(tmp_path):
    path = tmp_path / "file.tsv"
    path.write_text("a film\tgood\ndull\tbad\n")
    expected = [(["a film"], ["good"]), (["dull"], ["bad"])]
    for texts in (str(path), [path], reader().labelled(path)):
        rows = reader().labelled(texts)
        assert [row[:2] for row in rows] == expected
        assert [row.where(0) for row in rows] == [f"{path}, line {k}" for k in (1, 2)]
    frame = Frame(id=[1, 2], text=["a film", "dull"], label=["good", "bad"])
    assert [row[:2] for row in reader().labelled(frame)] == expected
    train, scored = reader().parts(path, None, frame, 0)
    assert [row[:2] for row in train] == [row[:2] for row in scored] == expected
    assert scored[1].where(0) == "validation_data[1]"
    other = Frame(a=["a film"], b=["dull"], mood=["good"])
    columns = Columns(label="mood")
    with pytest.raises(ValueError, match="`text_column` must be one of a, b, mood"):
        reader().labelled(other, None, columns=columns)
    rows = reader(pairs=True).labelled(other, columns=Columns("a", "b", "mood"))
    assert rows == [LabelledText(("a film", "dull"), ["good"], "texts[0]")]
    with pytest.raises(ValueError, match="`label_column` must be None unless a file"):
        reader().labelled(TEXTS, ["a", "b", "a"], columns=columns)
