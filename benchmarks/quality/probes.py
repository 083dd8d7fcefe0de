"""What single layers know of the senses of words, without any trained head."""

from collections.abc import Callable

import common
import numpy as np
import senses
import word_in_context
from measured_model import MeasuredModel
from scores import Scores

NUM_LAYERS = 3
VECTORS = {"elmo": "ELMo", "random": "Random biLM"}
# How a sense is chosen, by the name of its score; and what a word's vector is.
_METHODS = {"semcor": "voted", "semcor by means": "nearest_mean"}
_PLACES = {
    "kobest wic": word_in_context.of_word,
    "kobest wic by places": word_in_context.of_place,
}
TITLES = {
    "en": {
        "semcor": "SemCor, senses by ten neighbours",
        "semcor by means": "SemCor, senses by the nearest mean",
    },
    "ko": {
        "kobest wic": "KoBEST, word in context (Korean)",
        "kobest wic by places": "KoBEST, the place without the word (Korean)",
    },
}
MOST_FREQUENT = "semcor, most frequent"


def key(probe: str, vectors: str, layer: int) -> str:
    """Returns the name of a layer's score."""
    return f"{probe}, {vectors}:{layer}"


def measure(model: MeasuredModel, scores: Scores, say: Callable[[str], None]) -> None:
    """Adds the scores of a language's probes that are missing."""
    measured = {"en": _senses, "ko": _word_in_context}[model.language]
    for vectors in VECTORS:
        digest = model.digest(vectors)
        keys = [key(probe, vectors, 0) for probe in TITLES[model.language]]
        if not all(scores.has(name, vectors=digest) for name in keys):
            added = measured(vectors, model)
            scores.add(
                {name: {"vectors": digest, "score": added[name]} for name in added}
            )
            for name, score in added.items():
                say(f"{name}: {score:.2f}")


def _senses(vectors: str, model: MeasuredModel) -> dict[str, float]:
    folder = common.data_folder() / "semcor"
    mentions, of_mentions = {}, {}
    for split in ("train", "dev"):
        sentences, mentions[split] = senses.read_senses(folder / f"{split}.jsonl.xz")
        layers = model.layers(vectors, sentences)
        of_mentions[split] = senses.mention_vectors(layers, mentions[split])
    scores = {}
    for layer, (train, dev) in enumerate(zip(*of_mentions.values(), strict=True)):
        lexicon = senses.SenseLexicon(mentions["train"], train)
        for probe, method in _METHODS.items():
            accuracy = lexicon.accuracy(method, mentions["dev"], dev)
            scores[key(probe, vectors, layer)] = accuracy
        scores[MOST_FREQUENT] = lexicon.accuracy("most_frequent", mentions["dev"], dev)
    return scores


def _word_in_context(vectors: str, model: MeasuredModel) -> dict[str, float]:
    splits = []
    for split in ("train", "dev"):
        pairs = word_in_context.read_pairs(
            common.data_folder() / "kobest_wic" / f"{split}.tsv", model.tokenizer
        )
        sentences = [tokens for pair in pairs for tokens in pair.sentences]
        layers = list(model.layers(vectors, sentences))
        splits.append((pairs, layers, np.array([pair.same for pair in pairs])))
    scores = {}
    for probe, vector in _PLACES.items():
        (train, same), (dev, dev_same) = (
            (word_in_context.cosines(vector, layers, pairs), same)
            for pairs, layers, same in splits
        )
        for layer in range(len(train)):
            scores[key(probe, vectors, layer)] = word_in_context.accuracy(
                train[layer], same, dev[layer], dev_same
            )
    return scores
