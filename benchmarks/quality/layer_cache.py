"""The layers of a frozen biLM on disk, for many runs on the same sentences."""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import keras_elmo
from keras_elmo.downstream import precompute as precompute_module
from keras_elmo.downstream.layer_batches import LayerBatches
from keras_elmo.embedding.parts import encoder_hash
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.utils.files import replacing

_USER = "keras_elmo.downstream.task_model.layer_batches"


class LayerCache:
    """Stored layers in float16, which no task notices.

    Args:
        folder: where they are.
        encoder: the biLM.
        name: of the data set.
    """

    def __init__(self, folder: Path, encoder: keras_elmo.Encoder, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        digest = encoder_hash(encoder)[:12]
        self._encoder = encoder
        self._layers = folder / f"{name}-{digest}.f16"
        self._index = folder / f"{name}-{digest}.npz"
        self._places: dict[bytes, tuple[int, int]] = {}
        self._numbers = np.zeros(0, "float16")

    def add(self, sentences: Sequence[str | Sequence[str]]) -> None:
        """Computes and stores the layers of all sentences, if that is not done yet.

        Args:
            sentences: texts, or lists of words.
        """
        if not self._index.exists():
            self._compute(sentences)
        index = np.load(self._index)
        ends = index["ends"].tolist()
        places = zip([0, *ends[:-1]], ends, strict=True)
        keys = (bytes(key) for key in index["keys"])
        self._places = dict(zip(keys, places, strict=True))
        self._numbers = np.memmap(self._layers, "float16", "r")

    def _compute(self, sentences: Sequence[str | Sequence[str]]) -> None:
        kind = self._encoder.tokenizer or "unicode"
        if isinstance(sentences[0], str):
            # As the classifier splits them.
            words = _split(sentences, kind)
        else:
            words = [list(sentence) for sentence in sentences]
        distinct = list({tuple(row): row for row in words if row}.values())
        encode = PlainIds(self._encoder.config.token_vocabulary)
        keys, ends = [], [0]
        with replacing(self._layers) as temporary, open(temporary, "wb") as file:
            vectors = keras_elmo.embed(self._encoder, distinct, 64)
            for row, layers in zip(distinct, vectors, strict=True):
                ids = encode([[word.encode() for word in row]])[0]
                keys.append(_key([ids.astype("int32").tobytes()]))
                ends.append(ends[-1] + layers.size)
                file.write(layers.astype("float16").tobytes())
        with replacing(self._index) as temporary, open(temporary, "wb") as file:
            rows = np.frombuffer(b"".join(keys), "uint8").reshape(len(keys), -1)
            np.savez(file, keys=rows, ends=np.array(ends[1:]))

    @staticmethod
    @contextlib.contextmanager
    def used(cache: "LayerCache | None") -> Iterator[None]:
        """Lets `Tagger` and `TextClassifier` take the layers from a cache, if any."""
        if cache is None:
            yield
            return
        with mock.patch(_USER, cache.layer_batches):
            yield

    def of_words(self, char_ids: np.ndarray) -> np.ndarray:
        """Returns the layers of one sentence's character ids, all in one row."""
        start, end = self._places[_key([char_ids.astype("int32").tobytes()])]
        return self._numbers[start:end]

    def layer_batches(
        self,
        elmo: keras_elmo.ElmoEmbedding,
        dataset: Iterable[Any],
        shuffle: bool,
        inputs: Any,
    ) -> LayerBatches:
        """Returns batches as `keras_elmo.precompute` makes them, with stored layers."""
        batches: list[Any] = []
        sentences = precompute_module._sentences(elmo, dataset, batches, inputs)
        empty = (0, 0)
        places = [
            self._places[_key(words)] if len(words) > 2 else empty
            for words in sentences
        ]
        rows = [x.rows for batch in batches for x in batch.texts.values()]
        packed: list[Any] = [
            _Stored(self._numbers, [places[k] for k in part]) for part in rows
        ]
        return LayerBatches(elmo.layers_shape, packed, batches, shuffle)


class _Stored(NamedTuple):
    """Layers of the sentences of a batch, read when they are needed."""

    numbers: np.ndarray
    places: Sequence[tuple[int, int]]

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        parts = [self.numbers[start:end] for start, end in self.places]
        return np.concatenate(parts).astype("float32")


def _key(words: Iterable[bytes]) -> bytes:
    return hashlib.blake2b(b"".join(words), digest_size=16).digest()


def _split(texts: Sequence[str], kind: str) -> list[list[str]]:
    rows = keras_elmo.Tokenizer(kind).ragged(texts).to_list()
    return [[token.decode() for token in tokens] for tokens in rows]
