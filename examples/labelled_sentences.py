"""Sentences with a label each, from a file."""

from pathlib import Path

DATA = Path(__file__).parent / "data"


def read_examples(path: Path) -> tuple[list[str], list[str]]:
    """Returns the sentences and their labels.

    A line is `label sentence`, or columns separated by tabs with the label last and the
    sentence before it.
    """
    sentences, labels = [], []
    # What spreadsheets write may begin with a mark of the byte order.
    # Other characters that Python would end a line at may stand in a sentence.
    for line in path.read_text(encoding="utf-8-sig").split("\n"):
        if "\t" in line:
            *_, sentence, label = line.split("\t")
        else:
            label, _, sentence = line.partition(" ")
        # A table may begin with the names of its columns.
        if sentence and label != "label":
            sentences.append(sentence)
            labels.append(label)
    return sentences, labels


def numbered(path: Path, names: list[str]) -> tuple[list[str], list[int]]:
    """Returns the sentences, and of each label its place in `names`."""
    sentences, labels = read_examples(path)
    if unknown := sorted(set(labels) - set(names)):
        raise SystemExit(
            f"{path}: labels must be of the training sentences, {', '.join(names)}. "
            f"Received: {', '.join(unknown)}"
        )
    return sentences, [names.index(label) for label in labels]
