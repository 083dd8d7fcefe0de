import json

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.beginning import with_prepared_text
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.runs import CONFIG, ready_made, state_of, write_text

SENTENCES = ["Ann saw the bank.", "Bob left ."]


def prepared(tmp_path, corpus, tokenizer="unicode", **given):
    options = TrainingOptions(
        CONFIG, corpus, directory=tmp_path / "run", progress=False, **given
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
    """Files, batches and prepared folders."""

    class Batches:
        def __iter__(self):
            pytest.fail("read")

    text = write_text(tmp_path / "text.txt")
    for corpus in (text, ready_made(2), Batches()):
        assert prepared(tmp_path, corpus)[0].corpus is corpus
    assert prepared(tmp_path, iter([text]))[0].corpus == [text]
    assert not (tmp_path / "run.corpus").exists()
    with pytest.raises(ValueError, match="`corpus` must be files, .* several"):
        options = TrainingOptions(CONFIG, iter(SENTENCES))
        with_prepared_text(options, None, num_workers=2)


@pytest.mark.graph
@pytest.mark.usefixtures("eagerly")
def test_run_of_an_iterable(tmp_path):
    """It is that of the text; a resumed run does not read the iterable."""
    text = write_text(tmp_path / "text.txt")
    lines = text.read_text("utf-8").splitlines()
    arguments = {"num_sampled": 8, "progress": False}
    pretrain(CONFIG, iter(lines), directory=tmp_path / "some", steps=1, **arguments)

    pretrain(
        CONFIG,
        iter(["another text"]),
        directory=tmp_path / "some",
        steps=2,
        resume=True,
        **arguments,
    )
    assert state_of(tmp_path / "some")[1]["step"] == 2
    manifest = json.loads((tmp_path / "some" / "training.json").read_text("utf-8"))
    assert manifest["words_per_epoch"] == 168 and manifest["tokenizer"] == "unicode"
