"""How long do many epochs on a frozen biLM take, computed anew and precomputed?

Trains the mix and a softmax over the mean of a sentence's vectors, on text and on the
layers of `precompute`, whose own time is counted; the batches are the same.

    python benchmarks/epochs.py --model elmo-en --epochs 20 --out epochs.json
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from common import markdown_table


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="sst/sst2.train.txt",
        model=("elmo-en", "a name or path"),
        epochs=20,
        text_epochs=(0, "of text, if fewer; the time of all is extrapolated"),
        batch_size=32,
    )
    measured = _measure(options)
    options.settings["model"] = Path(options.model).name
    common.publish(options, table, measured=measured)


def _measure(options: Any) -> dict[str, Any]:
    import keras
    import numpy as np
    import tensorflow as tf

    import keras_elmo

    lines = options.corpus.read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split(" ", 1) for line in lines), strict=True)
    data = tf.data.Dataset.from_tensor_slices((list(texts), list(map(int, labels))))
    data = data.batch(options.batch_size)
    encoder = keras_elmo.load(options.model)

    def models() -> list[Any]:
        keras.utils.set_random_seed(1)
        elmo = keras_elmo.ElmoEmbedding(encoder)
        pooling = keras.layers.GlobalAveragePooling1D()
        dense = keras.layers.Dense(2, activation="softmax")
        inputs = keras.Input((), dtype="string"), keras.Input(elmo.layers_shape)
        pair = [keras.Model(x, dense(pooling(elmo(x)))) for x in inputs]
        for model in pair:
            model.compile("adam", "sparse_categorical_crossentropy")
        return [elmo, *pair]

    elmo, of_text, on_layers = models()
    began = time.perf_counter()
    cached = keras_elmo.precompute(elmo, data)
    precomputed = time.perf_counter() - began
    on_layers.fit(cached, epochs=options.epochs, shuffle=False, verbose=0)
    seconds = time.perf_counter() - began
    shared, layers = of_text.predict(data, verbose=0), on_layers.predict(cached)

    _, of_text, _ = models()
    text_epochs = options.text_epochs or options.epochs
    began = time.perf_counter()
    of_text.fit(data, epochs=text_epochs, shuffle=False, verbose=0)
    text_seconds = (time.perf_counter() - began) * options.epochs / text_epochs
    measured = {
        "sentences": len(texts),
        "text_seconds": text_seconds,
        "seconds": seconds,
        "precompute_seconds": precomputed,
        "difference_of_shared": float(np.abs(shared - layers).max()),
    }
    if text_epochs == options.epochs:
        trained = of_text.predict(data, verbose=0)
        measured["difference_of_trained"] = float(np.abs(shared - trained).max())
    return measured


def table(result: common.Result) -> str:
    """Returns the seconds of both ways."""
    found = result["measured"]
    header = ["On text, s", "On layers, s", "of it precompute, s", "Ratio"]
    header += ["Greatest difference of a probability, text and layers"]
    row = [
        f"{found['text_seconds']:.0f}",
        f"{found['seconds']:.0f}",
        f"{found['precompute_seconds']:.0f}",
        f"{found['text_seconds'] / found['seconds']:.1f}",
        f"{found['difference_of_shared']:.0e}",
    ]
    return markdown_table(header, [row])


if __name__ == "__main__":
    main()
