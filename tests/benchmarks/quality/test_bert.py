"""The encoder that ELMo is compared with: it learns, and gives each word its vector."""

from itertools import islice
from random import Random

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.graph


pytest.importorskip("keras_hub")

SENTENCES = [
    ["the", "river", "bank"],
    [],
    ["배", "river"] * 20,
    ["the", "river", "bank"],
]


SIZES = "--vocabulary-size 60 --layers 2 --heads 2 --units 8 --max-pieces 24"


@pytest.fixture(scope="module")
def folder(quality, tmp_path_factory):
    """A small one that was trained for a few steps."""
    folder = tmp_path_factory.mktemp("bert")
    lines = [
        f"the river bank {k % 7} closes . the 배 {k % 5} flows ." for k in range(300)
    ]
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    module = quality("pretrain_bert")
    module._POOL = 50
    module.main(
        [
            *("--corpus", str(folder / "text.txt"), "--out", str(folder / "out")),
            *f"--minutes 0.1 --batch-pieces 160 {SIZES}".split(),
        ]
    )
    # Other models of the process are computed in what they were.
    assert keras.config.dtype_policy().name == "float32"
    return folder / "out"


@pytest.mark.benchmark
def test_it_goes_on_where_it_was(quality, folder, capsys):
    def kept():
        with np.load(folder / "unfinished.npz") as file:
            return dict(file)

    before = kept()
    seconds, steps, _ = before["progress"]
    assert seconds >= 6 and steps >= 1
    arguments = ["--corpus", str(folder.parent / "text.txt"), "--out", str(folder)]
    module = quality("pretrain_bert")
    # The time is over: nothing is done, and nothing lost.
    module.main([*arguments, *f"--minutes 0.1 --batch-pieces 160 {SIZES}".split()])
    same = kept()
    for name, array in before.items():
        np.testing.assert_array_equal(same[name], array)
    more = (seconds + 1) / 60
    module.main([*arguments, *f"--minutes {more} --batch-pieces 160 {SIZES}".split()])
    longer = kept()
    assert longer["progress"][1] > steps
    assert np.abs(longer["arr_0"] - before["arr_0"]).max() > 0


@pytest.mark.benchmark
def test_a_vector_for_each_word_in_each_layer(quality, folder):
    vectors, shape = quality("bert").embed_with_bert(folder, SENTENCES)
    found = list(vectors)
    assert shape == (3, 8)
    assert [each.shape for each in found] == [
        (3, len(sentence), 8) for sentence in SENTENCES
    ]
    # The same sentence has the same vectors, whatever stands beside it.
    np.testing.assert_allclose(found[0], found[3], atol=1e-5)
    (alone,), _ = quality("bert").embed_with_bert(folder, SENTENCES[:1])
    np.testing.assert_allclose(alone, found[0], atol=1e-5)
    # A word stands for something else in another place of it.
    assert np.abs(found[2][2, 1] - found[2][2, 3]).max() > 1e-3


def test_long_sentences_are_cut_between_words(quality):
    parts = quality("bert").cut_between_words
    words = [[1, 2], [3], [4, 5, 6], [7] * 9, []]
    assert list(parts(words, 4)) == [[[1, 2], [3]], [[4, 5, 6]], [[7] * 4, []]]
    assert list(parts([], 4)) == []


def test_two_segments_are_packed(quality):
    packed = quality("pretrain_bert")._packed
    ids, segments, follows = packed([[10], [11, 12]], [[13, 14], [15]], 6, True)
    assert ids == [1, 10, 11, 12, 2, 13, 14, 15, 2]
    assert segments == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert follows == 1
    # What is left out lies farthest from where they meet.
    ids, segments, follows = packed([[10] * 9, [11]], [[12], [13] * 9], 6, False)
    assert ids == [1, 10, 10, 11, 2, 12, 13, 13, 2]
    assert sum(segments) == 4
    assert follows == 0
    # A short one leaves its room to the other.
    assert packed([[10] * 9], [[11]], 6, True).ids == [1, *[10] * 5, 2, 11, 2]
    assert packed([[10]], [[11] * 9], 6, True).ids == [1, 10, 2, *[11] * 5, 2]


@pytest.fixture
def options(quality, tmp_path, monkeypatch):
    """To read three hundred lines, whose words are numbered from left to right."""
    module = quality("pretrain_bert")
    monkeypatch.setattr(module, "_POOL", 200)
    words = [f"w{number}" for number in range(40)]
    random = Random(0)
    lines = [" ".join(words[: random.randint(2, 40)]) for _ in range(300)]
    (tmp_path / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    return module._options(
        [
            *("--corpus", str(tmp_path / "text.txt"), "--out", "unused"),
            *"--minutes 1 --tokenizer whitespace".split(),
            *"--batch-pieces 400 --max-pieces 44".split(),
        ]
    )


def pieces(words):
    return [[5 + int(word[1:])] for word in words]


def test_pairs_of_like_length_share_a_batch(quality, options):
    module = quality("pretrain_bert")
    batches = list(islice(module._grouped(options, pieces), 60))
    lengths = [[len(pair.ids) for pair in batch] for batch in batches]
    assert all(len(each) * max(each) <= 400 for each in lengths)
    # Nearly nothing is padding, and neither are batches in order of length.
    padded = sum(len(each) * max(each) for each in lengths)
    assert sum(map(sum, lengths)) > 0.9 * padded
    longest = [max(each) for each in lengths]
    assert longest[:10] != sorted(longest[:10])
    # Segments go on with each other where it is said that they do.
    pairs = [pair for batch in batches for pair in batch]
    for ids, segments, follows in pairs:
        border = segments.index(1)
        goes_on = ids[border] == ids[border - 2] + 1
        assert goes_on or not follows
    assert 0.4 < np.mean([pair.follows for pair in pairs]) < 0.6
    again = list(islice(module._grouped(options, pieces), 60))
    assert again == batches


def test_what_is_masked_is_asked_for(quality, options):
    bert, module = quality("bert"), quality("pretrain_bert")
    batches = list(islice(module._batches(options, pieces, 45, 0), 20))
    for inputs, targets, weights in batches:
        asked = [
            set(positions[weight > 0].tolist())
            for positions, weight in zip(
                inputs["mask_positions"], weights["words"], strict=True
            )
        ]
        for row, places in zip(inputs["token_ids"], asked, strict=True):
            assert set(np.flatnonzero(row == bert.MASK).tolist()) <= places
        assert not weights["words"][targets["words"] < len(bert.SPECIALS)].any()
        unknown = inputs["token_ids"] == bert.MASK
        assert 0.02 < unknown.sum() / inputs["padding_mask"].sum() < 0.25
    # Going on, it is the text behind what has been read.
    for (inputs, *_), (same, *_) in zip(
        batches[7:], module._batches(options, pieces, 45, 7), strict=False
    ):
        for name in ("segment_ids", "padding_mask"):
            np.testing.assert_array_equal(inputs[name], same[name])


@pytest.mark.benchmark
def test_a_run_goes_on_as_it_began(quality, folder):
    arguments = ["--corpus", str(folder.parent / "text.txt"), "--out", str(folder)]
    with pytest.raises(SystemExit, match=r"--seed must be 0, .* Received: 1"):
        quality("pretrain_bert").main(
            [*arguments, *f"--minutes 1 --batch-pieces 160 {SIZES} --seed 1".split()]
        )
