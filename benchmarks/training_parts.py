"""Where does the time of pretraining go?

Times a whole update, and its parts by themselves, in turn: the layers forwards, and
forwards and backwards, the optimizer on gradients that are there already, and reading
text. What an update does beside its parts is left over. The bound is what the
multiplications of a part take at the speed of a large matrix product: a gradient takes
two products for one, and positions that are padding are not counted.

    python benchmarks/training_parts.py --out training_parts.json
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import common
import keras
import numpy as np
import tensorflow as tf
from common import markdown_table
from flops import bilm_flops, character_cnn_flops, head_flops
from keras import ops
from roofline import PRODUCT_FLOPS, large_product, seconds_of

import keras_elmo
from keras_elmo.config import MAX_CHARACTERS, ElmoConfig
from keras_elmo.layers.char_cnn_embedding import unique_words
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.training.data import Batch, EpochIterator
from keras_elmo.training.optimizers import PublishedAdagrad

_NUM_SAMPLED = 1024
_VOCABULARY_SIZE = 14_000

Run = Callable[[], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        preset="mini",
        batches=(10, "of 1,280 positions"),
        dtypes=["float32", "mixed_bfloat16"],
        repeats=5,
    )
    vocabulary = keras_elmo.Vocabulary.count(options.corpus, max_size=_VOCABULARY_SIZE)
    corpus = keras_elmo.Corpus(options.corpus, vocabulary)
    batches = list(islice(EpochIterator(corpus), options.batches))
    words = sum(_count(batch) for batch in batches)
    rows = [
        {"dtype": dtype, **_measure(dtype, corpus, len(vocabulary), batches, options)}
        for dtype in options.dtypes
    ]
    common.publish(options, table, words=words, rows=rows)


def _count(batch: Batch) -> int:
    """The predictions of one direction."""
    token_ids = np.asarray(batch["token_ids"])
    return int((token_ids != PADDING_ID).sum()) - len(token_ids)


def _measure(
    dtype: str,
    corpus: keras_elmo.Corpus,
    vocabulary_size: int,
    batches: Sequence[Batch],
    options: argparse.Namespace,
) -> dict[str, Any]:
    keras.utils.set_random_seed(0)
    config = ElmoConfig.preset(options.preset)
    model = keras_elmo.build_pretraining_model(
        config, vocabulary_size, _NUM_SAMPLED, dtype
    )
    model.compile(optimizer=PublishedAdagrad(), jit_compile=False)
    # The first batch waits until the text has been counted.
    stream = iter(EpochIterator(corpus))
    runs = {
        "whole": lambda: [model.train_on_batch(batch) for batch in batches],
        "product": large_product(keras.DTypePolicy(dtype).compute_dtype),
        **_parts(model, batches),
        "reading": lambda: list(islice(stream, len(batches))),
    }
    timed = {name: partial(seconds_of, run) for name, run in runs.items()}
    seconds = common.in_turn(timed, options.repeats, f"seconds, {dtype}, ")
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ceiling = PRODUCT_FLOPS / medians.pop("product")
    bounds = {
        name: flops / ceiling
        for name, flops in _flops(config, batches, vocabulary_size).items()
    }
    return {
        "seconds": medians,
        "bounds": bounds,
        "ceiling": ceiling,
        "measured": seconds,
    }


def _parts(model: PretrainingModel, batches: Sequence[Batch]) -> dict[str, Run]:
    """The layers and the optimizer by themselves."""
    embedding = model.encoder.get_layer("char_cnn_embedding")
    bilm = model.encoder.get_layer("bilm")
    softmax = model.head.softmax
    inputs = []
    for batch in batches:
        char_ids, token_ids = (
            tf.constant(np.asarray(batch[name]), tf.int32)
            for name in ("char_ids", "token_ids")
        )
        vectors, mask = embedding(char_ids), char_ids[..., 0] > 0
        inputs.append((char_ids, vectors, mask, tf.maximum(token_ids, 0)))
    units = model.config.projection_units

    def embed(char_ids: Any, vectors: Any, mask: Any, targets: Any) -> Any:
        return embedding(char_ids)

    def run_bilm(char_ids: Any, vectors: Any, mask: Any, targets: Any) -> Any:
        return bilm(vectors, mask=mask, training=True)[-1]

    def head(char_ids: Any, vectors: Any, mask: Any, targets: Any) -> Any:
        hidden = tf.concat([vectors[:, :-1], vectors[:, 1:]], axis=0)
        following = tf.concat([targets[:, 1:], targets[:, :-1]], axis=0)
        return softmax(hidden[..., :units], following, training=True)

    def forwards(layer: Callable[..., Any]) -> Run:
        run = _compiled(lambda *values: tf.reduce_sum(layer(*values)))
        return lambda: [run(*values) for values in inputs]

    def both_ways(layer: Callable[..., Any], weights: Sequence[Any]) -> Run:
        def gradients(char_ids: Any, vectors: Any, mask: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(vectors)
                total = tf.reduce_sum(layer(char_ids, vectors, mask, targets))
            found = tape.gradient(total, [vectors, *weights])
            return [tf.convert_to_tensor(each)[0] for each in found if each is not None]

        run = _compiled(gradients)
        return lambda: [run(*values) for values in inputs]

    def weights_of(layer: Any) -> list[Any]:
        return [each.value for each in layer.trainable_variables]

    return {
        "character CNN, forwards": forwards(embed),
        "character CNN": both_ways(embed, weights_of(embedding)),
        "biLM, forwards": forwards(run_bilm),
        "biLM": both_ways(run_bilm, weights_of(bilm)),
        "sampled softmax": both_ways(head, weights_of(softmax)),
        "clipping and optimizer": _updates(model, len(batches)),
    }


def _updates(model: PretrainingModel, number: int) -> Run:
    """Updates of all weights but the softmax's, whose gradients are few rows."""
    variables = model.encoder.trainable_variables
    optimizer = PublishedAdagrad()
    optimizer.build(variables)
    # So small that the weights stay as they are.
    gradients = [tf.fill(each.shape, 1e-9) for each in variables]
    run = tf.function(lambda: optimizer.apply(gradients), autograph=False)
    return lambda: [run() for _ in range(number)]


def _flops(
    config: ElmoConfig, batches: Sequence[Batch], vocabulary_size: int
) -> dict[str, float]:
    """The multiplications of each part, for all batches."""
    words = tokens = predictions = 0
    for batch in batches:
        char_ids = np.asarray(batch["char_ids"])
        tokens += int((char_ids[..., 0] > 0).sum())
        flat = char_ids.reshape(-1, MAX_CHARACTERS)
        words += int(ops.shape(unique_words(flat, 1)[0])[0])
        predictions += 2 * _count(batch)
    cnn, bilm = words * character_cnn_flops(config), tokens * bilm_flops(config)
    head = predictions * head_flops(config, vocabulary_size, _NUM_SAMPLED)
    return {
        "whole": 3.0 * (cnn + bilm + head),
        "character CNN, forwards": cnn,
        "character CNN": 3.0 * cnn,
        "biLM, forwards": bilm,
        "biLM": 3.0 * bilm,
        "sampled softmax": 3.0 * head,
    }


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function, autograph=False, reduce_retracing=True)


def table(result: common.Result) -> str:
    """Returns the figures, a row a part of an update."""
    header = ["Preset", "Type", "Part", "ms an update", "of the whole, %"]
    header += ["multiplying alone, ms", "share, %"]
    rows = []
    for row in result["rows"]:
        whole = row["seconds"]["whole"]
        for part, seconds in row["seconds"].items():
            bound = row["bounds"].get(part)
            cells = [f"{1000 * seconds / result['batches']:,.1f}"]
            cells.append(f"{100 * seconds / whole:.0f}")
            if bound is None:
                cells += ["", ""]
            else:
                cells.append(f"{1000 * bound / result['batches']:,.1f}")
                cells.append(f"{100 * bound / seconds:.0f}")
            rows.append([result["preset"], row["dtype"], part, *cells])
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
