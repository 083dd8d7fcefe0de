"""Senses of words are read and found as they are meant."""

import numpy as np
import pytest


def test_senses_of_words(quality, data):
    senses = quality("senses")
    path = data / "semcor" / "train.jsonl.xz"
    sentences, mentions = senses.read_senses(path)
    assert sentences[0] == ["in", "the", "bank", "flows"]
    assert len(sentences) == 40 and len(mentions) == 80
    assert mentions[0] == senses.Mention(0, (2, 3), ("bank", "N"), "bank%0")
    assert mentions[5] == senses.Mention(2, (3, 4), ("간다", "V"), "v")


def test_words_in_context(quality, data):
    path = data / "kobest_wic" / "dev.tsv"
    pairs = quality("word_in_context").read_pairs(path, "unicode")
    assert len(pairs) == 9
    assert pairs[0].sentences == (["배를", "flows", "."], ["큰", "배가", "bank"])
    assert pairs[0].positions == (0, 1)
    assert [pair.same for pair in pairs[:3]] == [True, False, True]


def test_the_sense_of_a_word(quality):
    mention = quality("senses").Mention
    lexicon = quality("senses").SenseLexicon

    def bank(sense):
        return mention(0, (0, 1), ("bank", "n"), sense)

    train = [bank(each) for each in ("money", "money", "river")]
    vectors = np.array([[1, 0], [3, 0.5], [0, 1]], "float16")
    found = lexicon(train, vectors)
    dev = [bank("river"), bank("money"), mention(0, (0, 1), ("pear", "n"), "x")]
    of_dev = np.array([[0.1, 1], [0.2, 1], [1, 0]], "float16")
    # The second is nearer to the other sense; the third was not met.
    for method in ("nearest_mean", "most_frequent"):
        assert found.accuracy(method, dev, of_dev) == pytest.approx(100 / 3)
    entry = found.entries["bank", "n"]
    assert entry.most_frequent() == "money"
    assert entry.nearest_mean(np.array([0.1, 1.0])) == "river"
    # All three vote, for all are among the nearest.
    assert entry.voted(np.array([0.1, 1.0])) == "money"


def test_the_nearest_vote(quality):
    mention = quality("senses").Mention
    module = quality("senses")
    num = module.NUM_NEIGHBOURS
    # So many of one sense in one direction, and more of another in the other.
    senses = ["river"] * num + ["money"] * 2 * num
    mentions = [mention(0, (0, 1), ("bank", "n"), sense) for sense in senses]
    angles = np.array([0.0] * num + [1.0] * 2 * num)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    entry = module.SenseLexicon(mentions, vectors).entries["bank", "n"]
    assert entry.voted(np.array([1.0, 0.1])) == "river"
    assert entry.voted(np.array([0.1, 1.0])) == "money"
    # Where votes are equal, the sense that is the more frequent of all.
    half = num // 2
    angles = np.array([0.0] * half + [2.0] * half + [0.1] * half + [3.0])
    senses = ["river"] * 2 * half + ["money"] * half + ["money"]
    even = [mention(0, (0, 1), ("bank", "n"), sense) for sense in senses]
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    entry = module.SenseLexicon(even, vectors).entries["bank", "n"]
    assert entry.most_frequent() == "river"
    assert entry.voted(np.array([1.0, 0.0])) == "river"


def test_vectors_of_mentions_are_means_over_their_tokens(quality):
    senses = quality("senses")
    mentions = [
        senses.Mention(1, (0, 2), ("a", "n"), "x"),
        senses.Mention(1, (2, 3), ("b", "n"), "y"),
        senses.Mention(2, (0, 1), ("c", "n"), "z"),
    ]
    # Layers, tokens, units.
    layers = [np.full((2, n, 1), n, "float32") for n in (4, 3, 1)]
    layers[1][:, :, 0] = [[1, 3, 5], [2, 4, 6]]
    found = senses.mention_vectors(iter(layers), mentions)
    assert found[..., 0].tolist() == [[2, 5, 1], [3, 6, 1]]


def test_a_threshold_on_the_cosine(quality):
    module = quality("word_in_context")
    train = np.array([0.1, 0.2, 0.3, 0.6, 0.7])
    same = np.array([False, False, True, True, True])
    threshold = module.fitted_threshold(train, same)
    assert 0.2 <= threshold < 0.3
    dev, dev_same = np.array([0.0, 0.9, 0.25]), np.array([False, True, False])
    assert module.accuracy(train, same, dev[:2], dev_same[:2]) == 100


def test_cosines_are_those_of_the_words(quality):
    module = quality("word_in_context")
    pair = module.Pair((["a", "b"], ["c"]), (1, 0), True)
    one, other = np.zeros((2, 2, 2)), np.zeros((2, 1, 2))
    one[0, 1], other[0, 0] = [1, 0], [3, 3]
    one[1, 1], other[1, 0] = [0, 2], [0, 5]
    found = module.cosines(module.of_word, [one, other], [pair])
    np.testing.assert_allclose(found, [[np.sqrt(0.5)], [1]])


def test_a_place_is_what_stands_around_it(quality):
    module = quality("word_in_context")
    # A layer, three tokens, two units a direction.
    layers = np.arange(1.0, 13.0).reshape(1, 3, 4)
    assert module.of_place(layers, 1).tolist() == [[1, 2, 11, 12]]
    assert module.of_place(layers, 0).tolist() == [[0, 0, 7, 8]]
    assert module.of_place(layers, 2).tolist() == [[5, 6, 0, 0]]
    alone = module.Pair((["a"], ["a"]), (0, 0), True)
    sentences = [layers[:, :1], layers[:, :1]]
    assert module.cosines(module.of_place, sentences, [alone]).tolist() == [[0]]
