"""keras_elmo as a child of `inference.py`, batch after batch in the order given."""

import argparse
import os
from collections.abc import Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from embedder import Embed, serve

import keras_elmo


def make(options: argparse.Namespace) -> Embed:
    """Loads a model in the published format."""
    encoder = keras_elmo.load(options.model)
    if options.dtype != "float32":
        encoder = encoder.with_dtype(options.dtype)

    def embed(sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        vectors: list[np.ndarray] = []
        for start in range(0, len(sentences), options.batch_size):
            # One batch at a time, so that `embed` has nothing to sort.
            batch = sentences[start : start + options.batch_size]
            layers = keras_elmo.embed(encoder, batch, batch_size=len(batch))
            vectors += [layer.mean(axis=0) for layer in layers]
        return vectors

    return embed


if __name__ == "__main__":
    serve(make)
