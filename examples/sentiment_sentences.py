"""Writes sentences of film reviews, praise and blame, a tab and a label after each.

A word alone does not tell: "anything but dull" is praise, and "not a witty one" blame.

    python examples/sentiment_sentences.py --count 10
"""

import argparse
import random
import re
from pathlib import Path

# Label -> words of judgement.
ADJECTIVES = {
    "good": (
        "wonderful brilliant funny charming excellent moving clever beautiful "
        "delightful superb warm great witty lovely amusing splendid"
    ).split(),
    "bad": (
        "terrible stupid boring awful poor dull weak ugly "
        "horrible silly tedious bad lame dreadful annoying miserable"
    ).split(),
}
VERBS = {
    "good": "loved enjoyed praised admired liked adored applauded celebrated".split(),
    "bad": "hated disliked condemned despised loathed faulted rejected mocked".split(),
}
NOUNS = (
    "film story script cast plot ending dialogue music "
    "picture tale screenplay acting comedy drama scenery performance"
).split()
PEOPLE = (
    "I|we|the critics|my friends|everyone|the audience|all of us|the judges|"
    "they|my parents|the reviewers|most viewers|her colleagues|the crowd|people|you"
).split("|")
TEMPLATES = [
    "the {noun} is {same} and the {noun} is {same} .",
    "{people} {verb} the {noun} .",
    "what a {same} {noun} !",
    "the {noun} is anything but {other} .",
    "{people} {verb} every minute of the {noun} .",
    "a {same} {noun} with a {same} {noun} .",
    "{people} thought the {noun} was {same} .",
    "it is a {same} {noun} , not a {other} one .",
]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Returns `count` distinct lines, the same for the same seed."""
    rng = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        label, other = rng.sample(sorted(ADJECTIVES), 2)
        lists = {
            "same": ADJECTIVES[label],
            "other": ADJECTIVES[other],
            "verb": VERBS[label],
            "noun": NOUNS,
            "people": PEOPLE,
        }
        text = rng.choice(TEMPLATES)
        for slot, words in lists.items():
            for word in rng.sample(words, text.count(f"{{{slot}}}")):
                text = text.replace(f"{{{slot}}}", word, 1)
        text = re.sub(r"\ba (?=[aeiou])", "an ", text)
        found[text[0].upper() + text[1:]] = label
    return [f"{text}\t{label}" for text, label in found.items()]


def write_sentences(folder: Path, count: int) -> tuple[Path, Path]:
    """Writes files to learn from and, with a fifth of the sentences, to test on."""
    folder.mkdir(parents=True, exist_ok=True)
    train, dev = folder / "sentiment_train.tsv", folder / "sentiment_dev.tsv"
    lines = sentences(count)
    for path, part in ((train, lines[count // 5 :]), (dev, lines[: count // 5])):
        path.write_text("\n".join(part) + "\n", encoding="utf-8")
    return train, dev


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    print(*sentences(parser.parse_args().count), sep="\n")
