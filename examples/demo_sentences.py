"""Writes the demo's text: English and Korean sentences around words of many senses.

The templates were written for this demo. A word alone never tells its sense, because
all senses use the same forms of it; the rest of the sentence does.

    python examples/demo_sentences.py --count 10
"""

import argparse
import dataclasses
import itertools
import random
import re
from pathlib import Path

from demo_templates import FILLERS, GENERAL, OPENERS, SENSES


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence and, when it holds a word of many senses, where and which.

    `split` is "train" when its parts and their fillers all come from the first halves
    of their lists, "test" when all come from the second halves, else "". A classifier
    that learns from "train" has seen neither the parts nor the fillers of "test".
    """

    text: str
    word: str = ""
    target: str = ""
    sense: str = ""
    split: str = ""


def sentences(count: int = 16000, seed: int = 0) -> list[Sentence]:
    """Returns `count` distinct sentences, the same ones for the same seed."""
    rng = random.Random(seed)
    # Every fifth sentence speaks of other things; each sense has about an equal
    # share of the rest.
    kinds = [(word, sense) for word, by_sense in SENSES.items() for sense in by_sense]
    kinds += [("", "")] * (len(kinds) // 4)
    found: dict[str, Sentence] = {}
    for word, sense in itertools.cycle(kinds):
        if len(found) == count:
            break
        split = rng.choice(("train", "test", "")) if word else ""
        parts = SENSES[word][sense] if word else (GENERAL,)
        template = " ".join(rng.choice(_half(part, split)) for part in parts)
        text, target = _fill(template, split, rng)
        found.setdefault(text, Sentence(text, word, target, sense, split))
    return list(found.values())


def write_sentences(path: Path, count: int, seed: int = 0) -> str:
    """Writes one sentence a line; returns the path as a string."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{sentence.text}\n" for sentence in sentences(count, seed)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def _half(choices: list[str], split: str) -> list[str]:
    middle = len(choices) // 2
    return {"train": choices[:middle], "test": choices[middle:]}.get(split, choices)


def _fill(template: str, split: str, rng: random.Random) -> tuple[str, str]:
    """Returns the template with its slots filled, and the word in its brackets."""
    used: list[str] = []

    def choose(slot: re.Match[str]) -> str:
        fillers = _half(FILLERS[slot["name"]], split)
        used.append(rng.choice([filler for filler in fillers if filler not in used]))
        pair = slot["particle"]
        return used[-1] + (_particle(used[-1], pair) if pair else "")

    text = re.sub(r"\{(?P<name>\w+)(:(?P<particle>[\w/]+))?\}", choose, template)
    text = re.sub(r"\ba (?=[aeiou])", "an ", text)
    # Half of the sentences open with a word that says nothing about the sense.
    if rng.random() < 0.5:
        language = "ko" if re.search("[가-힣]", text) else "en"
        text = f"{rng.choice(OPENERS[language])} {text}"
    target = re.search(r"\[(.+?)\]", text)
    text = text.replace("[", "").replace("]", "")
    return text[0].upper() + text[1:], target[1] if target else ""


def _particle(noun: str, pair: str) -> str:
    """Returns the particle of `pair` that follows a noun: "이/가" -> 산이, 바다가.

    The first is for nouns that end in a consonant; 으로/로 counts a final ㄹ as none.
    """
    after_consonant, after_vowel = pair.split("/")
    final = (ord(noun[-1]) - ord("가")) % 28
    if final == 0 or (final == 8 and after_vowel == "로"):
        return after_vowel
    return after_consonant


def main(count: int, seed: int) -> None:
    for sentence in sentences(count, seed):
        print(sentence.word or "-", sentence.sense or "-", sentence.text, sep="\t")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=16000)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
