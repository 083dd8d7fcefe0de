"""The vectors of a section do not tell whether those before it were embedded."""

import numpy as np
import pytest

from keras_elmo.embedding import sections as section_embedder
from keras_elmo.embedding.embedder import WordVectors, embed
from keras_elmo.embedding.sections import SectionEmbedder
from tests.models.small import random_encoder

WORDS = [f"word{k}".encode() for k in range(40)]
NUM_SECTIONS = 7


@pytest.fixture(autouse=True)
def three_sections_remembered(monkeypatch):
    monkeypatch.setattr(section_embedder, "_SECTIONS_REMEMBERED", 3)


@pytest.fixture(scope="module")
def encoder():
    return random_encoder()


@pytest.fixture(scope="module")
def sections():
    random = np.random.default_rng(0)
    return [
        [[WORDS[k] for k in random.integers(0, 40, size)] for size in (3, 0, 9, 1)]
        for _ in range(NUM_SECTIONS)
    ]


@pytest.fixture
def read(monkeypatch):
    """The words that the character CNN reads, in order."""
    words = []
    whole = WordVectors._read

    def noted(self, part):
        words.extend(part)
        return whole(self, part)

    monkeypatch.setattr(WordVectors, "_read", noted)
    return words


def embedded(encoder, sections, num_written):
    embedder = SectionEmbedder(encoder, num_written)
    for section in sections[:num_written]:
        embedder.skip(section)
    return [list(embedder.embed(section)) for section in sections[num_written:]]


def test_vectors_are_those_of_embed(encoder, sections):
    for section, vectors in zip(sections, embedded(encoder, sections, 0), strict=True):
        for found, wanted in zip(vectors, embed(encoder, section), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_mix_is_the_weighted_sum(encoder, sections):
    weights = np.array([0.5, 0.25, -1.5], "float32")
    mixed = SectionEmbedder(encoder, 0, weights)
    for section in sections[:2]:
        expected = [
            np.tensordot(weights, layers, axes=1) for layers in embed(encoder, section)
        ]
        for found, wanted in zip(mixed.embed(section), expected, strict=True):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("num_written", range(1, NUM_SECTIONS + 1))
def test_the_same_bits_wherever_it_goes_on(encoder, sections, num_written):
    whole = embedded(encoder, sections, 0)[num_written:]
    rest = embedded(encoder, sections, num_written)
    assert len(rest) == NUM_SECTIONS - num_written
    for found, wanted in zip(rest, whole, strict=True):
        assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]


def test_a_word_is_read_once_in_so_many_sections(encoder, sections, read):
    embedded(encoder, sections, 0)
    groups = [sections[:3], sections[3:6], sections[6:]]
    distinct = [
        {word for section in group for sentence in section for word in sentence}
        for group in groups
    ]
    assert len(read) == sum(map(len, distinct))


@pytest.mark.parametrize(
    ("num_written", "first"), [(1, 0), (2, 0), (3, 3), (4, 3), (6, 6), (7, 6)]
)
def test_who_goes_on_reads_what_is_still_remembered(
    encoder, sections, read, num_written, first
):
    embedded(encoder, sections, num_written)
    assert set(read) == {
        word
        for section in sections[first:]
        for sentence in section
        for word in sentence
    }
