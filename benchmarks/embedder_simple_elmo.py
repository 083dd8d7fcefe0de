"""simple_elmo as a child of `inference.py`, used as its documentation says.

Runs in an environment of its own:

    python -m venv peer
    peer/bin/pip install simple_elmo==0.9.2 "tensorflow~=2.21.0" "tf-keras~=2.21.0"
"""

import argparse
import os
from collections.abc import Sequence

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from embedder import Embed, serve
from simple_elmo import ElmoModel


def make(options: argparse.Namespace) -> Embed:
    """Loads a model in the published format."""
    model = ElmoModel()
    model.load(options.model, max_batch_size=options.batch_size)

    def embed(sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        vectors = model.get_elmo_vectors(sentences, warmup=False, layers="average")
        return [
            rows[: len(words)] for rows, words in zip(vectors, sentences, strict=True)
        ]

    return embed


if __name__ == "__main__":
    serve(make)
