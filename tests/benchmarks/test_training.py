"""The trainer counts what the text says, the peer is called as documented."""

import argparse
import json
import math
import shlex
import sys

import pytest

import keras_elmo

pytestmark = pytest.mark.graph

SENTENCES = [
    "the bank closed",
    "the river flows by the bank .",
    "배 가 고프다",
    "x",
    "the bank of the river flows and flows and flows .",
] * 8
# In words and one boundary a sentence.
NUM_TOKENS = sum(len(sentence.split(" ")) + 1 for sentence in SENTENCES)

# Writes down its arguments, and what a peer has to write.
PEER = """
import json, sys
names = [name[2:] for name in sys.argv[2::2]]
arguments = dict(zip(names, sys.argv[3::2]))
with open(sys.argv[1], "a") as log:
    log.write(json.dumps(arguments) + "\\n")
print("not JSON")
seed = int(arguments["seed"])
speed = 10.0 * (seed + 1)
with open(arguments["out"], "w") as out:
    json.dump({
        "system": "peer",
        "words_per_second": [speed, 2 * speed, 6 * speed],
        "tokens": 1280 * int(arguments["batches"]),
        "perplexity": {"one": 300.0, "other": 100.0 + seed},
        "peak_bytes": 1000,
        "more": "is not kept",
    }, out)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The text, and its vocabulary."""
    folder = tmp_path_factory.mktemp("text")
    for number, part in enumerate((SENTENCES[:25], SENTENCES[25:])):
        text = "".join(f"{sentence}\n" for sentence in part)
        (folder / f"part-{number}.txt").write_text(text, encoding="utf-8")
    vocabulary = keras_elmo.Vocabulary.count(folder / "part-*.txt", "whitespace")
    vocabulary.save(folder / "vocabulary.txt")
    return folder


@pytest.fixture
def corpus(files):
    vocabulary = keras_elmo.Vocabulary.load(files / "vocabulary.txt")
    return keras_elmo.Corpus(
        files / "part-*.txt", vocabulary, "whitespace", batch_tokens=66
    )


@pytest.fixture
def peer(tmp_path):
    """A peer's command line, with a space in it, and where it logs its calls."""
    script = tmp_path / "the peer.py"
    script.write_text(PEER, encoding="utf-8")
    log = tmp_path / "log"
    return f"{sys.executable} '{script}' {log}", log


def test_training_stays_within_its_tokens(benchmark, corpus):
    trainer = benchmark("trainer_keras_elmo")
    whole = trainer.TimedBatches(corpus, NUM_TOKENS)
    assert sum(len(batch["token_ids"]) for batch in whole) == len(SENTENCES)
    assert sum(whole.tokens) == NUM_TOKENS
    assert len(whole.moments) == len(whole.tokens) + 1
    assert whole.moments == sorted(whole.moments)
    less = trainer.TimedBatches(corpus, NUM_TOKENS - 1)
    assert len(list(less)) == len(whole.tokens) - 1
    # The text is read again.
    more = trainer.TimedBatches(corpus, 2 * NUM_TOKENS)
    list(more)
    assert sum(more.tokens) == 2 * NUM_TOKENS


def test_the_first_group_is_not_timed(benchmark):
    tokens = [7] * 10 + [1] * 10 + [2] * 10 + [3] * 9
    moments = [0.0] * 11 + [0.5 * k for k in range(1, 30)]
    speeds = benchmark("trainer_keras_elmo").speeds(tokens, moments)
    assert speeds == [pytest.approx(2), pytest.approx(4)]


def test_a_summary_is_of_medians(benchmark):
    runs = [
        {
            "system": "peer",
            "words_per_second": speeds,
            "tokens": 1280,
            "perplexity": readings,
            "peak_bytes": peak,
        }
        for speeds, readings, peak in (
            ([1, 2, 9], {"one": 50.0, "other": 40.0}, 5),
            ([4, 4, 4], {"one": 20.0, "other": 30.0}, 7),
            ([3, 3, 3], {"one": 70.0, "other": 60.0}, 6),
        )
    ]
    summary = benchmark("training").summary(runs)
    assert summary.pop("runs") == runs
    assert summary == {
        "system": "peer",
        "median": 3,
        "words_per_second": [2, 4, 3],
        "tokens": 1280,
        "perplexity": 40.0,
        "peak_bytes": 6,
    }


def test_a_peer_is_called_as_documented(benchmark, peer):
    command, log = peer
    options = argparse.Namespace(
        text="train/*.txt", vocab="v.txt", heldout="h.txt", batches=30, repeats=3
    )
    (summary,) = benchmark("training").compare([shlex.split(command)], options)
    assert summary["words_per_second"] == [20, 40, 60]
    assert summary["median"] == 40
    assert summary["perplexity"] == 101.0
    assert summary["tokens"] == 30 * 1280
    assert "more" not in summary["runs"][0]
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert [call.pop("seed") for call in calls] == ["0", "1", "2"]
    places = {call.pop(name) for call in calls for name in ("dir", "out")}
    assert len(places) == 6
    for call in calls:
        assert call == {
            "text": "train/*.txt",
            "vocab": "v.txt",
            "batches": "30",
            "heldout": "h.txt",
        }


def test_an_update_out_of_files_is_compared_with_one_out_of_memory(benchmark):
    pipeline = benchmark("trainer_keras_elmo")
    summary = pipeline.summary(
        {"memory": [2.0, 9.0, 1.0], "files": [3.0, 1.0, 8.0], "reading_alone": [0.5]}
    )
    assert summary["median"] == {"memory": 2.0, "files": 3.0, "reading_alone": 0.5}
    assert summary["longer"] == 0.5


def test_every_batch_is_used_once(benchmark):
    used = []
    seconds = benchmark("trainer_keras_elmo").seconds_a_batch(iter("abc"), used.append)
    assert used == ["a", "b", "c"] and seconds > 0


@pytest.mark.whole
def test_the_whole_benchmark(benchmark, files, peer, tmp_path, capsys):
    command, _ = peer
    out = tmp_path / "out.json"
    text = tmp_path / "text.txt"
    # Enough for one pass: to begin another one takes time.
    text.write_text("\n".join(100 * SENTENCES), encoding="utf-8")
    benchmark("training").main(
        [
            *("--text", str(text)),
            *("--vocab", str(files / "vocabulary.txt")),
            *("--heldout", str(files / "part-0.txt")),
            *("--peer", command),
            *("--preset", "tiny"),
            *("--batches", "22"),
            *("--repeats", "1"),
            *("--out", str(out)),
        ]
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    # Nothing of where the files lay.
    assert str(tmp_path) not in json.dumps(result)
    assert [system["system"] for system in result["systems"]] == [
        "keras_elmo, float32",
        "keras_elmo, mixed_bfloat16",
        "peer",
    ]
    for ours in result["systems"][:2]:
        assert 21 * 1280 <= ours["tokens"] <= 22 * 1280
        assert math.isfinite(ours["perplexity"])
        assert len(ours["runs"]) == 1 and all(ours["words_per_second"])
    pipeline = result["pipeline"]
    assert set(pipeline["seconds_a_batch"]) == {"memory", "files", "reading_alone"}
    assert all(0 < each < math.inf for each in pipeline["median"].values())
    table = capsys.readouterr().out
    benchmark("report").main([str(out)])
    assert table.strip() in capsys.readouterr().out
