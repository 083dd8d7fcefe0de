"""The pictures of the models' cards are of the figures that stand there."""

import csv

from tests.benchmarks.conftest import BENCHMARKS

PNG = b"\x89PNG"


def test_a_picture_of_each_model(benchmark, tmp_path):
    curves = benchmark("training_curves")
    curves.main(["--folder", str(tmp_path)])
    names = ["perplexity-elmo-en.png", "perplexity-elmo-ko.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(PNG)


def test_the_cards_have_the_end_of_each_run():
    measured = (BENCHMARKS / "results" / "training_curves.csv").read_text("utf-8")
    ends = {
        (row["model"], row["run"], row["max_words"]): row["perplexity"]
        for row in csv.DictReader(measured.splitlines())
    }
    for (model, *run), perplexity in ends.items():
        card = (BENCHMARKS.parent / "saved_models" / f"{model}.md").read_text("utf-8")
        assert perplexity in card, (model, *run)
