from itertools import islice

import pytest

from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.training_data import batches_from
from tests.helpers.runs import write_text


def test_epochs_in_turn():
    assert list(batches_from(["a", "b", "c"], epochs=2)) == [
        ("a", (0, 1)),
        ("b", (0, 2)),
        ("c", (0, 3)),
        ("a", (1, 1)),
        ("b", (1, 2)),
        ("c", (1, 3)),
    ]


def text_of(batches):
    return "".join(batch for batch, _ in batches)


def test_endless():
    assert text_of(islice(batches_from("abc"), 8)) == "abcabcab"


@pytest.mark.parametrize("epochs", [3, None])
def test_resume_at_every_position(epochs):
    """Wherever a run was stopped, nothing comes twice and nothing is left out."""
    whole = "abcabcabc"
    for taken in range(1, len(whole) + 1):
        before = list(islice(batches_from("abc", epochs=epochs), taken))
        assert text_of(before) == whole[:taken]
        after = batches_from("abc", before[-1][1], epochs)
        rest = len(whole) - taken
        assert text_of(islice(after, rest)) == whole[taken:]
        if epochs is not None:
            assert list(after) == []


def test_finished_run_ends():
    *_, (_, position) = finished = list(batches_from("abc", epochs=2))
    assert len(finished) == 6
    assert list(batches_from("abc", position, epochs=2)) == []
    more = list(batches_from("abc", position, epochs=3))
    assert text_of(more) == "abc"
    assert more[-1] == ("c", (2, 3))


def test_empty_corpus():
    with pytest.raises(ValueError, match="`corpus` must hold a sentence"):
        list(batches_from([], epochs=1))
    # One that cannot be read a second time, too.
    once = batches_from(iter("abc"))
    assert text_of(islice(once, 3)) == "abc"
    with pytest.raises(ValueError, match="`corpus` must hold a sentence"):
        next(once)


def test_epochs_differ_in_order(tmp_path):
    text = write_text(tmp_path / "text.txt")
    vocabulary = Vocabulary.count(text, "whitespace")
    corpus = Corpus(text, vocabulary, "whitespace", batch_tokens=36, max_tokens=9)

    def ids(batches):
        return [batch["token_ids"].numpy().tolist() for batch, _ in batches]

    passes = ids(batches_from(corpus, epochs=2))
    assert len(passes) == 12
    assert passes[:6] != passes[6:]
    assert sorted(sum(passes[:6], [])) == sorted(sum(passes[6:], []))
    assert ids(batches_from(corpus, (1, 2), epochs=2)) == passes[8:]
