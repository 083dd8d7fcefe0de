"""Finds the sample texts that come with the package."""

import csv
import functools
from pathlib import Path

from keras_elmo.utils.checks import refuse

_SAMPLES = Path(__file__).with_name("samples")


def sample(language: str) -> str:
    """Returns the path of a sample text, which has one sentence per line.

    The sentences have words of several meanings, such as *bank* and *spring*. They were
    written for this package and are free of any rights (CC0).

    Args:
        language: `"en"`, 1,498 English sentences, or `"ko"`, 1,070 Korean ones.

    Raises:
        ValueError: there is no sample in this language.

    Example:

    ```python
    with open(keras_elmo.sample("en"), encoding="utf-8") as file:
        print(file.readline())
    ```
    """
    languages = sorted(path.stem for path in _SAMPLES.glob("*.txt"))
    if language not in languages:
        refuse("language", f"one of {', '.join(languages)}", language)
    return str(_SAMPLES / f"{language}.txt")


@functools.cache
def sample_senses(language: str) -> dict[int, tuple[str, str]]:
    """Returns the word that each line of a sample was written for, and its sense.

    Lines are numbered from 0. Those that were written for no word are left out.
    """
    senses = {}
    path = _SAMPLES / f"{language}.senses.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            for line in range(int(row["first"]), int(row["last"]) + 1):
                senses[line - 1] = row["word"], row["sense"]
    return senses
