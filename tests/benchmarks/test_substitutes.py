"""Words in their place are measured as they are meant."""

import json
import lzma
import math

import keras_elmo
from keras_elmo.text.vocabulary import SPECIALS
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG
from tests.words.test_substitutes import ALL_WORDS, SENTENCE


def test_perplexity_at_the_place(benchmark, tmp_path, capsys):
    """By counts, as `substitutes` finds it; by rank and without a prior, as well."""
    run = write_pretrained(tmp_path / "run", CONFIG, ALL_WORDS)
    counts = [0, 0, 5, *range(60, 0, -10)]
    keras_elmo.Vocabulary(ALL_WORDS, counts).save(run.vocabulary)
    (tmp_path / "wiki").mkdir()
    with lzma.open(tmp_path / "wiki" / "dev.txt.xz", "wt", encoding="utf-8") as file:
        file.write(" ".join(SENTENCE) + "\n\n")
    out = tmp_path / "substitutes.json"
    model = str(tmp_path / "run")
    arguments = ["--models", model, "--texts", "wiki", "--data", str(tmp_path)]
    benchmark("substitutes").main([*arguments, "--out", str(out)])
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [row["prior"] for row in rows] == ["none", "rank", "counts"]
    # One word is unknown; the vocabulary has fewer than ten.
    assert {(row["places"], row["top_10"]) for row in rows} == {(5, 100)}
    logs = []
    for place, word in enumerate(SENTENCE):
        found = keras_elmo.substitutes(model, SENTENCE, place, len(ALL_WORDS))
        assert len(found) == len(ALL_WORDS) - len(SPECIALS)
        logs += [math.log(each.probability) for each in found if each.word == word]
    expected = math.exp(-sum(logs) / len(logs))
    assert abs(rows[2]["perplexity"] - expected) < 1e-3 * expected
    assert "| by rank | 5 |" in capsys.readouterr().out
