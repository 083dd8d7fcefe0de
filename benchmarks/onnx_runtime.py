"""How fast are exported ONNX files, next to the encoder on TensorFlow? Words/s.

All get the same character ids, of real sentences, in batches of like length and in
their natural order, in one process, in turn. Their layers are compared before anything
is timed.

    python benchmarks/onnx_runtime.py --out onnx_runtime.json
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import common
import inference
import numpy as np
from common import markdown_table

_SENTENCES = 256
_TOLERANCE = 1e-5

Run = Callable[[np.ndarray], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        preset="mini",
        repeats=5,
    )
    sentences = inference.read_sentences(options.corpus)[:_SENTENCES]
    with tempfile.TemporaryDirectory() as folder:
        systems = make_systems(options.preset, Path(folder))
        sizes = {file.stem: file.stat().st_size for file in Path(folder).iterdir()}
    rows = []
    for order in ("like length", "natural"):
        ordered = sorted(sentences, key=len) if order == "like length" else sentences
        for batch_size in (1, 32):
            batches = list(read_batches(ordered, batch_size))
            one, _, other = (run(batches[-1][0]) for run in systems.values())
            pairs = zip(one, other, strict=True)
            difference = max(float(np.abs(a - b).max()) for a, b in pairs)
            if difference > _TOLERANCE:
                raise RuntimeError(f"they differ by {difference}")
            timed = {name: partial(_speed, systems[name], batches) for name in systems}
            rows.append(
                {
                    "batch_size": batch_size,
                    "order": order,
                    "greatest_difference": difference,
                    "words_per_second": common.in_turn(timed, options.repeats),
                }
            )
    common.publish(options, table, file_bytes=sizes, rows=rows)


def make_systems(preset: str, folder: Path) -> dict[str, Run]:
    """Returns what computes the layers of each, boundaries left out."""
    import keras
    import onnxruntime
    import tensorflow as tf

    import keras_elmo

    keras.utils.set_random_seed(0)
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset(preset))
    embedding = keras_elmo.ElmoEmbedding(encoder)
    sessions = {}
    for kind in (None, "int8"):
        file = folder / f"{kind or 'float32'}.onnx"
        keras_elmo.export_onnx(embedding, file, quantize=kind)
        sessions[kind] = onnxruntime.InferenceSession(file)
    names = [f"lstm_outputs{k + 1}" for k in range(encoder.config.num_layers)]
    ids = tf.TensorSpec([None, None, 50], tf.int32)
    layers = tf.function(embedding.token_layers, [ids], autograph=False)
    return {
        "ONNX Runtime": lambda x: sessions[None].run(names, {"char_ids": x}),
        "int8": lambda x: sessions["int8"].run(names, {"char_ids": x}),
        "TensorFlow": lambda x: [layer.numpy() for layer in layers(x)[1:]],
    }


def read_batches(sentences: Sequence[Sequence[str]], size: int) -> Any:
    """Yields `(char_ids, number of words)`."""
    import tensorflow as tf

    import keras_elmo

    character_ids = keras_elmo.CharacterIds()
    for start in range(0, len(sentences), size):
        batch = sentences[start : start + size]
        tokens = tf.ragged.constant(batch, dtype=tf.string).to_tensor("")
        yield character_ids(tokens).numpy(), sum(map(len, batch))


def _speed(run: Run, batches: Sequence[tuple[np.ndarray, int]]) -> float:
    """Returns words/s."""
    began = time.perf_counter()
    for ids, _ in batches:
        run(ids)
    return sum(count for _, count in batches) / (time.perf_counter() - began)


def table(result: common.Result) -> str:
    """Returns the figures, one row per batch size and order."""
    header = ["Preset", "Sentences a batch", "Order", "ONNX Runtime, words/s"]
    header += ["int8, words/s", "TensorFlow, words/s", "Greatest difference"]
    rows = []
    for row in result["rows"]:
        speeds = row["words_per_second"].values()
        about = [result["preset"], str(row["batch_size"]), row["order"]]
        figures = [f"{statistics.median(each):,.0f}" for each in speeds]
        rows.append([*about, *figures, f"{row['greatest_difference']:.1e}"])
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
