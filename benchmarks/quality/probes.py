"""What single layers know of senses, without any training of a head."""

from collections.abc import Callable

import common
import numpy as np
import senses
import word_in_context
from encoders import Encoders
from experiments import MOST_FREQUENT, PAIR_PROBES, SENSE_PROBES, probe_key
from scores import Scores

_ENCODERS = ("elmo", "random")


def measure(
    language: str, encoders: Encoders, scores: Scores, say: Callable[[str], None]
) -> None:
    """Adds the scores of a language's probes that are not there yet."""
    measured, probes = {
        "en": (_senses, SENSE_PROBES.values()),
        "ko": (_word_in_context, PAIR_PROBES.values()),
    }[language]
    for encoder in _ENCODERS:
        vectors = encoders.digest(encoder)
        keys = [probe_key(probe, encoder, 0) for probe in probes]
        if not all(scores.has(key, vectors=vectors) for key in keys):
            found = measured(encoder, encoders)
            scores.add(
                {key: {"vectors": vectors, "score": found[key]} for key in found}
            )
            for key, score in found.items():
                say(f"{key}: {score:.2f}")


def _senses(encoder: str, encoders: Encoders) -> dict[str, float]:
    folder = common.data_folder() / "semcor"
    mentions, vectors = {}, {}
    for split in ("train", "dev"):
        sentences, mentions[split] = senses.read_senses(folder / f"{split}.jsonl.xz")
        layers, _ = encoders.layers(encoder, sentences)
        vectors[split] = senses.mention_vectors(layers, mentions[split])
    found = {}
    for layer, (train, dev) in enumerate(zip(*vectors.values(), strict=True)):
        lexicon = senses.SenseLexicon(mentions["train"], train)
        for method, probe in SENSE_PROBES.items():
            accuracy = lexicon.accuracy(method, mentions["dev"], dev)
            found[probe_key(probe, encoder, layer)] = accuracy
        found[MOST_FREQUENT] = lexicon.accuracy("most_frequent", mentions["dev"], dev)
    return found


def _word_in_context(encoder: str, encoders: Encoders) -> dict[str, float]:
    splits = []
    for split in ("train", "dev"):
        pairs = word_in_context.read_pairs(
            common.data_folder() / "kobest_wic" / f"{split}.tsv", encoders.tokenizer
        )
        sentences = [tokens for pair in pairs for tokens in pair.sentences]
        layers = list(encoders.layers(encoder, sentences)[0])
        splits.append((pairs, layers, np.array([pair.same for pair in pairs])))
    found = {}
    for name, probe in PAIR_PROBES.items():
        vector = getattr(word_in_context, name)
        (train, same), (dev, dev_same) = (
            (word_in_context.cosines(vector, layers, pairs), same)
            for pairs, layers, same in splits
        )
        for layer in range(len(train)):
            found[probe_key(probe, encoder, layer)] = word_in_context.accuracy(
                train[layer], same, dev[layer], dev_same
            )
    return found
