"""The demo's text: repeatable, unambiguous to the program, honest in its split."""

import collections
import importlib
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def demo():
    sys.path.insert(0, str(EXAMPLES))
    try:
        yield importlib.import_module("demo_sentences")
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def sentences(demo):
    return demo.sentences()


def test_the_same_seed_gives_the_same_sentences(demo):
    assert demo.sentences(200, seed=3) == demo.sentences(200, seed=3)
    assert demo.sentences(200, seed=3) != demo.sentences(200, seed=4)


def test_sentences_are_distinct_and_filled(sentences):
    texts = [sentence.text for sentence in sentences]
    assert len(set(texts)) == len(texts) == 16000
    assert not any(set("{}[]") & set(text) for text in texts)


def test_a_target_stands_once_in_its_sentence(sentences):
    for sentence in sentences:
        if sentence.word:
            assert sentence.text.split().count(sentence.target) == 1


def test_no_form_of_a_word_tells_its_sense(sentences):
    senses = collections.defaultdict(set)
    forms = collections.defaultdict(set)
    for sentence in sentences:
        if sentence.word:
            senses[sentence.word].add(sentence.sense)
            forms[sentence.word, sentence.target].add(sentence.sense)
    assert set(senses) == {"bank", "play", "배", "쓰다", "손"}
    for (word, _), seen in forms.items():
        assert seen == senses[word]


def test_every_sense_can_be_learned_and_tested(sentences):
    counts = collections.Counter(
        (sentence.word, sentence.sense, sentence.split)
        for sentence in sentences
        if sentence.split
    )
    assert len(counts) == 2 * 15
    assert min(counts.values()) >= 80


def test_the_halves_share_no_filler(demo):
    lists = demo.FILLERS.values()
    train = {filler for fillers in lists for filler in fillers[: len(fillers) // 2]}
    test = {filler for fillers in lists for filler in fillers[len(fillers) // 2 :]}
    assert not train & test


@pytest.mark.parametrize(
    ("noun", "pair", "expected"),
    [
        ("산", "이/가", "이"),
        ("바다", "이/가", "가"),
        ("손", "으로/로", "으로"),
        ("붓", "으로/로", "으로"),
        ("연필", "으로/로", "로"),
        ("연필", "을/를", "을"),
        ("어부", "과/와", "와"),
    ],
)
def test_particles_fit_the_last_sound(demo, noun, pair, expected):
    assert demo._particle(noun, pair) == expected
