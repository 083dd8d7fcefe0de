"""Pretrains on a host without TensorFlow: from text to vectors, and models on disk.

Part of `check_backend`.
"""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np

import keras_elmo
from keras_elmo.cli import main
from tests.helpers import small
from tests.helpers.runs import SMALLER, write_text

SENTENCES = [["Ann", "saw", "the", "bank"], ["Bob", "left"]]
RUN = ["--num-sampled", "8", "--batch-tokens", "132"]


def command(*arguments):
    assert main(list(map(str, arguments))) == 0, arguments


def check_host():
    with tempfile.TemporaryDirectory() as folder:
        check_from_text_to_vectors(Path(folder))


def check_from_text_to_vectors(folder):
    text, options = write_text(folder / "text.txt"), folder / "options.json"
    options.write_text(json.dumps(SMALLER.to_options()), encoding="utf-8")
    # Once as text, once as numbers: the same words.
    command("prepare", "--corpus", text, "--out", folder / "prepared")
    counted = keras_elmo.Vocabulary.count(text)
    assert counted.words == keras_elmo.Vocabulary.count(folder / "prepared").words
    run = folder / "run"
    for corpus, steps in ((text, 1), (folder / "prepared", 3)):
        resumed = ["--corpus", corpus, "--validation", text, "--out", run, *RUN]
        resumed += ["--options", options, "--steps", steps, "--resume"]
        command("pretrain", *resumed)
    command("evaluate", "--model", run, "--corpus", folder / "prepared")
    command("inspect", run)
    command("embed", "--model", run, "--input", text, "--out", folder / "lines.hdf5")

    encoder = keras_elmo.load(run)
    lists = keras_elmo.embed(encoder, SENTENCES)
    texts = keras_elmo.embed(encoder, [" ".join(words) for words in SENTENCES])
    for some, other in zip(lists, texts, strict=True):
        np.testing.assert_allclose(some, other, atol=1e-5)

    model = keras_elmo.pretrain(
        SMALLER,
        folder / "prepared",
        directory=folder / "second",
        num_sampled=8,
        optimizer=keras.optimizers.AdamW(0.01),
        callbacks=[keras.callbacks.TerminateOnNaN()],
        epochs=1,
        progress=False,
    )
    assert len(model.history.history["loss"]) == 1
    model.save(folder / "language_model.keras")
    loaded = keras.models.load_model(folder / "language_model.keras")
    wanted = keras_elmo.perplexity(model, text)
    assert abs(keras_elmo.perplexity(loaded, text)["mean"] / wanted["mean"] - 1) < 1e-4
    model.save_weights(folder / "model.weights.h5")
    loaded.load_weights(folder / "model.weights.h5")

    elmo = keras_elmo.ElmoEmbedding(run)
    inputs = keras.Input((None, 50), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D()(elmo(inputs))
    classifier = keras.Model(inputs, keras.layers.Dense(1)(pooled))
    classifier.compile("adam", "mse")
    ids = small.char_ids(SENTENCES)
    classifier.fit(ids, np.array([0.0, 1.0]), verbose=0)
    classifier.save(folder / "classifier.keras")
    again = keras.models.load_model(folder / "classifier.keras")
    wanted = classifier.predict_on_batch(ids)
    np.testing.assert_allclose(again.predict_on_batch(ids), wanted, atol=1e-5)
