"""What single layers know of senses, without any training of a head."""

from collections.abc import Callable

import common
import numpy as np
import senses
import word_in_context
from encoders import Encoders
from scores import Scores

_ENCODERS = ("elmo", "random", "bert")


def measure(
    language: str, encoders: Encoders, scores: Scores, say: Callable[[str], None]
) -> None:
    """Adds the scores of a language's probes that are not there yet."""
    probe, name = {
        "en": (_senses, "semcor"),
        "ko": (_word_in_context, "kobest wic"),
    }[language]
    for encoder in _ENCODERS:
        if encoders.has(encoder) and key(name, encoder, 0) not in scores:
            for words, found in probe(encoder, encoders).items():
                scores[f"{name}, {words}"] = {"score": found}
                say(f"{name}, {words}: {found:.2f}")


def key(name: str, encoder: str, layer: int) -> str:
    """Returns the key of a layer's score."""
    return f"{name}, {encoder}:{layer}"


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
        model = senses.NearestSense(mentions["train"], train)
        found[f"{encoder}:{layer}"] = senses.accuracy(model, mentions["dev"], dev)
        found["most frequent"] = senses.accuracy(model, mentions["dev"], None)
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
        f"{encoder}:{layer}": word_in_context.accuracy(
            cosines[0][layer], same[0], cosines[1][layer], same[1]
        )
        for layer in range(len(cosines[0]))
    }
