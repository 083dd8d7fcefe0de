"""Files that an earlier version wrote still work: see tests/artefacts/README.md."""

import json
import shutil
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import ElmoConfig
from tests.helpers.fresh_process import run_script

# A process of its own, four runs in it and ten models: 15 seconds.
pytestmark = pytest.mark.slow

ARCHIVE = Path(__file__).parent / "artefacts" / "version-0.1.0.zip"
CONFIG = ElmoConfig(
    filters=((1, 4), (2, 5)),
    char_embedding_units=3,
    units=9,
    projection_units=7,
    num_layers=1,
    dropout=0.1,
)
RUNS = {
    "adagrad": {"optimizer": "adagrad", "tokenizer": "whitespace"},
    "adam": {
        "optimizer": "adam",
        "tokenizer": "unicode",
        "learning_rate": keras.optimizers.schedules.CosineDecay(
            0.0, 20, warmup_target=0.01, warmup_steps=3
        ),
    },
}
KERAS_FILES = ("downstream", "encoder", "layers", "language")
EXPORTS = ("unicode-export", "whitespace-export", "language-export")
SENTENCES = ["The boat left the bank.", "배 가 강 에 있다 .", "", "A river , a tree"]
TOKENS = [text.split() for text in SENTENCES]
LENGTHS = [len(tokens) for tokens in TOKENS]


def settings(folder, name):
    """The arguments of a run of 20 steps, but for its directory."""
    return {
        "corpus": str(folder / "train.txt"),
        "validation": str(folder / "held-out.txt"),
        "num_sampled": 8,
        "batch_tokens": 66,
        "seed": 1,
        "steps": 20,
        "validate_every": 8,
        "checkpoint_every": 7,
        "progress": False,
        **RUNS[name],
    }


def end_of(directory):
    """The arrays of a run's last checkpoint, and its progress without times."""
    path = max((directory / "checkpoints").iterdir())
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "progress.json"}
        progress = json.loads(file["progress.json"])
    del progress["seconds"], progress["interval"]["seconds"]
    for row in progress["rows"]:
        del row["seconds"], row["words_per_second"]
    return {"progress": json.dumps(progress, sort_keys=True), **arrays}


def padded(sentences):
    """Tokens as an array of strings, padded with empty ones."""
    array = np.full((len(sentences), max(map(len, sentences))), "", dtype=object)
    for row, tokens in enumerate(sentences):
        array[row, : len(tokens)] = tokens
    return tf.constant(array, tf.string)


def predictions_of(path):
    """What the model of a .keras file returns."""
    model = keras.saving.load_model(path)
    char_ids = keras_elmo.CharacterIds()(padded(TOKENS))
    if path.stem == "downstream":
        inputs = tf.constant(SENTENCES)
    elif path.stem == "language":
        token_ids = tf.where(char_ids[..., 0] == 0, -1, 3)
        inputs = {"char_ids": char_ids, "token_ids": token_ids}
    else:
        inputs = char_ids
    return keras.tree.flatten(model(inputs, training=False))


def signatures_of(folder):
    """What each signature of a SavedModel returns, by the names of its outputs."""
    model = tf.saved_model.load(str(folder))
    outputs = {}
    for name, signature in model.signatures.items():
        if name == "tokens":
            inputs = {
                "tokens": padded(TOKENS),
                "sequence_len": tf.constant(LENGTHS, tf.int32),
            }
        else:
            inputs = {"strings": tf.constant(SENTENCES)}
        for output, value in signature(**inputs).items():
            outputs[f"{name}/{output}"] = value
    return outputs


def outputs_of(folder):
    """What the models of a folder return, by their names."""
    outputs = {}
    for name in KERAS_FILES:
        for place, value in enumerate(predictions_of(folder / f"{name}.keras")):
            outputs[f"{name}/{place}"] = value
    char_ids = keras_elmo.CharacterIds()(padded(TOKENS))
    for name in EXPORTS:
        for output, value in signatures_of(folder / name).items():
            outputs[f"{name}/{output}"] = value
        for place, value in enumerate(keras_elmo.load(folder / name)(char_ids)):
            outputs[f"{name}/{place}"] = value
    published = keras_elmo.load_published_weights(
        folder / "options.json", folder / "weights.hdf5"
    )
    outputs |= {f"published/{i}": v for i, v in enumerate(published(char_ids))}
    for name in (*RUNS, "language-export"):
        found = keras_elmo.perplexity(folder / name, str(folder / "held-out.txt"))
        outputs |= {f"perplexity/{name}/{key}": v for key, v in found.items()}
    return {name: np.asarray(value) for name, value in outputs.items()}


def probe():
    """Results that differ in their last bits from one processor to another."""
    rng = np.random.default_rng(0)

    def draw(*shape):
        return tf.constant(rng.normal(size=shape), tf.float32)

    @tf.function
    def compute(x, weights, characters, filters):
        gates = tf.sigmoid(tf.matmul(x, weights)) * tf.tanh(tf.matmul(x, weights))
        features = tf.nn.relu(tf.nn.conv1d(characters, filters, 1, "VALID"))
        return [
            gates,
            features,
            tf.nn.log_softmax(gates),
            tf.reduce_sum(x, 0),
            tf.math.rsqrt(tf.abs(x) + 1),
        ]

    found = compute(draw(66, 14), draw(14, 36), draw(40, 50, 3), draw(2, 3, 5))
    return np.concatenate([np.ravel(value) for value in found])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("artefacts")
    with zipfile.ZipFile(ARCHIVE) as file:
        file.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    with np.load(folder / "outputs.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def outputs(folder):
    """Computed by a new process, which has imported nothing of the tests.

    More threads add up in another order.
    """
    run_script(
        Path(__file__),
        cwd=folder,
        TF_NUM_INTRAOP_THREADS="1",
        TF_NUM_INTEROP_THREADS="1",
        OMP_NUM_THREADS="1",
    )
    with np.load(folder / "found.npz") as file:
        return dict(file)


def assert_close(found, expected, rtol=1e-5):
    """Equal but for what processors round differently, at the array's scale."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        scale = float(np.max(np.abs(value), initial=1e-9))
        np.testing.assert_allclose(
            found[name], value, rtol=0, atol=rtol * scale, err_msg=name
        )


# Its fixture loads seven models in a new process: 35 seconds.
@pytest.mark.parametrize("name", [*KERAS_FILES, *EXPORTS, "published", "perplexity"])
def test_models_return_what_they_did(name, outputs, expected):
    """A new process loads .keras files, SavedModels, published files, run folders."""

    def of(arrays):
        return {key: arrays[key] for key in arrays if key.startswith(f"{name}/")}

    assert of(expected)
    assert_close(of(outputs), of(expected))


@pytest.mark.parametrize("name", RUNS)
def test_run_is_resumed(name, folder, outputs, expected):
    """It ends with the bits of the run that was never killed, on such a processor."""
    # The outputs are there when the runs are, too.
    found, again = (end_of(folder / f"{name}-{copy}") for copy in ("once", "twice"))
    with np.load(folder / f"{name}.npz") as file:
        wanted = dict(file)
    assert_same(found, again)
    if np.array_equal(outputs["probe"], expected["probe"]):
        assert_same(found, wanted)
    else:
        assert_close(
            {k: v for k, v in found.items() if k != "progress"},
            {k: v for k, v in wanted.items() if k != "progress"},
            rtol=1e-3,
        )


def assert_same(found, expected):
    """Bit for bit."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def main():
    folder = Path()
    for name in RUNS:
        for copy in ("once", "twice"):
            directory = folder / f"{name}-{copy}"
            shutil.copytree(folder / name, directory)
            keras_elmo.pretrain(
                CONFIG, directory=directory, resume=True, **settings(folder, name)
            )
    np.savez("found.npz", probe=probe(), **outputs_of(folder))


if __name__ == "__main__":
    main()
