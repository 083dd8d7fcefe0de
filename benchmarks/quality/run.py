"""What is a model worth? Its perplexity, BLiMP, and every task, beside static vectors.

Trains small heads on frozen vectors, three seeds of each; what was measured before is
kept in the file of scores and not measured again. Then fills the tables of
docs/results.md and of the models' cards, and draws the figures.

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
from data_sets import of_a_language
from experiments import COMPARED, EXPERIMENTS, TITLES, Run
from scores import Scores


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is not measured yet; writes the page."""
    of_languages = {"nargs": "*", "type": of_a_language, "metavar": "LANGUAGE=PATH"}
    cards = sorted((common.ROOT / "saved_models").glob("elmo-*.md"))
    names = [*EXPERIMENTS, "perplexity", "blimp"]
    options = common.options(
        __doc__,
        arguments,
        elmo=([], "models; without any, only the page is written", of_languages),
        static=([], "files of static vectors", of_languages),
        experiments=(names, "", {"choices": names, "nargs": "*"}),
        tasks=(list(TITLES), "to measure", {"choices": TITLES, "nargs": "*"}),
        words=(list(COMPARED), "what `main` and `linear` compare"),
        seeds=3,
        scores=Path(__file__).with_name("scores.json"),
        page=(
            common.ROOT / "docs" / "results.md",
            "whose tables are filled",
            {"type": common.existing},
        ),
        cards=(cards, "", {"type": common.existing, "nargs": "*"}),
    )
    scores = Scores(options.scores)
    runs = dict.fromkeys(
        run
        for name in options.experiments
        if name in EXPERIMENTS
        for row in EXPERIMENTS[name](options.words).rows.values()
        for run in row
        if run.task in options.tasks
    )
    if options.elmo:
        _measure(list(runs), options, scores)
    import page

    for path in (options.page, *options.cards):
        page.write(path, scores, options.seeds, options.words)
    page.draw(options.page.with_name("figures"), scores, options.seeds)


def _measure(runs: list[Run], options: argparse.Namespace, scores: Scores) -> None:
    import language_models
    import probes
    import trained_heads
    from encoders import Encoders

    others = {
        "perplexity": language_models.measure_perplexity,
        "blimp": language_models.measure_blimp,
        "layers": probes.measure,
    }
    static = dict(options.static)
    for language, path in options.elmo:
        encoders = Encoders(path, static.get(language))
        trained_heads.measure(language, runs, options.seeds, encoders, scores, _say)
        for name in others.keys() & set(options.experiments):
            others[name](language, encoders, scores, _say)


def _say(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
