"""The bounds of `roofline.py`: products, or the reading of their weights."""

import numpy as np

import keras_elmo

CONFIG = keras_elmo.ElmoConfig.preset("tiny")
# Two sentences of three and one words, with their boundaries.
LENGTHS = [5, 3]


def char_ids():
    rows = np.zeros((2, 5, 50), np.int32)
    for row, length in enumerate(LENGTHS):
        rows[row, :length, 0] = np.arange(1, length + 1)
    return rows


def test_bounds(benchmark):
    roofline = benchmark("roofline")

    def bounds(ceiling, bandwidth):
        return roofline.bounds(CONFIG, [char_ids()], 2, ceiling, bandwidth)

    found = bounds(1.0, np.inf)
    recurrent = 2 * CONFIG.num_layers * CONFIG.projection_units * 4 * CONFIG.units
    step = found["its products of a step"]
    assert step == {
        "multiplying": 2 * recurrent * sum(LENGTHS),
        "reading": 0,
        "seconds": 2 * recurrent * sum(LENGTHS),
    }
    # Each of the five steps reads all weights, of two bytes.
    step = bounds(np.inf, 1.0)["its products of a step"]
    assert step["reading"] == step["seconds"] == 5 * 2 * recurrent
    # Three steps have two rows and two have one, whose weights take longer to read.
    step = bounds(1.0, 2 / 3)["its products of a step"]
    assert step["seconds"] == recurrent * (3 * 4 + 2 * 3)
    parts = [name for name in found if name.startswith("its")]
    for name in ("multiplying", "reading", "seconds"):
        assert found["biLM"][name] == sum(found[part][name] for part in parts)
