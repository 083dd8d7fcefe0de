"""Which of two sentences is grammatical? BLiMP's pairs, by log likelihood.

A pair is right if the model finds the grammatical sentence more likely: forward,
backward, or by the sum of both. The first line of a sentence's likelihoods is of all
pairs, the second of those whose words the model's vocabulary has.

    python benchmarks/blimp.py --model elmo-en

Reference: Warstadt et al. 2020, "BLiMP: The Benchmark of Linguistic Minimal Pairs for
English".
"""

import json
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path

import common
import numpy as np

# By the functions of a score, in the order of the columns.
DIRECTIONS = ("forward", "backward", "sum")


def main(arguments: Sequence[str] | None = None) -> None:
    options = common.options(
        __doc__,
        arguments,
        model="elmo-en",
        pairs=(
            None,
            "folder of the pairs",
            {"type": common.existing, "metavar": "DIR"},
        ),
    )
    folder = options.pairs or common.data_folder() / "blimp_dev"
    import keras_elmo

    model = keras_elmo.load_language_model(options.model)
    paths = sorted(folder.glob("*.jsonl*"))
    if not paths:
        raise SystemExit(f"no pairs in {folder}")
    paradigms = {
        path.name.partition(".")[0]: measure(model, read_pairs(path)) for path in paths
    }
    common.publish(options, table, paradigms=paradigms)


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Reads the grammatical and the other sentence of each line."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        rows = map(json.loads, file)
        return [(row["sentence_good"], row["sentence_bad"]) for row in rows]


def measure(model: object, pairs: Sequence[tuple[str, str]]) -> dict[str, list[float]]:
    """Returns, of all pairs and of the known ones, their number and what is right."""
    import keras_elmo

    # The sentences of a pair have about the same length.
    found = keras_elmo.score(model, (each for pair in pairs for each in pair), 128)
    rows = np.array(
        [
            [s.forward, s.backward, s.forward + s.backward, bool(s.unknown)]
            for s in found
        ]
    ).reshape(len(pairs), 2, 4)
    right = rows[:, 0, :3] > rows[:, 1, :3]
    known = ~rows[..., 3].astype(bool).any(axis=1)
    return {
        name: [len(chosen), *(100 * chosen.mean(axis=0)).tolist()]
        for name, chosen in (("all", right), ("known", right[known]))
        if len(chosen)
    }


def table(result: common.Result) -> str:
    """A row a paradigm, then that of all pairs."""
    header = ["Paradigm", *DIRECTIONS, "pairs with known words", *DIRECTIONS]
    rows = list(result["paradigms"].items())
    means = {
        name: _mean(each[name] for _, each in rows if name in each)
        for name in ("all", "known")
    }
    return common.markdown_table(
        header, (_row(name, each) for name, each in [*rows, ("all pairs", means)])
    )


def _mean(found: Iterable[list[float]]) -> list[float]:
    """Returns the number of pairs, and their mean in each direction."""
    figures = np.array(list(found))
    if not len(figures):
        return [0]
    total = figures[:, 0].sum()
    return [int(total), *(figures[:, 0] @ figures[:, 1:] / total).tolist()]


def _row(name: str, found: dict[str, list[float]]) -> list[str]:
    (_, *of_all), (count, *known) = found["all"], found.get("known", [0])
    cells = [f"{each:.1f}" for each in of_all], [f"{each:.1f}" for each in known]
    blank = [""] * (len(DIRECTIONS) - len(known))
    return [name.replace("_", " "), *cells[0], f"{count:,}", *cells[1], *blank]


if __name__ == "__main__":
    main()
