"""Train a very small ELMo and see one word get different vectors in different places.

python examples/01_quickstart.py                    # trains one in a minute
python examples/01_quickstart.py --model my_model   # uses one you have
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from demo_sentences import write_sentences

import keras_elmo

SENTENCES = [
    "the heron slept on the bank under the reeds .",
    "Anna fished from the bank beside the river .",
    "the clerk works for the bank because of a loan .",
]


def train(folder: Path, steps: int) -> keras_elmo.Encoder:
    """Any text does: one sentence or paragraph a line."""
    text = write_sentences(folder / "text.txt", count=6000)
    model = keras_elmo.pretrain(
        keras_elmo.ElmoConfig.preset("tiny"),
        text,
        directory=folder / "bilm",
        batch_tokens=640,
        steps=steps,
    )
    return model.encoder


def main(model: str | None, steps: int) -> None:
    if model:
        encoder = keras_elmo.load(model)
    else:
        with tempfile.TemporaryDirectory() as folder:
            encoder = train(Path(folder), steps)

    # One array a sentence: (layers, tokens, dimensions).
    tokens = [sentence.split() for sentence in SENTENCES]
    vectors = list(keras_elmo.embed(encoder, tokens))
    layers, _, dimensions = vectors[0].shape
    print(f"\n{layers} layers of {dimensions} numbers for every word.")

    print("\nHow close is 'bank' of the first sentence to the other two (cosine)?")
    for layer in range(layers):
        banks = [
            sentence[layer, words.index("bank")]
            for sentence, words in zip(vectors, tokens, strict=True)
        ]
        banks = [bank / np.linalg.norm(bank) for bank in banks]
        river, money = banks[0] @ banks[1], banks[0] @ banks[2]
        print(f"   layer {layer}: another river {river:5.2f}   money {money:5.2f}")
    print("Layer 0 sees the word alone; the layers above see the sentence.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a pretraining or an exported folder")
    parser.add_argument("--steps", type=int, default=1000)
    main(**vars(parser.parse_args()))
