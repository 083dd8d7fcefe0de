import pytest

from keras_elmo.text.label_scores import label_scores, label_table


def test_label_scores():
    scores = label_scores([["a"], ["b"], ["b"], ["c"]], [["a"], ["b"], ["a"], ["b"]])
    assert scores["accuracy"] == scores["micro_f1"] == 2 / 4
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert scores["by_label"]["b"]["recall"] == 1 / 2
    several = label_scores([["a", "b"], [], ["b"]], [["b", "a"], [], []])
    assert several["accuracy"] == 2 / 3
    assert several["micro_f1"] == pytest.approx(4 / 5)


def test_label_table():
    scores = label_scores([["a"], ["b"], ["b"]], [["a"], ["b"], ["a"]])
    assert label_table(scores).splitlines() == [
        "accuracy:  66.67%; micro F1:  66.67; macro F1:  66.67",
        "                a: precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
        "                b: precision: 100.00%; recall:  50.00%; FB1:  66.67  1",
    ]
