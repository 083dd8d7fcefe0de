"""Results of benchmarks as Markdown: a table and the commands that made it.

python benchmarks/report.py RESULT.json [RESULT.json ...]
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Result = dict[str, Any]

WORDS = {
    "elmo": "Frozen ELMo",
    "random": "Frozen random encoder",
    "static": "Static vectors",
}

_TASKS = {
    "ewt": "UD EWT, part-of-speech tags",
    "sst2": "SST-2, sentiment",
    "nsmc": "NSMC, sentiment",
}


def main(paths: Sequence[str]) -> None:
    """Prints a table for each kind of benchmark among the files."""
    results = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    for kind, table in TABLES.items():
        chosen = [result for result in results if result["benchmark"] == kind]
        if chosen:
            print(table(chosen) + "\n\n```\n" + commands(chosen) + "\n```\n")


def downstream(results: Sequence[Result]) -> str:
    """Returns the accuracies of `downstream.py`, a row a task."""
    header = [
        "Task",
        "Model",
        "Sentences (train + dev)",
        *(f"{name}, %" for name in WORDS.values()),
        "ELMo's mix (h_0, h_1, ..; gamma)",
    ]
    return _table(header, map(_downstream_row, results))


def _downstream_row(result: Result) -> list[str]:
    return [
        _TASKS[result["task"]],
        Path(result["model"]).name,
        f"{result['train_sentences']:,} + {result['dev_sentences']:,}",
        *(_accuracy(result["words"][name]) for name in WORDS),
        _mix(result["words"]["elmo"]["mix"]),
    ]


def _accuracy(words: dict[str, Any]) -> str:
    deviation = words["standard_deviation"]
    mean = f"{100 * words['mean']:.2f}"
    return mean if deviation is None else f"{mean} ± {100 * deviation:.2f}"


def _mix(mixes: Sequence[dict[str, Any]]) -> str:
    """The mean over the seeds."""
    weights = zip(*(mix["weights"] for mix in mixes), strict=True)
    gamma = statistics.mean(mix["gamma"] for mix in mixes)
    shown = ", ".join(f"{statistics.mean(layer):.2f}" for layer in weights)
    return f"{shown}; {gamma:.2f}"


def inference(results: Sequence[Result]) -> str:
    """Returns the figures of `inference.py`, a row a batch size and a system."""
    header = [
        "Preset",
        "Sentences a batch",
        "System",
        "Words/s, median",
        "least to most",
        "of simple_elmo's",
        "Peak memory, MB",
        "Greatest difference",
        "Least cosine",
    ]
    rows = (
        _inference_row(result, row, system)
        for result in results
        for row in result["rows"]
        for system in row["systems"]
    )
    return _table(header, rows)


def _inference_row(result: Result, row: dict[str, Any], system: str) -> list[str]:
    figures = row["systems"][system]
    speeds = figures["words_per_second"]
    peer = row["systems"].get("simple_elmo")
    return [
        result["preset"],
        str(row["batch_size"]),
        system,
        f"{figures['median']:,.0f}",
        f"{min(speeds):,.0f} to {max(speeds):,.0f}",
        f"{figures['median'] / peer['median']:.2f}" if peer else "",
        f"{figures['peak_bytes'] / 1e6:,.0f}",
        f"{figures['greatest_difference']:.1e}",
        f"{figures['least_cosine']:.5f}",
    ]


def memory(results: Sequence[Result]) -> str:
    """Returns the medians of `memory.py`, a row a number of shards."""
    header = [
        "Preset",
        "Shards",
        "Peak memory, MB",
        "More than with one, %",
        "Seconds to the first update",
        "of these importing",
    ]
    return _table(header, (row for result in results for row in _memory_rows(result)))


def _memory_rows(result: Result) -> Iterable[list[str]]:
    base = result["runs"][0]["median"]["peak_bytes"]
    for run in result["runs"]:
        median = run["median"]
        yield [
            result["preset"],
            str(run["shards"]),
            f"{median['peak_bytes'] / 1e6:,.0f}",
            f"{100 * (median['peak_bytes'] / base - 1):+.1f}",
            f"{median['seconds_to_first_update']:.1f}",
            f"{median['seconds_to_import']:.1f}",
        ]


def batching(results: Sequence[Result]) -> str:
    """Returns the figures of `batching.py`, a row a text and a kind of batches."""
    header = [
        "Preset",
        "A line is a",
        "Batches",
        "Words/s, median",
        "least to most",
        "Padding, %",
        "Shapes",
        "Perplexity",
        "after words",
    ]
    rows = (_batching_row(result, row) for result in results for row in result["rows"])
    return _table(header, rows)


def _batching_row(result: Result, row: dict[str, Any]) -> list[str]:
    speeds = row["words_per_second"]
    return [
        result["preset"],
        row["text"],
        row["batches"],
        f"{row['median']:,.0f}",
        f"{min(speeds):,.0f} to {max(speeds):,.0f}",
        f"{100 * row['padding']:.2f}",
        str(row["shapes"]),
        f"{row['perplexity']:,.1f}",
        f"{row['words']:,}",
    ]


def gpu(results: Sequence[Result]) -> str:
    """Returns the figures of `gpu.py`, a row a kind of work."""
    header = [
        "Preset",
        "Policy",
        "Rows x positions",
        "Work",
        "Words/s, median",
        "least to most",
        "TFLOP/s",
        "of a bfloat16 product's, %",
        "Peak device memory, GB",
    ]
    rows = (
        _gpu_row(result, work)
        for result in results
        for work in ("inference", "training")
    )
    return _table(header, rows)


def _gpu_row(result: Result, work: str) -> list[str]:
    figures = result[work]
    speeds = figures["words_per_second"]
    peak = figures["peak_bytes"]
    achieved = figures["flops_per_second"]
    return [
        result["preset"],
        result["dtype"],
        f"{result['batch']} x {result['row_length']}",
        work,
        f"{figures['median']:,.0f}",
        f"{min(speeds):,.0f} to {max(speeds):,.0f}",
        f"{achieved / 1e12:,.1f}",
        f"{100 * achieved / result['product_flops_per_second']:.1f}",
        "" if peak is None else f"{peak / 1e9:,.1f}",
    ]


def commands(results: Sequence[Result]) -> str:
    """Returns the commands that made the results, a line each."""
    return "\n".join(map(_command, results))


def _command(result: Result) -> str:
    kind = result["benchmark"]
    options = [
        f"--{name.replace('_', '-')} {result[name]}"
        for name in _OPTIONS[kind]
        if result[name] is not None
    ]
    return " ".join([f"python benchmarks/{kind}.py", *options])


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES: dict[str, Callable[[Sequence[Result]], str]] = {
    "downstream": downstream,
    "inference": inference,
    "memory": memory,
    "batching": batching,
    "gpu": gpu,
}

_OPTIONS = {
    "downstream": ("model", "task", "seeds", "train_size", "epochs"),
    "inference": ("preset", "repeats"),
    "memory": ("preset", "steps", "vocabulary_size", "num_sampled", "repeats"),
    "batching": (
        "preset",
        "lines",
        "num_sampled",
        "batch_tokens",
        "steps",
        "repeats",
        "minutes",
        "validation_lines",
    ),
    "gpu": (
        "preset",
        "dtype",
        "batch",
        "row_length",
        "vocabulary_size",
        "num_sampled",
        "steps",
        "repeats",
        "product_size",
    ),
}


if __name__ == "__main__":
    main(sys.argv[1:])
