"""Scores of the labels of texts."""

from collections.abc import Sequence

from keras_elmo.text.tag_scores import Scores, scores_by_type, total_of
from keras_elmo.utils.types import Config


def label_scores(
    reference: Sequence[Sequence[str | int]], predicted: Sequence[Sequence[str | int]]
) -> dict[str, object]:
    """Returns scores by name, for JSON.

    Args:
        reference: the right labels of each text.
        predicted: the predicted labels of each text.
    """
    rows = [
        [[(label,) for label in {*row}] for row in x] for x in (reference, predicted)
    ]
    by_label = scores_by_type(*rows)
    same = [
        {*right} == {*guess} for right, guess in zip(reference, predicted, strict=True)
    ]
    return {
        "accuracy": sum(same) / len(same),
        "micro_f1": total_of(by_label.values()).f1,
        "macro_f1": sum(each.f1 for each in by_label.values()) / max(len(by_label), 1),
        "by_label": {label: each.as_dict() for label, each in by_label.items()},
    }


def label_table(scores: Config) -> str:
    """Returns lines for a terminal, in percent as conlleval has them.

    Args:
        scores: as `label_scores` returns them.
    """
    lines = [
        "; ".join(
            f"{name}: {100 * scores[key]:6.2f}{end}"
            for name, key, end in (
                ("accuracy", "accuracy", "%"),
                ("micro F1", "micro_f1", ""),
                ("macro F1", "macro_f1", ""),
            )
        )
    ]
    for label, numbers in scores["by_label"].items():
        row = Scores(numbers["correct"], numbers["predicted"], numbers["reference"])
        lines.append(f"{label!s:>17}: {row.columns()}  {row.predicted}")
    return "\n".join(lines)
