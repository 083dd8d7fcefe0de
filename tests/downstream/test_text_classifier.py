from unittest import mock

import keras
import numpy as np
import pytest

from keras_elmo import ElmoEmbedding, StaticEmbedding, TextClassifier
from keras_elmo.downstream.text_classifier_model import TextClassifierModel
from tests.helpers.compilations import counted_compilations
from tests.helpers.layer_checks import numpy_of
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


def test_learns(encoder):
    classifier, accuracy = trained(encoder, LABELS)
    assert accuracy == 1
    assert classifier.labels == ["bad", "good"]
    assert classifier.predict(TEXTS) == LABELS
    assert classifier.predict(["warm kind"]) == ["good"]
    scores = classifier.evaluate(TEXTS, LABELS)
    assert scores["accuracy"] == scores["macro_f1"] == 1
    assert scores["by_label"]["bad"]["reference"] == 2


def test_multi_label(encoder):
    several = [[], ["a", "b"], [], ["b", "a"], []]
    classifier, accuracy = trained(encoder, several, multi_label=True)
    assert accuracy == 1
    assert classifier.labels == ["a", "b"]
    assert classifier.predict(TEXTS) == [sorted(row) for row in several]
    assert classifier.evaluate(TEXTS, several)["accuracy"] == 1


def test_frozen_encoder_and_trained_mix(encoder):
    classifier = made(encoder)
    before = numpy_of(classifier.elmo.encoder.weights)
    classifier.fit(TEXTS, LABELS, epochs=1, verbose=0)
    for old, new in zip(before, numpy_of(classifier.elmo.encoder.weights), strict=True):
        np.testing.assert_array_equal(old, new)
    weights, _ = classifier.elmo.mix_weights[0]
    assert weights.std() > 0
    classifier.elmo.encoder.trainable = True
    with pytest.raises(ValueError, match="`elmo` must have a frozen encoder"):
        classifier.fit(TEXTS, LABELS, verbose=0)


def test_given_layers_are_used(encoder):
    elmo, static = ElmoEmbedding(encoder), StaticEmbedding(["warm"], 2)
    classifier = TextClassifier(elmo, static=static)
    assert classifier.elmo is elmo
    assert classifier.static is static
    for wrong in ({"num_representations": 2}, {"keep_boundaries": True}):
        with pytest.raises(ValueError, match="`encoder` must be a layer with one"):
            TextClassifier(ElmoEmbedding(encoder, **wrong))


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
        assert type(loaded) is TextClassifier
        assert loaded.get_config() == classifier.get_config()
        np.testing.assert_allclose(loaded.predict_proba(texts), wanted, atol=1e-6)
        assert loaded.evaluate(texts, labels) == classifier.evaluate(texts, labels)
        # With the optimizer's state.
        assert loaded.optimizer.iterations == 1
        loaded.fit(texts, labels, epochs=1, verbose=0)
        assert loaded.optimizer.iterations == 2


@pytest.mark.parametrize("labels", [[1, 0, 1, 0, 1], [True, False, True, False, True]])
def test_labels_keep_their_type(encoder, labels):
    classifier = made(encoder)
    classifier.fit(TEXTS, np.array(labels), epochs=1, verbose=0)
    assert classifier.labels == sorted(set(labels))
    predicted = classifier.predict(TEXTS)
    assert {type(label) for label in predicted} == {type(labels[0])}


def test_validation(encoder):
    classifier = made(encoder)
    history = classifier.fit(TEXTS, LABELS, validation_split=0.4, epochs=2, verbose=0)
    assert len(history.history["val_accuracy"]) == 2
    data = TEXTS[:2], LABELS[:2]
    history = classifier.fit(TEXTS, LABELS, validation_data=data, epochs=1, verbose=0)
    (found,) = history.history["val_accuracy"]
    assert found == classifier.evaluate(*data)["accuracy"]


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


def test_further_training(encoder):
    classifier = made(encoder, labels=["good", "bad"])
    assert classifier.predict_proba(TEXTS).shape == (5, 2)
    classifier.fit(TEXTS, LABELS, epochs=1, verbose=0)
    assert classifier.labels == ["good", "bad"]
    with pytest.raises(ValueError, match=r"`labels` must hold known labels: 'good', "):
        classifier.fit(TEXTS, ["good", "bad", "new", "bad", "bad"], verbose=0)


def test_unusual_texts(encoder):
    classifier = made(encoder, labels=["a", "b"])
    # Very long, long words, and none.
    texts = ["word " * 60, "x" * 500 + " y", "\u200b", "ok"]
    assert np.isfinite(classifier.predict_proba(texts)).all()


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
    for call in (classifier.predict, classifier.predict_proba):
        with pytest.raises(ValueError, match="must be trained first"):
            call(TEXTS)
    with pytest.raises(ValueError, match="must be trained first"):
        classifier.evaluate(TEXTS, LABELS)


def test_repr(encoder):
    kinds = "multi_label=True, pairs=True)"
    said = f"TextClassifier(labels=['b', 'a'], {kinds}"
    assert repr(everything(encoder)) == said
    kinds = "multi_label=False, pairs=False)"
    assert repr(made(encoder)) == f"TextClassifier(labels=None, {kinds}"


def test_unknown_label_in_evaluate(encoder):
    classifier = made(encoder, labels=["good", "bad"])
    with pytest.raises(ValueError, match=r"known labels: .*: 'new' \(in labels\[4"):
        classifier.evaluate(TEXTS, [*LABELS[:4], "new"])


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


def test_arguments_stay(encoder):
    classifier = everything(encoder)
    for name in ("labels", "pooling", "static", "hidden", "dropout", "pairs"):
        with pytest.raises(AttributeError, match=f"`{name}` of TextClassifier must be"):
            setattr(classifier, name, 0)


def test_sizes_of_data(encoder):
    """10,000 labels, a text of 5,000 words, a word of 500 bytes, two examples."""
    labels = [f"L{k}" for k in range(10_000)]
    classifier = made(encoder, labels=labels)
    classifier.fit(["warm", "w" * 500], labels[:2], epochs=1, verbose=0)
    with with_graphs():
        probabilities = classifier.predict_proba(["warm " * 5_000, "w" * 500])
    assert probabilities.shape == (2, 10_000)


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
