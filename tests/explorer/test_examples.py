"""The examples keep their promise with the shipped models."""

from collections import Counter, defaultdict

import pytest

import keras_elmo
from keras_elmo.explorer import examples
from keras_elmo.explorer.explorer import Explorer

SENSES = {
    "en": ["river", "money", "game", "fire", "animal", "sport", "railway", "teach"],
    "ko": ["날씨", "신체", "금융", "열매", "전력", "책"],
}


@pytest.mark.parametrize("code", ["en", "ko"])
def test_examples(code):
    """Every example's word is one of its sentence, and occurs in the sample."""
    with open(keras_elmo.sample(code), encoding="utf-8") as file:
        text = file.read()
    of_language = examples.EXAMPLES[code]
    for sentence, word in of_language.words:
        assert word in sentence.split() and text.count(word) > 2
    for pair in (*of_language.pairs, *of_language.minimal_pairs):
        assert len(pair) == 2


# The vectors of a whole sample are computed.
@pytest.mark.graph
@pytest.mark.slow
@pytest.mark.parametrize("code", ["en", "ko"])
def test_groups_are_senses(code):
    """Four of five occurrences are in a group of their sense, and so is the example."""
    explorer = Explorer.load(f"elmo-{code}")
    words = examples.EXAMPLES[code].words
    for (text, word), sense in zip(words, SENSES[code], strict=True):
        tokens = explorer.tokens(text)
        pattern = explorer.text.usual_pattern(word)
        answer = explorer.map(tokens, tokens.index(word), pattern)
        own, *others = answer["points"]
        groups = defaultdict(Counter)
        for point in others:
            if point["sense"] >= 0:
                groups[point["cluster"]][point["sense"]] += 1
        most = {group: counts.most_common(1)[0] for group, counts in groups.items()}
        known = sum(sum(counts.values()) for counts in groups.values())
        purity = sum(count for _, count in most.values()) / known
        assert len(groups) > 1 and known >= 15 and purity >= 0.8, (word, purity)
        assert answer["senses"][most[own["cluster"]][0]]["name"] == sense, text


def test_language():
    assert examples.language(["the", "bank", "1892"]) == "en"
    assert examples.language(["배를", "타고", "a"]) == "ko"
    assert examples.language([]) == "en"
