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
import simple_elmo
import tensorflow as tf
from embedder import Embed, serve


def make(options: argparse.Namespace) -> Embed:
    """Loads a model in the published format.

    The session is made once, as the documentation has it for repeated calls: left to
    itself, simple_elmo makes one a call, which takes longer than the sentences.
    """
    graph = tf.Graph()
    with graph.as_default():
        model = simple_elmo.ElmoModel()
        model.load(options.model, max_batch_size=options.batch_size)
        session = tf.compat.v1.Session(graph=graph)
        with session.as_default():
            model.elmo_sentence_input = simple_elmo.elmo.weight_layers(
                "input", model.sentence_embeddings_op
            )
            session.run(tf.compat.v1.global_variables_initializer())

    def embed(sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        with graph.as_default():
            vectors = model.get_elmo_vectors(
                sentences, warmup=False, layers="average", session=session
            )
        return [
            rows[: len(words)] for rows, words in zip(vectors, sentences, strict=True)
        ]

    return embed


if __name__ == "__main__":
    serve(make)
