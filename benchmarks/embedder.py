"""The child of `inference.py` and `alternatives.py`: embeds when asked, and times it.

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
from pathlib import Path

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


def saved_model(options: argparse.Namespace) -> Embed:
    """Loads a SavedModel; returns what embeds sentences, without this package."""
    import tensorflow as tf

    signature = tf.saved_model.load(options.model).signatures["tokens"]

    def embed(sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        vectors: list[np.ndarray] = []
        for start in range(0, len(sentences), options.batch_size):
            batch = sentences[start : start + options.batch_size]
            lengths = [len(words) for words in batch]
            width = max(lengths)
            tokens = [[*words, *[""] * (width - len(words))] for words in batch]
            outputs = signature(
                tokens=tf.constant(tokens),
                sequence_len=tf.constant(lengths, "int32"),
            )
            word_emb = outputs["word_emb"].numpy()
            layers = [np.concatenate([word_emb, word_emb], axis=-1)]
            while (name := f"lstm_outputs{len(layers)}") in outputs:
                layers.append(outputs[name].numpy())
            for row, length in enumerate(lengths):
                vectors.append(np.mean([x[row, :length] for x in layers], axis=0))
        return vectors

    return embed


def transformer(options: argparse.Namespace) -> Embed:
    """Loads a BERT in an ONNX file; returns what embeds the pieces of sentences."""
    import onnxruntime
    from tokenizers import Tokenizer

    pieces = Tokenizer.from_file(str(Path(options.model).with_name("tokenizer.json")))
    pieces.enable_padding()
    pieces.enable_truncation(512)
    session = onnxruntime.InferenceSession(
        options.model, providers=["CPUExecutionProvider"]
    )

    def embed(sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        vectors: list[np.ndarray] = []
        for start in range(0, len(sentences), options.batch_size):
            batch = sentences[start : start + options.batch_size]
            rows = pieces.encode_batch([" ".join(words) for words in batch])
            mask = np.array([row.attention_mask for row in rows])
            feeds = {
                "input_ids": np.array([row.ids for row in rows]),
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(mask),
            }
            (hidden,) = session.run(["last_hidden_state"], feeds)
            vectors += [x[kept > 0] for x, kept in zip(hidden, mask, strict=True)]
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
    systems = keras_elmo, saved_model, transformer, simple_elmo
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
