"""Sentences with a label each, from a file."""

from pathlib import Path

DATA = Path(__file__).parent / "data"


def read_examples(path: Path) -> tuple[list[str], list[str]]:
    """Returns the sentences and their labels.

    A line is `label sentence`, or columns separated by tabs with the label last and the
    sentence before it.
    """
    sentences, labels = [], []
    # Other characters that Python would end a line at may stand in a sentence.
    for line in path.read_text(encoding="utf-8").split("\n"):
        if "\t" in line:
            *_, sentence, label = line.split("\t")
        else:
            label, _, sentence = line.partition(" ")
        # A table may begin with the names of its columns.
        if sentence and label != "label":
            sentences.append(sentence)
            labels.append(label)
    return sentences, labels
