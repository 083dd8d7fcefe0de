"""The child of `inference.py`: embeds when asked, and times it.

Each line of JSON on standard input names a file of sentences, how many of them to
embed, and, if the vectors are to be compared, an .npz to write the mean of the layers
to; each is answered by one on standard output. simple_elmo is used as its documentation
says, in an environment of its own:

    python -m venv peer
    peer/bin/pip install simple_elmo==0.9.2 "tensorflow~=2.21.0" "tf-keras~=2.21.0"
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence

import common
import numpy as np

Embed = Callable[[Sequence[Sequence[str]]], list[np.ndarray]]


def keras_elmo(options: argparse.Namespace) -> Embed:
    """Loads a model; returns what embeds sentences, batch by batch in their order."""
    import keras_elmo

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


def simple_elmo(options: argparse.Namespace) -> Embed:
    """Loads a model; returns what embeds sentences.

    The session is made once, as the documentation has it for repeated calls: by
    default, simple_elmo makes one a call, which takes longer than the sentences.
    """
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import simple_elmo
    import tensorflow as tf

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


def main() -> None:
    """Answers requests until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--system", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    # What a library prints to standard output must not reach the parent.
    answers, sys.stdout = sys.stdout, sys.stderr
    systems = keras_elmo, simple_elmo
    embed = {system.__name__: system for system in systems}[options.system](options)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        with open(request["sentences"], encoding="utf-8") as file:
            sentences = json.load(file)[: request["count"]]
        began = time.perf_counter()
        vectors = embed(sentences)
        seconds = time.perf_counter() - began
        if request["out"]:
            np.savez(request["out"], *vectors)
        words, peak = sum(map(len, sentences)), common.peak_bytes()
        answer = {"seconds": seconds, "words": words, "peak_bytes": peak}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
