"""What single layers know of senses, without any training of a head."""

from collections.abc import Callable

import common
import numpy as np
import senses
import word_in_context
from encoders import Encoders
from experiments import MOST_FREQUENT, SENSE_PROBES, WORD_IN_CONTEXT, probe_key
from scores import Scores
from sense_lexicon import SenseLexicon

_ENCODERS = ("elmo", "random", "bert")


def measure(
    language: str, encoders: Encoders, scores: Scores, say: Callable[[str], None]
) -> None:
    """Adds the scores of a language's probes that are not there yet."""
    measured, name = {
        "en": (_senses, SENSE_PROBES["voted"]),
        "ko": (_word_in_context, WORD_IN_CONTEXT),
    }[language]
    for encoder in _ENCODERS:
        if encoders.has(encoder) and probe_key(name, encoder, 0) not in scores:
            for probe, found in measured(encoder, encoders).items():
                scores[probe] = {"score": found}
                say(f"{probe}: {found:.2f}")


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
    cosines, same = [], []
    for split in ("train", "dev"):
        pairs = word_in_context.read_pairs(
            folder / f"{split}.tsv", encoders.elmo.tokenizer or "unicode"
        )
        sentences = [tokens for pair in pairs for tokens in pair.sentences]
        layers, _ = encoders.layers(encoder, sentences)
        cosines.append(word_in_context.cosines(layers, pairs))
        same.append(np.array([pair.same for pair in pairs]))
    return {
        probe_key(WORD_IN_CONTEXT, encoder, layer): word_in_context.accuracy(
            cosines[0][layer], same[0], cosines[1][layer], same[1]
        )
        for layer in range(len(cosines[0]))
    }
