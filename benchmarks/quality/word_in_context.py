"""Does a word mean the same in two sentences? KoBEST, by the cosine of two vectors.

Reference: Jang et al. 2022, "KoBEST"; Pilehvar and Camacho-Collados 2019, "WiC", for a
threshold on the cosine; Melamud et al. 2016, "context2vec", for the vector of a place.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Between two of which the threshold is looked for.
_NUM_THRESHOLDS = 1000


@dataclass(frozen=True)
class Pair:
    """A word in two sentences.

    Args:
        sentences: the tokens of both.
        positions: the word's, in either.
        same: whether it means the same.
    """

    sentences: tuple[list[str], list[str]]
    positions: tuple[int, int]
    same: bool


def read_pairs(path: Path, tokenizer: str) -> list[Pair]:
    """Reads pairs, whose word stands in brackets, or is where the target first is."""
    import keras_elmo

    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    texts = [
        text if "]" in text else text.replace(row["Target"], f"[{row['Target']}]", 1)
        for row in rows
        for text in (row["SENTENCE1"], row["SENTENCE2"])
    ]
    # The word ends what stands before its bracket, also where a particle follows.
    before = [text.partition("]")[0].replace("[", "") for text in texts]
    whole = [text.replace("[", "").replace("]", "") for text in texts]
    cut = keras_elmo.Tokenizer(tokenizer).ragged
    positions = (cut(before).row_lengths() - 1).numpy().tolist()
    tokens = [
        [token.decode() for token in sentence] for sentence in cut(whole).to_list()
    ]
    return [
        Pair(
            (tokens[2 * k], tokens[2 * k + 1]),
            (positions[2 * k], positions[2 * k + 1]),
            row["ANSWER"].strip().lower() == "true",
        )
        for k, row in enumerate(rows)
    ]


def of_word(layers: np.ndarray, position: int) -> np.ndarray:
    """Returns the word's vector in each layer.

    Args:
        layers: of the sentence, `(layers, tokens, units)`.
        position: the word's.
    """
    return layers[:, position]


def of_place(layers: np.ndarray, position: int) -> np.ndarray:
    """Returns what a biLM knows of the word's place without the word, in each layer.

    The forward vector of the word before it and the backward vector of the one behind
    it, from which the language model guesses what stands there; beyond the ends of the
    sentence, 0.
    """
    padded = np.pad(layers, ((0, 0), (1, 1), (0, 0)))
    units = layers.shape[-1] // 2
    before, behind = padded[:, position, :units], padded[:, position + 2, units:]
    return np.concatenate([before, behind], axis=-1)


def cosines(
    vectors: Callable[[np.ndarray, int], np.ndarray],
    layers: Iterable[np.ndarray],
    pairs: Sequence[Pair],
) -> np.ndarray:
    """Returns the cosine of each pair in each layer, `(layers, pairs)`.

    Args:
        vectors: `of_word` or `of_place`.
        layers: of each sentence, those of a pair one after the other.
        pairs: as above.
    """
    found = []
    sentences = iter(layers)
    for pair in pairs:
        one, other = (
            vectors(next(sentences), position).astype("float64")
            for position in pair.positions
        )
        lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
        # The place of a word that stands alone is 0.
        products = (one * other).sum(axis=-1)
        found.append(products / np.maximum(lengths, np.finfo("float32").tiny))
    return np.stack(found, axis=1)


def fitted_threshold(cosines: np.ndarray, same: np.ndarray) -> float:
    """Returns the cosine that tells most pairs apart: above it, they mean the same."""
    quantiles = np.linspace(0, 1, _NUM_THRESHOLDS)
    thresholds = np.unique(np.quantile(cosines, quantiles))
    right = [np.mean((cosines > threshold) == same) for threshold in thresholds]
    return float(thresholds[int(np.argmax(right))])


def accuracy(
    train: np.ndarray, train_same: np.ndarray, dev: np.ndarray, dev_same: np.ndarray
) -> float:
    """Returns the share of right answers in percent."""
    return 100 * float(np.mean((dev > fitted_threshold(train, train_same)) == dev_same))
