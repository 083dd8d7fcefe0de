"""Compares what a model of a task predicts with what is right."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from keras_elmo.text.batching import Tokens
from keras_elmo.text.labelled_texts import ExampleReader, Examples, Label, targets_of
from keras_elmo.text.tag_scores import TagScores, label_scores
from keras_elmo.text.tagged_sentences import (
    Data,
    in_scheme,
    scheme_of_names,
    tagged_sentences,
    words_of,
)
from keras_elmo.utils.types import Config

Tag: TypeAlias = Callable[[list[Tokens]], list[list[str]]]
LabelTexts: TypeAlias = Callable[[Data], object]


def evaluate_tags(
    predict: Tag, tags: Sequence[str], x: Data, y: Data, column: str | int | None
) -> Config:
    """Returns what `Tagger.evaluate` does.

    Args:
        predict: words of sentences to their tags.
        tags: the names of the tags that it knows.
        x: as of `Tagger.fit`.
        y: as of `Tagger.fit`.
        column: as of `Tagger.fit`.
    """
    sentences = tagged_sentences(x, y, column)
    sentences = in_scheme(sentences, scheme_of_names(tags), "x")
    predicted = predict(words_of(sentences))
    return TagScores((row.tags for row in sentences), predicted).as_dict()


def evaluate_labels(
    predict: LabelTexts, known: Sequence[Label], reader: ExampleReader, right: Examples
) -> Config:
    """Returns what `TextClassifier.evaluate` does.

    Args:
        predict: texts, or pairs of them, to their labels.
        known: the labels that it knows.
        reader: what `right` was read by.
        right: texts with their labels.
    """
    targets_of(right, known, reader.multi_label)
    texts = [*zip(*right.texts, strict=True)] if reader.pairs else right.texts[0]
    return label_scores(right.labels, reader.labels(predict(texts)))
