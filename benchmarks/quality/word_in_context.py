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
    """A word at its positions in two tokenized sentences; whether it means the same."""

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
    positions = iter((cut(before).row_lengths() - 1).numpy().tolist())
    tokens = iter([[token.decode() for token in row] for row in cut(whole).to_list()])
    return [
        Pair(
            (next(tokens), next(tokens)),
            (next(positions), next(positions)),
            row["ANSWER"].strip().lower() == "true",
        )
        for row in rows
    ]


def of_word(layers: np.ndarray, position: int) -> np.ndarray:
    """Returns the word's vector in each layer of `(layers, tokens, units)`."""
    return layers[:, position]


def of_place(layers: np.ndarray, position: int) -> np.ndarray:
    """Returns the biLM's vector of the word's context without the word, in each layer.

    The forward vector of the word before it and the backward vector of the one behind
    it, from which the language model predicts the word; 0 beyond the sentence.
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

    `vectors` is `of_word` or `of_place`; `layers` are those of each sentence.
    """
    rows = []
    sentences = iter(layers)
    for pair in pairs:
        one, other = (
            vectors(next(sentences), position).astype("float64")
            for position in pair.positions
        )
        lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
        # The place of a word that stands alone is 0.
        products = (one * other).sum(axis=-1)
        rows.append(products / np.maximum(lengths, np.finfo("float32").tiny))
    return np.stack(rows, axis=1)


def fitted_threshold(cosines: np.ndarray, same: np.ndarray) -> float:
    """Returns the cosine that most pairs of the same meaning are above, others not."""
    quantiles = np.linspace(0, 1, _NUM_THRESHOLDS)
    thresholds = np.unique(np.quantile(cosines, quantiles))
    right = [np.mean((cosines > threshold) == same) for threshold in thresholds]
    return float(thresholds[int(np.argmax(right))])


def accuracy(
    train: np.ndarray, train_same: np.ndarray, dev: np.ndarray, dev_same: np.ndarray
) -> float:
    """Returns the share of right answers in percent."""
    return 100 * float(np.mean((dev > fitted_threshold(train, train_same)) == dev_same))
