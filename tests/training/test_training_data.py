import json
from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.training_data import (
    TrainingData,
    batches_from,
    with_prepared_text,
)
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.runs import SMALLER, ready_made, state_of, write_text

SENTENCES = ["Ann saw the bank.", "Bob left ."]


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


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        {"lengths": 9, "num_words": 64},
        {"lengths": [9]},
        {"lengths": [], "num_words": 64},
        {"lengths": [10], "num_words": 64},
        {"lengths": [9], "num_words": 1e9},
    ],
    ids=str,
)
def test_impossible_shapes(wrong, tmp_path):
    (tmp_path / "training.json").write_text(json.dumps({"shapes": wrong}), "utf-8")
    options = TrainingOptions(
        SMALLER, write_text(tmp_path / "text.txt"), batch_tokens=36, max_tokens=9
    )
    data = TrainingData(options, None, None, (0, 1), compiles=False)
    Vocabulary(["<S>", "</S>", "<UNK>"]).save(tmp_path / "vocabulary.txt")
    with pytest.raises(ValueError, match=r"training\.json: shapes must be"):
        data.open(PretrainingDirectory(tmp_path))


# ---------------------------------------------------------------- prepared text


def prepared(tmp_path, corpus, tokenizer="unicode", **given):
    options = TrainingOptions(
        SMALLER, corpus, directory=tmp_path / "run", progress=False, **given
    )
    return with_prepared_text(options, tokenizer, num_workers=1)


@pytest.mark.parametrize(
    "corpus",
    [
        iter(SENTENCES),
        (text for text in SENTENCES),
        np.array(SENTENCES, object),
        tf.data.Dataset.from_tensor_slices(SENTENCES),
    ],
    ids=["iterator", "generator", "array", "dataset"],
)
def test_texts(corpus, tmp_path):
    options, tokenizer = prepared(tmp_path, corpus)
    assert (options.corpus, tokenizer) == (f"{tmp_path / 'run'}.corpus", "unicode")
    words = (tmp_path / "run.corpus" / "words.txt").read_text("utf-8").split()
    assert sorted(words) == sorted("Ann saw the bank . Bob left".split())


def test_tokens_and_rows(tmp_path):
    """Lists of tokens are words, whatever splits the text of the model."""
    tokens = [["don't", "stop"]]
    assert prepared(tmp_path / "a", tokens)[1] == "whitespace"
    rows = iter([{"text": "one", "id": 1}, {"text": "two", "id": 2}])
    assert prepared(tmp_path / "b", rows, column="text")[1] == "unicode"
    (tmp_path / "rows.jsonl").write_text('{"text": "one"}\n', encoding="utf-8")
    options, _ = prepared(tmp_path / "c", tmp_path / "rows.jsonl", column="text")
    assert options.corpus == f"{tmp_path / 'c' / 'run'}.corpus"


def test_what_is_left_alone(tmp_path):
    """Files and batches are not prepared."""

    class Batches:
        def __iter__(self):
            pytest.fail("read")

    text = write_text(tmp_path / "text.txt")
    for corpus in (text, ready_made(2), Batches()):
        assert prepared(tmp_path, corpus)[0].corpus is corpus
    assert prepared(tmp_path, iter([text]))[0].corpus == [text]
    assert not (tmp_path / "run.corpus").exists()
    with pytest.raises(ValueError, match="`corpus` must be files, .* several"):
        options = TrainingOptions(SMALLER, iter(SENTENCES))
        with_prepared_text(options, None, num_workers=2)


@pytest.mark.graph
@pytest.mark.usefixtures("eagerly")
def test_run_of_an_iterable(tmp_path):
    """An iterable is read like a text file, and not again by a resumed run."""
    text = write_text(tmp_path / "text.txt")
    lines = text.read_text("utf-8").splitlines()
    for steps, corpus in enumerate((lines, ["another text"]), 1):
        pretrain(
            SMALLER,
            iter(corpus),
            directory=tmp_path / "some",
            num_sampled=8,
            steps=steps,
            resume=True,
            progress=False,
        )
    assert state_of(tmp_path / "some")[1]["step"] == 2
    manifest = json.loads((tmp_path / "some" / "training.json").read_text("utf-8"))
    assert manifest["words_per_epoch"] == 168 and manifest["tokenizer"] == "unicode"
