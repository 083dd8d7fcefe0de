"""The pictures of tasks show the numbers that they are given."""

import numpy as np
import pytest

from keras_elmo.plots import (
    plot_layer_scores,
    plot_mix_weights,
    plot_occurrences,
    plot_sample_efficiency,
    spread,
)


def test_mix_weights(figures, tmp_path, size_of_png):
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


@pytest.mark.parametrize("score", [99.9, 0.1])
def test_seeds_that_agree(score, figures, tmp_path, size_of_png):
    """Their mean may be beside them by a rounding error."""
    plot_layer_scores({"tags": [[score] * 3]}, tmp_path / "a.png")
    plot_mix_weights({"tags": [[score, 1 - score]] * 3}, tmp_path / "b.png")
    plot_sample_efficiency({"ELMo": {9: [score] * 3}}, tmp_path / "c.png")
    for name in "abc":
        size_of_png(tmp_path / f"{name}.png")


def test_how_far_seeds_go():
    means, below, above = spread([[1, 2, 6], [4.0]], "scores")
    np.testing.assert_allclose([means, below, above], [[3, 4], [2, 0], [3, 0]])
    with pytest.raises(ValueError, match=r"`scores` must .* Received: \[\[1.0\], \[\]"):
        spread([[1.0], []], "scores")


def test_mix_weights_of_different_models(tmp_path):
    with pytest.raises(ValueError, match="one number of layers"):
        plot_mix_weights({"a": [[0.5, 0.5], [1.0]]}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="one number of layers"):
        plot_mix_weights({"a": [[1.0]], "b": [[0.5, 0.5]]}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="one number of layers"):
        plot_mix_weights({"a": [[0.5, 0.5]], "b": [0.5, 0.5]}, tmp_path / "a.png")
    with pytest.raises(ValueError, match="`mixes` must hold"):
        plot_mix_weights({}, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_layer_scores(figures, tmp_path, size_of_png):
    scores = {"tags": [[90, 92], [95, 97], [93, 93]], "senses": [[50], [60], [70]]}
    plot_layer_scores(scores, tmp_path / "a.png", baselines={"senses": 55.0})
    size_of_png(tmp_path / "a.png")
    tags, senses = figures[0].axes
    assert (tags.get_title(), senses.get_title()) == ("tags", "senses")
    np.testing.assert_allclose(tags.lines[0].get_ydata(), [91, 96, 93])
    np.testing.assert_allclose(senses.lines[0].get_ydata(), [50, 60, 70])
    drawn = [np.unique(line.get_ydata()).tolist() for line in senses.lines]
    assert [55.0] in drawn
    with pytest.raises(ValueError, match="must hold a task"):
        plot_layer_scores({}, tmp_path / "b.png")


def test_sample_efficiency(figures, tmp_path, size_of_png):
    curves = {
        "ELMo": {1000: [80, 82], 100: [70, 72]},
        "static": {100: [50], 1000: [75]},
    }
    plot_sample_efficiency(curves, tmp_path / "a.png", "NSMC")
    size_of_png(tmp_path / "a.png")
    (axes,) = figures[0].axes
    elmo, static = axes.lines
    np.testing.assert_allclose(elmo.get_xydata(), [[100, 71], [1000, 81]])
    np.testing.assert_allclose(static.get_xydata(), [[100, 50], [1000, 75]])
    assert axes.get_title() == "NSMC"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(curves)
    with pytest.raises(ValueError, match="must hold a model"):
        plot_sample_efficiency({}, tmp_path / "b.png")


def test_occurrences(figures, tmp_path, size_of_png):
    # In layer 0 a word has one vector; in layer 1 the two senses lie apart.
    vectors = np.zeros((6, 2, 5), "float32")
    vectors[:, 0] = [1, 2, 3, 4, 5]
    senses = ["boat", "pear"] * 3
    vectors[1::2, 1] = [10, 10, 0, 0, 0]
    plot_occurrences({"배": (vectors, senses)}, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")
    first, second = figures[0].axes
    assert first.get_title() == "배, layer 0 (the word alone)"
    assert second.get_title() == "배, layer 1"
    for panel, apart in ((first, 0), (second, np.sqrt(200))):
        boat, pear = (points.get_offsets() for points in panel.collections)
        assert len(boat) == len(pear) == 3
        distance = np.linalg.norm(boat.mean(0) - pear.mean(0))
        np.testing.assert_allclose(distance, apart, atol=1e-3)
    labels = [text.get_text() for text in second.get_legend().get_texts()]
    assert labels == ["boat", "pear"]


def test_occurrences_of_half_precision(figures, tmp_path, size_of_png):
    vectors = np.random.default_rng(0).normal(size=(4, 2, 5)).astype("float16")
    plot_occurrences({"배": (vectors, ["boat", "pear"] * 2)}, tmp_path / "a.png")
    size_of_png(tmp_path / "a.png")
    vectors[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="finite vectors. Received: others of '배'"):
        plot_occurrences({"배": (vectors, ["boat", "pear"] * 2)}, tmp_path / "b.png")


def test_occurrences_without_senses(tmp_path):
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
