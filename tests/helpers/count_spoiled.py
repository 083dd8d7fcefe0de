"""Loads thousands of spoiled files, and counts what went wrong.

    python -m tests.helpers.count_spoiled --inputs 2000

The named files of the tests come first; then files of sound models that are changed at
random. A process that does nothing else loads them. For each file, it writes down what
Python was asked to do, the memory that it took and the seconds; a process that ends, or
hangs, is replaced. Ends with status 1 unless all counts of what must not be are 0.
"""

import argparse
import contextlib
import functools
import gzip
import json
import lzma
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

from tests.helpers.fresh_process import ROOT

# Of a processor, so that it holds beside other work; three times as many on the clock.
MAX_SECONDS = 10
MAX_BYTES = 10**9
_MUST_NOT = ("ran code", "read outside", "crashed", "hung over 10 s", "took over 1 GB")
_TRACEBACK = "an error that a command shows as a traceback"

# Instead of a value in JSON, or of a line.
_VALUES = (
    *(
        "null",
        "true",
        "-1",
        "0",
        "1e308",
        "NaN",
        "0.5",
        "[]",
        "{}",
        '""',
        '"/dev/zero"',
    ),
    *(str(10**12), "9" * 5000, "[" * 5000, '"../outside"', '"\\ud800"', '"a\\u0000b"'),
)


# ---------------------------------------------------------------- files


def spoil(content, chance):
    """Returns the content of a file, changed in one way."""
    return chance.choice(_WAYS)(content, chance)


def _flipped(content, chance):
    content = bytearray(content)
    # What describes a file is often at its beginning or at its end.
    start, stop = chance.choice([(0, 512), (0, len(content)), (-512, len(content))])
    places = range(len(content))[start:stop]
    for _ in range(chance.choice([1, 3, 20]) if places else 0):
        content[chance.choice(places)] ^= chance.randrange(1, 256)
    return bytes(content)


def _cut(content, chance):
    return content[: chance.randint(0, len(content))]


def _inserted(content, chance):
    place = chance.randint(0, len(content))
    more = chance.randbytes(chance.choice([1, 8, 1000]))
    return content[:place] + more + content[place:]


def _blanked(content, chance):
    start = chance.randint(0, len(content))
    length = chance.choice([4, 8, 64, 4096])
    blank = chance.choice([b"\0", b"\xff"]) * len(content[start : start + length])
    return content[:start] + blank + content[start + length :]


def _repeated(content, chance):
    start, stop = sorted(chance.randint(0, len(content)) for _ in range(2))
    times = min(chance.choice([2, 10, 1000]), 10**7 // max(stop - start, 1) + 1)
    return content[:start] + content[start:stop] * times + content[stop:]


def _other_value(content, chance):
    found = list(re.finditer(rb'"[^"\n]*"|-?\d+(\.\d+)?|[^\n\t]+', content))
    if not found:
        return content
    each = chance.choice(found)
    value = chance.choice(_VALUES).encode()
    return content[: each.start()] + value + content[each.end() :]


_WAYS = (_flipped, _cut, _inserted, _blanked, _repeated, _other_value)


def write_sound(folder):
    """Writes a model or a text of each kind; returns none."""
    from keras_elmo import export_onnx
    from keras_elmo.files.checkpoint import save_checkpoint
    from tests.files.test_checkpoint import compiled
    from tests.helpers.exports import embedding
    from tests.helpers.many_langs_oracle import ManyLangs, sizes
    from tests.helpers.originals import write_originals

    write_originals(folder)
    for name in ("onnx", "int8", "npz", "zip", "many_langs", "gz", "xz", "parquet"):
        (folder / name).mkdir()
    export_onnx(embedding(), folder / "onnx" / "model.onnx")
    export_onnx(embedding(), folder / "int8" / "model.onnx", quantize="int8")
    save_checkpoint(folder / "npz" / "checkpoint.npz", compiled(), {})
    with zipfile.ZipFile(
        folder / "zip" / "model.zip", "w", zipfile.ZIP_DEFLATED
    ) as file:
        for path in (folder / "directory").iterdir():
            file.write(path, path.name)
    ManyLangs(sizes()).write(folder / "many_langs")
    text = "the bank of 배\n".encode() * 50
    (folder / "gz" / "text.txt.gz").write_bytes(gzip.compress(text))
    (folder / "xz" / "text.txt.xz").write_bytes(lzma.compress(text))
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"text": text.decode().splitlines()})
    pyarrow.parquet.write_table(table, folder / "parquet" / "text.parquet")


def named_inputs(sound):
    """Yields the kind and a function that spoils a copy of it, of the tests' own."""
    import h5py

    from tests.hostile.test_checkpoints import ARRAY, ARRAYS
    from tests.hostile.test_hdf5_files import CHANGES
    from tests.hostile.test_json_files import NO_JSON, SIZES, options_with
    from tests.hostile.test_vocabularies import FILES
    from tests.importing.test_many_langs import SPOILED

    def written(path, content):
        return lambda folder: (folder / path).write_bytes(content)

    for content in NO_JSON.values():
        yield "directory", written("options.json", content)
        yield "saved_model", written("assets.extra/keras_elmo.json", content)
    for size in SIZES.values():
        content = json.dumps(options_with(*size)).encode()
        yield "directory", written("options.json", content)
    for content in FILES.values():
        yield "directory", written("vocabulary.txt", content)

    def changed(change, folder):
        with h5py.File(folder / "weights.hdf5", "a") as file:
            change(file, folder)

    for change in CHANGES.values():
        yield "directory", lambda folder, change=change: changed(change, folder)
    for change, _ in SPOILED.values():
        yield "many_langs", change

    def array(make, folder):
        path = folder / "checkpoint.npz"
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist()}
        with zipfile.ZipFile(path, "w") as file:
            for name, content in {**members, ARRAY: make((4, 3))}.items():
                file.writestr(name, content)

    for make in ARRAYS.values():
        yield "npz", lambda folder, make=make: array(make, folder)


def random_inputs(sound, seed):
    """Yields the kind and a function that spoils a file of a copy, without end."""
    kinds = sorted(path.name for path in sound.iterdir())
    for number in range(sys.maxsize):
        chance = random.Random(f"{seed}-{number}")
        kind = kinds[number % len(kinds)]

        def change(folder, chance=chance):
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            path = chance.choice(files)
            path.write_bytes(spoil(path.read_bytes(), chance))

        yield kind, change


# ---------------------------------------------------------------- the one that loads


def load(kind, folder):
    """Reads all files of a kind, as a user's function or command does."""
    import keras_elmo
    from keras_elmo.embedding.writers import read_manifest
    from keras_elmo.files.checkpoint import restore_checkpoint
    from keras_elmo.importing.hub import HubModule

    if kind == "npz":
        restore_checkpoint(folder / "checkpoint.npz", _model())
    elif kind == "parquet":
        read_manifest(str(folder / "text.parquet"))
    elif kind in ("gz", "xz"):
        keras_elmo.Vocabulary.count(map(str, folder.iterdir()), max_size=100)
    elif kind == "hub":
        keras_elmo.ElmoEmbedding(HubModule(folder))
    elif kind in ("bilm", "many_langs"):
        words = folder / "vocab.txt"
        words = {"vocabulary": words} if words.exists() else {}
        keras_elmo.import_model(folder, _out(folder), **words)
    elif kind in ("onnx", "int8"):
        list(keras_elmo.embed(folder / "model.onnx", ["the bank"]))
    elif kind == "zip":
        keras_elmo.load(folder / "model.zip")
    elif kind == "saved_model":
        keras_elmo.ElmoEmbedding.from_saved_model(folder)
    else:
        keras_elmo.load_language_model(folder)
        keras_elmo.inspect_model(folder)


def _out(folder):
    return folder.with_name("out")


@functools.cache
def _model():
    from tests.files.test_checkpoint import compiled

    return compiled()


def worker(sound):
    """Loads what stdin names, a line for each; writes what happened to stdout."""
    import warnings

    from tests.helpers.load_everything import FORBIDDEN

    warnings.simplefilter("ignore")
    # What is imported and traced on first use has nothing to do with the files.
    for kind in sorted(path.name for path in sound.iterdir()):
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copytree(sound / kind, Path(scratch, kind))
            load(kind, copy)
    happened = []

    def notice(event, arguments):
        if event in FORBIDDEN:
            happened.append((event, str(arguments)[:100]))
        if event == "open" and isinstance(arguments[0], str):
            happened.append((event, os.path.realpath(arguments[0])))

    sys.addaudithook(notice)
    # Libraries in C print to stdout, too.
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("ready", file=report, flush=True)
    for line in sys.stdin:
        kind, folder = json.loads(line)
        result = _loaded(kind, Path(folder), happened)
        if any(event != "open" for event, _ in result["happened"]):
            # What Python imports for the first error of its kind is not the file's.
            result = _loaded(kind, Path(folder), happened)
        print(json.dumps(result), file=report, flush=True)


def _loaded(kind, folder, happened):
    from keras_elmo.cli import _is_expected
    from tests.helpers.limits import memory_of_at_most

    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before, began = _status("VmRSS"), time.process_time()
    outcome = "loaded"
    happened.clear()
    try:
        with memory_of_at_most(4 * MAX_BYTES):
            load(kind, folder)
    except MemoryError:
        outcome = "took over 1 GB"
    except Exception as error:
        outcome = "refused" if _is_expected(error) else f"{_TRACEBACK}: {error!r}"
    finally:
        shutil.rmtree(_out(folder), ignore_errors=True)
    return {
        "outcome": outcome,
        "seconds": time.process_time() - began,
        "happened": happened[:],
        "bytes": _status("VmHWM") - before,
    }


def _status(name):
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(rf"{name}:\s+(\d+) kB", text)[1])


# ---------------------------------------------------------------- the one that counts


class Worker:
    """A process that loads; started anew after one that ended."""

    def __init__(self, sound, log):
        self._command = [sys.executable, "-m", __spec__.name, "--worker", str(sound)]
        self._sound, self._log = sound, log
        self._process = None

    def __call__(self, kind, folder):
        """Returns what happened, or the reason that nothing came back."""
        if self._process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            # Archives are unpacked in the cache.
            variables = {**os.environ, "KERAS_HOME": str(self._sound.parent)}
            self._process = subprocess.Popen(
                self._command, text=True, stderr=self._log, env=variables, **pipes
            )
            if self._process.stdout.readline() != "ready\n":
                said = Path(self._log.name).read_text(encoding="utf-8")
                raise SystemExit(f"the process that loads does not start: {said}")
        self._process.stdin.write(json.dumps([kind, str(folder)]) + "\n")
        self._process.stdin.flush()
        ready, *_ = select.select([self._process.stdout], [], [], 3 * MAX_SECONDS)
        line = self._process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"outcome": "crashed" if ready else "hung over 10 s"}

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def faults_of(result, allowed):
    """Returns what must not have happened."""
    found = [result["outcome"]] if result["outcome"] in _MUST_NOT else []
    if result.get("seconds", 0) > MAX_SECONDS:
        found.append("hung over 10 s")
    if result.get("bytes", 0) > MAX_BYTES:
        found.append("took over 1 GB")
    for event, what in result.get("happened", ()):
        if event != "open":
            found.append("ran code")
        elif not what.startswith(allowed):
            found.append("read outside")
    return set(found)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for files with faults")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        worker(options.worker)
        return 0
    counts, kinds = Counter(dict.fromkeys(_MUST_NOT, 0)), Counter()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log = stack.enter_context(open(scratch / "log", "wb"))
        sound = scratch / "sound"
        sound.mkdir()
        write_sound(sound)
        run = Worker(sound, log)
        stack.callback(run.close)
        inputs = [*named_inputs(sound)][: options.inputs]
        changes = random_inputs(sound, options.seed)
        inputs += [next(changes) for _ in range(options.inputs - len(inputs))]
        # What Python imports on first use, and how much memory there is.
        own = (sys.prefix, sys.base_prefix, str(ROOT), "/proc/")
        allowed = tuple(map(os.path.realpath, (scratch, *own)))
        for number, (kind, change) in enumerate(inputs):
            folder = scratch / f"{number}" / kind
            shutil.copytree(sound / kind, folder)
            change(folder)
            result = run(kind, folder)
            faults = faults_of(result, allowed)
            told = result["outcome"].partition(":")[0]
            counts.update(faults | ({told} - set(_MUST_NOT)))
            kinds[kind] += 1
            if faults or told == _TRACEBACK:
                print(f"{number}, {kind}: {sorted(faults)} {result}"[:600], flush=True)
                if options.keep:
                    shutil.copytree(folder, options.keep / f"{number}-{kind}")
            shutil.rmtree(folder.parent)
    told = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    print(f"{len(inputs):,} inputs: {told}")
    for name, count in counts.items():
        print(f"{name}: {count:,}")
    return int(any(counts[name] for name in (*_MUST_NOT, _TRACEBACK)))


if __name__ == "__main__":
    sys.exit(main())
