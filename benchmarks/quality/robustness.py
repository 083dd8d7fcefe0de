"""How robust are the vectors? Heads trained on clean text read misspelt text.

A head is trained once on the training sentences as they are, then reads the development
sentences as they are, with more and more typing errors or errors of OCR, and in lower
case. Draws a figure and prints a table. What was measured before is kept in the file of
scores and not measured again.

    python benchmarks/quality/robustness.py --elmo elmo-en \\
        --static runs/static-en.txt --known runs/static-en-known.txt

`train_static.py --known` writes both files of static vectors: fastText knows a vector
for any word from its parts; in the second file a word that the text lacks has none.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import common
import numpy as np
from data_sets import DATA_SETS, Task
from experiments import TITLES, Head
from noise import CLEAN, NOISES
from scores import Scores, score

# By the name of a line in the figure.
LINES = {
    "known": "Static, known words alone",
    "static": "Static (fastText)",
    "elmo": "ELMo",
    "static+elmo": "[static; ELMo]",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is not measured yet; draws the figure and prints the table."""
    file = {"type": common.existing, "metavar": "FILE"}
    options = common.options(
        __doc__,
        arguments,
        elmo=(None, "model; without one, only the figure is drawn", {"metavar": "M"}),
        static=(None, "static vectors", file),
        known=(None, "static vectors of the words that their text has", file),
        tasks=(["ewt", "sst2"], "to measure", {"choices": TITLES, "nargs": "+"}),
        seeds=3,
        scores=Path(__file__).with_name("robustness.json"),
        figure=common.ROOT / "docs" / "figures" / "robustness.png",
    )
    scores = Scores(options.scores)
    if options.elmo:
        _measure_all(options, scores)
    means = mean_scores(scores, options.tasks, options.seeds)
    print(table(means))
    if means:
        import figures

        figures.draw_robustness(means, options.figure)


def _measure_all(options: argparse.Namespace, scores: Scores) -> None:
    from encoders import Encoders

    import keras_elmo

    elmo = keras_elmo.load(options.elmo)
    encoders = Encoders(elmo, options.static)
    lines = {name: (encoders, name) for name in ("static", "elmo", "static+elmo")}
    if options.known:
        lines["known"] = (Encoders(elmo, options.known), "static")
    for name in options.tasks:
        task = noised(DATA_SETS[name].read(common.data_folder(), encoders.tokenizer))
        for seed in range(options.seeds):
            for line, (of_line, words) in lines.items():
                if not of_line.has(words):
                    continue
                key = f"{name}, {line}, seed {seed}"
                training = asdict(DATA_SETS[name].training)
                conditions = {"vectors": of_line.digest(words), "training": training}
                if not scores.has(key, **conditions):
                    began = time.monotonic()
                    found = _measure(task, of_line.words(words, task), seed, name)
                    seconds = round(time.monotonic() - began, 1)
                    scores[key] = conditions | {"scores": found, "seconds": seconds}
                    _say(f"{key}: {found[CLEAN]:.2f} clean, {seconds:.0f} s")


def noised(task: Task) -> Task:
    """Returns the task with a copy of its development sentences for each noise."""
    sentences = [task.sentences[k] for k in task.dev]
    labels = [task.labels[k] for k in task.dev]
    copies = [row for noise in NOISES.values() for row in noise.applied(sentences)]
    return Task(
        [*task.sentences, *copies],
        [*task.labels, *labels * len(NOISES)],
        task.classes,
        task.num_train,
    )


def _measure(task: Task, words: Any, seed: int, name: str) -> dict[str, float]:
    import head_models

    training = DATA_SETS[name].training
    places = np.arange(task.num_train)
    model = head_models.train(Head(), task, words, None, places, seed, training)
    found = head_models.predict(model, task, words, None, training.batch_size)
    return scores_by_noise(task, found)


def scores_by_noise(task: Task, found: Mapping[int, np.ndarray]) -> dict[str, float]:
    """Returns the score of each copy of the development sentences."""
    copies = np.split(task.dev, 1 + len(NOISES))
    return {
        name: score(
            Task(
                [task.sentences[k] for k in copy],
                [task.labels[k] for k in copy],
                task.classes,
                num_train=0,
            ),
            dict(enumerate(found[k] for k in copy)),
        )
        for name, copy in zip([CLEAN, *NOISES], copies, strict=True)
    }


# Of each task, of each line, of each noise, the score of each seed.
Measured = dict[str, dict[str, dict[str, list[float]]]]


def mean_scores(scores: Scores, tasks: Sequence[str], seeds: int) -> Measured:
    """Returns the scores of the seeds, without lines that lack a seed."""
    measured: Measured = {}
    for task in tasks:
        for line, title in LINES.items():
            keys = [f"{task}, {line}, seed {seed}" for seed in range(seeds)]
            if all(key in scores for key in keys):
                each = [scores[key]["scores"] for key in keys]
                measured.setdefault(TITLES[task], {})[title] = {
                    noise: [of_seed[noise] for of_seed in each] for noise in each[0]
                }
    return measured


def table(measured: Measured) -> str:
    """Returns a row for each task and noise, and a column for each kind of vectors."""
    columns = list(dict.fromkeys(t for lines in measured.values() for t in lines))
    rows = []
    for task, lines in measured.items():
        for noise in [CLEAN, *NOISES]:
            cells = [
                _cell(lines[title][noise]) if title in lines else ""
                for title in columns
            ]
            rows.append([task, noise, *cells])
    return common.markdown_table(["Task", "Development text", *columns], rows)


def _cell(values: Sequence[float]) -> str:
    deviation = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{deviation}"


def _say(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
