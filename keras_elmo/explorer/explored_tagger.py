"""Answers the page's questions about a tagger."""

import os

import numpy as np

from keras_elmo.downstream.tagger import Tagger
from keras_elmo.explorer.explorer import Answer
from keras_elmo.files.exported_sources import KerasFile
from keras_elmo.files.loading import open_trained
from keras_elmo.files.sources import tokenizer_of
from keras_elmo.utils.tag_schemes import Span, scheme_of_names, spans
from keras_elmo.words.sentences import read_sentence

# Tags of a word that the page shows.
_MOST_TAGS = 24


class ExploredTagger:
    """Tags sentences and returns the probabilities of their tags.

    The page calls the tagger `name`. `tokenizer` splits texts; by default the tagger's.
    """

    def __init__(self, tagger: Tagger, name: str, tokenizer: str | None = None) -> None:
        self._tagger = tagger
        self._name = name
        self.encoder = tagger.elmo.encoder
        self._tokenizer = tokenizer_of(self.encoder, tokenizer)
        self._tags = tagger.tags or []
        self._has_spans = scheme_of_names(self._tags) is not None

    @classmethod
    def load(cls, path: str, tokenizer: str | None = None) -> "ExploredTagger":
        """Loads a `.keras` file of a `Tagger`, which must have tags."""
        source, task = open_trained(path, "Tagger", (KerasFile,), "tagger")
        if not task.names:
            raise ValueError(f"{path}: must hold a Tagger that was trained")
        return cls(source.loaded(), os.path.basename(path), tokenizer)

    def describe(self) -> Answer:
        """Returns what the page needs to know about the tagger.

        Tags of one type, such as B-PER and I-PER, have the same number; O has -1.
        """
        numbers: dict[str, int] = {}
        tags = []
        for name in self._tags:
            number = -1
            for span in self._spans([name]):
                number = numbers.setdefault(span.type, len(numbers))
            tags.append({"name": name, "type": number})
        return {"name": self._name, "crf": self._tagger.crf, "tags": tags}

    def tokens(self, text: str) -> tuple[str, ...]:
        return tuple(read_sentence(text, self._tokenizer))

    def tag(self, tokens: tuple[str, ...]) -> Answer:
        """Returns the tag of each word, and the probabilities of its likeliest tags.

        Tags are numbers. A word joins the word before it if both are in one span.
        """
        ((_, names, marginals),) = self._tagger.tags_and_marginals([[*tokens]], 1)
        tags = [self._tags.index(name) for name in names]
        spans_of_tags = self._spans(names)
        joins = {k for span in spans_of_tags for k in range(*span[1:])[1:]}
        words = []
        rows = zip(tokens, tags, marginals, strict=True)
        for k, (word, tag, row) in enumerate(rows):
            likeliest = np.argsort(-row, kind="stable")[:_MOST_TAGS].tolist()
            if tag not in likeliest:
                likeliest[-1] = tag
            words.append(
                {
                    "word": word,
                    "tag": tag,
                    "joins": k in joins,
                    "marginals": [[j, round(float(row[j]), 5)] for j in likeliest],
                }
            )
        return {"words": words, "others": max(0, len(self._tags) - _MOST_TAGS)}

    def _spans(self, tags: list[str]) -> list[Span]:
        """Returns the spans that tags mark, or each word if tags mark no spans."""
        if self._has_spans:
            return spans(tags)
        return [Span(tag, k, k + 1) for k, tag in enumerate(tags)]
