"""Which of two sentences is grammatical? BLiMP's pairs, by log likelihood.

A pair is right if the model finds the grammatical sentence more likely: forward,
backward, or by the sum of both. Pairs whose words the model's vocabulary has are also
counted alone. All 67 paradigms take hours on a slow processor: with `--out`, those that
are measured are kept beside it, and the same command goes on from there.

    python benchmarks/blimp.py --model elmo-en --out benchmarks/results/blimp.json

Reference: Warstadt et al. 2020, "BLiMP: The Benchmark of Linguistic Minimal Pairs for
English".
"""

import json
import lzma
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import common
import numpy as np

# By the functions of a score, in the order of the columns.
DIRECTIONS = ("forward", "backward", "sum")
Rows = list[dict[str, Any]]
# A phenomenon, and percentages of "all" pairs and of the "known" ones.
Paradigm = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    options = common.options(
        __doc__,
        arguments,
        model="elmo-en",
        pairs=(
            None,
            "folder of the pairs (blimp of the data)",
            {"type": common.existing, "metavar": "DIR"},
        ),
    )
    folder = options.pairs or common.data_folder() / "blimp"
    paths = sorted(folder.glob("*.jsonl*"))
    if not paths:
        raise SystemExit(f"no pairs in {folder}")
    part = Path(f"{options.out}.part") if options.out else None
    finished = read_part(part, options.model)
    import keras_elmo

    model = keras_elmo.load_language_model(options.model)
    for path in paths:
        name = path.name.partition(".")[0]
        if name not in finished:
            finished[name] = measure(model, read_pairs(path))
            right = finished[name]["all"][-1]
            print(f"{name}: {right:.1f}", file=sys.stderr, flush=True)
            if part:
                saved = {"model": options.model, "paradigms": finished}
                common.write_json(part, saved)
    paradigms = dict(sorted(finished.items()))
    common.publish(options, table, paradigms=paradigms)
    if part:
        part.unlink(missing_ok=True)


def read_part(path: Path | None, model: str) -> dict[str, Paradigm]:
    """Reads the paradigms that an earlier process measured with the same model."""
    if path is None or not path.exists():
        return {}
    saved = json.loads(path.read_text(encoding="utf-8"))
    return saved["paradigms"] if saved["model"] == model else {}


def read_pairs(path: Path) -> Rows:
    """Reads the pairs of a paradigm, one per line."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def measure(model: object, pairs: Rows) -> Paradigm:
    """Returns the number of pairs and the percentages that are right."""
    import keras_elmo

    # The sentences of a pair have about the same length.
    sentences = (
        pair[name] for pair in pairs for name in ("sentence_good", "sentence_bad")
    )
    rows = np.array(
        [
            [s.forward, s.backward, s.forward + s.backward, bool(s.unknown)]
            for s in keras_elmo.score(model, sentences, 128)
        ]
    ).reshape(len(pairs), 2, 4)
    right = rows[:, 0, :3] > rows[:, 1, :3]
    known = ~rows[..., 3].astype(bool).any(axis=1)
    percentages = {
        name: [len(chosen), *(100 * chosen.mean(axis=0)).tolist()]
        for name, chosen in (("all", right), ("known", right[known]))
        if len(chosen)
    }
    return {"phenomenon": pairs[0].get("linguistics_term", ""), **percentages}


def table(result: common.Result) -> str:
    """Returns one row per phenomenon, then the mean over all paradigms."""
    header = ["Phenomenon", "paradigms", *DIRECTIONS]
    header += ["pairs with known words", *DIRECTIONS]
    paradigms = sorted(result["paradigms"].values(), key=_phenomenon)
    rows = [
        _row(name.replace("_", " "), list(group))
        for name, group in groupby(paradigms, _phenomenon)
    ]
    return common.markdown_table(header, [*rows, _row("all", paradigms)])


def _phenomenon(paradigm: Mapping[str, Any]) -> str:
    return paradigm["phenomenon"]


def _row(name: str, paradigms: Sequence[Paradigm]) -> list[str]:
    _, *all_pairs = _mean(paradigm["all"] for paradigm in paradigms)
    known = (paradigm["known"] for paradigm in paradigms if "known" in paradigm)
    count, *known_pairs = _mean(known)
    cells = [f"{value:.1f}" for value in all_pairs]
    blank = [""] * (len(DIRECTIONS) - len(known_pairs))
    known_cells = [f"{value:.1f}" for value in known_pairs]
    return [name, str(len(paradigms)), *cells, f"{count:,.0f}", *known_cells, *blank]


def _mean(measured: Iterable[list[float]]) -> list[float]:
    """Returns the number of pairs, and their mean in each direction."""
    figures = np.array(list(measured))
    if not len(figures):
        return [0]
    total = figures[:, 0].sum()
    return [total, *(figures[:, 0] @ figures[:, 1:] / total)]


if __name__ == "__main__":
    main()
