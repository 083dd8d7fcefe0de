"""Results of benchmarks as Markdown: a table and the commands that made it.

python benchmarks/report.py RESULT.json [RESULT.json ...]
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
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
        *_spread(speeds),
        f"{figures['median'] / peer['median']:.2f}" if peer else "",
        f"{figures['peak_bytes'] / 1e6:,.0f}",
        f"{figures['greatest_difference']:.1e}",
        f"{figures['least_cosine']:.5f}",
    ]


def cold_start(results: Sequence[Result]) -> str:
    """Returns the medians of `cold_start.py`, a row a model."""
    header = ["Preset", "Imported, s", "Loaded, s", "First vectors, s", "least to most"]
    return _table(header, map(_cold_start_row, results))


def _cold_start_row(result: Result) -> list[str]:
    ends = [run["embedded"] for run in result["measured"]]
    return [
        result["preset"],
        *(f"{seconds:.1f}" for seconds in result["median"].values()),
        f"{min(ends):.1f} to {max(ends):.1f}",
    ]


def roofline(results: Sequence[Result]) -> str:
    """Returns the figures of `roofline.py`, a row a part of the encoder."""
    header = [
        "Preset",
        "Type",
        "Part",
        "ms a batch",
        "GFLOP/s",
        "of a large product's, %",
    ]
    return _table(
        header,
        (
            line
            for result in results
            for row in result["rows"]
            for line in _roofline_rows(result, row)
        ),
    )


def _roofline_rows(result: Result, row: dict[str, Any]) -> Iterable[list[str]]:
    for part, seconds in row["seconds"].items():
        speed = row["flops"][part] / seconds
        yield [
            result["preset"],
            row["dtype"],
            part,
            f"{1000 * seconds / result['batches']:,.0f}",
            f"{speed / 1e9:,.0f}",
            f"{100 * speed / row['ceiling']:.0f}",
        ]


def embed(results: Sequence[Result]) -> str:
    """Returns the figures of `embed.py`: each way, then each length of the text."""
    header = ["Preset", "What", "Words/s, median", "least to most", "Ratio"]
    speeds = _table(header, (row for result in results for row in _embed_rows(result)))
    header = ["Preset", "Sentences", "Seconds", "Ratio", "Peak memory, MB"]
    rows = (row for result in results for row in _doubling_rows(result))
    return f"{speeds}\n\n{_table(header, rows)}"


def _embed_rows(result: Result) -> Iterable[list[str]]:
    base = statistics.median(result["words_per_second"]["call"])
    for way, speeds in result["words_per_second"].items():
        yield [
            result["preset"],
            way,
            *_spread(speeds),
            f"{statistics.median(speeds) / base:.2f}",
        ]


def _doubling_rows(result: Result) -> Iterable[list[str]]:
    base = result["doubling"][0]["seconds"]
    for run in result["doubling"]:
        yield [
            result["preset"],
            f"{run['lines']:,}",
            f"{run['seconds']:.1f}",
            f"{run['seconds'] / base:.2f}",
            f"{run['peak_bytes'] / 1e6:,.0f}",
        ]


def embed_corpus(results: Sequence[Result]) -> str:
    """Returns the figures of `embed_corpus.py`, a row a file."""
    header = [
        "Preset",
        "Sentences",
        "Words",
        "File",
        "Seconds",
        "Words/s",
        "the encoder's own, median",
        "least to most",
        "Share, %",
        "Peak memory, MB",
        "File, MB",
    ]
    return _table(header, map(_embed_corpus_row, results))


def _embed_corpus_row(result: Result) -> list[str]:
    about = (result[name] for name in ("format", "layers", "rows", "dtype"))
    return [
        result["preset"],
        f"{result['lines']:,}",
        f"{result['words']:,}",
        ", ".join(about),
        f"{result['seconds']:,.0f}",
        f"{result['words_per_second']:,.0f}",
        *_spread(result["encoder_words_per_second"]),
        f"{100 * result['share']:.0f}",
        f"{result['peak_bytes'] / 1e6:,.0f}",
        f"{result['file_bytes'] / 1e6:,.0f}",
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
        *_spread(speeds),
        f"{100 * row['padding']:.2f}",
        str(row["shapes"]),
        f"{row['perplexity']:,.1f}",
        f"{row['words']:,}",
    ]


def training(results: Sequence[Result]) -> str:
    """Returns the figures of `training.py`: of the systems, and of reading text."""
    header = [
        "Preset",
        "System",
        "Words/s, median",
        "least to most",
        "of the peer's",
        "Tokens",
        "Perplexity",
        "Peak memory, MB",
    ]
    rows = (
        _training_row(result, system)
        for result in results
        for system in result["systems"]
    )
    return _table(header, rows) + "\n\n" + _pipeline(results)


def _training_row(result: Result, system: dict[str, Any]) -> list[str]:
    speeds = system["words_per_second"]
    peers = [
        other
        for other in result["systems"]
        if not other["system"].startswith("keras_elmo")
    ]
    return [
        result["preset"],
        system["system"],
        *_spread(speeds),
        f"{system['median'] / peers[0]['median']:.2f}" if peers else "",
        f"{system['tokens']:,.0f}",
        f"{system['perplexity']:,.1f}",
        f"{system['peak_bytes'] / 1e6:,.0f}",
    ]


def _pipeline(results: Sequence[Result]) -> str:
    header = [
        "Preset",
        "ms an update, batches from memory",
        "from files",
        "longer, %",
        "ms to read a batch, nothing else running",
    ]
    return _table(header, map(_pipeline_row, results))


def _pipeline_row(result: Result) -> list[str]:
    median = result["pipeline"]["median"]
    return [
        result["preset"],
        f"{1e3 * median['memory']:.1f}",
        f"{1e3 * median['files']:.1f}",
        f"{100 * result['pipeline']['longer']:+.1f}",
        f"{1e3 * median['reading_alone']:.1f}",
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
        *_spread(speeds),
        f"{achieved / 1e12:,.1f}",
        f"{100 * achieved / result['product_flops_per_second']:.1f}",
        "" if peak is None else f"{peak / 1e9:,.1f}",
    ]


def devices(results: Sequence[Result]) -> str:
    """Returns the figures of `devices.py`, a row a preset and a number of devices."""
    header = [
        "Preset",
        "Devices",
        "Words/s, median",
        "least to most",
        "of the first row's",
        "Peak memory, MB",
        "estimated",
    ]
    return _table(header, (row for result in results for row in _devices_rows(result)))


def _devices_rows(result: Result) -> Iterable[list[str]]:
    first = statistics.median(result["runs"][0]["words_per_second"])
    for run in result["runs"]:
        speeds = run["words_per_second"]
        yield [
            run["preset"],
            str(run["devices"]),
            *_spread(speeds),
            f"{statistics.median(speeds) / first:.2f}",
            f"{run['peak_bytes'] / 1e6:,.0f}",
            f"{run['estimated_bytes'] / 1e6:,.0f}",
        ]


def onnx_runtime(results: Sequence[Result]) -> str:
    """Returns the figures of `onnx_runtime.py`, a row a batch size and an order."""
    header = [
        "Preset",
        "Sentences a batch",
        "Order",
        "ONNX Runtime, words/s",
        "TensorFlow, words/s",
        "Ratio",
        "Greatest difference",
    ]
    rows = (
        _onnx_row(result["preset"], row) for result in results for row in result["rows"]
    )
    return _table(header, rows)


def _onnx_row(preset: str, row: dict[str, Any]) -> list[str]:
    medians = [statistics.median(speeds) for speeds in row["words_per_second"].values()]
    return [
        preset,
        str(row["batch_size"]),
        row["order"],
        *(f"{median:,.0f}" for median in medians),
        f"{medians[0] / medians[1]:.2f}",
        f"{row['greatest_difference']:.1e}",
    ]


def kill(results: Sequence[Result]) -> str:
    """Returns where the runs of `kill.py` were killed, a row a run."""
    names = ("count", "step", "validation", "weights", "checkpoint", "between")
    header = [
        "Preset",
        "Devices",
        "Steps",
        "Killed",
        *names,
        "Weights, optimizer, seeds",
        "Learning curves",
    ]
    return _table(header, map(partial(_kill_row, names), results))


def _kill_row(names: Sequence[str], result: Result) -> list[str]:
    phases = [kill["phase"] for kill in result["killed"]]
    return [
        result["preset"],
        str(result["devices"]),
        str(result["steps"]),
        str(len(phases)),
        *(str(phases.count(name)) for name in names),
        "bit-identical" if result["same_state"] else "DIFFERENT",
        "identical" if result["same_history"] else "DIFFERENT",
    ]


def serving(results: Sequence[Result]) -> str:
    """Returns the figures of `serving.py`: of each load, and what the server adds."""
    header = [
        "Preset",
        "A request's answer",
        "Clients",
        "p50, ms",
        "p99, ms",
        "Requests/s, median",
        "least to most",
        "Sentences/s",
        "of one client's",
    ]
    rows = (_serving_row(result, row) for result in results for row in result["rows"])
    loads = _table(header, rows)
    header = [
        "Preset",
        "A request, ms",
        "A call, ms",
        "Added, ms",
        "Server's memory, MB",
    ]
    return f"{loads}\n\n{_table(header, map(_overhead_row, results))}"


def _serving_row(result: Result, row: dict[str, Any]) -> list[str]:
    one = min(
        (other for other in result["rows"] if other["kind"] == row["kind"]),
        key=lambda other: other["clients"],
    )
    rate, of_one = (statistics.median(r["requests_per_second"]) for r in (row, one))
    return [
        result["preset"],
        row["kind"],
        str(row["clients"]),
        f"{1e3 * row['p50']:,.1f}",
        f"{1e3 * row['p99']:,.1f}",
        *_spread(row["requests_per_second"]),
        f"{rate * row['sentences']:,.0f}",
        f"{rate / of_one:.2f}",
    ]


def serving_batching(results: Sequence[Result]) -> str:
    """Returns the figures of `serving_batching.py`, a row a way and a load."""
    header = [
        "Preset",
        "Clients",
        "Way",
        "Sentences/s, median",
        "least to most",
        "p50, ms",
        "p99, ms",
    ]
    rows = (
        [
            result["preset"],
            str(row["clients"]),
            row["way"],
            *_spread(row["sentences_per_second"]),
            f"{1e3 * row['p50']:,.1f}",
            f"{1e3 * row['p99']:,.1f}",
        ]
        for result in results
        for row in result["rows"]
    )
    return _table(header, rows)


def serving_endurance(results: Sequence[Result]) -> str:
    """Returns what `serving_endurance.py` saw of the server's memory, a row a run."""
    header = [
        "Preset",
        "Requests",
        "Failed",
        "Sentences",
        "in batches",
        "Memory after 1,000, MB",
        "in the end, MB",
        "More, %",
        "Most, MB",
    ]
    return _table(header, map(_endurance_row, results))


def _endurance_row(result: Result) -> list[str]:
    memory = result["resident_bytes"]
    return [
        result["preset"],
        f"{result['requests']:,}",
        str(len(result["failures"])),
        f"{result['sentences']:,.0f}",
        f"{result['batches']:,.0f}",
        f"{memory[0] / 1e6:,.0f}",
        f"{memory[-1] / 1e6:,.0f}",
        f"{100 * (memory[-1] / memory[0] - 1):+.1f}",
        f"{max(memory) / 1e6:,.0f}",
    ]


def serving_malformed(results: Sequence[Result]) -> str:
    """Returns how `serving_malformed.py` was answered, a row a kind of request."""
    header = ["What was wrong", "Requests", "Answers"]
    rows = (
        [kind, f"{sum(answers.values()):,}", _answers(answers)]
        for result in results
        for kind, answers in result["kinds"].items()
    )
    beside = (
        f"Beside them {result['good']:,} good requests, of which "
        f"{result['good_failed']:,} failed."
        for result in results
    )
    return "\n\n".join([_table(header, rows), *beside])


def _answers(answers: dict[str, int]) -> str:
    return ", ".join(f"{count:,} x {answer}" for answer, count in answers.items())


def _overhead_row(result: Result) -> list[str]:
    times = result["overhead"]
    return [
        result["preset"],
        *(f"{1e3 * times[name]:.2f}" for name in ("request", "call", "added")),
        f"{result['resident_bytes'] / 1e6:,.0f}",
    ]


def kill_embed(results: Sequence[Result]) -> str:
    """Returns where the runs of `kill_embed.py` were killed, a row a format."""
    names = ("skip", "write", "checkpoint", "note", "index", "rename", "between")
    header = ["Format", "Preset", "Sentences", "MB", "Killed", *names, "Files"]
    return _table(
        header,
        (
            _kill_embed_row(names, result, run)
            for result in results
            for run in result["runs"]
        ),
    )


def _kill_embed_row(names: Sequence[str], result: Result, run: Result) -> list[str]:
    phases = [kill["phase"] for kill in run["killed"]]
    return [
        " ".join([run["format"], *run["arguments"]]),
        result["preset"],
        f"{result['lines']:,}",
        f"{run['bytes'] / 1e6:,.0f}",
        str(len(phases)),
        *(str(phases.count(name)) for name in names),
        "byte-identical" if run["identical"] else "DIFFERENT",
    ]


def _spread(speeds: Sequence[float]) -> list[str]:
    """The median, and the least to the most."""
    least, most = min(speeds), max(speeds)
    return [f"{statistics.median(speeds):,.0f}", f"{least:,.0f} to {most:,.0f}"]


def commands(results: Sequence[Result]) -> str:
    """Returns the commands that made the results, a line each."""
    return "\n".join(map(_command, results))


def _command(result: Result) -> str:
    kind = result["benchmark"]
    options = [
        f"--{name.replace('_', '-')} {_argument(result[name])}"
        for name in _OPTIONS[kind]
        if result[name] is not None
    ]
    return " ".join([f"python benchmarks/{kind}.py", *options])


def _argument(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES: dict[str, Callable[[Sequence[Result]], str]] = {
    "downstream": downstream,
    "inference": inference,
    "cold_start": cold_start,
    "roofline": roofline,
    "embed": embed,
    "embed_corpus": embed_corpus,
    "memory": memory,
    "onnx_runtime": onnx_runtime,
    "batching": batching,
    "training": training,
    "gpu": gpu,
    "kill": kill,
    "kill_embed": kill_embed,
    "devices": devices,
    "serving": serving,
    "serving_endurance": serving_endurance,
    "serving_malformed": serving_malformed,
    "serving_batching": serving_batching,
}

_OPTIONS = {
    "downstream": ("model", "task", "seeds", "train_size", "epochs"),
    "inference": ("preset", "repeats"),
    "cold_start": ("preset", "repeats"),
    "roofline": ("preset", "batch_size", "repeats"),
    "embed": ("preset", "lines", "slices", "slice_lines"),
    "embed_corpus": (
        "preset",
        "lines",
        "format",
        "layers",
        "rows",
        "dtype",
        "slices",
        "slice_lines",
    ),
    "memory": ("preset", "steps", "vocabulary_size", "num_sampled", "repeats"),
    "onnx_runtime": ("preset", "repeats"),
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
    "training": ("preset", "batches", "repeats"),
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
    "kill": ("preset", "steps", "devices", "kills", "seed"),
    "kill_embed": ("preset", "lines", "section", "kills", "seed"),
    "devices": (
        "presets",
        "devices",
        "vocabulary_size",
        "num_sampled",
        "batch_tokens",
        "steps",
        "measure_every",
        "repeats",
    ),
    "serving": ("preset", "seconds", "repeats", "calls"),
    "serving_endurance": ("preset", "requests", "clients"),
    "serving_malformed": ("preset", "requests", "seed"),
    "serving_batching": ("preset", "seconds", "repeats"),
}


if __name__ == "__main__":
    main(sys.argv[1:])
