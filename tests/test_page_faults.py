"""No call copies a weight: counted by the pages of memory that it maps anew.

`python -m tests.test_page_faults FOLDER` counts them, and prints JSON.
"""

import json
import resource
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.files.checkpoint import restore_checkpoint, save_checkpoint
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.devices.tensorflow import TensorFlowDevices
from keras_elmo.training.optimizers import PublishedAdagrad
from tests.helpers.fresh_process import run_python

pytestmark = [
    pytest.mark.graph,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is counted"),
]

# A copy of a kernel's smaller half would be 2,048 pages of 4 KiB.
FEW = 1_000
# A copy of either half of an LSTM's kernel takes 8 MiB.
CONFIG = keras_elmo.ElmoConfig(
    filters=((1, 8),),
    num_highway_layers=1,
    units=2048,
    projection_units=256,
    num_layers=1,
)
WORDS = "The committee met to discuss the budget".split()


def page_faults(call, calls=4):
    """Returns the least number in a call, after three that are not counted.

    A copy is in each call; what the system maps by the way is not.
    """
    for _ in range(3):
        call()
    counts = [resource.getrusage(resource.RUSAGE_SELF).ru_minflt]
    for _ in range(calls):
        call()
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    return min(np.diff(counts).tolist())


def inference(encoder, folder):
    elmo = keras_elmo.ElmoEmbedding(encoder)
    text = keras.Input((), dtype="string")
    pooled = keras.layers.GlobalAveragePooling1D()(elmo(text))
    classifier = keras.Model(text, keras.layers.Dense(2)(pooled))
    classifier.compile("sgd", keras.losses.SparseCategoricalCrossentropy(True))
    one = tf.constant([" ".join(WORDS)])
    words, lengths = tf.constant([WORDS]), tf.constant([len(WORDS)])

    keras_elmo.export_saved_model(encoder, folder / "saved_model", tokenizer=None)
    saved_model = tf.saved_model.load(str(folder / "saved_model"))
    tokens = saved_model.signatures["tokens"]
    return {
        "embed": lambda: list(keras_elmo.embed(encoder, [WORDS])),
        "precompute": lambda: keras_elmo.precompute(elmo, [one]),
        "ElmoEmbedding": lambda: elmo(one),
        "predict": lambda: classifier.predict_on_batch(one),
        "fit": lambda: classifier.train_on_batch(one, tf.constant([1])),
        "SavedModel": lambda: tokens(tokens=words, sequence_len=lengths),
    }


def new_model():
    model = build_pretraining_model(CONFIG, 50, num_sampled=4)
    model.compile(optimizer=PublishedAdagrad())
    model.optimizer.build(model.trainable_variables)
    return model


def update(model):
    ids = np.random.default_rng(0).integers(3, 50, (4, 8), "int32")
    char_ids = np.ones((4, 8, CONFIG.ids_per_token), "int32")
    devices = TensorFlowDevices(tf.distribute.get_strategy())
    batch = {"char_ids": char_ids, "token_ids": ids}
    return lambda: devices.update(model, batch, [])


def count_all(folder):
    """Returns, for each path, the pages of memory that a call maps anew."""
    new = keras_elmo.build_encoder(CONFIG)
    published = folder / "options.json", folder / "weights.hdf5"
    keras_elmo.save_published_weights(new, *published)
    calls = inference(keras_elmo.load_published_weights(*published), folder)
    counts = {name: page_faults(call) for name, call in calls.items()}

    fresh, resumed = new_model(), new_model()
    save_checkpoint(folder / "checkpoint.npz", fresh, {})
    restore_checkpoint(folder / "checkpoint.npz", resumed)
    counts["fresh update"] = page_faults(update(fresh))
    counts["resumed update"] = page_faults(update(resumed))
    return counts


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    output = run_python(
        *("-m", "tests.test_page_faults", tmp_path_factory.mktemp("page_faults")),
        cwd="/",
        # Every copy is mapped anew, and TensorFlow keeps no memory of its own.
        MALLOC_MMAP_THRESHOLD_=str(2**22),
        TF_ENABLE_ONEDNN_OPTS="0",
    )
    return json.loads(output)


@pytest.mark.parametrize(
    "path", ["embed", "precompute", "ElmoEmbedding", "predict", "fit", "SavedModel"]
)
def test_a_call_copies_no_weight(counts, path):
    assert counts[path] < FEW


def test_a_resumed_update_copies_no_more_than_a_fresh_one(counts):
    # Two equal models differ by up to 2,000 pages of 60,000. A copy of both kernels, of
    # two halves each, would be 8,192.
    assert counts["resumed update"] < counts["fresh update"] + 4 * FEW


if __name__ == "__main__":
    print(json.dumps(count_all(Path(sys.argv[1]))))
