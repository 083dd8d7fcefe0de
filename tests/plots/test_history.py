import dataclasses
import math
import sys

import numpy as np
import pytest

from keras_elmo.plots import plot_history
from keras_elmo.training.history import Row

ROW = Row(
    step=100,
    epoch=0,
    words=120_000,
    seconds=60.0,
    words_per_second=2_000.0,
    learning_rate=0.2,
    gradient_norm=1.5,
    loss_forward=6.5,
    loss_backward=6.4,
    perplexity_forward=600.0,
    perplexity_backward=580.0,
    perplexity_mean=590.0,
)
LATER = dataclasses.replace(
    ROW,
    step=200,
    words=240_000,
    loss_forward=5.5,
    loss_backward=5.4,
    perplexity_forward=300.0,
    perplexity_backward=290.0,
    perplexity_mean=295.0,
)


@pytest.mark.parametrize(
    "rows",
    [
        [ROW, LATER],
        # Without a validation text.
        [
            dataclasses.replace(
                row,
                perplexity_forward=None,
                perplexity_backward=None,
                perplexity_mean=None,
            )
            for row in (ROW, LATER)
        ],
        # A run that has diverged is a run whose picture is wanted.
        [
            ROW,
            dataclasses.replace(
                LATER,
                loss_forward=math.nan,
                loss_backward=800.0,
                perplexity_forward=math.inf,
                perplexity_backward=1e300,
                perplexity_mean=math.inf,
            ),
        ],
    ],
    ids=["whole", "no validation", "diverged"],
)
def test_the_picture_is_a_png(rows, tmp_path, size_of_png):
    pytest.importorskip("matplotlib")
    assert plot_history(rows, tmp_path / "history.png")
    assert size_of_png(tmp_path / "history.png") == (840, 540)
    assert [path.name for path in tmp_path.iterdir()] == ["history.png"]


def test_a_curve_has_what_was_measured(figures, tmp_path):
    diverged = dataclasses.replace(
        LATER, words=300_000, loss_forward=math.nan, perplexity_backward=1e300
    )
    assert plot_history([ROW, LATER, diverged], tmp_path / "history.png")
    (axes,) = figures[0].axes
    drawn = {line.get_label(): line for line in axes.get_lines()}
    for line in drawn.values():
        np.testing.assert_allclose(line.get_xdata(), [0.12, 0.24, 0.3])
    for label, wanted in {
        "forward, validation": [600, 300, 300],
        "backward, validation": [580, 290, math.nan],
        "forward, training": [math.exp(6.5), math.exp(5.5), math.nan],
        "backward, training": [math.exp(6.4), math.exp(5.4), math.exp(5.4)],
    }.items():
        (found,) = [line for name, line in drawn.items() if name.startswith(label)]
        np.testing.assert_allclose(found.get_ydata(), wanted)


def test_a_point_is_no_curve(tmp_path):
    assert not plot_history([], tmp_path / "history.png")
    assert not plot_history([ROW], tmp_path / "history.png")
    assert list(tmp_path.iterdir()) == []


def test_there_is_no_picture_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not plot_history([ROW, LATER], tmp_path / "history.png")
    assert list(tmp_path.iterdir()) == []
