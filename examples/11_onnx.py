"""Embed text with ONNX Runtime and NumPy: without TensorFlow, Keras or keras_elmo.

    python examples/11_onnx.py --model my-elmo.onnx --input sentences.txt

`keras-elmo export --model runs/my-elmo --out my-elmo.onnx` writes such a file.
Without `--model`, another process exports a shipped model.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from shipped_models import ENGLISH

SENTENCES = [
    "the heron slept on the bank under the reeds .",
    "Anna fished from the bank beside the river .",
    "the clerk works for the bank because of a loan .",
]
CHARACTERS = 50
SENTENCE_BEGIN, SENTENCE_END, WORD_BEGIN, WORD_END, PADDING = range(257, 262)


def word_ids(inside: list[int]) -> list[int]:
    ids = [WORD_BEGIN, *inside[: CHARACTERS - 2], WORD_END]
    return ids + [PADDING] * (CHARACTERS - len(ids))


def char_ids(sentences: list[list[str]]) -> np.ndarray:
    """(sentences, longest + 2, 50): each byte b is b + 1; 0 after the sentence."""
    longest = max(map(len, sentences))
    ids = np.zeros((len(sentences), longest + 2, CHARACTERS), "int32")
    for row, tokens in zip(ids, sentences, strict=True):
        spelt = [[byte + 1 for byte in token.encode()] for token in tokens]
        words = [[SENTENCE_BEGIN], *spelt, [SENTENCE_END]]
        row[: len(words)] = [word_ids(word) for word in words]
    return ids


def embed(model: str, sentences: list[list[str]]) -> list[np.ndarray]:
    """The mix of the layers, (words, dimensions) for each sentence."""
    session = onnxruntime.InferenceSession(model)
    elmo, lengths = session.run(
        ["elmo", "sequence_len"], {"char_ids": char_ids(sentences)}
    )
    return [vectors[:length] for vectors, length in zip(elmo, lengths, strict=True)]


def export(model: Path, out: str) -> None:
    """Exports in another process, which needs TensorFlow, Keras and keras_elmo."""
    command = ["export", "--model", str(model), "--out", out]
    subprocess.run([sys.executable, "-m", "keras_elmo", *command], check=True)


def main(model: str | None, text: Path | None) -> None:
    lines = text.read_text(encoding="utf-8").splitlines() if text else SENTENCES
    sentences = [line.split() for line in lines if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        if model is None:
            model = str(Path(folder, "elmo-en.onnx"))
            export(ENGLISH, model)
        vectors = embed(model, sentences)
    for tokens, array in zip(sentences, vectors, strict=True):
        print(f"{array.shape}: {' '.join(tokens)}")
    if {"tensorflow", "keras", "keras_elmo"} & sys.modules.keys():
        raise RuntimeError("one of them was imported after all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="an ONNX file")
    parser.add_argument("--input", dest="text", type=Path, help="one sentence per line")
    main(**vars(parser.parse_args()))
