"""The text in which the explorer looks for neighbours."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

import numpy as np

from keras_elmo.explorer.examples import is_hangul
from keras_elmo.explorer.plane import WordMap
from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.progress import Progress
from keras_elmo.words.index import Index
from keras_elmo.words.predictions import Predictions
from keras_elmo.words.token_vectors import Place, token_arrays

# Points of a map.
_MOST = 200
# Particles, and forms of the copula, that Korean writes at the end of a noun.
_PARTICLES = (
    *("", "이", "가", "은", "는", "을", "를", "의", "도", "만", "에", "에는", "에도"),
    *("에서", "에서는", "에게", "께", "로", "으로", "로는", "으로는", "와", "과"),
    *("나", "이나", "보다", "까지", "부터", "마다", "처럼", "밖에", "대로", "들"),
    *("들이", "들은", "들을", "들의", "라고", "이라고", "다", "이다", "인"),
)


class ExploredText:
    """A text with the vectors and senses of its tokens.

    `senses` maps the number of a sentence to the word that it was written for and the
    word's sense. `predictions` is `None` for a model that predicts no words.

    Attributes:
        indexes: an index for each layer.
        num_sentences: the number of sentences that have a word, by the word in lower
            case.
    """

    def __init__(
        self,
        encoder: Encoder,
        sentences: Iterable[Sequence[str]],
        senses: Mapping[int, tuple[str, str]],
        predictions: Predictions | None = None,
        progress: bool = False,
    ) -> None:
        self._predictions = predictions
        self.num_sentences = Counter[str]()
        self._senses: dict[tuple[str, ...], tuple[str, str]] = {}
        layers = range(encoder.config.num_layers + 1)
        text = self._read(sentences, senses)
        with Progress("Indexing", visible=progress) as bar:
            arrays = token_arrays(encoder, text, layers, None, bar, contexts=True)
        # The last one has the contexts.
        *self.indexes, self._contexts = (
            Index(tokens, {"model": None, "layer": layer}, None, encoder)
            for layer, tokens in enumerate(arrays)
        )

    def _read(
        self,
        sentences: Iterable[Sequence[str]],
        senses: Mapping[int, tuple[str, str]],
    ) -> Iterator[Sequence[str]]:
        for number, sentence in enumerate(sentences):
            if number in senses:
                self._senses[tuple(sentence)] = senses[number]
            self.num_sentences.update({token.casefold() for token in sentence})
            yield sentence

    def __len__(self) -> int:
        """Returns the number of tokens."""
        return len(self.indexes[0])

    @property
    def _words(self) -> Set[str]:
        return self.indexes[0].words

    def forms(self, pattern: str) -> set[str]:
        """Returns the words of the text that match a pattern, in lower case.

        A pattern is a word, or the beginning of words before `*`. After Hangul, `*`
        stands for particles.
        """
        pattern = pattern.casefold()
        stem = pattern.removesuffix("*")
        if stem in ("", pattern):
            return {pattern}
        if is_hangul(stem[-1]):
            return {stem + end for end in _PARTICLES if stem + end in self._words}
        return {word for word in self._words if word.startswith(stem)}

    def usual_pattern(self, token: str) -> str:
        """Returns a pattern for a word: in Korean, `배*` for 배를; elsewhere, the word.

        The stem is the beginning that the text has with the most particles. A word that
        has only one form in the text is its own pattern.
        """
        if not is_hangul(token[-1]):
            return token
        stems = [
            token[:end] for end in range(1, len(token) + 1) if token[end:] in _PARTICLES
        ]
        # Of stems with equal counts, the longer one is the greater string.
        count, stem = max((len(self.forms(f"{stem}*")), stem) for stem in stems)
        return f"{stem}*" if count > 1 else token

    def sense(self, position: int, sentence: tuple[str, ...]) -> str | None:
        """Returns the sense of a token whose sentence was written for it, or `None`."""
        word, sense = self._senses.get(sentence, ("", None))
        return sense if sentence[position].casefold().startswith(word) else None

    def sensed(self) -> Iterator[tuple[str, Place, str]]:
        """Yields words, places in sentences written for them, and senses."""
        for sentence, (word, _) in self._senses.items():
            for position in range(len(sentence)):
                # The word may stand there several times; the first one counts.
                if sense := self.sense(position, sentence):
                    yield word, (position, sentence), sense
                    break

    def contexts_at(self, places: Collection[Place]) -> tuple[list[Place], np.ndarray]:
        """Returns places in the order of the text, and the vectors of `contexts_of`."""
        forms = {sentence[position] for position, sentence in places}
        vectors, occurrences = self._contexts.occurrences(forms, len(self))
        kept = [k for k, place in enumerate(occurrences) if place in places]
        return [occurrences[k] for k in kept], vectors[kept]

    def word_map(
        self, forms: Collection[str], umap: bool
    ) -> tuple[WordMap, list[Place], int]:
        """Returns the map of a word, the places of its points, and the word's count."""
        layers = [index.occurrences(forms, _MOST)[0] for index in self.indexes]
        contexts, places = self._contexts.occurrences(forms, _MOST)
        traits = self.traits(layers[-1], contexts)
        word_map = WordMap(np.stack(layers), traits, umap)
        return word_map, places, self.indexes[0].count(forms)

    def traits(self, top: np.ndarray, contexts: np.ndarray) -> np.ndarray:
        """Returns the vectors by which occurrences are clustered.

        They stand for the words that could take the place. A model without a softmax
        has the vectors of its top layer instead.
        """
        if self._predictions is None:
            return top
        return self._predictions.substitute_vectors(contexts)
