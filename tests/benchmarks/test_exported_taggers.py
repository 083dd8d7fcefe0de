import json

import pytest

from tests.helpers.installed import require_installed
from tests.helpers.tasks import random_tagger


@pytest.mark.benchmark
def test_it_compares_and_measures(benchmark, tmp_path, capsys):
    require_installed("ai_edge_litert")
    tagger = random_tagger(static=None)
    tagger.optimizer.build(tagger.trainable_variables)
    tagger.save(tmp_path / "names.keras")
    dev = tmp_path / "dev.conll"
    dev.write_text("Ada B-PER\nsat O\n\nRome B-LOC\n" * 3)
    out = tmp_path / "out.json"
    arguments = ["--tagger", str(tmp_path / "names.keras"), "--corpus", str(dev)]
    benchmark("exported_taggers").main(
        [*arguments, "--repeats", "1", "--out", str(out)]
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["words"] == 9
    for row in result["rows"]:
        assert row["bytes"] > 0 and row["words_per_second"][0] > 0
        if "int8" not in row["road"]:
            assert row["other_sentences"] == 0
    assert capsys.readouterr().out.count("| LiteRT") == 2
