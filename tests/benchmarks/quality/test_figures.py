"""Figures show the numbers that they are given."""

import csv

import pytest

from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.images import record_figures, size_of_png

pytestmark = pytest.mark.graph

MEASURED = BENCHMARKS / "results" / "training_curves.csv"


@pytest.fixture
def figures(quality):
    pytest.importorskip("matplotlib")
    return quality("figures")


@pytest.fixture
def drawn(figures, monkeypatch):
    """The figures that are drawn, to be asked what stands on them."""
    return record_figures(monkeypatch, (figures, "_picture"))


def test_layers(figures, drawn, tmp_path):
    scores = {"tags": [[90, 92], [95, 97], [93, 93]], "senses": [[50], [60], [70]]}
    figures.draw_layers(scores, tmp_path / "a.png", {"senses": 55.0})
    size_of_png(tmp_path / "a.png")
    # All tasks have one scale: points more than layer 0.
    (axes,) = drawn[0].axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["tags\nlayer 0: 91.0 %", "senses\nlayer 0: 50.0 %"]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([5, 2, 10, 20])
    assert [text.get_text() for text in axes.texts] == ["96.0", "93.0", "60.0", "70.0"]
    colors = [text.get_color() for text in axes.texts]
    assert colors == ["black", "0.5", "0.5", "black"]
    assert [5, 5] in [list(line.get_xdata()) for line in axes.lines]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(labels) == ["baseline", "layer 1", "layer 2"]


@pytest.mark.parametrize("score", [99.9, 0.1])
def test_equal_seeds(score, figures, tmp_path):
    """Their mean may be beside them by a rounding error."""
    figures.draw_layers({"tags": [[score] * 3] * 2}, tmp_path / "a.png", {})
    size_of_png(tmp_path / "a.png")


def test_perplexities(figures, drawn, tmp_path):
    figures.draw_perplexities(MEASURED, tmp_path)
    names = ["perplexity-elmo-en.png", "perplexity-elmo-ko.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for path in tmp_path.iterdir():
        size_of_png(path)
    with open(MEASURED, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    points = [len(line.get_xdata()) for each in drawn for line in each.axes[0].lines]
    assert sum(points) == len(rows)


def test_cards_have_the_end_of_each_run():
    with open(MEASURED, encoding="utf-8", newline="") as file:
        ends = {
            (row["model"], row["run"], row["max_words"]): row["perplexity"]
            for row in csv.DictReader(file)
        }
    for (model, *run), perplexity in ends.items():
        card = (BENCHMARKS.parent / "saved_models" / f"{model}.md").read_text("utf-8")
        assert perplexity in card, (model, *run)
