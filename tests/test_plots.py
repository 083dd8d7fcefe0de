"""Pictures show the numbers that they are given."""

import dataclasses
import math
import sys

import numpy as np
import pytest

from keras_elmo.files.run_history import HistoryRow, write_history
from keras_elmo.plots import (
    history,
    mix_weights,
    occurrences,
    plot_history,
    plot_mix_weights,
    plot_occurrences,
)
from tests.helpers.images import record_figures, size_of_png
from tests.helpers.installed import require_installed

pytestmark = pytest.mark.graph


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, to be asked what stands on them."""
    require_installed("matplotlib")
    places = [(module, "picture") for module in (history, mix_weights, occurrences)]
    return record_figures(monkeypatch, *places)


# === Learning curves ===

ROW = HistoryRow(
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
def test_history_png(rows, tmp_path):
    require_installed("matplotlib")
    assert plot_history(rows, tmp_path / "history.png")
    assert size_of_png(tmp_path / "history.png") == (840, 540)
    assert [path.name for path in tmp_path.iterdir()] == ["history.png"]


def test_history_curves(figures, tmp_path):
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


def test_history_of_one_row(tmp_path):
    assert not plot_history([], tmp_path / "history.png")
    assert not plot_history([ROW], tmp_path / "history.png")
    assert list(tmp_path.iterdir()) == []


def test_history_of_files(figures, tmp_path):
    """A run's file, or its folder, is drawn as its rows are."""
    rows = [ROW, dataclasses.replace(LATER, perplexity_forward=None)]
    write_history(tmp_path / "history.csv", rows)
    for given in (rows, tmp_path / "history.csv", str(tmp_path)):
        assert plot_history(given, tmp_path / "a.png")
    curves = [
        [line.get_ydata() for line in figure.axes[0].get_lines()] for figure in figures
    ]
    for found in curves[1:]:
        np.testing.assert_array_equal(found, curves[0])
    with pytest.raises(FileNotFoundError, match="nowhere.csv"):
        plot_history(tmp_path / "nowhere.csv", tmp_path / "b.png")
    with pytest.raises(ValueError, match="history.csv: lacks the column epoch"):
        (tmp_path / "history.csv").write_text("a,b\n", encoding="utf-8")
        plot_mix_weights(tmp_path / "history.csv", tmp_path / "b.png")
    with pytest.raises(ValueError, match="history.csv: lacks the column words"):
        (tmp_path / "history.csv").write_text("loss_forward\n1\n2\n")
        plot_history(tmp_path, tmp_path / "b.png")


def test_history_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not plot_history([ROW, LATER], tmp_path / "history.png")
    assert list(tmp_path.iterdir()) == []


# === Mixes ===


def test_mix_weights(figures, tmp_path):
    mixes = {
        "품사": [[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]],
        "sentiment": [[0.1, 0.1, 0.8]],
    }
    plot_mix_weights(mixes, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")
    (axes,) = figures[0].axes
    assert [label.get_text() for label in axes.get_xticklabels()] == list(mixes)
    bars = [container for container in axes.containers if hasattr(container, "patches")]
    heights = [[patch.get_height() for patch in bar.patches] for bar in bars]
    np.testing.assert_allclose(heights, [[0.3, 0.1], [0.4, 0.1], [0.3, 0.8]])
    assert [bar.get_label() for bar in bars] == ["layer 0", "layer 1", "layer 2"]


def test_mix_weights_of_file(figures, tmp_path):
    """What MixWeightsLogger writes: the last epoch, with one mix or more."""
    text = "epoch,elmo/layer_0,elmo/layer_1,elmo/gamma,e/mix_1/layer_0,e/mix_1/layer_1"
    rows = [text, "0,0.5,0.5,1.0,0.5,0.5", "1,0.2,0.8,1.1,0.7,0.3", ""]
    (tmp_path / "mix.csv").write_text("\n".join(rows), encoding="utf-8")
    plot_mix_weights(tmp_path / "mix.csv", tmp_path / "a.png")
    (axes,) = figures[0].axes
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["elmo", "e/mix_1"]
    bars = [container for container in axes.containers if hasattr(container, "patches")]
    heights = [[patch.get_height() for patch in bar.patches] for bar in bars]
    np.testing.assert_allclose(heights, [[0.2, 0.7], [0.8, 0.3]])


@pytest.mark.parametrize("score", [99.9, 0.1])
def test_equal_seeds(score, figures, tmp_path):
    """Their mean may be beside them by a rounding error."""
    plot_mix_weights({"tags": [[score, 1 - score]] * 3}, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")


def test_unequal_mix_weights(tmp_path):
    with pytest.raises(ValueError, match="one number of layers"):
        plot_mix_weights({"a": [[0.5, 0.5], [1.0]]}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="one number of layers"):
        plot_mix_weights({"a": [[1.0]], "b": [[0.5, 0.5]]}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="one number of layers"):
        plot_mix_weights({"a": [[0.5, 0.5]], "b": [0.5, 0.5]}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="`mixes` must hold"):
        plot_mix_weights({}, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


# === Occurrences ===


def test_occurrences(figures, tmp_path):
    # In layer 0 a word has one vector, which is not drawn.
    vectors = np.zeros((6, 3, 5), "float32")
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


def test_half_precision_occurrences(figures, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(4, 2, 5)).astype("float16")
    plot_occurrences({"배": (vectors, ["boat", "pear"] * 2)}, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")
    vectors[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="finite vectors. Received: others of '배'"):
        plot_occurrences({"배": (vectors, ["boat", "pear"] * 2)}, tmp_path / "b.png")


def test_invalid_occurrences(tmp_path):
    vectors = np.zeros((2, 3, 4))
    with pytest.raises(ValueError, match="2 vectors and 1 senses of 'bank'"):
        plot_occurrences({"bank": (vectors, ["river"])}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="1 vectors and 1 senses"):
        plot_occurrences({"bank": (vectors[:1], ["river"])}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="must hold a word"):
        plot_occurrences({}, tmp_path / "a.png")
    senses = ["river", "money"]
    both = {"bank": (vectors, senses), "play": (vectors[:, :1], senses)}
    with pytest.raises(ValueError, match="one number of layers"):
        plot_occurrences(both, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
