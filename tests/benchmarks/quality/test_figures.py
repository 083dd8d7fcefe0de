"""Figures show the numbers that they are given."""

import csv

import pytest

from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.images import size_of_png

pytestmark = pytest.mark.graph

MEASURED = BENCHMARKS / "results" / "training_curves.csv"


@pytest.fixture
def figures(quality):
    pytest.importorskip("matplotlib")
    return quality("figures")


def test_perplexities(figures, tmp_path, monkeypatch):
    drawn, figure = [], figures.Figure
    monkeypatch.setattr(
        figures, "Figure", lambda **sizes: drawn.append(figure(**sizes)) or drawn[-1]
    )
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
