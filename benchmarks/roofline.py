"""How close do vectors come to what the processor can multiply, and read?

Times the encoder on batches of real sentences in their natural order, a large matrix
product in turn with it, and the parts of the encoder by themselves. The bound is the
least time of the products that have to be made: of every live position in the biLM, of
every distinct word of a batch in the character CNN, none of padding. A product takes
its multiplications at the speed of the large product, or the reading of its weights at
the speed of the product of one row, whichever is longer; in the recurrence that is so
for each step.

ONNX Runtime comes after TensorFlow, with each kind of file that `export_onnx` writes;
its bound is of its own large product. In 8 bits the convolutions, which stay in
float32, count as products of that kind, too.

    python benchmarks/roofline.py --out roofline.json
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import common
import keras
import numpy as np
import tensorflow as tf
from common import markdown_table
from flops import character_cnn_flops
from inference import read_sentences
from keras import ops

import keras_elmo
from keras_elmo.config import MAX_CHARACTERS, ElmoConfig
from keras_elmo.files.onnx_graph import OnnxGraph
from keras_elmo.layers.char_cnn_embedding import unique_words
from keras_elmo.text.character_ids import character_ids

_PRODUCT_SIZE = 2048
PRODUCT_FLOPS = 2 * _PRODUCT_SIZE**3
_NUM_BATCHES = 5
_LEAST_SENTENCES = 32
_READ_STEPS = 20
_BOUNDS = ("multiplying", "reading", "seconds")

Run = Callable[[], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        preset="original",
        batch_sizes=[1, 32],
        dtypes=["float32", "bfloat16"],
        onnx=(["float32", "int8"], "kinds of files for ONNX Runtime"),
        repeats=5,
    )
    sentences = read_sentences(options.corpus)
    keras.utils.set_random_seed(0)
    encoder = keras_elmo.build_encoder(ElmoConfig.preset(options.preset))
    bandwidth = _bandwidth(encoder.config)
    kinds = [(dtype, partial(_tensorflow_runs, dtype)) for dtype in options.dtypes]
    kinds += [(f"ONNX {kind}", partial(_onnx_runs, kind)) for kind in options.onnx]
    rows = []
    for kind, make_runs in kinds:
        for batch_size in options.batch_sizes:
            count = max(_NUM_BATCHES * batch_size, _LEAST_SENTENCES)
            batches = [
                _char_ids(sentences[start : start + batch_size])
                for start in range(0, count, batch_size)
            ]
            item_bytes, runs = make_runs(encoder, batches)
            timed = {name: partial(seconds_of, run) for name, run in runs.items()}
            label = f"seconds, {kind}, {batch_size}, "
            seconds = common.in_turn(timed, options.repeats, label)
            # The most that the processor has been seen to do.
            ceiling = PRODUCT_FLOPS / min(seconds.pop("product"))
            row = {
                "dtype": kind,
                "batch_size": batch_size,
                "batches": len(batches),
                "ceiling": ceiling,
                "bounds": bounds(
                    encoder.config, batches, item_bytes, ceiling, bandwidth
                ),
                "seconds": {name: statistics.median(s) for name, s in seconds.items()},
                "measured": seconds,
            }
            rows.append(row)
    common.publish(options, table, bandwidth=bandwidth, rows=rows)


def _tensorflow_runs(
    dtype: str, encoder: Any, batches: Sequence[np.ndarray]
) -> tuple[int, dict[str, Run]]:
    """Returns the bytes of a weight, and what is timed: all, a product, the parts."""
    encoder = encoder.with_dtype(dtype)
    runs: dict[str, Run] = {
        "whole": lambda: [encoder.predict_on_batch(batch) for batch in batches],
        "product": large_product(dtype),
    }
    return tf.as_dtype(dtype).size, runs | _parts(encoder, batches)


def _onnx_runs(
    kind: str, encoder: Any, batches: Sequence[np.ndarray]
) -> tuple[int, dict[str, Run]]:
    """Returns the bytes of a weight, and what is timed: all, and a large product."""
    import onnxruntime

    int8 = kind == "int8"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        keras_elmo.export_onnx(encoder, file, quantize="int8" if int8 else None)
        session = onnxruntime.InferenceSession(file)
    size = (_PRODUCT_SIZE, _PRODUCT_SIZE)
    one, other = (np.random.normal(size=size).astype("float32") for _ in range(2))
    graph = OnnxGraph("product", int8=int8)
    x = graph.input("x", "float32", size)
    graph.output(graph.affine(x, other), "float32", size)
    product = onnxruntime.InferenceSession(graph.serialize({}))
    layers = ["word_emb", "lstm_outputs1", "lstm_outputs2"]
    runs: dict[str, Run] = {
        "whole": lambda: [session.run(layers, {"char_ids": ids}) for ids in batches],
        "product": lambda: product.run(None, {"x": one}),
    }
    return 1 if int8 else 4, runs


def seconds_of(run: Run) -> float:
    """Returns how long a call takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _char_ids(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    longest = max(map(len, sentences))
    padded = [[*words, *[""] * (longest - len(words))] for words in sentences]
    return character_ids(tf.constant(padded)).numpy()


def bounds(
    config: ElmoConfig,
    batches: Sequence[np.ndarray],
    item_bytes: int,
    ceiling: float,
    bandwidth: float,
) -> dict[str, dict[str, float]]:
    """Returns the least seconds of the encoder and of its parts.

    Args:
        config: the sizes.
        batches: character ids.
        item_bytes: of a weight.
        ceiling: operations a second.
        bandwidth: bytes a second.

    Returns:
        For each part `multiplying` and `reading`, as if only one of them took time, and
        `seconds`, the sum of the longer one of every product.
    """
    units, projection_units = config.units, config.projection_units
    lstms = 2 * config.num_layers

    def products(rows: Sequence[int], flops: int, weights: int) -> dict[str, float]:
        """Products of so many rows each; `flops` are those of one row."""
        multiplying = [count * flops / ceiling for count in rows]
        reading = weights * item_bytes / bandwidth
        return {
            "multiplying": sum(multiplying),
            "reading": len(rows) * reading,
            "seconds": sum(max(each, reading) for each in multiplying),
        }

    words = [
        int(ops.shape(unique_words(batch.reshape(-1, MAX_CHARACTERS), 1)[0])[0])
        for batch in batches
    ]
    sizes = [_step_sizes(batch[..., 0] > 0).numpy() for batch in batches]
    tokens = [int(each.sum()) for each in sizes]
    steps = [int(size) for each in sizes for size in each]
    kernel, projection = 4 * units * projection_units, units * projection_units
    filters = sum(count for _, count in config.filters)
    # The filters themselves are few and applied to every character.
    cnn_weights = 2 * config.num_highway_layers * filters**2
    cnn_weights += filters * projection_units
    parts = {
        "character CNN": products(words, character_cnn_flops(config), cnn_weights),
        "its products of inputs": products(tokens, 2 * lstms * kernel, lstms * kernel),
        "its products of a step": products(steps, 2 * lstms * kernel, lstms * kernel),
        "its projections of a step": products(
            steps, 2 * lstms * projection, lstms * projection
        ),
    }
    bilm = {
        name: sum(parts[part][name] for part in parts if part.startswith("its"))
        for name in _BOUNDS
    }
    whole = {name: bilm[name] + parts["character CNN"][name] for name in _BOUNDS}
    return {"whole": whole, "biLM": bilm, **parts}


def _bandwidth(config: ElmoConfig) -> float:
    """Bytes a second of products of one row with the LSTMs' kernels, in float32.

    No type is read faster.
    """
    shape = (config.projection_units, 4 * config.units)
    kernels = [tf.random.normal(shape) for _ in range(2 * config.num_layers)]
    row = tf.random.normal((1, config.projection_units))
    steps = tf.ones([_READ_STEPS], tf.int32)
    run = _compiled(lambda: _loop(steps, row, kernels))
    size = 4 * _READ_STEPS * len(kernels) * shape[0] * shape[1]
    return size / min(seconds_of(lambda: run()[1].numpy()) for _ in range(_READ_STEPS))


def large_product(dtype: str) -> Run:
    """A large matrix product: the most that the processor is seen to multiply."""
    size = (_PRODUCT_SIZE, _PRODUCT_SIZE)
    one, other = (tf.cast(tf.random.normal(size), dtype) for _ in range(2))
    product = tf.function(lambda: tf.matmul(one, other)[0, 0], autograph=False)
    return lambda: product().numpy()


def _parts(encoder: Any, batches: Sequence[np.ndarray]) -> dict[str, Run]:
    """The encoder's layers by themselves, and the biLM's matrix products alone."""
    config = encoder.config
    embedding = encoder.get_layer("char_cnn_embedding")
    bilm = encoder.get_layer("bilm")
    dtype = bilm.compute_dtype
    embedded = [(embedding(batch), batch[..., 0] > 0) for batch in batches]
    sizes = [_step_sizes(mask) for _, mask in embedded]
    units, projection_units = config.units, config.projection_units
    largest = max(int(step[0]) for step in sizes)

    def weights(rows: int, columns: int) -> list[Any]:
        # A pair of directions a layer.
        pairs = range(2 * config.num_layers)
        return [tf.cast(tf.random.normal((rows, columns)), dtype) for _ in pairs]

    def of_steps(rows: int, columns: int) -> Run:
        kernels = weights(rows, columns)
        states = tf.cast(tf.random.normal((largest, rows)), dtype)
        run = _compiled(lambda step: _loop(step, states, kernels))
        return lambda: [run(step) for step in sizes]

    def of_inputs() -> Run:
        kernels = weights(projection_units, 4 * units)
        inputs = [
            tf.cast(tf.random.normal((int(mask.sum()), projection_units)), dtype)
            for _, mask in embedded
        ]
        run = _compiled(lambda x: [tf.matmul(x, kernel)[0, 0] for kernel in kernels])
        return lambda: [run(x) for x in inputs]

    run_embedding = _compiled(embedding)
    run_bilm = _compiled(lambda x, mask: bilm(x, mask=mask))
    return {
        "character CNN": lambda: [run_embedding(batch) for batch in batches],
        "biLM": lambda: [run_bilm(x, mask) for x, mask in embedded],
        "its products of inputs": of_inputs(),
        "its products of a step": of_steps(projection_units, 4 * units),
        "its projections of a step": of_steps(units, projection_units),
    }


def _step_sizes(mask: np.ndarray) -> Any:
    lengths = mask.sum(axis=1)
    return tf.constant([int((lengths > t).sum()) for t in range(lengths.max())])


def _loop(step_sizes: Any, states: Any, kernels: Sequence[Any]) -> Any:
    """A product a step and kernel, of so many rows of `states`."""

    def body(t: Any, total: Any) -> Any:
        rows = states[: step_sizes[t]]
        products = [tf.matmul(rows, kernel)[0, 0] for kernel in kernels]
        return t + 1, total + tf.add_n(products)

    total = tf.zeros([], states.dtype)
    num_steps = tf.shape(step_sizes)[0]
    return tf.while_loop(lambda t, _: t < num_steps, body, (0, total))


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function, autograph=False, reduce_retracing=True)


def table(result: common.Result) -> str:
    """Returns the figures, a row a part of the encoder."""
    header = ["Preset", "Type", "Sentences a batch", "Part", "ms a batch"]
    header += ["multiplying alone, ms", "reading alone, ms", "bound, ms", "share, %"]
    rows = []
    for row in result["rows"]:
        for part, seconds in row["seconds"].items():
            bound = row["bounds"][part]
            times = [seconds, *(bound[name] for name in _BOUNDS)]
            rows.append(
                [
                    result["preset"],
                    row["dtype"],
                    str(row["batch_size"]),
                    part,
                    *(f"{1000 * each / row['batches']:,.1f}" for each in times),
                    f"{100 * bound['seconds'] / seconds:.0f}",
                ]
            )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
