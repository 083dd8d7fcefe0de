import json
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.tag_scores import (
    Scores,
    TagScores,
    conlleval_table,
    label_scores,
    label_table,
    percentages,
)

# Of the output that is published with conlleval.
PUBLISHED = """\
accuracy:  84.08%; precision:  68.83%; recall:  80.83%; FB1:  74.35
             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
             ADVP: precision:  45.45%; recall:  62.50%; FB1:  52.63  11
               NP: precision:  64.98%; recall:  78.63%; FB1:  71.16  317
               PP: precision:  83.18%; recall:  98.89%; FB1:  90.36  107
             SBAR: precision:  66.67%; recall:  33.33%; FB1:  44.44  3
               VP: precision:  69.00%; recall:  79.31%; FB1:  73.80  100"""


def by_automaton(reference, predicted):
    """Counts as conlleval does: one pass over the words of all sentences.

    Its rules are those of the script: which tag ends a chunk before the next one, and
    which begins one, but that E and S end theirs and S begins one.
    """
    ends = {*"BB BO BS IB IO IS".split()} | {f"{a}{b}" for a in "ES" for b in "BIESO"}
    begins = {f"{a}{b}" for a in "BIESO" for b in "BS"} | {*"EE EI OE OI SE SI".split()}

    def is_end(before, tag):
        return before[0] + tag[0] in ends or (before[0] != "O" and before[1] != tag[1])

    def is_begin(before, tag):
        return before[0] + tag[0] in begins or (tag[0] != "O" and before[1] != tag[1])

    def of(tags):
        return [tuple(tag.partition("-")[::2]) for tag in chain.from_iterable(tags)]

    # A boundary after each sentence.
    pairs = zip(
        *(of([*tags, "O"] for tags in each) for each in (reference, predicted)),
        strict=True,
    )
    correct = num_right = num_guessed = 0
    is_correct = False
    last_right = last_guess = ("O", "")
    for right, guess in pairs:
        if is_correct:
            right_ends, guess_ends = (
                is_end(last_right, right),
                is_end(last_guess, guess),
            )
            correct += right_ends and guess_ends
            if right_ends or guess_ends:
                is_correct = False
        begins_right, begins_guess = (
            is_begin(last_right, right),
            is_begin(last_guess, guess),
        )
        num_right += begins_right
        num_guessed += begins_guess
        if begins_right and begins_guess and right[1] == guess[1]:
            is_correct = True
        last_right, last_guess = right, guess
    return Scores(correct, num_guessed, num_right)


tags = st.sampled_from(["O", *(f"{a}-{b}" for a in "BIES" for b in ("X", "Y-Z"))])
sentences = st.lists(st.lists(st.tuples(tags, tags), max_size=6), max_size=4)


@given(sentences)
def test_counts_of_conlleval(pairs):
    reference = [[right for right, _ in sentence] for sentence in pairs]
    predicted = [[guess for _, guess in sentence] for sentence in pairs]
    scores = TagScores(reference, predicted)
    if any(pairs):
        assert scores.overall == by_automaton(reference, predicted)
    for name in ("correct", "predicted", "reference"):
        total = sum(getattr(each, name) for each in scores.by_type.values())
        assert total == getattr(scores.overall, name)
    same = TagScores(reference, reference)
    assert same.overall.f1 == bool(same.by_type)
    assert same.accuracy == bool(same.num_tokens)


def test_scores_by_hand():
    reference = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "I-LOC"], []]
    predicted = [["B-PER", "I-PER", "O", "B-PER"], ["I-ORG", "I-LOC", "O"], []]
    scores = TagScores(reference, predicted)
    assert scores.has_spans
    assert scores.by_type == {
        "LOC": Scores(correct=0, predicted=1, reference=2),
        "ORG": Scores(correct=0, predicted=1, reference=0),
        "PER": Scores(correct=1, predicted=2, reference=1),
    }
    assert scores.overall == Scores(correct=1, predicted=4, reference=3)
    assert (scores.num_tokens, scores.accuracy) == (7, 3 / 7)
    as_dict = json.loads(json.dumps(scores.as_dict()))
    assert as_dict["precision"] == 1 / 4
    assert as_dict["by_type"]["PER"]["recall"] == 1.0
    assert as_dict["by_type"]["LOC"] == {
        **{"precision": 0.0, "recall": 0.0, "f1": 0.0},
        **{"correct": 0, "predicted": 1, "reference": 2},
    }
    assert conlleval_table(scores.as_dict()) == (
        "processed 7 tokens with 3 phrases; found: 4 phrases; correct: 1.\n"
        "accuracy:  42.86%; precision:  25.00%; recall:  33.33%; FB1:  28.57\n"
        "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
        "              ORG: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
        "              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2"
    )


def test_published_percentages():
    """By the numbers of phrases that they follow from: 459, 539 found, 371 correct."""
    counts = {
        "ADJP": Scores(0, 1, 6),
        "ADVP": Scores(5, 11, 8),
        "NP": Scores(206, 317, 262),
        "PP": Scores(89, 107, 90),
        "SBAR": Scores(2, 3, 6),
        "VP": Scores(69, 100, 87),
    }
    for line in PUBLISHED.splitlines()[1:]:
        name, _, columns = line.strip().partition(": ")
        assert percentages(counts[name].as_dict()) == columns.rpartition("  ")[0]
        assert f"  {counts[name].predicted}" in columns
    assert sum(each.reference for each in counts.values()) == 459
    assert percentages(Scores(371, 539, 459).as_dict()) in PUBLISHED


def test_parts_of_speech():
    scores = TagScores([["NOUN", "VERB"], ["O"]], [["NOUN", "NOUN"], ["O"]])
    assert not scores.has_spans
    assert scores.accuracy == scores.overall.f1 == scores.overall.precision == 2 / 3
    assert scores.by_type["NOUN"] == Scores(correct=1, predicted=2, reference=1)


def test_nothing_to_find():
    scores = TagScores([["O", "O"]], [["O", "O"]])
    assert (scores.accuracy, scores.overall.f1) == (1, 0)
    assert TagScores([], []).accuracy == 0


@pytest.mark.parametrize(
    ("predicted", "known", "has_spans"),
    [("B-X", ["O"], True), ("NOUN", [], False), ("O", ["O", "b-x"], False)],
)
def test_spans_by_the_tags_of_both(predicted, known, has_spans):
    """A tagger of plain tags has no spans, whatever it is compared with."""
    scores = TagScores([["B-X"]], [[predicted]], known)
    assert scores.has_spans == has_spans
    assert scores.accuracy == (predicted == "B-X")


@pytest.mark.parametrize("predicted", [[], [["O"], ["O", "O"]]])
def test_as_many_tags(predicted):
    with pytest.raises(ValueError, match="zip"):
        TagScores([["O"], ["O"]], predicted)


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
