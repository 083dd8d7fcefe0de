"""Ids travel without TensorFlow, and what is counted is what is computed."""

import json
import math

import numpy as np
import pytest

import keras_elmo
from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.text.character_ids import character_ids
from keras_elmo.text.vocabulary import UNKNOWN
from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import require_installed
from tests.helpers.small import CONFIG

SENTENCES = [
    [b"the", b"river", b"flows"],
    ["배".encode(), b"x" * 70, b"the"],
    [b"<S>", b"never-counted"],
]
LINES = ["the river flows by", "the bank closes", "a boat is on the river"]

_RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); import gpu; gpu.main(sys.argv[2:]);"
    "assert 'tensorflow' not in sys.modules"
)


@pytest.fixture
def gpu_runs(benchmark):
    """What measures, imported here."""
    require_installed("jax")
    return benchmark("gpu_runs")


def write_ids(benchmark, folder):
    """The ids of three lines of text."""
    (folder / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    ids = folder / "ids.npz"
    benchmark("gpu_ids").main([str(folder / "text.txt"), "--out", str(ids)])
    return ids


def multiplications(encoder):
    """Of one position: each element of a matrix has its turn once."""
    total = 0
    for weight in encoder.weights:
        if weight.name == "char_embedding" or len(weight.shape) < 2:
            continue
        windows = 1
        if len(weight.shape) == 3:
            windows = MAX_CHARACTERS - weight.shape[0] + 1
        total += windows * math.prod(weight.shape)
    return total


def test_ids_come_back_as_they_were(benchmark, tmp_path):
    gpu_ids = benchmark("gpu_ids")
    words = ["<S>", "</S>", "<UNK>", "the", "river", "flows", "배", "x" * 70]
    vocabulary = keras_elmo.Vocabulary(words)
    arrays = gpu_ids.compact_ids(SENTENCES, vocabulary)
    # "the" is spelt out once.
    assert arrays["spellings"].shape == (7 + 2, MAX_CHARACTERS)
    np.savez_compressed(tmp_path / "ids.npz", **arrays)
    found = gpu_ids.expanded_ids(tmp_path / "ids.npz")
    spelt = [character_ids([sentence])[0].numpy() for sentence in SENTENCES]
    np.testing.assert_array_equal(found["char_ids"], np.concatenate(spelt))
    assert found["char_ids"].dtype == found["token_ids"].dtype == np.int32
    assert found["token_ids"].tolist() == [0, 3, 4, 5, 1, 0, 6, 7, 3, 1, 0, 2, 2, 1]


def test_the_text_ends_after_so_many_words(benchmark):
    first = benchmark("gpu_ids").first_sentences
    for words, sentences in ((1, 1), (3, 1), (4, 2), (99, 3)):
        assert list(first(SENTENCES, words)) == SENTENCES[:sentences]


def test_lines_become_a_file_of_ids(benchmark, tmp_path, capsys):
    ids = benchmark("gpu_ids").expanded_ids(write_ids(benchmark, tmp_path))
    said = capsys.readouterr().out
    assert said == "19 positions, 12 spellings, a vocabulary of 13\n"
    assert ids["char_ids"].shape == (19, MAX_CHARACTERS)
    assert (ids["token_ids"] > UNKNOWN).sum() == 13


@pytest.mark.parametrize(
    "config",
    [
        keras_elmo.ElmoConfig.preset("tiny"),
        CONFIG,
        # Nothing to project: as many filters as units.
        keras_elmo.ElmoConfig(filters=((2, 3), (9, 4)), units=5, projection_units=7),
    ],
)
def test_operations_are_those_of_the_weights(benchmark, config):
    encoder = keras_elmo.build_encoder(config)
    found = benchmark("flops").encoder_flops(config)
    assert found == 2 * multiplications(encoder)


def test_the_exact_softmax_reads_the_vocabulary(benchmark):
    head_flops = benchmark("flops").head_flops
    assert head_flops(CONFIG, 10, 4) == 2 * 7 * 5
    assert head_flops(CONFIG, 10, 99) == 2 * 7 * 11


def test_rows_are_full_and_read_again(gpu_runs):
    ids = {"char_ids": np.arange(14).reshape(7, 2), "token_ids": np.arange(7)}
    rows = gpu_runs.full_rows(ids, 3, 3)
    assert rows["token_ids"].tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    assert rows["char_ids"].shape == (3, 3, 2)
    assert (rows["char_ids"][..., 0] == 2 * rows["token_ids"]).all()
    with pytest.raises(ValueError, match="at most the positions of the text, 7"):
        gpu_runs.full_rows(ids, 3, 8)


def test_ids_beyond_the_softmax_are_refused(gpu_runs):
    gpu_runs.check_vocabulary(np.array([0, 8]), 9)
    with pytest.raises(ValueError, match="Received: vocabulary_size=8"):
        gpu_runs.check_vocabulary(np.array([0, 8]), 8)


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    """In a process that has TensorFlow, and does not touch it."""
    dtype = "mixed_bfloat16"
    require_installed("jax")
    ids = write_ids(benchmark, tmp_path)
    sizes = "--preset tiny --batch 2 --row-length 5 --num-sampled 8 --steps 12"
    arguments = f"{sizes} --vocabulary-size 20 --repeats 3 --product-size 16"
    out = tmp_path / "gpu.json"
    printed = run_python(
        *("-c", _RUN, BENCHMARKS, "--ids", ids, "--out", out, "--dtype", dtype),
        *arguments.split(),
        cwd=tmp_path,
        KERAS_BACKEND="jax",
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    # Three rows of five positions, read eight times. A boundary is no word.
    words_read = 8 * "bwwwwbbwwwbbwwwwwwb"[:15].count("w")
    positions = 2 * 5
    encoder = 2 * multiplications(
        keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    )
    # Both directions of four neighbours in each of two rows; 32 elements of the target
    # and of each candidate.
    head = 2 * (2 * 2 * 4) * 32 * (1 + 8)
    for work, step_flops in (
        ("inference", positions * encoder),
        ("training", 3 * (positions * encoder + head)),
    ):
        figures = result[work]
        assert figures["step_flops"] == step_flops
        assert figures["words"] == words_read
        assert figures["positions"] == 12 * positions
        assert len(figures["words_per_second"]) == 3
        seconds = words_read / figures["median"]
        assert figures["flops_per_second"] == pytest.approx(12 * step_flops / seconds)
    losses = result["training"]["losses"]
    # Three rows are soon known by heart: from 2.1 to 0.5, whatever the seed.
    assert len(losses) == 4 and losses[-1] < losses[0] / 2
    assert result["product_flops_per_second"] > 0
    assert str(tmp_path) not in json.dumps(result)
    capsys.readouterr()
    benchmark("report").main([str(out)])
    reported = capsys.readouterr().out
    assert printed.strip() in reported
    assert f"python benchmarks/gpu.py --preset tiny --dtype {dtype}" in reported


def test_a_row_is_a_kind_of_work(benchmark):
    figures = {
        "median": 60_000.0,
        "words_per_second": [59_000.0, 60_000.0, 61_000.0],
        "flops_per_second": 2e14,
        "peak_bytes": 12.34e9,
    }
    result = {
        "preset": "original",
        "dtype": "float32",
        "batch": 128,
        "row_length": 64,
        "product_flops_per_second": 8e14,
        "inference": figures,
        "training": {**figures, "peak_bytes": None},
    }
    table = benchmark("gpu").table(result).splitlines()
    assert table[2] == (
        "| original | float32 | 128 x 64 | inference | 60,000 | 59,000 to 61,000 "
        "| 200.0 | 25.0 | 12.3 |"
    )
    assert table[3].endswith("| 200.0 | 25.0 |  |")
