"""The text that the explorer looks for neighbours in."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from keras_elmo.explorer.forms import forms_of, usual_pattern
from keras_elmo.explorer.plane import WordMap
from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.progress import Progress
from keras_elmo.words.index import Index
from keras_elmo.words.predictions import Predictions
from keras_elmo.words.token_vectors import Place, token_arrays

# Points of a map.
_MOST = 200


class ExploredText:
    """A text with the vectors of its tokens, and what else is known about them.

    `senses` has, by the number of a sentence, the word that it was written for and its
    sense.

    Attributes:
        indexes: of each layer.
        num_sentences: how many sentences have a word, which is in lower case.
    """

    def __init__(
        self,
        encoder: Encoder,
        sentences: Iterable[Sequence[str]],
        senses: Mapping[int, tuple[str, str]],
        progress: bool = False,
    ) -> None:
        self.num_sentences = Counter[str]()
        self._senses: dict[tuple[str, ...], tuple[str, str]] = {}
        layers = range(encoder.config.num_layers + 1)
        text = self._read(sentences, senses)
        with Progress("Indexing", visible=progress) as bar:
            arrays = token_arrays(encoder, text, layers, None, bar, contexts=True)
        *self.indexes, self._contexts = (
            Index(each, {"model": None, "layer": layer}, None, encoder)
            for layer, each in enumerate(arrays)
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

    def forms(self, pattern: str) -> set[str]:
        """Returns the words that a pattern such as `배*` stands for, in lower case."""
        return forms_of(pattern, self.indexes[0].words)

    def usual_pattern(self, token: str) -> str:
        """Returns what stands for a word in all its forms, such as `배*` for 배를."""
        return usual_pattern(token, self.indexes[0].words)

    def sense(self, position: int, sentence: tuple[str, ...]) -> str | None:
        """Returns the sense of a token if its sentence was written for it."""
        word, sense = self._senses.get(sentence, ("", None))
        return sense if sentence[position].casefold().startswith(word) else None

    def sensed(self) -> Iterator[tuple[str, Place, str]]:
        """Yields words, where they stand in a sentence written for them, and senses."""
        for sentence, (word, _) in self._senses.items():
            for position in range(len(sentence)):
                # The first one is meant, if there are several.
                if sense := self.sense(position, sentence):
                    yield word, (position, sentence), sense
                    break

    def contexts_at(self, places: Collection[Place]) -> tuple[list[Place], np.ndarray]:
        """Returns places in the order of the text, and the vectors of `contexts_of`."""
        forms = {sentence[position] for position, sentence in places}
        vectors, found = self._contexts.occurrences(forms, len(self))
        kept = [k for k, place in enumerate(found) if place in places]
        return [found[k] for k in kept], vectors[kept]

    def word_map(
        self, forms: Collection[str], predictions: Predictions | None, umap: bool
    ) -> tuple[WordMap, list[Place], int]:
        """Returns the map of a word, what its points are, and how many there are."""
        layers = [index.occurrences(forms, _MOST)[0] for index in self.indexes]
        contexts, places = self._contexts.occurrences(forms, _MOST)
        found = traits(layers[-1], contexts, predictions)
        word_map = WordMap(np.stack(layers), found, umap)
        return word_map, places, self.indexes[0].count(forms)


def traits(
    top: np.ndarray, contexts: np.ndarray, predictions: Predictions | None
) -> np.ndarray:
    """Returns what occurrences are clustered by: the words that could stand there.

    A model without a softmax has the vectors of its top layer instead.
    """
    return top if predictions is None else predictions.substitute_vectors(contexts)
