"""The examples keep their promise with the shipped models."""

from collections import Counter, defaultdict

import numpy as np
import pytest

import keras_elmo
from keras_elmo.explorer import examples
from keras_elmo.explorer.explorer import Explorer
from tests.explorer.conftest import small_model

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
    assert {len(each) for each in of_language.pairs} == {2, 3}
    assert all(len(each) == 2 for each in of_language.minimal_pairs)


@pytest.mark.graph
@pytest.mark.slow
@pytest.mark.parametrize("code", ["en", "ko"])
def test_groups_are_senses(code, shipped):
    """Four of five occurrences are in a group of their sense, and so is the example."""
    explorer = shipped(code)
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
        *_, near = explorer.neighbours(tokens, tokens.index(word), pattern)["layers"]
        senses = (
            explorer.text.sense(row["position"], tuple(row["text"].split()))
            for row in near
        )
        assert next(filter(None, senses)) == sense, text


@pytest.mark.graph
@pytest.mark.slow
def test_snow_is_no_eye(shipped):
    """Of falling snow, which once had a baby's eyes for its neighbour."""
    explorer = shipped("ko")
    tokens = explorer.tokens("밤하늘에서 눈이 펑펑 내렸다")
    *_, near = explorer.neighbours(tokens, tokens.index("눈이"))["layers"]
    assert near[0]["after"].startswith(("내려", "쌓였다"))


@pytest.mark.graph
@pytest.mark.slow
@pytest.mark.parametrize("code", ["en", "ko"])
def test_pairs_come_apart(code, shipped):
    """A word of all sentences is nearer where it means the same."""
    explorer = shipped(code)
    for texts in examples.EXAMPLES[code].pairs:
        first, *others = map(explorer.tokens, texts)
        words = [token.casefold() for token in first]
        cosines = {}
        for number, other in enumerate(others):
            folded = [token.casefold() for token in other]
            layers = np.array(explorer.compare(first, other)["layers"])
            for k, word in enumerate(words):
                if word.isalpha() and word in folded:
                    layer = layers[:, k, folded.index(word)]
                    assert number or layer[0] == pytest.approx(1), texts
                    cosines.setdefault(word, {})[number] = layer[-1]
        common = [each for each in cosines.values() if len(each) == len(others)]
        assert min(each[0] for each in common) < 0.8, texts
        if len(others) == 2:
            assert max(each[1] - each[0] for each in common) > 0.15, texts


def test_language():
    assert examples.language(["the", "bank", "1892"]) == "en"
    assert examples.language(["배를", "타고", "a"]) == "ko"
    assert examples.language(["der", "die", "und", "in"] * 50 + ["the"]) == ""
    assert examples.language([]) == ""


def test_examples_of_another_language():
    """They are distinct sentences of the corpus, without minimal pairs."""
    model = small_model(["der", "Hund", "schläft"])
    dog, cat = "der Hund schläft im Garten", "die Katze sitzt auf dem Dach"
    corpus = [text.split() for text in ("ja", dog, dog, cat)]
    found = Explorer(model, corpus, tokenizer="whitespace").describe()
    assert found["language"] == ""
    assert found["examples"] == {
        "words": [{"text": dog, "position": 2}, {"text": cat, "position": 1}],
        "pairs": [(dog, cat)],
        "minimal_pairs": [],
        "tagged": [dog, cat],
    }
    short = Explorer(model, [["der", "Hund"]], tokenizer="whitespace").describe()
    assert short["examples"]["words"] == [{"text": "der Hund", "position": 1}]
