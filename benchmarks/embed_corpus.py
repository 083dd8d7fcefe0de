"""What does `keras-elmo embed` cost beyond what the encoder itself takes?

Embeds sentences of raw text into a file, in a fresh process: seconds from the end of
its imports to the file under its name, peak memory, the file's size. Now and then it is
stopped, and another process measures `keras_elmo.embed` on a slice of the same
sentences, whose tokens are in memory and whose vectors are thrown away: the speed of a
machine that others use, too, is another one every few minutes.

    python benchmarks/embed_corpus.py --lines 1000000 --format hdf5 --layers mix \
        --dtype float16 --out embed_corpus_hdf5.json
"""

import argparse
import contextlib
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread

_CHILD = Path(__file__).with_name("measured_command.py")
# As many rows a pass as `keras-elmo embed` takes.
_BATCH_SIZE = 128
# How many slices there are in the text, evenly.
_SLICES = 16


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/train-*.txt.xz",
        preset="mini",
        lines=(100_000, "sentences"),
        format=("hdf5", "", {"choices": ("hdf5", "parquet")}),
        layers=("mix", "of the command"),
        rows=("tokens", "of the command"),
        dtype=("float16", "of the command"),
        interval=(60.0, "seconds between two measurements of the encoder"),
        slice_lines=5_000,
        folder=(None, "for the temporary files", {"metavar": "DIR"}),
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        text, model = Path(folder, "text.txt"), Path(folder, "model")
        call = common.call_in_process
        # Not here: the peak memory of a child begins with that of this process.
        counted = call("embed_corpus", "write", options.corpus, options.lines, text)
        call("random_model", "export_random_model", options.preset, model)
        counts = json.loads(counted)
        with _encoder(text, model, options.slice_lines) as measure_encoder:
            figures = _run(text, model, options, measure_encoder)
    speed = counts["words"] / figures["seconds"]
    # The mean over the time, as the command's own speed is one.
    own = statistics.mean(figures["encoder_words_per_second"])
    figures |= {"words_per_second": speed, "share": speed / own, **counts}
    common.publish(options, table, **figures)


def write(corpus: str, count: str, text: str) -> None:
    """Writes `count` sentences, one per line; prints the number of words."""
    from keras_elmo.text.batching import tokenized_lines
    from keras_elmo.text.lines import expand_files, read_lines
    from keras_elmo.text.stats import CorpusStats

    sentences = common.sentences(read_lines(expand_files(corpus)))
    with open(text, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in islice(sentences, int(count)))
    stats = CorpusStats()
    for _ in tokenized_lines(read_lines([text], stats), "unicode", stats):
        pass
    print(json.dumps({"lines": stats.lines, "words": stats.words}))


def measure_encoder(text: str, model: str, slice_lines: str) -> None:
    """For each line of stdin, prints how many words of a slice it embeds a second."""
    import keras_elmo
    from keras_elmo.text.batching import tokenized_lines
    from keras_elmo.text.lines import read_lines
    from keras_elmo.text.stats import CorpusStats

    encoder = keras_elmo.load(model)
    lines = list(read_lines([text]))
    for place, _ in enumerate(sys.stdin):
        start = place % _SLICES * len(lines) // _SLICES
        part = lines[start : start + int(slice_lines)]
        sentences = list(tokenized_lines(part, "unicode", CorpusStats()))
        began = time.perf_counter()
        for _ in keras_elmo.embed(encoder, sentences, _BATCH_SIZE):
            pass
        seconds = time.perf_counter() - began
        print(sum(map(len, sentences)) / seconds, flush=True)


@contextlib.contextmanager
def _encoder(
    text: Path, model: Path, slice_lines: int
) -> Iterator[Callable[[], float]]:
    """Yields what measures the encoder in a process that is there meanwhile."""
    code = "import sys, embed_corpus; embed_corpus.measure_encoder(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(text), str(model), str(slice_lines)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
    ) as process:

        def measure() -> float:
            print(file=process.stdin, flush=True)
            speed = float(process.stdout.readline())
            print(f"encoder: {speed:,.0f} words/s", file=sys.stderr, flush=True)
            return speed

        # Graphs are made for the shapes of batches.
        measure()
        yield measure


def _run(
    text: Path,
    model: Path,
    options: argparse.Namespace,
    measure_encoder: Callable[[], float],
) -> dict[str, Any]:
    """Embeds with the command line, in a fresh process that is stopped now and then."""
    out = text.with_name(f"vectors.{options.format}")
    command = [sys.executable, str(_CHILD), "embed", "--model", str(model)]
    command += ["--input", str(text), "--out", str(out)]
    for name in ("layers", "rows", "dtype"):
        command += [f"--{name}", getattr(options, name)]
    own, stopped = [], 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while not _ends_within(process, options.interval):
            process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            own.append(measure_encoder())
            stopped += time.monotonic() - began
            process.send_signal(signal.SIGCONT)
        figures = json.loads(process.communicate()[0])
    own.append(measure_encoder())
    return {
        "seconds": figures["ended"] - figures["imported"] - stopped,
        "peak_bytes": figures["peak_bytes"],
        "file_bytes": out.stat().st_size,
        "encoder_words_per_second": own,
    }


def _ends_within(process: subprocess.Popen[str], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def table(result: common.Result) -> str:
    """Returns the figures, one row per file."""
    header = ["Preset", "Sentences", "Words", "File", "Seconds", "Words/s"]
    header += ["the encoder's own, mean", "least to most", "Share, %"]
    header += ["Peak memory, MB", "File, MB"]
    own = result["encoder_words_per_second"]
    row = [
        result["preset"],
        f"{result['lines']:,}",
        f"{result['words']:,}",
        ", ".join(result[name] for name in ("format", "layers", "rows", "dtype")),
        f"{result['seconds']:,.0f}",
        f"{result['words_per_second']:,.0f}",
        f"{statistics.mean(own):,.0f}",
        spread(own)[1],
        f"{100 * result['share']:.0f}",
        megabytes(result["peak_bytes"]),
        megabytes(result["file_bytes"]),
    ]
    return markdown_table(header, [row])


if __name__ == "__main__":
    main()
