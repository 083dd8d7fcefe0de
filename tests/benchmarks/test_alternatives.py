"""The forms of a tiny model, and a transformer that knows three words."""

import json
import sys

import numpy as np
import pytest

from tests.helpers.installed import import_installed, require_installed

TEXT = "One sentence . And another one .\nA third .\n"


def result():
    figures = {
        "words_per_second": [90.0, 100.0, 110.0],
        "words": 500,
        "sentences": 20,
        "peak_bytes": 1.5e9,
    }
    row = {"model": "elmo-en", "form": "ONNX", "bytes": 374e6}
    row |= {"first_seconds": [0.7, 0.9, 0.8], "batch_sizes": {"1": figures}}
    row["batch_sizes"]["32"] = {**figures, "peak_bytes": 2e9}
    return {"batch_sizes": [1, 32], "rows": [row]}


def test_a_row_is_a_form(benchmark):
    """Memory is that of 32 sentences, where they were measured."""
    table = benchmark("alternatives").table(result()).splitlines()
    assert table[2] == (
        "| elmo-en | ONNX | 100 (90 to 110) | 100 (90 to 110) | 250.0 | 0.8 | 374 "
        "| 2,000 |"
    )
    assert len(table) == 3


def test_one_batch_size(benchmark):
    """A sentence by itself was not measured."""
    measured = result()
    measured["batch_sizes"] = [32]
    del measured["rows"][0]["batch_sizes"]["1"]
    line = benchmark("alternatives").table(measured).splitlines()[2]
    assert line == "| elmo-en | ONNX | 100 (90 to 110) |  | 0.8 | 374 | 2,000 |"


@pytest.mark.benchmark
def test_it_compares_and_measures(benchmark, tmp_path, capsys):
    text, out = tmp_path / "text.txt", tmp_path / "out.json"
    text.write_text(TEXT * 300)
    arguments = ["--presets", "tiny", "--models", "--batch-sizes", "1"]
    arguments += ["--repeats", "1"]
    arguments += ["--corpus", str(text), "--out", str(out)]
    benchmark("alternatives").main(arguments)
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    forms = ["Keras", "SavedModel", "ONNX", "ONNX int8"]
    assert [row["form"] for row in rows] == forms
    for row in rows:
        assert row["bytes"] > 0 and all(second > 0 for second in row["first_seconds"])
        assert row["batch_sizes"]["1"]["sentences"] == 20
    assert capsys.readouterr().out.count("| tiny |") == 4


@pytest.mark.graph
def test_the_transformer_reads_pieces(benchmark, tmp_path):
    """Without the padding of a batch."""
    onnx = import_installed("onnx")
    tokenizers = import_installed("tokenizers")
    require_installed("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "one", "word", "##s"]
    pieces = tokenizers.BertWordPieceTokenizer(
        {word: number for number, word in enumerate(words)}
    )
    pieces.save(str(tmp_path / "tokenizer.json"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "pieces"])
        for name in benchmark("alternatives")._INPUTS
    ]
    name = "last_hidden_state"
    table = np.eye(len(words), dtype="float32")
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None, None])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], [name])],
        "lookup",
        inputs,
        [output],
        [numpy_helper.from_array(table, "table")],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, ir_version=8, opset_imports=[opset])
    onnx.save(model, tmp_path / "model.onnx")
    (tmp_path / "text.json").write_text(json.dumps([["One"], ["Words", "one"]]))
    child = benchmark("inference").Child
    path = tmp_path / "model.onnx"
    with child(sys.executable, "transformer", "float32", path, 2) as process:
        answer = process.embed(tmp_path / "text.json", 2, compare=True)
    assert answer["words"] == 3
    numbers = [vectors.argmax(axis=-1).tolist() for vectors in answer["vectors"]]
    assert numbers == [[2, 4, 3], [2, 5, 6, 4, 3]]
