from unittest import mock

import keras
import numpy as np
import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.downstream import task_model
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.tagger import Tagger
from keras_elmo.downstream.tagger_model import TaggerModel
from keras_elmo.models.encoder import build_encoder
from keras_elmo.text.tag_scores import TagScores
from tests.helpers.compilations import counted_compilations
from tests.helpers.layer_checks import moved, numpy_of
from tests.helpers.small import SMALLER, random_encoder
from tests.helpers.tasks import random_tagger

pytestmark = pytest.mark.graph

on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="strings need TensorFlow"
)
TAGS = {"Ada": "B-PER", "Lovelace": "I-PER", "Rome": "B-LOC", "in": "O", "sat": "O"}


def sentences(num, seed=0):
    """Names and other words; Lovelace follows Ada."""
    rng = np.random.default_rng(seed)
    for _ in range(num):
        words = rng.choice(["Ada", "Ada Lovelace", "Rome", "in", "sat"], 3)
        words = " ".join(words).split()
        yield words, [TAGS[word] for word in words]


DATA = list(sentences(40))
DEV = list(sentences(12, seed=1))
WORDS = [words for words, _ in DEV]


def make(encoder=None, **arguments):
    encoder = encoder or random_encoder(SMALLER)
    tagger = Tagger(encoder, **{"lstm_units": 6, "dropout": 0.0, **arguments})
    tagger.compile(keras.optimizers.Adam(0.05), tagger.loss)
    return tagger


@pytest.fixture(scope="module")
def fitted():
    keras.utils.set_random_seed(0)
    tagger = make(encoder=build_encoder(ElmoConfig.preset("tiny")))
    arguments = {"epochs": 16, "batch_size": 8, "patience": None, "verbose": 0}
    tagger.history_of_fit = tagger.fit(DATA, validation_data=DEV, **arguments).history
    return tagger


def test_learns(fitted):
    history = fitted.history_of_fit
    said = "Tagger(tags=['B-LOC', 'B-PER', 'I-PER', 'O'], lstm_units=6, crf=True)"
    assert repr(fitted) == said
    assert max(history["val_f1"]) > 0.9
    names = ("accuracy", "precision", "recall", "f1", "loss")
    assert history.keys() == {"loss", *(f"val_{name}" for name in names)}
    # The best epoch was kept.
    scores = fitted.evaluate(DEV)
    assert scores["f1"] == max(history["val_f1"])
    expected = TagScores([tags for _, tags in DEV], fitted.predict(WORDS), fitted.tags)
    assert scores == expected.as_dict()


def test_sizes(fitted):
    """One tag for each word, in the order given, of any batch and stream."""
    given = [[], ["Rome"], ["sat"] * 2000, [], ["x" * 500, "Ada"], *WORDS]
    expected = fitted.predict(given)
    assert [*map(len, expected)] == [*map(len, given)]
    assert fitted.predict(given, batch_size=1) == expected
    assert list(fitted.tag(iter(given))) == list(zip(given, expected, strict=True))
    assert fitted.predict([]) == [] and fitted.predict([[], []]) == [[], []]


def test_marginals(fitted):
    """Probabilities of all tags, in the order given; the best tags are likely ones."""
    rows = list(fitted.marginals([[], *WORDS]))
    assert [words for words, _ in rows] == [[], *WORDS]
    assert rows[0][1].shape == (0, 4)
    likely, best = [], []
    for (words, found), tags in zip(rows[1:], fitted.predict(WORDS), strict=True):
        assert found.shape == (len(words), 4)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-4)
        likely += [fitted.tags[k] for k in found.argmax(axis=1)]
        best += tags
    assert np.mean(np.array(likely) == best) > 0.7


@on_tensorflow
def test_forms_of_sentences(fitted):
    import tensorflow as tf

    words = [["Ada", "sat"], ["Rome"]]
    expected = fitted.predict(words)
    assert fitted.predict(["Ada sat", "Rome"]) == expected
    assert fitted.predict("Ada sat") == expected[:1]
    assert fitted.predict(tf.ragged.constant(words)) == expected
    assert fitted.predict(np.array([["Ada", "sat"], ["Rome", ""]])) == expected
    assert [*fitted.tag("Ada sat")] == [(words[0], expected[0])]


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [("IOB1", ["I-PER", "I-PER", "O"]), ("BIOES", ["B-PER", "E-PER", "O"])],
)
def test_other_schemes(fitted, scheme, tags, tmp_path):
    path = tmp_path / "names.conll"
    lines = zip(["Ada", "Lovelace", "sat"], tags, strict=True)
    path.write_text("\n".join(map(" ".join, lines)) + "\n")
    with pytest.warns(UserWarning, match=f"{scheme} is recognised and converted to BI"):
        scores = fitted.evaluate(path)
    assert scores["tokens"] == 3 and scores["reference"] == 1
    # Right tags in whatever scheme are the same.
    bio = fitted.evaluate([(["Ada", "Lovelace", "sat"], ["B-PER", "I-PER", "O"])])
    assert scores == bio


def test_saved(fitted, tmp_path):
    """A file has all: tags, weights, and what goes on with training."""
    fitted.save(tmp_path / "names.keras")
    loaded = keras.saving.load_model(tmp_path / "names.keras")
    assert loaded.tags == fitted.tags
    assert loaded.predict(WORDS) == fitted.predict(WORDS)
    assert float(numpy_of(loaded.optimizer.learning_rate)) == pytest.approx(0.05)
    assert not loaded.elmo.trainable_encoder
    names = [weight.path for weight in fitted.weights]
    assert [weight.path for weight in loaded.weights] == names
    assert len(set(names)) == len(names)
    for found, wanted in zip(loaded.weights, fitted.weights, strict=True):
        np.testing.assert_array_equal(numpy_of(found), numpy_of(wanted))
    for layer in loaded._flatten_layers():
        assert layer.built or not layer.weights
    loaded.summary(print_fn=lambda line: None)


@pytest.mark.usefixtures("eagerly")
def test_frozen_encoder_runs_once():
    """It is read for training and development data, whatever the epochs."""
    tagger = make(lstm_units=0)
    with (
        moved(tagger.elmo.encoder.weights) as paths,
        mock.patch.object(
            task_model, "layer_batches", side_effect=task_model.layer_batches
        ) as layer_batches,
    ):
        tagger.fit(DATA[:8], validation_data=DEV[:4], epochs=3, verbose=0)
    assert layer_batches.call_count == 2 and not paths
    # The mix, a dense layer, and a CRF.
    assert len(tagger.trainable_weights) == 2 + 2 + 3


@on_tensorflow
@pytest.mark.parametrize("trained", [False, True])
def test_traces(trained):
    """One graph to train and one to score, whatever the sizes and the epochs."""
    tagger = make(trainable_encoder=trained)
    calls = []
    with mock.patch.object(Tagger, "call", autospec=True) as call:
        call.side_effect = lambda self, x, training=None: (
            calls.append(training) or TaggerModel.call(self, x, training)
        )
        tagger.fit(DATA, validation_data=DEV, epochs=2, batch_size=16, verbose=0)
    assert calls == [True, False]


@pytest.mark.parametrize("trained", [False, True])
def test_a_sentence_at_a_time(trained):
    """No call makes a graph but the first, whatever is in the sentence."""
    tagger = random_tagger(trainable_encoder=trained)
    first, *more = [
        "Ada sat here".split(),
        "the old bank".split(),
        "in London now".split(),
    ]
    with counted_compilations() as made:
        tagger.predict([first])
    assert bool(made) == (keras.backend.backend() != "torch")
    wanted = tagger.predict([first, *more])
    with counted_compilations() as made:
        assert [tagger.predict([words])[0] for words in (first, *more)] == wanted
    assert made == []
    marginals = [row for _, row in tagger.marginals([first, *more])]
    ((read, tags, both),) = tagger.tags_and_marginals([first])
    assert (read, tags) == (first, wanted[0])
    np.testing.assert_allclose(both, marginals[0], atol=1e-5)
    ((_, alone),) = tagger.marginals([first])
    np.testing.assert_allclose(alone, marginals[0], atol=1e-5)
    with counted_compilations() as made:
        for words, wanted in zip((first, *more), marginals, strict=True):
            ((_, found),) = tagger.marginals([words])
            np.testing.assert_allclose(found, wanted, atol=1e-5)
            assert [*tagger.tags_and_marginals([words])]
    assert made == []


def test_marginals_after_training():
    """Marginals follow the present weights."""
    tagger = random_tagger()
    ((_, before),) = tagger.marginals([["Ada", "sat"]])
    weights = numpy_of(tagger.head.weights)
    for weight in tagger.head.trainable_weights:
        weight.assign(weight + 0.5)
    tagger.head.scores.bias.assign([3, 0, 0, 0, 0])
    ((_, after),) = tagger.marginals([["Ada", "sat"]])
    assert np.abs(after - before).max() > 0.01
    for weight, value in zip(tagger.head.weights, weights, strict=True):
        weight.assign(value)
    ((_, again),) = tagger.marginals([["Ada", "sat"]])
    np.testing.assert_allclose(again, before, atol=1e-6)


@pytest.mark.usefixtures("eagerly")
def test_fine_tuning(tmp_path):
    tagger = make(lstm_units=0, trainable_encoder=True)
    tagger.compile(keras.optimizers.SGD(0.1), tagger.loss)
    with moved(tagger.elmo.encoder.weights) as paths:
        tagger.fit(DATA[:8], validation_data=DEV[:4], epochs=2, verbose=0)
    assert len(paths) == len(tagger.elmo.encoder.weights)
    tagger.save(tmp_path / "names.keras")
    loaded = keras.saving.load_model(tmp_path / "names.keras")
    assert loaded.elmo.trainable_encoder
    assert loaded.predict(WORDS[:3]) == tagger.predict(WORDS[:3])


@pytest.mark.usefixtures("eagerly")
def test_rates_by_layer():
    """Keras's optimizer for them knows the layers of the biLM by their paths."""
    tagger = make(random_encoder(), lstm_units=0, trainable_encoder=True)
    sgd = keras.optimizers.SGD
    rates = keras.optimizers.OptimizerMap(
        sgd(0.1),
        {"char_cnn_embedding/.*": sgd(0.0), "bilm/(forward|backward)_0/.*": sgd(0.0)},
    )
    tagger.compile(keras.optimizers.MultiOptimizer(rates), tagger.loss)
    with moved(tagger.elmo.encoder.weights) as paths:
        tagger.fit(DATA[:8], epochs=1, verbose=0)
    layers = {path.rpartition("/")[0] for path in paths}
    assert layers == {"bilm/forward_1", "bilm/backward_1"}


@on_tensorflow
@pytest.mark.usefixtures("eagerly")
def test_without_crf(tmp_path):
    """Static vectors tell what a biLM without meaning does not, also when loaded."""
    vectors = tmp_path / "vectors.txt"
    names = ["B-LOC", "B-PER", "I-PER", "O"]
    rows = (np.eye(4)[names.index(tag)] for tag in TAGS.values())
    lines = (f"{w} {' '.join(map(str, r))}\n" for w, r in zip(TAGS, rows, strict=True))
    vectors.write_text("".join(lines))
    tagger = make(static=vectors, lstm_units=0, crf=False)
    vectors.unlink()
    assert repr(tagger) == "Tagger(tags=None, lstm_units=0, crf=False)"
    tagger.elmo.mixes[0].gamma.assign(0.0)
    tagger.elmo.trainable = False
    dev = WORDS, [tags for _, tags in DEV]
    losses = tagger.fit(
        DATA, validation_data=dev, epochs=8, batch_size=8, verbose=0
    ).history["val_loss"]
    assert losses[-1] < losses[0]
    assert tagger.evaluate(DATA)["f1"] == 1
    tagger.save(tmp_path / "names.keras")
    loaded = keras.saving.load_model(tmp_path / "names.keras")
    assert isinstance(loaded.static, StaticEmbedding)
    assert loaded.predict(WORDS) == dev[1]


@pytest.mark.usefixtures("eagerly")
def test_interrupted_training_keeps_the_best_epoch():
    class Interrupt(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            losses.append(logs["val_loss"])
            if epoch == 1:
                raise KeyboardInterrupt
            self.model.head.scores.bias.assign([0.0, 0.0, 0.0, 900.0])

    losses = []
    tagger = make(lstm_units=0, tags=[*sorted({*TAGS.values()})])
    tagger.compile(keras.optimizers.SGD(0.0), tagger.loss)
    with moved(tagger.head.weights) as paths, pytest.raises(KeyboardInterrupt):
        tagger.fit(
            DATA[:8], validation_data=DATA[:8], callbacks=[Interrupt()], verbose=0
        )
    assert losses[1] > losses[0] and not paths


@pytest.mark.usefixtures("eagerly")
def test_unknown_tags():
    """One in development data counts as an error; one in training data is refused."""
    tagger = make(lstm_units=0, tags=["O", "B-PER", "B-LOC", "I-PER"])
    dev = [*DEV[:3], (["Ada"], ["B-ORG"])]
    said = r"does not know count as mistakes: 'B-ORG' \(in `{}`, sentence {}\)"
    with pytest.warns(UserWarning, match=said.format("validation_data", 3)):
        fitted = tagger.fit(DATA[:8], validation_data=dev, epochs=1, verbose=0)
    assert np.isfinite(fitted.history["val_loss"]).all()
    assert tagger.tags == ["O", "B-PER", "B-LOC", "I-PER"]
    with pytest.warns(UserWarning, match=said.format("x", 0)):
        assert tagger.evaluate([(["Ada"], ["B-ORG"])])["recall"] == 0
    with pytest.raises(
        ValueError, match=r"`x` must have tags .*: 'B-ORG' \(in `x`, se"
    ):
        tagger.fit(dev, verbose=0)


@pytest.mark.usefixtures("eagerly")
def test_small_data():
    """One sentence has two words, the rest have none."""
    tagger = make(lstm_units=0)
    data = [([], []), (["We", "sat"], ["PRON", "VERB"]), ([""], [""])]
    tagger.fit(data, validation_data=data, epochs=1, verbose=0)
    scores = tagger.evaluate(data)
    assert scores["tokens"] == 2 and scores["f1"] == scores["accuracy"]


@pytest.mark.usefixtures("eagerly")
def test_many_tags():
    """Of a wrong column, perhaps."""
    data = [([f"w{k}", "a" * 500], [f"T{2 * k}", f"T{2 * k + 1}"]) for k in range(200)]
    tagger = make(lstm_units=0)
    with pytest.raises(
        ValueError, match=r"at most 300 .* give crf=False\. .* 400 tags"
    ):
        tagger.fit(data)
    assert tagger.tags is None
    tagger = make(lstm_units=0, crf=False, tags=[f"T{k}" for k in range(400)])
    tagger.fit(data[:3], epochs=1, verbose=0)
    assert tagger.predict([["w1"]])[0][0].startswith("T")


def test_refuses_data():
    tagger = make()
    with pytest.raises(ValueError, match="`tags` must be given, or learned by `fit`"):
        tagger.predict([["We"]])
    with pytest.raises(ValueError, match="at least 2 different tags"):
        tagger.fit([(["We"], ["PRON"])])
    # Nothing was made of it.
    assert tagger.tags is None and tagger.head is None
    with pytest.raises(ValueError, match="`validation_data`, sentence 0: must have"):
        tagger.fit(DATA, validation_data=[(["We"], [])])
    with pytest.raises(ValueError, match="`validation_data`, sentence 0: .* a tag"):
        tagger.fit(DATA, validation_data=[(["We"], ["PRON"])])
    with pytest.raises(ValueError, match="no file|nowhere"):
        tagger.fit("nowhere.conllu")
    with pytest.raises(TypeError, match="`sentences` must"):
        make(tags=["A", "B"]).predict([["We", 3]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tags": "AB"}, "`tags` must be at least 2 distinct names"),
        ({"tags": ["A"]}, "`tags` must be at least 2 distinct names"),
        ({"tags": ["A", "A", "B"]}, "`tags` must be at least 2 distinct names"),
        ({"lstm_units": -1}, "`lstm_units` must be at least 0"),
        ({"dropout": 2}, "`dropout` must be a number from 0 to 1"),
        ({"static": 5}, "`static` must be a StaticEmbedding, the path"),
        ({"static": "nowhere.txt"}, "nowhere.txt"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Tagger(random_encoder(), **arguments)


def test_takes_a_layer_as_it_is():
    """Its regularizer, its dropout, and what of it is frozen."""
    elmo = ElmoEmbedding(random_encoder(), dropout=0.3, mix_regularizer="l2")
    tagger = Tagger(elmo, tags=["A", "B"])
    assert tagger.elmo is elmo
    config = tagger.get_config()
    # As taggers were once stored.
    older = {**config, "encoder": keras.saving.serialize_keras_object(elmo)}
    for copy in map(Tagger.from_config, (config, older)):
        assert copy.elmo.dropout == 0.3
        assert copy.elmo.mix_regularizer.l2 == pytest.approx(0.01)
    for wrong in ({"num_representations": 2}, {"keep_boundaries": True}):
        with pytest.raises(
            ValueError, match="`encoder` must be a layer with one vector"
        ):
            Tagger(ElmoEmbedding(random_encoder(), **wrong))
    with pytest.raises(ValueError, match="`trainable_encoder` must be False for a"):
        Tagger(elmo, trainable_encoder=True)
