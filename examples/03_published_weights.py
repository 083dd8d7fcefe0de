"""Load weights in the published format: options.json and weights.hdf5.

    python examples/03_published_weights.py \\
        --options elmo_options.json --weights elmo_weights.hdf5 --saved-model elmo

Without arguments, it writes such files with random weights first.
"""

import argparse
import tempfile
from pathlib import Path

import keras_elmo

# The published models were trained on tokenized text, with punctuation apart.
SENTENCES = [
    "The bank lends money .".split(),
    "They camped on the bank of the river .".split(),
]


def write_random_weights(folder: Path) -> tuple[Path, Path]:
    options, weights = folder / "options.json", folder / "weights.hdf5"
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.save_published_weights(encoder, options, weights)
    return options, weights


def main(options: Path | None, weights: Path | None, saved_model: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if options is None:
            options, weights = write_random_weights(Path(folder))
        encoder = keras_elmo.load_published_weights(options, weights)
        saved_model = saved_model or Path(folder) / "saved_model"
        # Text that is tokenized already is split at white space.
        keras_elmo.export_saved_model(encoder, saved_model, tokenizer="whitespace")
        print(f"Exported {encoder.count_params():,} weights to {saved_model}")

    vectors = keras_elmo.embed(encoder, SENTENCES)
    for sentence, layers in zip(SENTENCES, vectors, strict=True):
        print(f"{' '.join(sentence)}\n   layers, tokens, dimensions: {layers.shape}")
        for layer, words in enumerate(layers):
            start = " ".join(f"{value:6.3f}" for value in words[0, :5])
            print(f"   layer {layer}, {sentence[0]!r}: {start} ...")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--options", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--saved-model", type=Path, help="folder to write and keep")
    chosen = parser.parse_args()
    if (chosen.options is None) != (chosen.weights is None):
        parser.error("--options and --weights go together")
    main(**vars(chosen))
