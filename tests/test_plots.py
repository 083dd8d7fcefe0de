"""Pictures show the numbers that they are given."""

import dataclasses
import math
import sys

import numpy as np
import pytest

from keras_elmo import plots
from keras_elmo.files.run_history import HistoryRow, write_history
from keras_elmo.plots import plot_history, plot_mix_weights, plot_occurrences
from tests.helpers.images import record_figures, size_of_png
from tests.helpers.installed import require_installed

pytestmark = pytest.mark.graph


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, to be asked what stands on them."""
    require_installed("matplotlib")
    return record_figures(monkeypatch, (plots, "picture"))


# === Learning curves ===

ROW = HistoryRow(100, 0, 120_000, 60.0, 2e3, 0.2, 1.5, 6.5, 6.4, 600.0, 580.0)
LATER = HistoryRow(200, 0, 240_000, 60.0, 2e3, 0.2, 1.5, 5.5, 5.4, 300.0, 290.0)
# A run that has diverged is a run whose picture is wanted.
DIVERGED = HistoryRow(
    *(300, 0, 300_000, 60.0, 2e3, 0.2, 1.5),
    *(math.nan, 800.0, math.inf, 1e300),
)


def curves(figure):
    """The curves by the words before the comma and after it, without what follows."""
    (axes,) = figure.axes
    return {
        line.get_label().partition(" (")[0]: line.get_ydata()
        for line in axes.get_lines()
    }


def test_history(figures, tmp_path):
    """What is too high to be drawn leaves a gap."""
    assert plot_history([ROW, LATER, DIVERGED], tmp_path / "history.png")
    assert size_of_png(tmp_path / "history.png") == (840, 540)
    assert [path.name for path in tmp_path.iterdir()] == ["history.png"]
    for line in figures[0].axes[0].get_lines():
        np.testing.assert_allclose(line.get_xdata(), [0.12, 0.24, 0.3])
    wanted = {
        "forward, validation": [600, 300, math.nan],
        "forward, training": [math.exp(6.5), math.exp(5.5), math.nan],
        "backward, validation": [580, 290, math.nan],
        "backward, training": [math.exp(6.4), math.exp(5.4), math.nan],
    }
    drawn = curves(figures[0])
    assert [*drawn] == [*wanted]
    for name, values in wanted.items():
        np.testing.assert_allclose(drawn[name], values)


def test_history_of_files(figures, tmp_path):
    """A run's file, or its folder, is drawn as its rows are."""
    rows = [ROW, dataclasses.replace(LATER, perplexity_forward=None)]
    write_history(tmp_path / "history.csv", rows)
    for source in (rows, tmp_path / "history.csv", str(tmp_path)):
        assert plot_history(source, tmp_path / "a.png")
    for figure in figures:
        assert len(curves(figure)) == 4
        for name, values in curves(figures[0]).items():
            np.testing.assert_array_equal(curves(figure)[name], values)
    unvalidated = dataclasses.replace(
        ROW, perplexity_forward=None, perplexity_backward=None
    )
    assert plot_history([unvalidated] * 2, tmp_path / "a.png")
    assert [*curves(figures[-1])] == ["forward, training", "backward, training"]


@pytest.mark.parametrize(
    ("draw", "content", "error"),
    [
        (plot_history, None, "a.csv"),
        (plot_history, "loss_forward\n1\n", "a.csv: lacks the column words"),
        (plot_mix_weights, "a,b\n", "a.csv: lacks the column epoch"),
    ],
)
def test_files_of_something_else(draw, content, error, tmp_path):
    path = tmp_path / "a.csv"
    if content:
        path.write_text(content)
    with pytest.raises((FileNotFoundError, ValueError), match=error):
        draw(path, tmp_path / "a.png")


def test_no_history(tmp_path, monkeypatch):
    """Of less than two rows, or without matplotlib."""
    assert not plot_history([], tmp_path / "history.png")
    assert not plot_history([ROW], tmp_path / "history.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not plot_history([ROW, LATER], tmp_path / "history.png")
    assert list(tmp_path.iterdir()) == []


# === Mixes ===


def bars(figure):
    """The heights by layer, and the names of the groups."""
    (axes,) = figure.axes
    layers = [each for each in axes.containers if hasattr(each, "patches")]
    labels = [bar.get_label() for bar in layers]
    assert labels == [f"layer {k}" for k in range(len(layers))]
    heights = [[patch.get_height() for patch in bar.patches] for bar in layers]
    return heights, [label.get_text() for label in axes.get_xticklabels()]


def test_mix_weights(figures, tmp_path):
    mixes = {
        "품사": [[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]],
        # The mean of equal numbers may differ by a rounding error.
        "sentiment": [[99.9, 0.1, 0.8]] * 3,
    }
    plot_mix_weights(mixes, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")
    heights, names = bars(figures[0])
    assert names == [*mixes]
    np.testing.assert_allclose(heights, [[0.3, 99.9], [0.4, 0.1], [0.3, 0.8]])


def test_mix_weights_of_file(figures, tmp_path):
    """What MixWeightsLogger writes: the last epoch, with one mix or more."""
    text = "epoch,elmo/layer_0,elmo/layer_1,elmo/gamma,e/mix_1/layer_0,e/mix_1/layer_1"
    rows = [text, "0,0.5,0.5,1.0,0.5,0.5", "1,0.2,0.8,1.1,0.7,0.3", ""]
    (tmp_path / "mix.csv").write_text("\n".join(rows), encoding="utf-8")
    plot_mix_weights(tmp_path / "mix.csv", tmp_path / "a.png")
    heights, names = bars(figures[0])
    assert names == ["elmo", "e/mix_1"]
    np.testing.assert_allclose(heights, [[0.2, 0.7], [0.8, 0.3]])


# === Occurrences ===


def test_occurrences(figures, tmp_path):
    # In layer 0 a word has one vector, which is not drawn.
    vectors = np.zeros((6, 3, 5), "float16")
    vectors[:, 0] = [1, 2, 3, 4, 5]
    senses = ["boat", "pear"] * 3
    vectors[1::2, 2] = [10, 10, 0, 0, 0]
    plot_occurrences({"배": (vectors, senses)}, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")
    first, second = figures[0].axes
    assert first.get_title() == "배, layer 1"
    assert second.get_title() == "배, layer 2"
    for panel, apart in ((first, 0), (second, np.sqrt(200))):
        boat, pear = (points.get_offsets() for points in panel.collections)
        assert len(boat) == len(pear) == 3
        distance = np.linalg.norm(boat.mean(0) - pear.mean(0))
        np.testing.assert_allclose(distance, apart, atol=1e-3)
    legend = second.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["boat", "pear"]
    # It hides no point.
    assert legend.get_window_extent().x0 >= second.get_window_extent().x1


VECTORS = np.zeros((2, 3, 4))
SENSES = ["river", "money"]


@pytest.mark.parametrize(
    ("draw", "values", "message"),
    [
        (plot_mix_weights, {}, "`mixes` must hold"),
        (plot_mix_weights, {"a": [[0.5, 0.5], [1.0]]}, "one number of layers"),
        (plot_mix_weights, {"a": [[1.0]], "b": [[0.5, 0.5]]}, "one number of layers"),
        (plot_mix_weights, {"a": [[0.5, 0.5]], "b": [0.5, 0.5]}, "number of layers"),
        (plot_occurrences, {}, "must hold a word"),
        (plot_occurrences, {"a": (VECTORS, ["b"])}, "2 vectors and 1 senses of 'a'"),
        (plot_occurrences, {"a": (VECTORS[:1], ["b"])}, "1 vectors and 1 senses"),
        (
            plot_occurrences,
            {"배": (VECTORS + np.nan, SENSES)},
            "finite .*: others of '배'",
        ),
        (
            plot_occurrences,
            {"a": (VECTORS, SENSES), "b": (VECTORS[:, :1], SENSES)},
            "one number of layers",
        ),
    ],
)
def test_refused(draw, values, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        draw(values, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
