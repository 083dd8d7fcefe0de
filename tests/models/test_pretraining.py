import dataclasses

import keras
import numpy as np
import pytest

from keras_elmo.models.encoder import copy_weights
from keras_elmo.models.pretraining import PretrainingModel, build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import moved, numpy_of
from tests.helpers.small import CONFIG, SMALLER, char_ids, published, randomise

pytestmark = pytest.mark.graph

VOCABULARY_SIZE = 30
SENTENCES = [["a", "bank", "in", "배"], [], ["x"], ["she", "sat", "by", "a", "bank"]]


def random_model(config=CONFIG, num_sampled=8, seed=0):
    model = build_pretraining_model(config, VOCABULARY_SIZE, num_sampled)
    randomise(model, np.random.default_rng(seed), scale=0.5)
    return model


def batch_of(sentences, extra=0, seed=1):
    """Character ids, and target ids that depend on the word alone."""
    rng = np.random.default_rng(seed)
    ids = {}
    rows = []
    for tokens in sentences:
        for token in tokens:
            ids.setdefault(token, int(rng.integers(2, VOCABULARY_SIZE)))
        rows.append(np.array([0, *(ids[token] for token in tokens), 1], "int32"))
    token_ids = numpy_reference.pad(rows, -1)
    token_ids = np.pad(token_ids, [(0, 0), (0, extra)], constant_values=-1)
    return {"char_ids": char_ids(sentences, extra), "token_ids": token_ids}


def expected_nll(model, batch):
    """The oracle's `(forward, backward)` of each sentence."""
    options, weights = published(model.encoder)
    softmax = numpy_of([model.head.softmax.kernel, model.head.softmax.bias])
    softmax = [part.astype("float64") for part in softmax]
    rows = []
    for characters, tokens in zip(batch["char_ids"], batch["token_ids"], strict=True):
        valid = tokens >= 0
        rows.append(
            numpy_reference.language_model_nll(
                characters[valid], tokens[valid], options, weights, *softmax
            )
        )
    return rows


def mean_loss(rows):
    """The mean of each direction over all words, and the mean of both."""
    forward, backward = (np.concatenate(x).mean() for x in zip(*rows, strict=True))
    return forward, backward, (forward + backward) / 2


@pytest.mark.parametrize("training", [False, True])
def test_equals_the_oracle(training):
    """Training, too, with all words as candidates; its loss is the mean of both."""
    model = random_model(num_sampled=VOCABULARY_SIZE if training else 8)
    batch = batch_of(SENTENCES, extra=3)
    outputs = numpy_of(model(batch, training=training))
    assert outputs.keys() == {"forward", "backward"}
    for row, expected in enumerate(expected_nll(model, batch)):
        for found, wanted in zip(
            (outputs["forward"], outputs["backward"]), expected, strict=True
        ):
            assert found.shape == (4, batch["token_ids"].shape[1] - 1)
            np.testing.assert_allclose(found[row, : len(wanted)], wanted, atol=1e-5)
            assert (found[row, len(wanted) :] == 0).all()
    (loss,) = model.losses
    wanted = mean_loss(expected_nll(model, batch))[-1]
    assert numpy_of(loss) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    ("dtype", "training"), [("bfloat16", True), ("float16", False), ("float64", True)]
)
def test_dtypes(dtype, training):
    """Every policy is close to float32, the softmax with all candidates, too."""
    model = random_model(num_sampled=VOCABULARY_SIZE)
    config = {**model.get_config(), "dtype": dtype}
    other = PretrainingModel.from_config(config)
    copy_weights(model, other)
    batch = batch_of(SENTENCES)
    wanted = numpy_of(model(batch, training=training))
    found = numpy_of(other(batch, training=training))
    for name, losses in wanted.items():
        np.testing.assert_allclose(found[name], losses, atol=0.3)


def test_repr():
    model = random_model()
    model.vocabulary = Vocabulary([*SPECIALS, "bank"])
    said = f"PretrainingModel({model.encoder!r}, Vocabulary(4 words))"
    assert repr(model) == said


def test_batch_equals_single_sentences():
    model = random_model(num_sampled=VOCABULARY_SIZE)
    together = numpy_of(model(batch_of(SENTENCES, extra=2), training=True))
    ids = batch_of(SENTENCES)
    for row, tokens in enumerate(SENTENCES):
        size = len(tokens) + 2
        one = {name: array[row : row + 1, :size] for name, array in ids.items()}
        alone = numpy_of(model(one, training=True))
        for name in ("forward", "backward"):
            np.testing.assert_allclose(
                together[name][row, : size - 1], alone[name][0], atol=1e-5
            )


def test_evaluate_reports_each_direction():
    model = random_model()
    model.compile()
    batch = batch_of(SENTENCES)
    figures = model.evaluate(batch, batch_size=4, verbose=0, return_dict=True)
    found = [figures[name] for name in ("forward_loss", "backward_loss", "loss")]
    assert found == pytest.approx(mean_loss(expected_nll(model, batch)), abs=1e-5)


def test_no_direction_sees_its_target():
    """A word's characters change only what is predicted from that word."""
    model = random_model()
    batch = batch_of([["a", "b", "c", "d", "e"]])
    other = {**batch, "char_ids": batch_of([["a", "b", "Q", "d", "e"]])["char_ids"]}
    before, after = numpy_of([model(batch), model(other)])
    # Positions: <S> a b c d e </S>; the changed one is the third.
    forward = np.isclose(before["forward"], after["forward"], atol=1e-6)[0]
    backward = np.isclose(before["backward"], after["backward"], atol=1e-6)[0]
    # Forward 0..2 predicts a, b, c from what stands before them.
    assert forward.tolist() == [True] * 3 + [False] * 3
    # Backward 3.. predicts c, d, e from what stands behind them.
    assert backward.tolist() == [False] * 3 + [True] * 3


def test_nothing_to_predict():
    model = random_model()
    batch = batch_of(SENTENCES)
    nothing = {
        "char_ids": np.zeros_like(batch["char_ids"]),
        "token_ids": np.full_like(batch["token_ids"], -1),
    }
    outputs = numpy_of(model(nothing, training=True))
    assert not outputs["forward"].any() and not outputs["backward"].any()
    assert numpy_of(model.losses[0]) == 0
    empty = {name: array[:0] for name, array in batch.items()}
    outputs = model(empty, training=True)
    assert tuple(outputs["forward"].shape) == (0, batch["token_ids"].shape[1] - 1)
    assert numpy_of(model.losses[0]) == 0


def test_fit():
    """Fit lowers the loss and moves every weight."""
    config = dataclasses.replace(SMALLER, dropout=0.1)
    model = build_pretraining_model(config, VOCABULARY_SIZE, num_sampled=8)
    model.compile(
        keras.optimizers.Adagrad(
            0.2, initial_accumulator_value=1.0, global_clipnorm=10.0
        )
    )
    batch = batch_of(SENTENCES)
    first = model.evaluate(batch, verbose=0, return_dict=True)["loss"]
    with moved(model.trainable_weights) as paths:
        model.fit(batch, epochs=25, verbose=0)
    last = model.evaluate(batch, verbose=0, return_dict=True)["loss"]
    assert last < first - 0.2
    assert paths == {weight.path for weight in model.trainable_weights}


@pytest.mark.parametrize(("dropout", "num_sampled"), [(0.5, VOCABULARY_SIZE), (0.0, 8)])
def test_dropout_and_sampling(dropout, num_sampled):
    """Each acts by itself, in training alone, and on the head alone."""
    config = dataclasses.replace(CONFIG, dropout=dropout)
    model = random_model(config, num_sampled)
    batch = batch_of(SENTENCES)
    *_, top = model.encoder(batch["char_ids"])
    for part, inputs in ((model, [batch]), (model.head, [top, batch["token_ids"]])):
        still, again, one, other = (
            numpy_of(part(*inputs, training=training))["forward"]
            for training in (None, False, True, True)
        )
        np.testing.assert_array_equal(still, again)
        assert not np.allclose(one, other)


def test_save_and_load(tmp_path):
    model = random_model()
    model.encoder.tokenizer = "whitespace"
    model.encoder.get_layer("bilm").trainable = False
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    assert loaded.encoder.tokenizer == "whitespace"
    wanted = [weight.path for weight in model.trainable_weights]
    assert [weight.path for weight in loaded.trainable_weights] == wanted
    assert 0 < len(wanted) < len(model.weights)
    batch = batch_of(SENTENCES)
    for name, wanted in numpy_of(model(batch)).items():
        np.testing.assert_array_equal(numpy_of(loaded(batch))[name], wanted)
    assert loaded.config == model.config


def test_sizes_are_not_read_from_another_file(tmp_path):
    config = random_model().get_config()
    (tmp_path / "options.json").write_text("[1]")
    path = str(tmp_path / "options.json")
    with pytest.raises(ValueError, match="options must be a JSON object"):
        PretrainingModel.from_config({**config, "options": path})


@pytest.mark.usefixtures("eagerly")
def test_low_precision():
    full = random_model(SMALLER)
    low = build_pretraining_model(SMALLER, VOCABULARY_SIZE, 8, dtype="mixed_bfloat16")
    for weight, given in zip(
        low.trainable_weights, full.trainable_weights, strict=True
    ):
        assert weight.dtype == "float32"
        weight.assign(given)
    batch = batch_of(SENTENCES)
    for name, wanted in numpy_of(full(batch)).items():
        found = low(batch)[name]
        assert found.dtype == "float32"
        np.testing.assert_allclose(numpy_of(found), wanted, atol=0.2)
    low.compile(keras.optimizers.Adagrad(0.1))
    first, *_, last = low.fit(batch, epochs=15, verbose=0).history["loss"]
    assert last < first


class Orders(keras.callbacks.Callback):
    """Notes which pass over a corpus each epoch was."""

    def __init__(self, corpus):
        super().__init__()
        self.corpus, self.sentences = corpus, []

    def on_epoch_end(self, epoch, logs=None):
        self.sentences.append(self.corpus.report.sentences)


def test_fit_to_corpus(tmp_path):
    """Each epoch has its own order, and a file keeps the words."""
    text = tmp_path / "text.txt"
    text.write_text("a bank\nshe sat by a bank\n" * 4)
    words = Vocabulary.count(text, "whitespace")
    corpus = Corpus(text, words, "whitespace", batch_tokens=14, max_tokens=7)
    model = build_pretraining_model(SMALLER, len(words), num_sampled=4)
    model.compile("sgd", run_eagerly=True)
    path = tmp_path / "model.keras"
    callbacks = [orders := Orders(corpus), keras.callbacks.ModelCheckpoint(path)]
    model.fit(corpus, epochs=2, callbacks=callbacks, verbose=0)
    assert orders.sentences == [8, 8]
    # An epoch is a part of what has no end.
    history = model.fit(
        corpus, epochs=3, steps_per_epoch=4, validation_data=corpus, verbose=0
    )
    assert len(history.history["val_loss"]) == 3
    loaded = keras.saving.load_model(path)
    assert loaded.vocabulary.words == words.words
    assert loaded.vocabulary.counts == words.counts
    assert loaded.encoder.tokenizer == "whitespace"
    loss, *_ = model.evaluate(corpus, verbose=0)
    assert loss == pytest.approx(history.history["val_loss"][-1])
    others = Vocabulary([*words.words[:-1], "boat"])
    with pytest.raises(ValueError, match=r"`x` must be a Corpus with the 8 words"):
        model.fit(Corpus(text, others))


def test_damaged_words(tmp_path):
    """A file of other words is refused, and none is needed."""
    model = build_pretraining_model(CONFIG, 5, num_sampled=4)
    model.load_assets(None)
    model.load_assets(tmp_path)
    assert model.vocabulary is None
    Vocabulary([*SPECIALS, "a"]).save(tmp_path / "vocabulary.txt")
    with pytest.raises(ValueError, match=r"must have 5 words. Received: 4 words"):
        model.load_assets(tmp_path)
