"""Answers the page's questions about one model and one text."""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.explorer.examples import EXAMPLES, choose_examples, language
from keras_elmo.explorer.explored_text import ExploredText
from keras_elmo.explorer.plane import context_words
from keras_elmo.explorer.quiz import Quiz
from keras_elmo.files.exported_sources import LiteRtFile, OnnxFile
from keras_elmo.files.loading import MODELS, open_model
from keras_elmo.files.sources import tokenizer_of
from keras_elmo.files.validation import NoLanguageModel
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.serving.limits import invalid
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.words.predictions import Predictions
from keras_elmo.words.sample import sample, sample_senses
from keras_elmo.words.score import score_tokens
from keras_elmo.words.sentences import Text, find_word, read_corpus, read_sentence
from keras_elmo.words.substitutes import word_probabilities
from keras_elmo.words.token_vectors import contexts_of, normalize

# These files give no vectors for the boundaries of a sentence.
_KINDS = tuple(kind for kind in MODELS if kind not in (OnnxFile, LiteRtFile))
# JSON of an answer.
Answer = dict[str, Any]

_NUM_NEIGHBOURS = 12
_NUM_SUBSTITUTES = 10
# Words on each side of a shown word.
_WINDOW = 10
_KEPT_SENTENCES = 32
_KEPT_MAPS = 256


class Explorer:
    """Answers questions about the words of a sentence.

    A method takes tokens as a tuple. Recent results are cached. `substitutes` and
    `score` need a model that predicts words. Neighbours come from the first
    `max_sentences` of `corpus`. The default corpus is a sample text, in Korean if the
    words of the model are Korean, otherwise in English. Examples in another language
    are sentences of the corpus.
    """

    def __init__(
        self,
        model: PretrainingModel | Encoder,
        corpus: Text | None = None,
        max_sentences: int = 5000,
        progress: bool = False,
        tokenizer: str | None = None,
    ) -> None:
        is_language_model = isinstance(model, PretrainingModel)
        encoder = model.encoder if is_language_model else model
        predictions = Predictions(model) if is_language_model else None
        words = predictions.vocabulary.words if predictions else []
        self.predictions = predictions
        self.num_layers = encoder.config.num_layers + 1
        self._tokenizer = tokenizer_of(encoder, tokenizer)
        known = language(words[len(SPECIALS) :])
        text = read_corpus(corpus or sample(known or "en"), self._tokenizer)
        sentences = [*islice(text, max_sentences)]
        if not words:
            frequent = Counter(chain.from_iterable(sentences)).most_common()
            known = language(word for word, _ in frequent)
        self.language = known if corpus else known or "en"
        self._examples = EXAMPLES.get(self.language) or choose_examples(sentences)
        self.text = ExploredText(
            encoder,
            sentences,
            {} if corpus else sample_senses(self.language),
            predictions,
            progress,
        )
        self.encoder = encoder
        self._embedder = Embedder(encoder)
        self.tokens = functools.lru_cache(_KEPT_SENTENCES)(self._tokens)
        self._layers = functools.lru_cache(_KEPT_SENTENCES)(self._embed)
        self._maps = functools.lru_cache(_KEPT_MAPS)(self.text.word_map)
        self.quiz = Quiz(self.text)

    @classmethod
    def load(cls, name_or_path: str, *args: Any, **kwargs: Any) -> "Explorer":
        """Loads a model, with its softmax if it has one."""
        source = open_model(name_or_path, kinds=_KINDS)
        model: PretrainingModel | Encoder
        try:
            model = source.language_model()
        except NoLanguageModel:
            model = source.encoder()
        return cls(model, *args, **kwargs)

    def _tokens(self, text: str) -> tuple[str, ...]:
        return tuple(read_sentence(text, self._tokenizer))

    def _embed(self, tokens: tuple[str, ...]) -> np.ndarray:
        """Returns the layers of a sentence with its boundaries."""
        (layers,) = self._embedder.embed([tokens], 1, keep_boundaries=True)
        return layers

    def describe(self) -> Answer:
        """Returns what the page needs to know about the model."""
        examples = self._examples
        places = [
            {"text": text, "position": find_word(word, list(self.tokens(text)))}
            for text, word in examples.words
        ]
        return {
            "layers": self.num_layers,
            "language": self.language,
            "predicts": self.predictions is not None,
            "indexed": len(self.text),
            "questions": len(self.quiz),
            "examples": {**examples._asdict(), "words": places},
        }

    def neighbours(
        self, tokens: tuple[str, ...], position: int, pattern: str | None = None
    ) -> Answer:
        """Returns the tokens of the text that are closest to a token, for each layer.

        Each token comes with its sentence, and with the words around it. Only tokens
        that match a pattern such as `bank` or `배*` count, if one is given.
        """
        vectors = self._layers(tokens)[:, position + 1]
        kind = None if pattern is None else self.text.forms(pattern)
        here = position, tokens
        return {
            "layers": [
                [
                    {
                        "cosine": round(occurrence.cosine, 3),
                        "text": " ".join(occurrence.sentence),
                        "position": occurrence.position,
                        **_in_context(occurrence.sentence, occurrence.position),
                    }
                    for occurrence in index.closest(vector, _NUM_NEIGHBOURS, kind, here)
                ]
                for index, vector in zip(self.text.indexes, vectors, strict=True)
            ]
        }

    def substitutes(self, tokens: tuple[str, ...], position: int) -> Answer:
        """Returns the likeliest words in place of a token, and their probabilities."""
        predictions = self._language_model()
        states = self._layers(tokens)[-1]
        rows = word_probabilities(predictions, states, position)
        words = predictions.vocabulary.words
        answer = {}
        for name, row in zip(("both", "forward", "backward"), rows, strict=True):
            count = min(_NUM_SUBSTITUTES, len(row))
            best = np.argpartition(-row, count - 1)[:count]
            best = best[np.argsort(-row[best], kind="stable")]
            answer[name] = [
                {
                    "word": words[len(SPECIALS) + k],
                    "probability": round(float(row[k]), 5),
                }
                for k in best.tolist()
            ]
        return answer

    def map(
        self,
        tokens: tuple[str, ...],
        position: int,
        pattern: str,
        method: str = "pca",
    ) -> Answer:
        """Returns a token and occurrences of a pattern as points, for each layer.

        The token itself is the first point.
        """
        forms = self.text.forms(pattern)
        word_map, places, total = self._maps(frozenset(forms), method == "umap")
        states = self._layers(tokens)
        own = normalize(states[:, position + 1])
        context = contexts_of(states[-1])[[position]]
        (trait,) = self.text.traits(own[-1:], context)
        own_point, own_label = word_map.place(own, trait)
        here = position, tokens
        others = [k for k, place in enumerate(places) if place != here]
        planes = [own_point[:, np.newaxis], word_map.points[:, others]]
        labels = np.array([own_label, *word_map.labels[others]], "int64")
        shown = [here, *(places[k] for k in others)]
        beside = context_words(
            [words for _, words in shown],
            labels,
            forms | {tokens[position].casefold()},
            self.text.num_sentences,
        )
        sizes = np.bincount(labels, minlength=len(beside)).tolist()
        senses = [self.text.sense(at, words) for at, words in shown]
        counts = Counter(sense for sense in senses if sense).most_common()
        numbers = {sense: number for number, (sense, _) in enumerate(counts)}
        return {
            "layers": np.concatenate(planes, axis=1).tolist(),
            "points": [
                {"cluster": label, "sense": numbers.get(sense or "", -1)}
                | _in_context(words, at)
                for (at, words), label, sense in zip(
                    shown, labels.tolist(), senses, strict=True
                )
            ],
            "clusters": [
                {"size": size, "words": words}
                for size, words in zip(sizes, beside, strict=True)
            ],
            "senses": [{"name": name, "size": size} for name, size in counts],
            "total": total,
        }

    def compare(self, first: tuple[str, ...], second: tuple[str, ...]) -> Answer:
        """Returns the cosines between the tokens of two sentences, for each layer."""
        one, other = (
            normalize(self._layers(tokens)[:, 1:-1]) for tokens in (first, second)
        )
        cosines = one @ other.transpose(0, 2, 1)
        return {
            "first": first,
            "second": second,
            "layers": np.round(cosines.astype("float64"), 3).tolist(),
        }

    def score(self, sentences: Sequence[tuple[str, ...]]) -> Answer:
        """Returns how surprising each token and each sentence is, in bits."""
        rows = score_tokens(self._language_model(), map(list, sentences), 1)
        return {
            "sentences": [
                {
                    "tokens": row.tokens,
                    "unknown": row.unknown,
                    "bits": {
                        name: {
                            "sentence": _bits([getattr(row, key)])[0],
                            "tokens": _bits(getattr(row, f"token_{key}")),
                        }
                        for name, key in _DIRECTIONS.items()
                    },
                }
                for row in rows
            ]
        }

    def warm_up(self) -> None:
        """Answers the examples, so that a first click finds maps and graphs."""
        for text, word in self._examples.words:
            tokens = self.tokens(text)
            position = find_word(word, list(tokens))
            self.map(tokens, position, self.text.usual_pattern(word))
        self.neighbours(tokens, position)
        if self.predictions:
            self.substitutes(tokens, position)
            self.score([tokens])

    def _language_model(self) -> Predictions:
        """Returns the model's predictions, or raises for an encoder alone."""
        if self.predictions is None:
            raise invalid(
                "This model predicts no words: it has no softmax (export one with "
                "--language-model)"
            )
        return self.predictions


_DIRECTIONS = {"both": "pseudo", "forward": "forward", "backward": "backward"}


def _bits(log_likelihoods: Iterable[float]) -> list[float]:
    return [round(-float(value) / math.log(2), 2) for value in log_likelihoods]


def _in_context(sentence: Sequence[str], position: int) -> Answer:
    """Returns a token and the words around it."""
    before = sentence[max(0, position - _WINDOW) : position]
    after = sentence[position + 1 : position + 1 + _WINDOW]
    return {
        "before": " ".join(before),
        "word": sentence[position],
        "after": " ".join(after),
    }
