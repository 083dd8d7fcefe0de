"""No TensorFlow is needed, and what is counted is what is computed."""

import json
import math

import numpy as np
import pytest

import keras_elmo
from keras_elmo.config import MAX_CHARACTERS
from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import require_installed
from tests.helpers.small import CONFIG

LINES = ["the river flows by", "the bank closes", "a boat is on the river"]

_RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); import gpu; gpu.main(sys.argv[2:]);"
    "assert sys.modules['tensorflow'] is None"
)


@pytest.fixture
def gpu_runs(benchmark):
    """What measures, imported here."""
    require_installed("jax")
    return benchmark("gpu_runs")


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


def test_positions_are_those_of_the_text(gpu_runs, tmp_path):
    # Sentences of many lengths: their batches have padding.
    lines = ("the 배 " * k for k in range(1, 20))
    (tmp_path / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    vocabulary = keras_elmo.Vocabulary.count(tmp_path / "text.txt")
    corpus = keras_elmo.Corpus(tmp_path / "text.txt", vocabulary, batch_tokens=66)
    ids = gpu_runs.positions_of(corpus, 400)
    assert 400 <= len(ids["token_ids"]) <= 418
    assert (ids["token_ids"] >= 0).all() and ids["char_ids"].any(axis=1).all()
    starts, ends = (np.count_nonzero(ids["token_ids"] == k) for k in (0, 1))
    assert starts == ends > 0


def test_rows_are_full_and_read_again(gpu_runs):
    ids = {"char_ids": np.arange(14).reshape(7, 2), "token_ids": np.arange(7)}
    rows = gpu_runs.full_rows(ids, 3, 3)
    assert rows["token_ids"].tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    assert rows["char_ids"].shape == (3, 3, 2)
    assert (rows["char_ids"][..., 0] == 2 * rows["token_ids"]).all()
    with pytest.raises(ValueError, match="at most the positions of the text, 7"):
        gpu_runs.full_rows(ids, 3, 8)


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    """In a process that has TensorFlow, and does not touch it."""
    dtype = "mixed_bfloat16"
    require_installed("jax")
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    sizes = "--preset tiny --batch 2 --row-length 5 --num-sampled 8 --steps 12"
    arguments = f"{sizes} --vocabulary-size 20 --repeats 3 --product-size 16"
    out = tmp_path / "gpu.json"
    printed = run_python(
        *(
            "-c",
            _RUN,
            BENCHMARKS,
            "--corpus",
            "text.txt",
            "--out",
            out,
            "--dtype",
            dtype,
        ),
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
