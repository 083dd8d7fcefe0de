"""What single layers know of senses, without any training of a head."""

from collections.abc import Callable

import common
import numpy as np
import senses
import word_in_context
from encoders import Encoders
from experiments import MOST_FREQUENT, PAIR_PROBES, SENSE_PROBES, probe_key
from scores import Scores
from senses import SenseLexicon

_ENCODERS = ("elmo", "random", "young", "bert")
# BERT has no direction that has not seen the word.
_IMPOSSIBLE = {("bert", PAIR_PROBES["of_place"])}


def measure(
    language: str, encoders: Encoders, scores: Scores, say: Callable[[str], None]
) -> None:
    """Adds the scores of a language's probes that are not there yet."""
    measured, probes = {
        "en": (_senses, SENSE_PROBES.values()),
        "ko": (_word_in_context, PAIR_PROBES.values()),
    }[language]
    for encoder in _ENCODERS:
        if not encoders.has(encoder):
            continue
        vectors = encoders.digest(encoder)
        keys = [
            probe_key(probe, encoder, 0)
            for probe in probes
            if (encoder, probe) not in _IMPOSSIBLE
        ]
        if not all(scores.has(key, vectors=vectors) for key in keys):
            found = measured(encoder, encoders)
            scores.update(
                {
                    key: {"vectors": vectors, "score": score}
                    for key, score in found.items()
                }
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
    for layer, (train, dev) in enumerate(
        zip(vectors["train"], vectors["dev"], strict=True)
    ):
        lexicon = SenseLexicon(mentions["train"], train)
        for method, probe in SENSE_PROBES.items():
            accuracy = lexicon.accuracy(method, mentions["dev"], dev)
            found[probe_key(probe, encoder, layer)] = accuracy
        found[MOST_FREQUENT] = lexicon.accuracy("most_frequent", mentions["dev"], dev)
    return found


def _word_in_context(encoder: str, encoders: Encoders) -> dict[str, float]:
    folder = common.data_folder() / "kobest_wic"
    vectors = {
        name: getattr(word_in_context, name)
        for name, probe in PAIR_PROBES.items()
        if (encoder, probe) not in _IMPOSSIBLE
    }
    cosines: dict[str, list[np.ndarray]] = {name: [] for name in vectors}
    same = []
    for split in ("train", "dev"):
        pairs = word_in_context.read_pairs(
            folder / f"{split}.tsv", encoders.elmo.tokenizer or "whitespace"
        )
        sentences = [tokens for pair in pairs for tokens in pair.sentences]
        layers = list(encoders.layers(encoder, sentences)[0])
        for name, vector in vectors.items():
            cosines[name].append(word_in_context.cosines(vector, layers, pairs))
        same.append(np.array([pair.same for pair in pairs]))
    return {
        probe_key(PAIR_PROBES[name], encoder, layer): word_in_context.accuracy(
            train[layer], same[0], dev[layer], same[1]
        )
        for name, (train, dev) in cosines.items()
        for layer in range(len(train))
    }
