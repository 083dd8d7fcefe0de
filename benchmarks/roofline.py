"""How close do vectors come to what the processor can multiply?

Times the encoder on batches of real sentences in their natural order, a large matrix
product in turn with it, and the parts of the encoder by themselves. The share is that
of the multiplications that have to be made: of every live position in the biLM, of
every distinct word of a batch in the character CNN, none of padding.

    python benchmarks/roofline.py --out roofline.json
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import common
import keras
import numpy as np
import tensorflow as tf
from common import markdown_table
from flops import bilm_flops, character_cnn_flops
from inference import read_sentences
from keras import ops

import keras_elmo
from keras_elmo.config import MAX_CHARACTERS, ElmoConfig
from keras_elmo.layers.char_cnn_embedding import unique_words
from keras_elmo.text.character_ids import character_ids

_PRODUCT_SIZE = 2048
_NUM_BATCHES = 5

Run = Callable[[], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        preset="original",
        batch_size=32,
        dtypes=["float32", "bfloat16"],
        repeats=5,
    )
    count = _NUM_BATCHES * options.batch_size
    sentences = read_sentences(options.corpus)[:count]
    words = sum(map(len, sentences))
    keras.utils.set_random_seed(0)
    encoder = keras_elmo.build_encoder(ElmoConfig.preset(options.preset))
    rows = [
        _measure(encoder.with_dtype(dtype), sentences, options)
        for dtype in options.dtypes
    ]
    common.publish(options, table, batches=_NUM_BATCHES, words=words, rows=rows)


def _measure(
    encoder: Any, sentences: Sequence[Sequence[str]], options: argparse.Namespace
) -> dict[str, Any]:
    """Times the encoder, its parts and the large product, in turn."""
    batches = [
        _char_ids(sentences[start : start + options.batch_size])
        for start in range(0, len(sentences), options.batch_size)
    ]
    flops = _flops(encoder, batches)
    dtype = encoder.get_layer("bilm").compute_dtype
    runs = {
        "whole": lambda: [encoder.predict_on_batch(batch) for batch in batches],
        "product": _product(dtype),
        **_parts(encoder, batches),
    }
    timed = {name: partial(_seconds, run) for name, run in runs.items()}
    seconds = common.in_turn(timed, options.repeats, f"seconds, {dtype}, ")
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ceiling = 2 * _PRODUCT_SIZE**3 / medians.pop("product")
    needed = flops["character CNN"] + flops["biLM"]
    return {
        "dtype": dtype,
        "ceiling": ceiling,
        "share": needed / ceiling / medians["whole"],
        "seconds": medians,
        "measured": seconds,
        "flops": {"whole": needed, **flops},
    }


def _seconds(run: Run) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _char_ids(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    longest = max(map(len, sentences))
    padded = [[*words, *[""] * (longest - len(words))] for words in sentences]
    return character_ids(tf.constant(padded)).numpy()


def _flops(encoder: Any, batches: Sequence[np.ndarray]) -> dict[str, float]:
    config = encoder.config
    tokens = sum(int((batch[..., 0] > 0).sum()) for batch in batches)
    words = sum(
        int(ops.shape(unique_words(batch.reshape(-1, MAX_CHARACTERS), 1)[0])[0])
        for batch in batches
    )
    recurrent = config.projection_units * 4 * config.units
    layers = 2 * 2 * config.num_layers * tokens
    return {
        "character CNN": words * character_cnn_flops(config),
        "biLM": tokens * bilm_flops(config),
        "its products of inputs": layers * recurrent,
        "its products of a step": layers * recurrent,
        "its projections of a step": layers * config.units * config.projection_units,
    }


def _product(dtype: str) -> Run:
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
    header = ["Preset", "Type", "Part", "ms a batch", "GFLOP/s"]
    header += ["of a large product's, %"]
    rows = (
        [
            result["preset"],
            row["dtype"],
            part,
            f"{1000 * seconds / result['batches']:,.0f}",
            f"{row['flops'][part] / seconds / 1e9:,.0f}",
            f"{100 * row['flops'][part] / seconds / row['ceiling']:.0f}",
        ]
        for row in result["rows"]
        for part, seconds in row["seconds"].items()
    )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
