"""Scores of tags and labels from the numbers of correct and predicted items.

Tags are counted as the script conlleval of the CoNLL shared tasks does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from keras_elmo.utils.tag_schemes import Span, are_span_tags, spans
from keras_elmo.utils.types import Config


@dataclass(frozen=True)
class Scores:
    """Numbers of items, such as spans: correct, predicted, and in the reference.

    A score without any items is 0.
    """

    correct: int
    predicted: int
    reference: int

    @property
    def precision(self) -> float:
        return self.correct / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        return self.correct / max(self.reference, 1)

    @property
    def f1(self) -> float:
        return 2 * self.correct / max(self.predicted + self.reference, 1)

    def as_dict(self) -> dict[str, float]:
        """Returns scores and numbers by name, for JSON."""
        scores = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**scores, **asdict(self)}


class TagScores:
    """Compares predicted tags with the right ones.

    Tags in a scheme (BIO, IOB1, BIOES) are compared by the spans that they mark.
    Otherwise, as for parts of speech, each word is a span. `known` are tags that may
    occur in neither. `accuracy` is the fraction of tokens with the right tag.
    """

    def __init__(
        self,
        reference: Iterable[Sequence[str]],
        predicted: Iterable[Sequence[str]],
        known: Iterable[str] = (),
    ) -> None:
        right, guessed = [*map(list, reference)], [*map(list, predicted)]
        tags = {*chain.from_iterable((*right, *guessed)), *known}
        self.has_spans = bool(tags) and are_span_tags(tags)
        read = spans if self.has_spans else _words
        self.by_type = scores_by_type(map(read, right), map(read, guessed))
        self.overall = total_of(self.by_type.values())
        same = [
            tag == guess
            for tags, guesses in zip(right, guessed, strict=True)
            for tag, guess in zip(tags, guesses, strict=True)
        ]
        self.num_tokens = len(same)
        self.accuracy = sum(same) / max(len(same), 1)

    def as_dict(self) -> dict[str, object]:
        """Returns the scores by name, for JSON."""
        return {
            "accuracy": self.accuracy,
            "tokens": self.num_tokens,
            **self.overall.as_dict(),
            "by_type": {name: score.as_dict() for name, score in self.by_type.items()},
        }


def label_scores(
    reference: Sequence[Sequence[str | int]], predicted: Sequence[Sequence[str | int]]
) -> dict[str, object]:
    """Returns scores of the labels of texts by name, for JSON."""
    right, guessed = ([{*labels} for labels in x] for x in (reference, predicted))
    by_label = scores_by_type(
        *([[(label,) for label in labels] for labels in x] for x in (right, guessed))
    )
    same = [labels == guess for labels, guess in zip(right, guessed, strict=True)]
    return {
        "accuracy": sum(same) / len(same),
        "micro_f1": total_of(by_label.values()).f1,
        "macro_f1": sum(score.f1 for score in by_label.values())
        / max(len(by_label), 1),
        "by_label": {label: score.as_dict() for label, score in by_label.items()},
    }


def scores_by_type(
    reference: Iterable[Iterable[tuple[str | int, ...]]],
    predicted: Iterable[Iterable[tuple[str | int, ...]]],
) -> dict[Any, Scores]:
    """Returns the scores of items by their first element, sorted.

    The right items of a sentence are all different.
    """
    rows = list(zip(reference, predicted, strict=True))
    right = Counter(item[0] for items, _ in rows for item in items)
    guessed = Counter(item[0] for _, items in rows for item in items)
    both = Counter(item[0] for one, other in rows for item in {*one} & {*other})
    types = sorted(right | guessed)
    return {type_: Scores(both[type_], guessed[type_], right[type_]) for type_ in types}


def total_of(scores: Iterable[Scores]) -> Scores:
    """Returns the scores of all items together."""
    rows = [(score.correct, score.predicted, score.reference) for score in scores]
    return Scores(*map(sum, zip(*rows, strict=True))) if rows else Scores(0, 0, 0)


def _words(tags: Sequence[str]) -> list[Span]:
    return [Span(tag, place, place + 1) for place, tag in enumerate(tags)]


# === Tables, in percent, as conlleval prints them ===


def conlleval_table(scores: Config) -> str:
    """Returns the lines that conlleval prints, from `TagScores.as_dict`."""
    return (
        f"processed {scores['tokens']} tokens with {scores['reference']} phrases; "
        f"found: {scores['predicted']} phrases; correct: {scores['correct']}.\n"
        f"accuracy: {100 * scores['accuracy']:6.2f}%; {percentages(scores)}"
        f"{_rows(scores['by_type'])}"
    )


def label_table(scores: Config) -> str:
    """Returns lines for a terminal, from `label_scores`."""
    return (
        f"accuracy: {100 * scores['accuracy']:6.2f}%; "
        f"micro F1: {100 * scores['micro_f1']:6.2f}; "
        f"macro F1: {100 * scores['macro_f1']:6.2f}"
        f"{_rows(scores['by_label'])}"
    )


def percentages(numbers: Mapping[str, float]) -> str:
    """Returns precision, recall and F1, from `Scores.as_dict`."""
    return (
        f"precision: {100 * numbers['precision']:6.2f}%; "
        f"recall: {100 * numbers['recall']:6.2f}%; FB1: {100 * numbers['f1']:6.2f}"
    )


def _rows(by_name: dict[object, Config]) -> str:
    return "".join(
        f"\n{name!s:>17}: {percentages(numbers)}  {numbers['predicted']}"
        for name, numbers in by_name.items()
    )
