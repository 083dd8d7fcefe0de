"""What `gpu.py` times: matrix products, inference and training, on the JAX backend."""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import flops
import jax
import keras
import numpy as np

import keras_elmo
from keras_elmo.text.vocabulary import UNKNOWN
from keras_elmo.training.optimizers import PublishedAdagrad

Rows = dict[str, np.ndarray]

_PRODUCTS = 20


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the speeds of all three."""
    if keras.backend.backend() != "jax":
        raise ValueError("the backend must be JAX: KERAS_BACKEND=jax")
    # Keras draws the seeds of weights, dropout and candidates from it, so that every
    # run has the same losses. `keras.utils.set_random_seed` would import TensorFlow.
    random.seed(1)
    config = keras_elmo.ElmoConfig.preset(options.preset)
    number = options.batch * options.steps
    vocabulary = keras_elmo.Vocabulary.count(
        options.corpus, max_size=options.vocabulary_size
    )
    corpus = keras_elmo.Corpus(options.corpus, vocabulary)
    ids = positions_of(corpus, number * options.row_length)
    rows = full_rows(ids, number, options.row_length)
    product = _product_speed(options.product_size, options.repeats)
    return {
        "product_flops_per_second": product,
        # A device tells the peak of the whole process: what needs less comes first.
        "inference": _inference(config, rows, options),
        "training": _training(config, rows, options),
    }


def device_kind() -> str:
    """Returns the name of what it is run on."""
    return jax.devices()[0].device_kind


def positions_of(corpus: keras_elmo.Corpus, least: int) -> Rows:
    """Reads sentences with their boundaries until there are enough positions.

    Returns:
        `char_ids`, `(positions, 50)`, and `token_ids`, `(positions,)`.
    """
    kept: dict[str, list[np.ndarray]] = {"char_ids": [], "token_ids": []}
    for batch in corpus.batches(shuffle=False):
        is_token = np.asarray(batch["token_ids"]) >= 0
        for name, arrays in kept.items():
            arrays.append(np.asarray(batch[name])[is_token])
        least -= int(is_token.sum())
        if least <= 0:
            break
    return {name: np.concatenate(arrays) for name, arrays in kept.items()}


def full_rows(ids: Rows, number: int, length: int) -> Rows:
    """Cuts arrays of positions into rows without padding, again where they end."""
    positions = len(ids["token_ids"])
    if positions < length:
        raise ValueError(
            f"`length` must be at most the positions of the text, {positions}. "
            f"Received: length={length}"
        )
    starts = length * (np.arange(number) % (positions // length))
    chosen = starts[:, np.newaxis] + np.arange(length)
    return {name: array[chosen] for name, array in ids.items()}


def _product_speed(size: int, repeats: int) -> float:
    """Returns the operations/s of a square matrix product in bfloat16."""
    # Random numbers: a GPU that multiplies zeros needs less power and runs faster.
    factors = [
        jax.random.normal(jax.random.key(k), (size, size), "bfloat16") for k in range(2)
    ]
    multiply = jax.jit(jax.numpy.matmul)

    def run() -> None:
        for _ in range(_PRODUCTS):
            product = multiply(*factors)
        jax.block_until_ready(product)

    seconds = _seconds("matrix products", run, repeats)
    return 2 * size**3 * _PRODUCTS / statistics.median(seconds)


def _inference(
    config: keras_elmo.ElmoConfig, rows: Rows, options: argparse.Namespace
) -> dict[str, Any]:
    """Measures all layers of every position, left on the device."""
    encoder = keras_elmo.build_encoder(config, dtype=options.dtype)
    variables = encoder.trainable_variables, encoder.non_trainable_variables
    weights = [[variable.value for variable in each] for each in variables]
    # `predict` would also copy gigabytes of vectors to the host.
    embed = jax.jit(lambda weights, ids: encoder.stateless_call(*weights, ids)[0])
    batches = list(map(jax.device_put, np.split(rows["char_ids"], options.steps)))

    def run() -> None:
        for batch in batches:
            layers = embed(weights, batch)
        # A device does one after the other, so that the last is done when all are.
        jax.block_until_ready(layers)

    seconds = _seconds("inference", run, options.repeats)
    step = options.batch * options.row_length * flops.encoder_flops(config)
    return _summary(seconds, rows, step, options.steps)


def _training(
    config: keras_elmo.ElmoConfig, rows: Rows, options: argparse.Namespace
) -> dict[str, Any]:
    """Measures updates by the published optimizer."""
    model = keras_elmo.build_pretraining_model(
        config, options.vocabulary_size, options.num_sampled, options.dtype
    )
    model.compile(optimizer=PublishedAdagrad())
    losses = []

    def run() -> None:
        # `fit` hands the state on from step to step and looks at the loss when all are
        # done; `train_on_batch` would make the device wait for Python after each step.
        history = model.fit(rows, batch_size=options.batch, shuffle=False, verbose=0)
        jax.block_until_ready([variable.value for variable in model.variables])
        losses.append(history.history["loss"][0])

    seconds = _seconds("training", run, options.repeats)
    step = flops.training_flops(
        config,
        options.batch,
        options.row_length,
        options.vocabulary_size,
        options.num_sampled,
    )
    # The first loss is that of the repetition that was not timed.
    return {**_summary(seconds, rows, step, options.steps), "losses": losses}


def _seconds(name: str, run: Callable[[], None], repeats: int) -> list[float]:
    """Returns how long each repetition takes, after one in which all is compiled."""
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
        print(f"{name}: {seconds[-1]:.3f} s", file=sys.stderr, flush=True)
    return seconds[1:]


def _summary(
    seconds: Sequence[float], rows: Rows, step_flops: int, steps: int
) -> dict[str, Any]:
    # Without the boundaries of sentences.
    words = int((rows["token_ids"] >= UNKNOWN).sum())
    # Of the process so far, where the device counts it.
    memory = jax.devices()[0].memory_stats() or {}
    return {
        "median": words / statistics.median(seconds),
        "words_per_second": [words / duration for duration in seconds],
        "words": words,
        "positions": rows["token_ids"].size,
        "step_flops": step_flops,
        "flops_per_second": steps * step_flops / statistics.median(seconds),
        "peak_bytes": memory.get("peak_bytes_in_use"),
    }
