"""What single layers know of the senses of words, without any trained head."""

from collections.abc import Iterator

import common
import numpy as np
import senses
import word_in_context
from measured_model import MeasuredModel
from scores import Job, Result

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


def jobs(model: MeasuredModel) -> Iterator[Job]:
    """Yields the probes of the model's language, for each of `VECTORS`."""
    language = model.language
    for vectors in VECTORS:
        keys = [
            key(probe, vectors, layer)
            for layer in range(NUM_LAYERS)
            for probe in TITLES[language]
        ]
        conditions = {"vectors": model.digest(vectors)}
        measure = {"en": measure_senses, "ko": measure_words_in_context}[language]
        yield Job(tuple(keys), conditions, measure, (vectors,))
    if language == "en":
        yield Job((MOST_FREQUENT,), {}, measure_most_frequent, ())


def measure_senses(model: MeasuredModel, vectors: str) -> list[Result]:
    """Returns the accuracies of senses in SemCor, layer by layer."""
    mentions, of_mentions = {}, {}
    for split in ("train", "dev"):
        sentences, mentions[split] = _read_senses(split)
        layers = model.layers(vectors, sentences)
        of_mentions[split] = senses.mention_vectors(layers, mentions[split])
    results = []
    for train, dev in zip(*of_mentions.values(), strict=True):
        lexicon = senses.SenseLexicon(mentions["train"], train)
        for method in _METHODS.values():
            score = lexicon.accuracy(method, mentions["dev"], dev)
            results.append({"score": score})
    return results


def measure_most_frequent(model: MeasuredModel) -> list[Result]:
    """Returns the accuracy of the most frequent sense of a lemma in SemCor."""
    (_, train), (_, dev) = map(_read_senses, ("train", "dev"))
    # Any vectors do.
    none = np.ones((len(train), 1))
    lexicon = senses.SenseLexicon(train, none)
    return [{"score": lexicon.accuracy("most_frequent", dev, none[: len(dev)])}]


def measure_words_in_context(model: MeasuredModel, vectors: str) -> list[Result]:
    """Returns the accuracies of words in context in KoBEST, layer by layer."""
    splits = []
    for split in ("train", "dev"):
        pairs = word_in_context.read_pairs(
            common.data_folder() / "kobest_wic" / f"{split}.tsv", model.tokenizer
        )
        sentences = [tokens for pair in pairs for tokens in pair.sentences]
        layers = list(model.layers(vectors, sentences))
        splits.append((pairs, layers, np.array([pair.same for pair in pairs])))
    by_probe = []
    for vector in _PLACES.values():
        (train, same), (dev, dev_same) = (
            (word_in_context.cosines(vector, layers, pairs), same)
            for pairs, layers, same in splits
        )
        by_probe.append(
            [
                word_in_context.accuracy(one, same, other, dev_same)
                for one, other in zip(train, dev, strict=True)
            ]
        )
    by_layer = zip(*by_probe, strict=True)
    return [{"score": score} for scores in by_layer for score in scores]


def _read_senses(split: str) -> tuple[list[list[str]], list[senses.Mention]]:
    return senses.read_senses(common.data_folder() / "semcor" / f"{split}.jsonl.xz")
