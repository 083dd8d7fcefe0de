"""Small runs: a config, text, ready-made batches, and what a run leaves behind."""

import contextlib
import dataclasses
import json
from unittest import mock

import numpy as np

from keras_elmo.files.checkpoint import PROGRESS
from keras_elmo.files.run_history import read_history
from keras_elmo.training import recorder
from keras_elmo.training.pretrain import pretrain
from tests.helpers import small
from tests.helpers.layer_checks import numpy_of
from tests.helpers.without_graphs import without_graphs

# Options of `pretrain`, for a small and fast one.
SMALL_RUN = ("--preset", "tiny", "--num-sampled", "8", "--batch-tokens", "132")
# With dropout, whose seeds a resumed run has to go on with.
CONFIG = dataclasses.replace(small.CONFIG, dropout=0.1)
SMALLER = dataclasses.replace(small.SMALLER, dropout=0.1)

NAMES = ("Ann", "Bob", "Eve", "Tom")
THINGS = ("bank", "boat", "song", "tree", "door", "book")


def write_text(path, repeats=1):
    """Writes sentences of one length, half of whose words can be predicted."""
    lines = [
        f"{name} {verb} the {thing} of {name} ."
        for _ in range(repeats)
        for name in NAMES
        for verb, thing in zip(("saw", "found", "left") * 2, THINGS, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def ready_made(count=4, rows=3, words=5, seed=0):
    """Makes batches without text: ids 3 to 12, each followed by the next."""
    rng = np.random.default_rng(seed)
    batches = []
    for _ in range(count):
        starts = rng.integers(0, 10, size=rows)
        ids = 3 + (starts[:, None] + np.arange(words)) % 10
        tokens = [[f"word{i}" for i in row] for row in ids]
        batches.append(
            {
                "char_ids": small.char_ids(tokens),
                "token_ids": np.pad(ids, [(0, 0), (1, 1)]).astype("int32"),
            }
        )
        batches[-1]["token_ids"][:, -1] = 1
    return batches


def on_batches(corpus, directory, **arguments):
    """Pretrains on ready-made batches, without graphs."""
    defaults = {"vocabulary_size": 13, "num_sampled": 4, "progress": False}
    defaults |= {"epochs": 2, "validate_every": 3, "validation": [{}]}
    with without_graphs():
        return pretrain(SMALLER, corpus, directory=directory, **defaults | arguments)


@contextlib.contextmanager
def validation_is(values, weights=None):
    """Makes validation return these perplexities, and appends to `weights`."""
    values = iter(values)

    def measure(model, corpus):
        if weights is not None:
            weights.append(numpy_of(model.weights))
        return dict.fromkeys(("forward", "backward", "mean"), next(values))

    with mock.patch.object(recorder, "perplexity", measure):
        yield


def state_of(directory):
    """Reads the last checkpoint: arrays by name, and the progress but its clock."""
    path = max((directory / "checkpoints").iterdir())
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != PROGRESS}
        progress = json.loads(file[PROGRESS])
    del progress["seconds"], progress["interval"]["seconds"]
    for row in progress["rows"]:
        del row["seconds"], row["words_per_second"]
    return arrays, progress


def assert_same_state(some, other):
    """Compares checkpoints bit for bit."""
    (arrays, progress), (others, other_progress) = some, other
    assert progress == other_progress
    assert_same_arrays(arrays, others)


def assert_same_arrays(arrays, others):
    """Compares arrays by name, bit for bit."""
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


def timeless(directory):
    """Reads the rows of a history, without the clock."""
    rows = read_history(directory / "history.csv")
    return [dataclasses.replace(row, seconds=0.0, words_per_second=0.0) for row in rows]
