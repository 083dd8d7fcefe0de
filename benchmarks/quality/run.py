"""What is a model worth? Its perplexity, BLiMP, and six tasks, beside static vectors.

Measures frozen models, and `Tagger` and `TextClassifier` on them, on every processor. A
score that is kept in the file of scores is not measured again. Then fills the tables of
docs/results.md and the models' cards, and draws the cards' figures.

    python benchmarks/quality/run.py \\
        --elmo en=saved_models/elmo-en ko=saved_models/elmo-ko \\
        --static en=runs/static-en.txt ko=runs/static-ko.txt
"""

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import common
from scores import Job, Result, Scores
from task_data import DATA_SETS

_CURVES = common.ROOT / "benchmarks" / "results" / "training_curves.csv"
_EXPERIMENTS = ("perplexity", "tasks", "layers", "blimp")
_VECTORS = ("static", "elmo", "both")
# Language, biLM, static vectors.
_Paths = tuple[str, str, str | None]


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
        seeds=(None, "of each head; by default as the tasks have it", {"type": int}),
        epochs=(None, "at most; by default as the tasks have it", {"type": int}),
        processes=(os.cpu_count() or 1, "at once, of one thread each"),
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
        jobs = list(_jobs(options))
        missing = [(paths, job) for paths, job in jobs if not scores.have(job)]
        _say(f"{len(missing)} of {len(jobs)} measurements are missing")
        for job, results in _measured(missing, options.processes):
            scores.add(job, results)
            for key, result in zip(job.keys, results, strict=True):
                _say(f"{key}: {result['score']:.2f}")
    import figures
    import page

    for path in (options.page, *options.cards):
        page.write(path, scores)
    folder = options.page.with_name("figures")
    folder.mkdir(exist_ok=True)
    figures.draw_perplexities(_CURVES, folder)


def _jobs(options: argparse.Namespace) -> Iterator[tuple[_Paths, Job]]:
    """Yields what is measured."""
    import language_models
    import probes
    import tasks

    fit = {} if options.epochs is None else {"epochs": options.epochs}
    jobs: dict[str, Callable[..., Iterator[Job]]] = {
        "perplexity": language_models.perplexity_jobs,
        "tasks": lambda model: tasks.jobs(
            model, options.tasks, options.vectors, options.seeds, **fit
        ),
        "layers": probes.jobs,
        "blimp": language_models.blimp_jobs,
    }
    static = dict(options.static)
    # Perplexity first: it tells which model the other scores belong to.
    for name in (name for name in _EXPERIMENTS if name in options.experiments):
        for language, path in options.elmo:
            paths = (language, path, static.get(language))
            yield from ((paths, job) for job in jobs[name](_model(*paths)))


def _measured(
    jobs: Sequence[tuple[_Paths, Job]], processes: int
) -> Iterator[tuple[Job, list[Result]]]:
    if processes == 1:
        yield from ((job, _measure(paths, job)) for paths, job in jobs)
        return
    # Read by the processes that are started now, before they import TensorFlow.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1")
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context)
    # Large jobs are the longest.
    waiting = sorted(jobs, key=lambda pair: not pair[1].is_large)
    running: dict[Future[list[Result]], Job] = {}
    try:
        while waiting or running:
            while len(running) < processes and (pair := _next(waiting, running)):
                waiting.remove(pair)
                running[pool.submit(_measure, *pair)] = pair[1]
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            yield from ((running.pop(future), future.result()) for future in done)
    except BaseException:
        # What they measure would be lost.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown()


def _next(
    waiting: Sequence[tuple[_Paths, Job]], running: Mapping[Any, Job]
) -> tuple[_Paths, Job] | None:
    """Returns the first job that memory has room for."""
    is_full = any(job.is_large for job in running.values())
    fitting = (pair for pair in waiting if not (is_full and pair[1].is_large))
    return next(fitting, None)


def _measure(paths: _Paths, job: Job) -> list[Result]:
    return job.measure(_model(*paths), *job.arguments)


@cache
def _model(*paths: Any) -> Any:
    from measured_model import MeasuredModel

    return MeasuredModel(*paths)


def _of_a_language(argument: str) -> tuple[str, str]:
    language, equals, path = argument.partition("=")
    if language not in ("en", "ko") or not equals:
        raise argparse.ArgumentTypeError(f"en=PATH or ko=PATH expected, not {argument}")
    return language, str(common.existing(path))


def _say(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("interrupted; the same command goes on") from None
