from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_elmo.downstream.best_epoch import BestEpoch, TagScoresByEpoch
from keras_elmo.text.tagged_sentence import TaggedSentence

SENTENCES = [
    TaggedSentence(["a"], ["B-X"]),
    TaggedSentence(["b", "c"], ["O", "B-X"]),
    TaggedSentence(["d"], ["B-Y"]),
]
TAGS = ["O", "B-X"]
# What an epoch predicts for the second and the first sentence, and its losses.
NONE = [[[0, 0], [0, 9]], [[0]]], [3.0, np.nan]
ALMOST = [[[0, 0], [1, 9]], [[0]]], [2.0, np.nan]
BEST = [[[0, 1], [1, 9]], [[0]]], [4.0, np.nan]
NONE_BUT_LIKELIER = NONE[0], [1.0, np.nan]


def run(epochs, patience=None):
    """Returns the weight, which is the number of an epoch, and the logs."""
    weight = keras.Variable(np.zeros(1))
    model = SimpleNamespace(trainable_variables=[weight], stop_training=False)
    results = iter([])
    scores = TagScoresByEpoch(
        SENTENCES,
        groups=[[1, 0], [2]],
        batches=[("x", "y")] * 2,
        score=lambda x, y: next(results),
        tags=TAGS,
    )
    best = BestEpoch(patience)
    best.set_model(model)
    logs = []
    for epoch, (numbers, losses) in enumerate(epochs):
        results = zip(map(np.array, numbers), losses, strict=True)
        weight.assign([epoch])
        logs.append({"loss": 1.0})
        scores.on_epoch_end(epoch, logs[-1])
        best.on_epoch_end(epoch, logs[-1])
        if model.stop_training:
            break
    best.restore()
    return float(keras.ops.convert_to_numpy(weight)[0]), logs


@pytest.mark.parametrize(
    ("epochs", "best"),
    [
        ([NONE, BEST, ALMOST], 1),
        ([BEST, ALMOST, BEST], 0),
        # Before a span is found, the loss decides.
        ([NONE, NONE_BUT_LIKELIER, NONE], 1),
        ([NONE_BUT_LIKELIER, ALMOST], 1),
        ([], 0),
    ],
)
def test_keeps_the_best(epochs, best):
    assert run(epochs)[0] == best


def test_patience():
    epochs = [ALMOST, NONE, NONE, NONE, BEST]
    assert run(epochs)[0] == 4
    best, logs = run(epochs, patience=2)
    assert (best, len(logs)) == (0, 3)


def test_logs():
    _, (logs,) = run([BEST])
    # The sentence with a tag that is not known has no loss, and counts otherwise.
    assert logs == {
        "loss": 1.0,
        "val_loss": 4.0,
        "val_accuracy": 3 / 4,
        "val_precision": 1.0,
        "val_recall": 2 / 3,
        "val_f1": 4 / 5,
    }


def test_without_scores():
    """No epoch is better than another, and none ends training."""
    best = BestEpoch(patience=1)
    best.set_model(SimpleNamespace(trainable_variables=[keras.Variable([1.0])]))
    for epoch in range(3):
        best.on_epoch_end(epoch, {"loss": 1.0})
    best.restore()
    assert not hasattr(best.model, "stop_training")
