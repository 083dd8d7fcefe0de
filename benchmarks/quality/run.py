"""What is a model worth? Its perplexity, BLiMP, and every task, beside static vectors.

Measures frozen models, and `Tagger` and `TextClassifier` on them. A score that is kept
in the file of scores is not measured again. Then fills the tables of docs/results.md
and the models' cards, and draws the cards' figures.

    python benchmarks/quality/run.py \\
        --elmo en=saved_models/elmo-en ko=saved_models/elmo-ko \\
        --static en=runs/static-en.txt ko=runs/static-ko.txt
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import common
from scores import Scores
from task_data import DATA_SETS

_CURVES = common.ROOT / "benchmarks" / "results" / "training_curves.csv"
_EXPERIMENTS = ("perplexity", "blimp", "layers", "heads")
_VECTORS = ("static", "elmo", "both")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is missing; fills the pages."""
    per_language = {"nargs": "*", "type": _of_a_language, "metavar": "LANGUAGE=PATH"}
    cards = sorted((common.ROOT / "saved_models").glob("elmo-*.md"))
    names = list(_EXPERIMENTS)
    options = common.options(
        __doc__,
        arguments,
        elmo=([], "models; without any, only the pages are filled", per_language),
        static=([], "files of static vectors", per_language),
        experiments=(names, "to measure", {"choices": names, "nargs": "*"}),
        tasks=(list(DATA_SETS), "to measure", {"choices": DATA_SETS, "nargs": "*"}),
        vectors=(list(_VECTORS), "below heads", {"choices": _VECTORS, "nargs": "*"}),
        seeds=(1, "of each head"),
        epochs=(None, "at most; by default as the tasks have it", {"type": int}),
        scores=Path(__file__).with_name("scores.json"),
        page=(
            common.ROOT / "docs" / "results.md",
            "whose tables are filled",
            {"type": common.existing},
        ),
        cards=(cards, "", {"type": common.existing, "nargs": "*"}),
    )
    scores = Scores(options.scores)
    if options.elmo:
        _measure(options, scores)
    import figures
    import page

    for path in (options.page, *options.cards):
        page.write(path, scores)
    folder = options.page.with_name("figures")
    folder.mkdir(exist_ok=True)
    figures.draw_perplexities(_CURVES, folder)


def _measure(options: argparse.Namespace, scores: Scores) -> None:
    import language_models
    import probes
    import tasks
    from measured_model import MeasuredModel

    runs = list(tasks.runs(options.tasks, options.vectors, options.seeds))
    fit = {} if options.epochs is None else {"epochs": options.epochs}
    static = dict(options.static)
    for language, path in options.elmo:
        model = MeasuredModel(language, path, static.get(language))
        # Perplexity first: it tells which model the other scores belong to.
        if "perplexity" in options.experiments:
            language_models.measure_perplexity(model, scores, _say)
        if "blimp" in options.experiments:
            language_models.measure_blimp(model, scores, _say)
        if "layers" in options.experiments:
            probes.measure(model, scores, _say)
        if "heads" in options.experiments:
            tasks.measure(runs, model, scores, _say, **fit)


def _of_a_language(argument: str) -> tuple[str, str]:
    language, equals, path = argument.partition("=")
    if language not in ("en", "ko") or not equals:
        raise argparse.ArgumentTypeError(f"en=PATH or ko=PATH expected, not {argument}")
    return language, path


def _say(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
