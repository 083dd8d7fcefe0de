"""The mean of models."""

import numpy as np
import pytest

from keras_elmo import average_models, load_language_model
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.layer_checks import numpy_of
from tests.helpers.pretrained import model_of, write_pretrained
from tests.helpers.runs import SMALLER as CONFIG
from tests.helpers.small import assert_same_weights, randomise

pytestmark = pytest.mark.graph

WORDS = ["<S>", "</S>", "<UNK>", "the", "bank"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A model in a folder."""
    return write_pretrained(tmp_path_factory.mktemp("first") / "run", CONFIG, WORDS)


@pytest.fixture(scope="module")
def other():
    """A model in memory with other weights, some of them frozen."""
    model = model_of(CONFIG, WORDS)
    model.encoder.tokenizer = "whitespace"
    randomise(model, np.random.default_rng(1), scale=0.5)
    model.encoder.trainable = False
    return model


def test_mean(run, other):
    """Each weight is averaged; the models stay as they were."""
    first, before = load_language_model(run.path), numpy_of(other.weights)
    mean = average_models([run.path, other, run.path])
    assert mean.vocabulary.words == WORDS
    assert mean.encoder.tokenizer == "whitespace"
    assert all(weight.trainable for weight in mean.encoder.weights)
    for found, one, two in zip(
        numpy_of(mean.weights), numpy_of(first.weights), before, strict=True
    ):
        np.testing.assert_allclose(found, (2 * one + two) / 3, atol=1e-6)
    assert_same_weights(other.weights, before)


def test_other_models(run, other, tmp_path):
    theirs = write_pretrained(tmp_path / "theirs", CONFIG, [*WORDS, "river"])
    with pytest.raises(ValueError, match="Received: .*theirs, whose words differ"):
        average_models([run.path, theirs.path])
    untold = model_of(CONFIG, WORDS)
    untold.vocabulary = Vocabulary([*WORDS[:-1], "river"])
    with pytest.raises(ValueError, match="a model, whose words and tokenizer differ"):
        average_models([run.path, untold])
    with pytest.raises(ValueError, match="`models` must name a model"):
        average_models([])
    with pytest.raises(TypeError, match="`models` must be a list of models"):
        average_models("run")


def test_command(run, tmp_path):
    """`export --average` exports the mean."""
    again = write_pretrained(tmp_path / "again", CONFIG, WORDS)
    model = load_language_model(again.path)
    for weight in model.weights:
        weight.assign(3 * weight.value)
    again.write_weights(model)
    out = tmp_path / "exported"
    arguments = ["--model", run.path, "--average", again.path, "--out", out]
    status, *said = command("export", *arguments, "--language-model")
    assert status == 0, said
    found = load_language_model(out).weights
    wanted = load_language_model(run.path).weights
    # The file of the softmax has float16.
    for each, weight in zip(found, wanted, strict=True):
        np.testing.assert_allclose(numpy_of(each), 2 * numpy_of(weight), rtol=1e-3)
    theirs = write_pretrained(tmp_path / "theirs", CONFIG, [*WORDS, "river"])
    arguments = ["--model", run.path, "--average", theirs.path, "--out", "x"]
    assert_one_line(*command("export", *arguments), "--average must have the same")
    arguments = ["--model", run.path, "--average", tmp_path / "nowhere", "--out", "x"]
    assert_one_line(*command("export", *arguments), "nowhere", ". --average must be")
