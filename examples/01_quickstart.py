"""See one word get different vectors in different places.

python examples/01_quickstart.py                    # by the shipped English model
python examples/01_quickstart.py --model my_model   # by one you have
"""

import argparse

import numpy as np

import keras_elmo

SENTENCES = [
    "We sat on the bank of the river and watched the boats .",
    "The village lies on the southern bank of the Danube .",
    "She opened an account at a bank in the city .",
]


def main(model: str) -> None:
    encoder = keras_elmo.load(model)

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
    parser.add_argument(
        "--model",
        default="elmo-en",
        help="a shipped model, or a pretraining or an exported folder",
    )
    main(**vars(parser.parse_args()))
