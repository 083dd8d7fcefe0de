"""What does `keras-elmo embed` cost beyond what the encoder itself takes?

Embeds sentences of raw text into a file, in a fresh process: seconds from the end of
its imports to the file under its name, peak memory, the file's size. Beside it, before
and after, in processes of their own: `keras_elmo.embed` on slices of the same
sentences, whose tokens are in memory and whose vectors are thrown away.

    python benchmarks/embed_corpus.py --lines 1000000 --format hdf5 --layers mix \
        --dtype float16 --out embed_corpus_hdf5.json
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
from markdown_table import markdown_table, megabytes, spread

OPTIONS = ("preset", "lines", "format", "layers", "rows", "dtype")
OPTIONS += ("slices", "slice_lines")

_CHILD = Path(__file__).with_name("measured_command.py")
# As many rows a pass as `keras-elmo embed` takes.
_BATCH_SIZE = 128
_WARM_UP = 1000


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        text, model, counted, speeds = (
            Path(folder, name) for name in ("text.txt", "model", "counted", "speeds")
        )
        call = common.call_in_process
        call("embed_corpus", "write_text", common.corpus(options), options.lines, text)
        call("random_model", "export_random_model", options.preset, model)
        call("embed_corpus", "count", text, counted)
        # Here, this process stays small: the peak of a child begins with its own.
        counts = json.loads(counted.read_text(encoding="utf-8"))
        measure = (text, model, options.slices, options.slice_lines, speeds)
        own = []
        call("embed_corpus", "measure_encoder", *measure)
        own += json.loads(speeds.read_text(encoding="utf-8"))
        figures = _run(text, model, options)
        call("embed_corpus", "measure_encoder", *measure)
        own += json.loads(speeds.read_text(encoding="utf-8"))
    result = {
        "benchmark": "embed_corpus",
        **common.settings(options, OPTIONS),
        **counts,
        **figures,
        "words_per_second": counts["words"] / figures["seconds"],
        "encoder_words_per_second": own,
    }
    result["share"] = result["words_per_second"] / statistics.median(own)
    common.publish(result, table, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__, corpus="enwiki/train-*.txt.xz")
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument(
        "--lines", type=int, default=100_000, metavar="N", help="sentences (100,000)"
    )
    parser.add_argument("--format", default="hdf5", help="hdf5 or parquet (hdf5)")
    parser.add_argument("--layers", default="mix", help="of the command (mix)")
    parser.add_argument("--rows", default="tokens", help="of the command (tokens)")
    parser.add_argument("--dtype", default="float16", help="of the command (float16)")
    parser.add_argument(
        "--slices", type=int, default=5, metavar="N", help="before and after (5)"
    )
    parser.add_argument(
        "--slice-lines", type=int, default=5_000, metavar="N", help="(5,000)"
    )
    parser.add_argument("--folder", metavar="DIR", help="of the temporary files")
    return parser


def write_text(corpus: str, count: str, text: str) -> None:
    """Writes so many sentences of raw text, a line each."""
    from keras_elmo.text.lines import expand_files, read_lines

    sentences = common.sentences(read_lines(expand_files(corpus)))
    with open(text, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in islice(sentences, int(count)))


def count(text: str, counted: str) -> None:
    """Counts the lines and words of a text."""
    from keras_elmo.text.lines import read_lines
    from keras_elmo.text.report import Report
    from keras_elmo.text.token_chunks import token_chunks

    report = Report()
    for _ in token_chunks(read_lines([text], report), "unicode", report):
        pass
    common.write_json(counted, {"lines": report.lines, "words": report.words})


def measure_encoder(
    text: str, model: str, slices: str, slice_lines: str, speeds: str
) -> None:
    """Writes how many words a second `keras_elmo.embed` reads of slices of a text."""
    import keras_elmo
    from keras_elmo.text.lines import read_lines
    from keras_elmo.text.report import Report
    from keras_elmo.text.token_chunks import tokenized_lines

    lines = list(read_lines([text]))
    distance = max(1, len(lines) // int(slices))
    encoder = keras_elmo.load(model)
    found = []
    for start in range(0, distance * int(slices), distance):
        part = lines[start : start + int(slice_lines)]
        sentences = list(tokenized_lines(part, "unicode", Report()))
        if not found:
            _pass_over(encoder, sentences[:_WARM_UP])
        seconds = _pass_over(encoder, sentences)
        found.append(sum(map(len, sentences)) / seconds)
        print(f"encoder: {found[-1]:,.0f} words/s", file=sys.stderr, flush=True)
    common.write_json(speeds, found)


def _pass_over(encoder: Any, sentences: Sequence[Sequence[bytes]]) -> float:
    import keras_elmo

    began = time.perf_counter()
    for _ in keras_elmo.embed(encoder, sentences, _BATCH_SIZE):
        pass
    return time.perf_counter() - began


def _run(text: Path, model: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Embeds with the command line, in a fresh process."""
    out = text.with_name(f"vectors.{options.format}")
    command = [sys.executable, str(_CHILD), "embed", "--model", str(model)]
    command += ["--input", str(text), "--out", str(out)]
    for name in ("layers", "rows", "dtype"):
        command += [f"--{name}", getattr(options, name)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures = json.loads(done.stdout)
    return {
        "seconds": figures["ended"] - figures["imported"],
        "peak_bytes": figures["peak_bytes"],
        "file_bytes": out.stat().st_size,
    }


def table(results: Sequence[common.Result]) -> str:
    """Returns the figures, a row a file."""
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
    return markdown_table(header, map(_table_row, results))


def _table_row(result: common.Result) -> list[str]:
    about = (result[name] for name in ("format", "layers", "rows", "dtype"))
    return [
        result["preset"],
        f"{result['lines']:,}",
        f"{result['words']:,}",
        ", ".join(about),
        f"{result['seconds']:,.0f}",
        f"{result['words_per_second']:,.0f}",
        *spread(result["encoder_words_per_second"]),
        f"{100 * result['share']:.0f}",
        megabytes(result["peak_bytes"]),
        megabytes(result["file_bytes"]),
    ]


if __name__ == "__main__":
    main()
