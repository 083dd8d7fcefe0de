from unittest import mock

import keras
import numpy as np
import pytest

from keras_elmo import StaticEmbedding, TextClassifier
from keras_elmo.downstream.text_classifier_model import TextClassifierModel
from tests.helpers.compilations import counted_compilations
from tests.helpers.layer_checks import moved, numpy_of
from tests.helpers.small import SMALLER, random_encoder
from tests.helpers.tasks import random_classifier
from tests.helpers.without_graphs import with_graphs

tf = pytest.importorskip("tensorflow")

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]

# The first word tells the label; lengths vary, so that batches are sorted.
TEXTS = ["warm film", "dull film of a dull kind", "warm", "dull", "warm and so on"]
LABELS = ["good", "bad", "good", "bad", "good"]
PAIRS = list(zip(TEXTS, reversed(TEXTS), strict=True))
SEVERAL = [["a", "b"], ["a"], [], ["b"], ["b", "a"]]


@pytest.fixture(scope="module")
def encoder():
    return random_encoder(SMALLER)


def made(encoder, **arguments):
    return TextClassifier(encoder, **{"lstm_units": 0, "dropout": 0.0, **arguments})


def trained(encoder, labels, **arguments):
    """On static vectors that tell the labels."""
    static = StaticEmbedding(["warm", "dull"], 2)
    static.build()
    static.vectors.assign([[0, 0], [0, 0], [1, -1], [-1, 1]])
    classifier = made(encoder, static=static, pooling="max", **arguments)
    classifier.optimizer.learning_rate = 0.2
    history = classifier.fit(TEXTS, labels, epochs=8, batch_size=3, verbose=0)
    return classifier, history.history["accuracy"][-1]


def everything(encoder):
    """No argument at its default."""
    return made(
        encoder,
        labels=["b", "a"],
        pooling="max",
        static=StaticEmbedding(["warm", "dull"], 2),
        lstm_units=3,
        hidden=4,
        dropout=0.1,
        multi_label=True,
        pairs=True,
        name="everything",
    )


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        (LABELS, ["bad", "good"]),
        (np.array([1, 0, 1, 0, 1]), [0, 1]),
        ([True, False, True, False, True], [False, True]),
        ([["a", "b"], [], ["a", "b"], [], ["b", "a"]], ["a", "b"]),
    ],
    ids=str,
)
def test_learns(encoder, labels, known):
    """Labels of any type, which they keep; and several of a text."""
    several = isinstance(labels[0], list)
    classifier, accuracy = trained(encoder, labels, multi_label=several)
    assert accuracy == 1
    assert classifier.labels == known
    predicted = classifier.predict(TEXTS)
    assert predicted == [sorted(row) if several else row for row in labels]
    assert {type(label) for label in predicted} <= {type(known[0]), list}
    scores = classifier.evaluate(TEXTS, labels)
    assert scores["accuracy"] == scores["macro_f1"] == 1
    assert scores["by_label"][known[1]]["reference"] == 3
    with pytest.raises(ValueError, match=r"`labels` must hold known labels: .*'new'"):
        new = ["new", "newer", "new", "new", "new"]
        classifier.fit(TEXTS, [[x] for x in new] if several else new, verbose=0)


def test_frozen_encoder_and_trained_mix(encoder):
    classifier = made(encoder)
    with moved(classifier.elmo.encoder.weights) as paths:
        fitted = classifier.fit(
            TEXTS, LABELS, validation_split=0.4, epochs=1, verbose=0
        ).history
    assert fitted["val_accuracy"] and not paths
    weights, _ = classifier.elmo.mix_weights[0]
    assert weights.std() > 0
    classifier.elmo.encoder.trainable = True
    with pytest.raises(ValueError, match="`elmo` must have a frozen encoder"):
        classifier.fit(TEXTS, LABELS, verbose=0)


@pytest.mark.parametrize("pooling", ["mean", "max", ("max", "mean")])
def test_pooled_vectors(encoder, pooling):
    """By NumPy; a place that holds no word counts nowhere."""
    classifier = made(encoder, labels=["a", "b"], pooling=pooling)
    vectors = numpy_of(classifier.elmo(tf.constant(TEXTS)))
    mean, deviation = vectors.mean(-1, keepdims=True), vectors.var(-1, keepdims=True)
    vectors = (vectors - mean) / np.sqrt(deviation + 1e-3)
    names = [pooling] if isinstance(pooling, str) else pooling
    expected = []
    for text, row in zip(TEXTS, vectors, strict=True):
        words = row[: len(text.split())]
        pools = {"mean": words.mean(axis=0), "max": words.max(axis=0)}
        expected.append(np.concatenate([pools[name] for name in names]))
    found = numpy_of(classifier.text_vectors([classifier.ids_of(tf.constant(TEXTS))]))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_features_of_pairs(encoder):
    classifier = made(encoder, labels=["a", "b"], pairs=True)
    first, second = (classifier.ids_of(tf.constant(x)) for x in (TEXTS, TEXTS[::-1]))
    u, v = (numpy_of(classifier.text_vectors([text])) for text in (first, second))
    found = numpy_of(classifier.text_vectors([first, second]))
    expected = np.concatenate([u, v, abs(u - v), u * v], axis=-1)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_every_text_by_itself(encoder):
    """The order is kept, and the other texts of a batch change nothing."""
    classifier = made(encoder, labels=LABELS[:2], static=StaticEmbedding(["warm"], 2))
    together = classifier.predict_proba(TEXTS * 3, batch_size=3)
    single = [classifier.predict_proba([text])[0] for text in TEXTS]
    np.testing.assert_allclose(together, single * 3, atol=1e-5)
    words = [text.split() for text in TEXTS]
    np.testing.assert_allclose(classifier.predict_proba(words), single, atol=1e-5)
    np.testing.assert_allclose(classifier(tf.constant(TEXTS)), single, atol=1e-5)
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_saved_and_loaded(encoder, tmp_path):
    path = tmp_path / "classifier.keras"
    for classifier, texts, labels in [
        (made(encoder), TEXTS, LABELS),
        (everything(encoder), PAIRS, SEVERAL),
    ]:
        classifier.fit(texts, labels, epochs=1, verbose=0)
        wanted = classifier.predict_proba(texts)
        classifier.save(path)
        loaded = keras.models.load_model(path)
        assert type(loaded) is TextClassifier and repr(loaded) == repr(classifier)
        assert loaded.get_config() == classifier.get_config()
        np.testing.assert_allclose(loaded.predict_proba(texts), wanted, atol=1e-6)
        assert loaded.evaluate(texts, labels) == classifier.evaluate(texts, labels)
        # With the optimizer's state.
        assert loaded.optimizer.iterations == 1
        loaded.fit(texts, labels, epochs=1, verbose=0)
        assert loaded.optimizer.iterations == 2


def test_callbacks(encoder, tmp_path):
    """They have the whole model, and may stop it."""
    path = tmp_path / "best.keras"
    stop = keras.callbacks.EarlyStopping(min_delta=1e9, patience=1)
    classifier = made(encoder)
    history = classifier.fit(
        *(TEXTS, LABELS),
        validation_data=(TEXTS, LABELS),
        epochs=9,
        callbacks=[stop, keras.callbacks.ModelCheckpoint(path)],
        verbose=0,
    )
    assert len(history.epoch) == 2
    assert keras.models.load_model(path).labels == ["bad", "good"]


@pytest.mark.parametrize(
    ("labels", "arguments", "message"),
    [
        (["a"] * 5, {}, "`labels` must have labels of two kinds at least"),
        (LABELS[:4], {}, "`labels` must have a label for each text"),
        (
            LABELS,
            {"validation_data": (["x"], ["new"])},
            "`validation_data` must hold kn",
        ),
        (
            LABELS,
            {"validation_data": ([""], ["bad"])},
            "`validation_data` must hold te",
        ),
        (LABELS, {"validation_split": 0.9}, "`validation_split` must be a share"),
        (["a", "a", "a", "a", "b"], {"validation_split": 0.2}, "Received: only 'a'"),
        (LABELS, {"validation_split": 2}, "`validation_split` must be a number from 0"),
        (LABELS, {"epochs": 0}, "`epochs` must be at least 1"),
        (LABELS, {"batch_size": 0}, "`batch_size` must be at least 1"),
    ],
)
def test_wrong_arguments_of_fit(encoder, labels, arguments, message):
    classifier = made(encoder)
    with pytest.raises(ValueError, match=message):
        classifier.fit(TEXTS, labels, verbose=0, **arguments)
    # As if nothing had happened.
    assert classifier.labels is None


def test_must_be_trained_first(encoder):
    classifier = made(encoder)
    said = "TextClassifier(labels=None, multi_label=False, pairs=False)"
    assert repr(classifier) == said
    for arguments in ((TEXTS,), (TEXTS, LABELS)):
        call = classifier.predict if len(arguments) == 1 else classifier.evaluate
        with pytest.raises(ValueError, match="must be trained first"):
            call(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pooling": "sum"}, "`pooling` must be 'mean', 'max' or both"),
        ({"pooling": ["max", "max"]}, "`pooling` must be"),
        ({"pooling": []}, "`pooling` must be"),
        ({"pooling": [1, "max"]}, "`pooling` must be"),
        ({"labels": ["a"]}, "`labels` must be distinct labels, 2 at least"),
        ({"labels": ["a", "a"]}, "`labels` must be distinct labels"),
        ({"labels": "ab"}, "`labels` must be"),
        ({"static": "absent.txt"}, "no file absent.txt"),
        ({"lstm_units": -1}, "`lstm_units` must be at least 0"),
        ({"hidden": 1.5}, "`hidden` must be an integer"),
        ({"dropout": 2}, "`dropout` must be a number from 0 to 1"),
        ({"pairs": "no"}, "`pairs` must be True or False"),
    ],
)
def test_wrong_arguments(encoder, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        made(encoder, **arguments)


def test_sizes_of_data(encoder):
    """10,000 labels, a text of 5,000 words, a word of 500 bytes, no word."""
    labels = [f"L{k}" for k in range(10_000)]
    classifier = made(encoder, labels=labels)
    classifier.fit(["warm", "w" * 500], labels[:2], epochs=1, verbose=0)
    with with_graphs():
        texts = ["warm " * 5_000, "w" * 500, "\u200b"]
        probabilities = classifier.predict_proba(texts)
    assert probabilities.shape == (3, 10_000) and np.isfinite(probabilities).all()


def test_traces():
    """A graph to train and one to score, whatever the sizes and the epochs."""
    classifier = TextClassifier(random_encoder(SMALLER), lstm_units=2)
    calls = []
    with with_graphs(), mock.patch.object(TextClassifier, "call", autospec=True) as x:
        x.side_effect = lambda self, inputs, training=None: (
            calls.append(training) or TextClassifierModel.call(self, inputs, training)
        )
        data = TEXTS * 2, LABELS * 2
        classifier.fit(*data, validation_data=data, epochs=2, batch_size=4, verbose=0)
    assert calls == [True, False]


def test_a_text_at_a_time():
    """No call makes a graph but the first ones, whatever is in the text."""
    classifier = random_classifier()
    texts = [["warm"] * k for k in range(1, 8)]
    with with_graphs():
        for text in texts[:2]:
            classifier.predict_proba([text])
        wanted = classifier.predict_proba(texts)
        with counted_compilations() as made:
            for text, row in zip(texts, wanted, strict=True):
                (found,) = classifier.predict_proba([text])
                np.testing.assert_allclose(found, row, atol=1e-5)
            classifier.predict_proba(texts[:5])
            assert made == []


def test_files_and_the_best_epoch(encoder, tmp_path):
    path = tmp_path / "train.tsv"
    rows = [f"{text}\t{label}\n" for text, label in zip(TEXTS, LABELS, strict=True)]
    path.write_text("".join(rows))
    classifier = made(encoder)
    # The second epoch spoils what the first has learnt.
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: [1e-6, 1e3, 1e3][epoch])
    history = classifier.fit(
        path, validation_data=path, epochs=9, patience=2, callbacks=[rates], verbose=0
    ).history
    losses = history["val_loss"]
    best = max(range(3), key=lambda k: (history["val_accuracy"][k], -losses[k]))
    assert len(losses) == best + 3
    scores = classifier.evaluate(path)
    assert scores["accuracy"] == pytest.approx(history["val_accuracy"][best])
    with pytest.raises(ValueError, match="`patience` must be at least 1"):
        classifier.fit(path, patience=0)
    with pytest.raises(ValueError, match="`text_column` must be None unless a file"):
        classifier.fit(TEXTS, LABELS, text_column="text")
