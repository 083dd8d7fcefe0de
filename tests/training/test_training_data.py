from itertools import islice

import pytest

from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.training_data import EpochIterator
from tests.helpers.runs import write_text


def test_epochs_in_turn():
    batches = EpochIterator(["a", "b", "c"], epochs=2)
    found = [(batch, batches.epoch, batches.batch) for batch in batches]
    assert found == [
        ("a", 0, 1),
        ("b", 0, 2),
        ("c", 0, 3),
        ("a", 1, 1),
        ("b", 1, 2),
        ("c", 1, 3),
    ]


def test_endless():
    assert "".join(islice(EpochIterator("abc"), 8)) == "abcabcab"


@pytest.mark.parametrize("epochs", [3, None])
def test_resume_at_every_position(epochs):
    """Wherever a run was stopped, nothing comes twice and nothing is left out."""
    whole = "abcabcabc"
    for taken in range(1, len(whole) + 1):
        before = EpochIterator("abc", epochs)
        assert "".join(islice(before, taken)) == whole[:taken]
        after = EpochIterator("abc", epochs, epoch=before.epoch, batch=before.batch)
        rest = len(whole) - taken
        assert "".join(islice(after, rest)) == whole[taken:]
        if epochs is not None:
            assert list(after) == []


def test_finished_run_ends():
    finished = EpochIterator("abc", epochs=2)
    assert len(list(finished)) == 6
    again = EpochIterator("abc", epochs=2, epoch=finished.epoch, batch=finished.batch)
    assert list(again) == []
    more = EpochIterator("abc", epochs=3, epoch=finished.epoch, batch=finished.batch)
    assert list(more) == ["a", "b", "c"]
    assert (more.epoch, more.batch) == (2, 3)


def test_empty_corpus():
    with pytest.raises(ValueError, match="`corpus` must hold a sentence"):
        list(EpochIterator([], epochs=1))
    # One that cannot be read a second time, too.
    once = EpochIterator(iter("abc"))
    assert "".join(islice(once, 3)) == "abc"
    with pytest.raises(ValueError, match="`corpus` must hold a sentence"):
        next(iter(once))


def test_epochs_differ_in_order(tmp_path):
    text = write_text(tmp_path / "text.txt")
    vocabulary = Vocabulary.count(text, "whitespace")
    corpus = Corpus(text, vocabulary, "whitespace", batch_tokens=36, max_tokens=9)

    def ids(batches):
        return [batch["token_ids"].numpy().tolist() for batch in batches]

    passes = ids(EpochIterator(corpus, epochs=2))
    assert len(passes) == 12
    assert passes[:6] != passes[6:]
    assert sorted(sum(passes[:6], [])) == sorted(sum(passes[6:], []))
    assert ids(EpochIterator(corpus, epochs=2, epoch=1, batch=2)) == passes[8:]
