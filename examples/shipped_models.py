"""The models that the examples use when they are given none."""

from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "saved_models"

# keras_elmo.load("elmo-en") finds them by their names, too.
ENGLISH = _FOLDER / "elmo-en"
KOREAN = _FOLDER / "elmo-ko"


def shipped_model(word: str) -> Path:
    """Returns the model of a word's language."""
    return ENGLISH if word.isascii() else KOREAN
