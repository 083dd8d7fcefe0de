"""The models that the examples use when they are given none."""

from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "saved_models"

# keras_elmo.load("elmo-en") finds them by their names, too.
ENGLISH = _FOLDER / "elmo-en"
KOREAN = _FOLDER / "elmo-ko"
