"""Writes the files of an archive; runs with the version of README.md alone.

python tests/artefacts/write.py FOLDER

with TF_NUM_INTRAOP_THREADS=1, TF_NUM_INTEROP_THREADS=1 and OMP_NUM_THREADS=1.
"""

import shutil
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras_elmo.training.lazy_adam import LazyAdam
from keras_elmo.training.record import Record

import keras_elmo
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from tests.test_artefacts import (
    CONFIG,
    RUNS,
    SENTENCES,
    end_of,
    outputs_of,
    probe,
    settings,
)

WORDS = "the a river bank boat money tree song 배 가 강 saw found left of . ,".split()


def write_text(path, lines, rng):
    path.write_text(
        "".join(
            " ".join(rng.choice(WORDS, size=rng.integers(3, 12))) + "\n"
            for _ in range(lines)
        ),
        encoding="utf-8",
    )


def write_run(folder, name):
    """Keeps the folder as it is after step 14, and all that step 20 ends with."""
    working = folder / "working"
    keep = Record.keep

    def keep_and_copy(self):
        keep(self)
        if self.state.step == 14:
            shutil.copytree(working, folder / name)

    Record.keep = keep_and_copy
    keras_elmo.pretrain(CONFIG, directory=working, **settings(folder, name))
    Record.keep = keep
    np.savez_compressed(folder / f"{name}.npz", **end_of(working))
    shutil.rmtree(working)


def random_encoder(config):
    encoder = keras_elmo.build_encoder(config)
    rng = np.random.default_rng(0)
    for weight in encoder.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    return encoder


def random_embedding(**arguments):
    layer = keras_elmo.ElmoEmbedding(random_encoder(CONFIG), **arguments)
    layer.mixes[0].scalars.assign([0.7, -0.4])
    layer.mixes[0].gamma.assign(1.7)
    return layer


def downstream():
    text = keras.Input((), dtype="string", name="text")
    tokens = keras_elmo.Tokenizer("unicode")(text)
    static = keras_elmo.StaticEmbedding(WORDS, 4, trainable=True)
    elmo = random_embedding(num_representations=2, dropout=0.2, layer_norm=True)
    first, second = elmo(keras_elmo.CharacterIds()(tokens))
    words = keras.layers.Concatenate()([static(tokens), first])
    words = keras.layers.LSTM(3)(words)
    pooled = keras.layers.GlobalAveragePooling1D()(second)
    merged = keras.layers.Concatenate()([words, pooled])
    model = keras.Model(text, keras.layers.Dense(2, activation="softmax")(merged))
    optimizer = keras.optimizers.Adam(0.05)
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensors(
        (tf.constant(SENTENCES), np.arange(len(SENTENCES)) % 2)
    )
    model.fit(data.repeat(2), verbose=0)
    return model


def layers():
    """The layers that are public by themselves, in one model; and an optimizer."""
    char_ids = keras.Input((None, 50), dtype="int32")
    sizes = {"filters": CONFIG.filters, "num_highway_layers": 1}
    tokens = keras_elmo.CharCNNEmbedding(
        **sizes, char_embedding_units=3, projection_units=7
    )(char_ids)
    lower, upper = keras_elmo.BiLM(units=9, projection_units=7, num_layers=2)(tokens)[
        -2:
    ]
    mixed = keras_elmo.ScalarMix(2)([lower, upper])
    carried = keras_elmo.Highway(1)(mixed)
    model = keras.Model(char_ids, ProjectedLSTM(5, 3)(carried))
    model.compile(optimizer=LazyAdam(), loss="mse")
    return model


def main(folder):
    folder.mkdir()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    write_text(folder / "train.txt", 60, rng)
    write_text(folder / "held-out.txt", 8, rng)
    for name in RUNS:
        write_run(folder, name)

    keras_elmo.save_published_weights(
        random_encoder(CONFIG), folder / "options.json", folder / "weights.hdf5"
    )
    downstream().save(folder / "downstream.keras")
    random_encoder(CONFIG).save(folder / "encoder.keras")
    model = layers()
    model.save(folder / "layers.keras")
    keras_elmo.load_language_model(folder / "adagrad").save(folder / "language.keras")
    for tokenizer in ("unicode", "whitespace"):
        path = folder / f"{tokenizer}-export"
        keras_elmo.export_saved_model(random_embedding(), path, tokenizer)
    keras_elmo.export_saved_model(
        folder / "adagrad", folder / "language-export", language_model=True
    )
    np.savez_compressed(folder / "outputs.npz", probe=probe(), **outputs_of(folder))
    with zipfile.ZipFile(f"{folder}.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            file.write(path, path.relative_to(folder))


main(Path(sys.argv[1]))
