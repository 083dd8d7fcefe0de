"""A BERT-style encoder: words to pieces, and its layers as vectors of words.

The model and the pieces are KerasHub's (extra `bert`).

Reference: Devlin et al. 2019, "BERT".
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import keras_hub
import numpy as np

SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
PAD, CLS, SEP, UNK, MASK = range(len(SPECIALS))
# In its folder.
DESCRIPTION = "bert.json"
WEIGHTS = "bert.weights.h5"
_BATCH_SIZE = 64


class Pieces:
    """Cuts each word once, into the pieces of a vocabulary, `SPECIALS` first."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._cut = keras_hub.tokenizers.WordPieceTokenizer(
            list(vocabulary), split=False, lowercase=False, oov_token="[UNK]"
        )
        self._known: dict[str, list[int]] = {}

    def __call__(self, words: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each word's pieces."""
        new = list({word for word in words if word not in self._known})
        if new:
            # A row for each word: the pieces of words in one row are not told apart.
            found = self._cut([[word] for word in new])
            self._known.update(zip(new, map(list, found), strict=True))
        return [self._known[word] or [UNK] for word in words]


def build(sizes: dict[str, int], dtype: str = "float32") -> Any:
    """Returns a backbone without dropout, as the ELMos that it is compared with."""
    return keras_hub.models.BertBackbone(**sizes, dropout=0.0, dtype=dtype)


def read_description(folder: Path) -> dict[str, Any]:
    """Returns the recipe, sizes and pieces of a run."""
    return json.loads(Path(folder, DESCRIPTION).read_text(encoding="utf-8"))


def embed_with_bert(
    folder: Path, sentences: Sequence[Sequence[str]]
) -> tuple[Iterator[np.ndarray], tuple[int, int]]:
    """Returns an array `(layers, tokens, units)` a sentence, and `(layers, units)`.

    The first layer is that of the embeddings. A word has the mean of its pieces; a
    sentence that is too long for the positions is read in parts. `pretrain_bert.py`
    writes the folder.
    """
    about = read_description(folder)
    backbone = build(about["sizes"])
    backbone.load_weights(Path(folder, WEIGHTS))
    layers = [backbone.embeddings_layer_norm, *backbone.transformer_layers]
    model = keras.Model(
        backbone.input, keras.ops.stack([layer.output for layer in layers], axis=1)
    )
    longest = about["sizes"]["max_sequence_length"] - 2
    vectors = _vectors(model, Pieces(about["pieces"]), sentences, longest)
    return vectors, (len(layers), about["sizes"]["hidden_dim"])


def _vectors(
    model: Any, pieces: Pieces, sentences: Sequence[Sequence[str]], longest: int
) -> Iterator[np.ndarray]:
    for start in range(0, len(sentences), _BATCH_SIZE):
        batch = sentences[start : start + _BATCH_SIZE]
        parts = [
            (owner, part)
            for owner, sentence in enumerate(batch)
            for part in cut_between_words(pieces(sentence), longest)
        ]
        found: list[list[np.ndarray]] = [[] for _ in batch]
        if parts:
            packed = [[CLS, *sum(part, []), SEP] for _, part in parts]
            ids, padding = padded(packed, longest + 2)
            inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": padding}
            layers = np.asarray(model.predict_on_batch(inputs))
            for (owner, part), values in zip(parts, layers, strict=True):
                ends = 1 + np.cumsum([0, *map(len, part)])
                found[owner] += [
                    values[:, first:end].mean(axis=1)
                    for first, end in zip(ends, ends[1:], strict=False)
                ]
        shape = model.output_shape[1], 0, model.output_shape[3]
        for words in found:
            yield np.stack(words, axis=1) if words else np.zeros(shape, np.float32)


def cut_between_words(
    words: Sequence[list[int]], longest: int
) -> Iterator[list[list[int]]]:
    """Yields the parts of a sentence, whole words, that have few enough pieces."""
    part: list[list[int]] = []
    size = 0
    for word in words:
        word = word[:longest]
        if part and size + len(word) > longest:
            yield part
            part, size = [], 0
        part.append(word)
        size += len(word)
    if part:
        yield part


def padded(
    rows: Sequence[Sequence[int]], longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns ids, and 1 where they are not padding; no row exceeds `longest`."""
    # Few shapes: each is a graph of its own.
    width = min(longest, -(-max(map(len, rows)) // 16) * 16)
    ids = np.full((len(rows), width), PAD, np.int32)
    for row, values in zip(ids, rows, strict=True):
        row[: len(values)] = values
    lengths = np.array([[len(row)] for row in rows])
    return ids, (np.arange(width) < lengths).astype(np.int32)
