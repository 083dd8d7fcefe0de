"""The model that the other examples use when they are given none.

That is what `make demo` has exported, or else a tiny one, trained in seconds on a
little of the demo's text. It shows how things are done, not how good they get.

    python examples/first_model.py --steps 300
"""

import argparse
from pathlib import Path

from demo_sentences import write_sentences

import keras_elmo

DEMO = Path("saved_models/demo")


def first_model(folder: Path = Path("runs/first_model"), steps: int = 300) -> Path:
    """Returns the folder of a SavedModel, made now if there is none yet."""
    if DEMO.exists():
        return DEMO
    exported = folder / "saved_model"
    if not exported.exists():
        text = write_sentences(folder / "text.txt", count=4000)
        model = keras_elmo.pretrain(
            keras_elmo.ElmoConfig.preset("tiny"),
            text,
            directory=folder / "bilm",
            steps=steps,
        )
        keras_elmo.export_saved_model(model.encoder, exported, tokenizer="unicode")
    return exported


def first_language_model() -> Path:
    """Returns the pretraining directory behind that model."""
    exported = first_model()
    return Path("runs/demo/bilm") if exported == DEMO else exported.parent / "bilm"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/first_model"))
    parser.add_argument("--steps", type=int, default=300)
    print(first_model(**vars(parser.parse_args())))
