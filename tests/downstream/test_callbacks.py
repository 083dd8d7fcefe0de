import csv

import keras
import numpy as np
import pytest

from keras_elmo.downstream.callbacks import MixWeightsLogger
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SENTENCES, SMALLER, char_ids, random_encoder

pytestmark = pytest.mark.graph

LABELS = np.arange(len(SENTENCES)) % 2


def model_of(*layers):
    """The mean over the words of whatever the layers return, and a head."""
    ids = keras.Input((None, 50), dtype="int32")
    words = keras.tree.flatten([layer(ids) for layer in layers])
    pooled = [keras.layers.GlobalAveragePooling1D()(each) for each in words]
    merged = keras.layers.Concatenate()(pooled) if len(pooled) > 1 else pooled[0]
    return keras.Model(ids, keras.layers.Dense(2)(merged))


def embedding(name, scalars, gamma=1.0):
    layer = ElmoEmbedding(random_encoder(SMALLER), name=name)
    layer.mixes[0].scalars.assign(scalars)
    layer.mixes[0].gamma.assign(gamma)
    return layer


def expected(prefix, mix):
    """By NumPy, from the variables."""
    exponentials = np.exp(numpy_of(mix.scalars).astype("float64"))
    shares = exponentials / exponentials.sum()
    return {
        **{f"{prefix}/layer_{j}": share for j, share in enumerate(shares)},
        f"{prefix}/gamma": float(numpy_of(mix.gamma)),
    }


def first_row(model):
    """What is recorded before training."""
    logger = MixWeightsLogger()
    logger.set_model(model)
    logger.on_train_begin()
    logger.on_epoch_begin(0)
    (row,) = logger.rows
    return row


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [
            # What Keras has no value for is NA.
            {name: float(text) for name, text in row.items() if text != "NA"}
            for row in csv.DictReader(file)
        ]


class AfterIt(keras.callbacks.Callback):
    """Notes the variables and the file before training and after each epoch."""

    def __init__(self, layer, path):
        super().__init__()
        self.layer, self.path = layer, path
        self.variables, self.files = [], []

    def note(self):
        values = {}
        for k, mix in enumerate(self.layer.mixes):
            values |= expected(f"elmo/mix_{k}", mix)
        self.variables.append(values)
        self.files.append(read_csv(self.path))

    def on_epoch_begin(self, epoch, logs=None):
        if not epoch:
            self.note()

    def on_epoch_end(self, epoch, logs=None):
        self.note()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A fit of three epochs, with two representations."""
    folder = tmp_path_factory.mktemp("fitted")
    layer = ElmoEmbedding(random_encoder(SMALLER), num_representations=2, name="elmo")
    model = model_of(layer)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # Eager, because compiling takes longest; check_backend.py has a compiled fit.
    model.compile(keras.optimizers.Adam(0.05), loss, run_eagerly=True)
    logger = MixWeightsLogger(folder / "mix.csv")
    after = AfterIt(layer, folder / "mix.csv")
    keras_csv = keras.callbacks.CSVLogger(folder / "keras.csv")
    history = model.fit(
        char_ids(SENTENCES),
        LABELS,
        epochs=3,
        verbose=0,
        callbacks=[logger, after, keras_csv],
    )
    return logger.rows, after, history.history, folder


def test_rows_of_epochs(fitted):
    """The mix before training and after each epoch."""
    rows, after, _, _ = fitted
    assert [row["epoch"] for row in rows] == [0, 1, 2, 3]
    for row, values in zip(rows, after.variables, strict=True):
        assert row == pytest.approx({"epoch": row["epoch"], **values}, rel=1e-5)
    # Each moves with training.
    for name in rows[0]:
        assert len({row[name] for row in rows}) == 4


def test_files(fitted):
    """The file has the rows from epoch to epoch; later callbacks find them in logs."""
    rows, after, history, folder = fitted
    assert after.files == [rows[:1], rows[:2], rows[:3], rows]
    assert read_csv(folder / "mix.csv") == rows
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["keras.csv", "mix.csv"]
    keras_rows = read_csv(folder / "keras.csv")
    for name in rows[0]:
        if name != "epoch":
            values = [row[name] for row in rows[1:]]
            assert history[name] == values
            assert [row[name] for row in keras_rows] == values


def test_nested_embeddings():
    """Layers inside of other models and layers."""
    first = embedding("elmo", [1.0, 0.0])
    second = embedding("elmo", [0.0, 1.0])
    third = embedding("other", [0.5, 1.0], 1.5)

    class Wrapper(keras.layers.Layer):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def call(self, ids):
            return self.layer(ids)

    ids = keras.Input((None, 50), dtype="int32")
    outputs = [model_of(first)(ids), model_of(Wrapper(second), third)(ids)]
    row = first_row(keras.Model(ids, outputs))
    wanted = {"epoch": 0}
    # The second has the name of the first, too.
    for name, layer in {"elmo": first, "elmo_1": second, "other": third}.items():
        wanted |= expected(name, layer.mixes[0])
    assert row == pytest.approx(wanted)


def test_a_fit_that_goes_on_begins_where_it_is():
    """As with initial_epoch; and every fit has rows of its own."""
    logger = MixWeightsLogger()
    logger.set_model(model_of(embedding("elmo", [0.0, 0.0])))
    for initial_epoch in (0, 2):
        logger.on_train_begin()
        for epoch in (initial_epoch, initial_epoch + 1):
            logger.on_epoch_begin(epoch)
            logger.on_epoch_end(epoch)
        epochs = [row["epoch"] - initial_epoch for row in logger.rows]
        assert epochs == [0, 1, 2]


def test_a_model_without_elmo():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(loss="mse")
    with pytest.raises(ValueError, match="`model` must contain an ElmoEmb.*Received"):
        model.fit(
            np.zeros((2, 2)), np.zeros(2), verbose=0, callbacks=[MixWeightsLogger()]
        )


def test_repr():
    assert repr(MixWeightsLogger("mix.csv")) == "MixWeightsLogger(path='mix.csv')"
