"""The benchmark's own parts: what is read, what is compared, and the child."""

import json
import subprocess
import sys

import numpy as np
import pytest

import keras_elmo
from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.fresh_process import environment
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.graph

SENTENCES = [["I", "sat", "down", "."], ["배", "가", "고프다"], ["Why", "?"]]


def test_paragraphs_are_cut_into_sentences(benchmark, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(" = Title = \n\n I sat . Why ? He left \n", encoding="utf-8")
    sentences = benchmark("inference").read_sentences(text)
    assert sentences == [["I", "sat", "."], ["Why", "?"], ["He", "left"]]


def test_agreement_finds_the_worst_word(benchmark):
    agreement = benchmark("inference").agreement
    ours = [np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0]])]
    others = [np.array([[1.0, 0.0], [0.0, 2.5]]), np.array([[4.0, 3.0]])]
    found = agreement(ours, others)
    assert found["greatest_difference"] == 1.0
    assert found["least_cosine"] == pytest.approx(24 / 25)
    assert agreement(ours, ours)["greatest_difference"] == 0


def test_no_system_may_leave_a_sentence_out(benchmark):
    with pytest.raises(ValueError, match="0 sentences instead of 1"):
        benchmark("inference").agreement([np.ones((1, 2))], [])


@pytest.mark.whole
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_child_embeds_as_the_library_does(dtype, tmp_path):
    """And keeps what libraries print away from its answers."""
    encoder = random_encoder()
    keras_elmo.save_published_weights(
        encoder, tmp_path / "options.json", tmp_path / "weights.hdf5"
    )
    (tmp_path / "text.json").write_text(json.dumps(SENTENCES), encoding="utf-8")
    requests = [
        {"sentences": str(tmp_path / "text.json"), "count": 2, "out": None},
        {
            "sentences": str(tmp_path / "text.json"),
            "count": 3,
            "out": str(tmp_path / "vectors.npz"),
        },
    ]
    child = subprocess.run(
        [
            sys.executable,
            str(BENCHMARKS / "embedder.py"),
            *("--system", "keras_elmo", "--model", str(tmp_path)),
            *("--batch-size", "2", "--dtype", dtype),
        ],
        input="".join(json.dumps(request) + "\n" for request in requests),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment(),
    )
    ready, *answers = map(json.loads, child.stdout.splitlines())
    assert ready == {"ready": True}
    assert [answer["words"] for answer in answers] == [7, 9]
    assert all(answer["seconds"] > 0 for answer in answers)
    if dtype != "float32":
        encoder = encoder.with_dtype(dtype)
    # A batch of another size may round another way.
    tolerance = 1e-5 if dtype == "float32" else 0.02
    expected = [layers.mean(axis=0) for layers in keras_elmo.embed(encoder, SENTENCES)]
    with np.load(tmp_path / "vectors.npz") as vectors:
        for k, wanted in enumerate(expected):
            np.testing.assert_allclose(vectors[f"arr_{k}"], wanted, atol=tolerance)
