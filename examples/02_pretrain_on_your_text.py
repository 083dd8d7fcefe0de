"""Pretrain on your own text, measure perplexity, export what a Keras model can use.

    python examples/02_pretrain_on_your_text.py \\
        --corpus 'text/train-*.txt' --validation text/dev.txt --preset mini --epochs 3

Text is UTF-8, one sentence or paragraph a line, plain, .gz or .xz, in any number of
files. `keras-elmo pretrain`, `evaluate` and `export` do the same from a shell.
"""

import argparse
import tempfile
from pathlib import Path

from demo_sentences import write_sentences

import keras_elmo


def main(
    corpus: str | None,
    validation: str | None,
    out: Path | None,
    preset: str,
    steps: int | None,
    epochs: int | None,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = out or Path(folder) / "model"
        if corpus is None:
            # No text given: generated sentences, and other ones to validate on.
            corpus = write_sentences(Path(folder) / "train.txt", count=6000)
            validation = write_sentences(Path(folder) / "dev.txt", count=300, seed=1)
            steps = steps or (None if epochs else 300)

        # A run that was stopped goes on with resume=True.
        model = keras_elmo.pretrain(
            keras_elmo.ElmoConfig.preset(preset),
            corpus,
            validation=validation,
            directory=out / "bilm",
            steps=steps,
            epochs=epochs,
            validate_every=100 if steps and steps < 1000 else 1000,
        )
        files = sorted(path.name for path in (out / "bilm").iterdir())
        print("What the run left:", ", ".join(files))

        if validation is not None:
            print("Held-out perplexity:", keras_elmo.perplexity(model, validation))

        # The best weights by validation, not necessarily the last ones.
        encoder = keras_elmo.load(out / "bilm")
        keras_elmo.export_saved_model(encoder, out / "saved_model", tokenizer="unicode")
        words = keras_elmo.ElmoEmbedding.from_saved_model(out / "saved_model")
        print(
            f"Exported {words.encoder.count_params():,} weights to "
            f"{out / 'saved_model'}; examples 04 and 05 take that as --model"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", help="text files, a path or a glob pattern")
    parser.add_argument("--validation", help="held-out text")
    parser.add_argument("--out", type=Path, help="folder to keep; else thrown away")
    parser.add_argument("--preset", default="tiny", help="tiny, mini, small, ...")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--epochs", type=int)
    options = parser.parse_args()
    if options.validation and not options.corpus:
        parser.error("--validation goes with --corpus")
    main(**vars(options))
