"""What are the vectors worth? Every task, for any list of word vectors.

Trains small heads on frozen vectors, three seeds of each; what was measured before is
kept in the file of scores and not measured again. Then fills the tables of
docs/results.md and of the models' cards, and draws the figures.

    python benchmarks/quality/run.py \\
        --elmo en=saved_models/elmo-en ko=saved_models/elmo-ko \\
        --static en=runs/static-en.txt ko=runs/static-ko.txt \\
        --young en=runs/young-en-exported --bert en=runs/bert-en
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import common
from experiments import COMPARED, EXPERIMENTS, Run
from scores import Scores

DEFAULT_SCORES = Path(__file__).with_name("scores.json")
DEFAULT_PAGE = common.ROOT / "docs" / "results.md"
DEFAULT_CARDS = sorted((common.ROOT / "saved_models").glob("elmo-*.md"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is not measured yet; writes the page."""
    options = _parser().parse_args(arguments)
    scores = Scores(options.scores)
    runs = dict.fromkeys(
        run
        for name in options.experiments
        for row in EXPERIMENTS[name](options.words).rows.values()
        for run in row
    )
    if options.elmo:
        _measure(list(runs), options, scores)
    import page

    for path in (options.page, *options.cards):
        page.write(path, scores, options.seeds, options.words)
    page.draw(options.page.with_name("figures"), scores, options.seeds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, what in (
        ("elmo", "a model; without any, the page alone is written"),
        ("static", "a file of static vectors"),
        ("young", "a model that was trained for as long as that of --bert"),
        ("bert", "a folder of pretrain_bert.py"),
    ):
        parser.add_argument(
            f"--{name}",
            nargs="*",
            type=_of_a_language,
            default=[],
            metavar="LANGUAGE=PATH",
            help=f"{what} for en, ko or both",
        )
    parser.add_argument(
        "--experiments",
        nargs="*",
        choices=EXPERIMENTS,
        default=list(EXPERIMENTS),
        metavar="NAME",
        help=f"of {', '.join(EXPERIMENTS)} (all)",
    )
    parser.add_argument(
        "--words",
        nargs="*",
        default=list(COMPARED),
        metavar="NAME",
        help=f"what `main` and `linear` compare ({' '.join(COMPARED)})",
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="(3)")
    parser.add_argument("--scores", type=Path, default=DEFAULT_SCORES, metavar="FILE")
    parser.add_argument("--page", type=Path, default=DEFAULT_PAGE, metavar="FILE")
    parser.add_argument(
        "--cards", type=Path, nargs="*", default=DEFAULT_CARDS, metavar="FILE"
    )
    return parser


def _of_a_language(argument: str) -> tuple[str, str]:
    language, equals, path = argument.partition("=")
    if language not in ("en", "ko") or not equals:
        raise argparse.ArgumentTypeError(f"en=PATH or ko=PATH expected, not {argument}")
    return language, path


def _measure(runs: list[Run], options: argparse.Namespace, scores: Scores) -> None:
    import probes
    import trained_heads
    from encoders import Encoders

    import keras_elmo

    static, bert = dict(options.static), dict(options.bert)
    young = {language: keras_elmo.load(path) for language, path in options.young}
    for language, path in dict(options.elmo).items():
        encoders = Encoders(
            keras_elmo.load(path),
            static=static.get(language),
            young=young.get(language),
            bert=bert.get(language),
        )
        trained_heads.measure(language, runs, options.seeds, encoders, scores, _say)
        probes.measure(language, encoders, scores, _say)


def _say(message: str) -> None:
    """Shows how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
