"""Embed text with ONNX Runtime and NumPy: without TensorFlow, Keras or keras_elmo.

    python examples/11_onnx.py --model my-elmo.onnx --input sentences.txt

`keras-elmo export --model runs/my-elmo --out my-elmo.onnx` writes such a file, on any
machine. Without `--model` another process makes one.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime

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
    """(sentences, longest + 2, 50): each byte b as b + 1; 0 behind a sentence."""
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


def first_model() -> str:
    script = Path(__file__).parent / "first_model.py"
    output = subprocess.run(
        [sys.executable, str(script)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    saved_model = Path(output.strip().splitlines()[-1])
    out = saved_model.with_suffix(".onnx")
    if not out.exists():
        export = ["export", "--model", str(saved_model), "--out", str(out)]
        subprocess.run([sys.executable, "-m", "keras_elmo", *export], check=True)
    return str(out)


def main(model: str | None, text: Path | None) -> None:
    lines = text.read_text(encoding="utf-8").splitlines() if text else SENTENCES
    sentences = [line.split() for line in lines if line.strip()]
    vectors = embed(model or first_model(), sentences)
    for tokens, array in zip(sentences, vectors, strict=True):
        print(f"{array.shape}: {' '.join(tokens)}")
    if {"tensorflow", "keras", "keras_elmo"} & sys.modules.keys():
        raise RuntimeError("one of them was imported after all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="an ONNX file")
    parser.add_argument("--input", dest="text", type=Path, help="a sentence a line")
    main(**vars(parser.parse_args()))
