"""What does the first epoch of a tagger or classifier cost: graphs, or sentences?

In fresh processes, `fit` trains each of them for two epochs of 100 sentences, with as
many to score. Seconds are those of all cores. Before the epochs a frozen biLM reads all
sentences. TensorFlow traces its graphs there and in the first epoch. With `--before
FOLDER`, a checkout of another commit takes turns with this one.

    python benchmarks/first_epoch.py --out first_epoch.json
"""

import itertools
import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

import common
from common import markdown_table

_TASKS = {
    "tagger": "Tagger",
    "tagger-fine-tuned": "Tagger, trainable_encoder=True",
    "classifier": "TextClassifier",
}
_WORDS = "the heron slept on a warm bank of this slow river near Rome .".split()
_SENTENCES = 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        model=("elmo-en", "a name or path", {"metavar": "MODEL"}),
        before=(None, "a checkout of another commit", {"metavar": "FOLDER"}),
        tasks=([*_TASKS], "what is trained", {"choices": [*_TASKS]}),
        repeats=5,
    )
    before = {} if options.before is None else {"before": options.before}
    folders = {**before, "now": common.ROOT}
    measured: dict[str, dict[str, list[Any]]] = {}
    for _, task in itertools.product(range(options.repeats), options.tasks):
        for version, folder in folders.items():
            os.environ["PYTHONPATH"] = os.path.abspath(folder)
            found = common.call_in_process("first_epoch", "train", task, options.model)
            runs = measured.setdefault(task, {}).setdefault(version, [])
            runs.append(json.loads(found))
    common.publish(options, table, measured=measured)


def train(task: str, model: str) -> None:
    """Prints what a task's parts cost."""
    import keras

    import keras_elmo

    keras.utils.set_random_seed(0)
    rng = random.Random(0)
    words = [rng.choices(_WORDS, k=rng.randint(3, 30)) for _ in range(2 * _SENTENCES)]
    halves = words[:_SENTENCES], words[_SENTENCES:]
    task_model: Any
    data: list[Any]
    if task == "classifier":
        task_model = keras_elmo.TextClassifier(model)
        data = [(half, [int("heron" in row) for row in half]) for half in halves]
    else:
        trained = task == "tagger-fine-tuned"
        task_model = keras_elmo.Tagger(model, trainable_encoder=trained)
        tags = {word: "O" for word in _WORDS} | {"Rome": "B-place"}
        data = [(half, [[*map(tags.get, row)] for row in half]) for half in halves]
    moments: list[float] = []

    def mark(*_: Any) -> None:
        moments.append(time.process_time())

    marking = keras.callbacks.LambdaCallback(on_train_begin=mark, on_epoch_end=mark)
    traced = _count_graphs()
    mark()
    task_model.fit(
        *data[0], validation_data=data[1], epochs=2, verbose=0, callbacks=[marking]
    )
    spent = [after - before for before, after in itertools.pairwise(moments)]
    print(json.dumps([*spent, sum(traced), len(traced)]))


def _count_graphs() -> list[float]:
    """Returns a list that gets the seconds of each graph, without those inside it."""
    from tensorflow.python.framework import func_graph

    trace = func_graph.func_graph_from_py_func
    traced: list[float] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        inside, began = len(traced), time.thread_time()
        graph = trace(*args, **kwargs)
        traced.append(time.thread_time() - began - sum(traced[inside:]))
        return graph

    func_graph.func_graph_from_py_func = counted
    return traced


def table(result: common.Result) -> str:
    """Returns the medians, one row per task, and per version if there are two."""
    header = ["", "Version", "Before the epochs, s", "First", "Second", "Tracing"]
    rows = []
    for task, versions in result["measured"].items():
        for version, runs in versions.items():
            *seconds, graphs = map(statistics.median, zip(*runs, strict=True))
            cells = [f"{value:.2f}" for value in seconds]
            rows.append([_TASKS[task], version, *cells, f"{graphs:.0f}"])
    return markdown_table([*header, "Graphs"], rows)


if __name__ == "__main__":
    main()
