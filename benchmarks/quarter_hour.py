"""Pretrains on a machine that is there for a quarter of an hour: bare, with a GPU.

It has CUDA, JAX, NumPy and h5py, no Keras, no TensorFlow and no network. Files come in
parts and go back in parts; each holds the hashes of all.

    python benchmarks/quarter_hour.py pack --corpus prepared/ --validation dev/ \\
        --out parts              # here: text, Keras, this package; a run, to go on
    python benchmarks/quarter_hour.py unpack --parts parts --out host  # there
    sh saved_models/train_gpu.sh host saved_models/options_en.json  # there
    python benchmarks/quarter_hour.py bring --run host/run --out back  # there
    python benchmarks/quarter_hour.py bring --run host/longer --weights --out longer
    python benchmarks/quarter_hour.py unpack --parts back --out runs/gpu  # here
    KERAS_BACKEND=jax PYTHONPATH=host/site python benchmarks/quarter_hour.py train \\
        --host host --sizes original --out speed --minutes 1 --ready 5  # how fast?

Where the checkout travels with a part, leave out the weights of `saved_models`, which
are 61 MiB of 66: `git sparse-checkout set --no-cone '/*' '!/saved_models/*/'`.

`keras-elmo prepare` writes `prepared/` and `dev/`. A run that came back goes on here,
is exported here, or is packed again. Its numbers are rounded to bfloat16, unless
`bring` has `--exact`. The learning rate falls over the minutes of `--plan`, of all
stages; a run that came with its weights alone is the end of one.
"""

import argparse
import dataclasses
import hashlib
import io
import json
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path
from threading import Timer
from typing import Any

import common
import numpy as np

_BEGAN = time.monotonic()
_MIB = 1 << 20
_MANIFEST = "manifest.json"
# What the machine has, and TensorFlow, which it does without.
_THERE = {"h5py", "jax", "jaxlib", "ml-dtypes", "numpy", "opt-einsum", "scipy"}
_THERE |= {"tensorflow", "tensorflow-text"}
# Splits text where there is no TensorFlow.
_INSTEAD = "regex"
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64")
_FOLDER = {"type": common.existing, "metavar": "DIR"}
_REQUIRED = {**_FOLDER, "required": True}
# Updates until a measurement but that at the end.
_NEVER = 10**9
# Where that is kept, in the folder of a run.
PERPLEXITY = "perplexity.txt"
# Steps of a repetition with a ready batch.
_STEPS = 10


def pack(arguments: Sequence[str]) -> None:
    """Puts text, packages and a run into parts."""
    prepared = {**_REQUIRED, "type": _prepared}
    options = common.options(
        __doc__,
        arguments,
        corpus=(None, "prepared text", prepared),
        validation=(None, "prepared text", prepared),
        run=(None, "to go on", _FOLDER),
        python=("3.12", "of the machine"),
        part_mib=(56, "of a part: 61 with a checkout without weights"),
    )
    check_new(options.out)
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        install(site, options.python)
        package = common.ROOT / "keras_elmo"
        without = shutil.ignore_patterns("__pycache__", "saved_models")
        shutil.copytree(package, site / package.name, ignore=without)
        _tell("packages")
        files = [*files_of("site", site), *files_of("corpus", options.corpus)]
        files += files_of("validation", options.validation)
        files += files_of_run("run", options.run, exact=True) if options.run else []
        write_parts(files, options.out, options.part_mib, 1, mode="w:xz")


def bring(arguments: Sequence[str]) -> None:
    """Puts a run with its last checkpoint into parts of a few files."""
    options = common.options(
        __doc__,
        arguments,
        run=(None, "", _REQUIRED),
        exact=(None, "all bits", {"action": "store_true"}),
        weights=(None, "alone: a run that is not resumed", {"action": "store_true"}),
        file_mib=(15, "of a file"),
        files=(4, "of a part"),
    )
    check_new(options.out)
    files = files_of_run("", options.run, options.exact, options.weights)
    fast = {"mode": "w:gz", "compresslevel": 1}
    write_parts(files, options.out, options.file_mib, options.files, **fast)


def unpack(arguments: Sequence[str]) -> None:
    """Checks and joins parts, and writes what they hold."""
    options = common.options(__doc__, arguments, parts=(None, "", _REQUIRED))
    check_new(options.out)
    read_parts(options.parts, Path(options.out))


def train(arguments: Sequence[str]) -> None:
    """Goes on with a run for some minutes, and tells how fast it was."""
    options = common.options(
        __doc__,
        arguments,
        host=(None, "what `unpack` wrote", _REQUIRED),
        sizes=("original", "preset, or file of options"),
        words=(100_000, "words to predict at most, without candidates"),
        batch_tokens=(32_768, "positions of a batch"),
        max_tokens=(66, "positions of the longest row"),
        dropout=(0.0, "more after three passes over the text"),
        dtype=("mixed_bfloat16", "policy"),
        init=(None, "model to start from", {"metavar": "DIR"}),
        minutes=(5.0, "of this stage, without the measurement"),
        plan=(None, "minutes of all stages (default: of this one)", {"type": float}),
        ready=(0, "repetitions of steps with a batch that is ready"),
    )
    import keras

    import keras_elmo

    if options.out is None:
        raise SystemExit("--out DIR is needed")
    measured = Path(options.out, PERPLEXITY)
    # One that is stopped has none.
    measured.unlink(missing_ok=True)
    moments = []

    class Stage(keras.callbacks.Callback):
        """Ends a stage. The first step is compiled when it begins."""

        def on_train_begin(self, logs: object = None) -> None:
            moments.append(time.monotonic() - _BEGAN)
            # Some steps of the plan, however long the first one took to compile.
            least = min(5.0, 60 * options.minutes)
            seconds = max(least, 60 * options.minutes - moments[0])
            timer = Timer(seconds, setattr, (self.model, "stop_training", True))
            timer.daemon = True
            timer.start()

    sizes = keras_elmo.ElmoConfig
    read = sizes.from_options if Path(options.sizes).exists() else sizes.preset
    rows = {name: getattr(options, name) for name in ("batch_tokens", "max_tokens")}
    model = keras_elmo.pretrain(
        dataclasses.replace(read(options.sizes), dropout=options.dropout),
        options.host / "corpus",
        None,
        options.out,
        init=options.init,
        vocabulary_size=options.words,
        num_sampled=options.words,
        **rows,
        optimizer="muon",
        schedule="falling",
        dtype=options.dtype,
        minutes=options.plan or options.minutes,
        callbacks=[Stage()],
        validate_every=_NEVER,
        checkpoint_minutes=options.minutes / 3,
        resume=True,
    )
    last = model.history.rows[-1]
    told = f"first step after {moments[0]:.1f} s, then {last.words_per_second:,.0f} "
    held_out = keras_elmo.Corpus(options.host / "validation", model.vocabulary, **rows)
    perplexity = keras_elmo.perplexity(model, held_out)["mean"]
    measured.write_text(f"{perplexity}\n", encoding="utf-8")
    told += f"words/s; perplexity {perplexity:,.2f}"
    if options.ready:
        text = keras_elmo.Corpus(options.host / "corpus", model.vocabulary, **rows)
        batch = next(text.batches(epoch=0, shapes=text.choose_shapes(True)))
        speeds = _ready_speeds(model, batch, options.ready)
        share = last.words_per_second / statistics.median(speeds)
        told += f"; ready batch {' ('.join(common.spread(speeds))}), {share:.0%} of it"
    _tell(told)


def _ready_speeds(model: Any, batch: Any, repeats: int) -> list[float]:
    """Returns the words/s of updates with one batch, again and again."""
    words = int((batch["token_ids"] > 1).sum())

    def speed() -> float:
        since = time.perf_counter()
        batches = ((batch,) for _ in range(_STEPS))
        model.fit(batches, steps_per_epoch=_STEPS, shuffle=False, verbose=0)
        # What is read waits for the device.
        np.asarray(model.optimizer.iterations.value)
        return _STEPS * words / (time.perf_counter() - since)

    return common.in_turn({"ready batch": speed}, repeats)["ready batch"]


def install(site: Path, python: str) -> None:
    """Installs what the machine lacks, of the versions of this process."""
    from packaging.requirements import Requirement

    packages, waiting = {}, [Requirement("keras-elmo"), Requirement(_INSTEAD)]
    while waiting:
        needed = waiting.pop()
        name = needed.name.lower().replace("_", "-")
        is_needed = needed.marker is None or needed.marker.evaluate()
        if is_needed and name not in {*_THERE, *packages}:
            packages[name] = distribution(name)
            waiting += map(Requirement, packages[name].requires or ())
    del packages["keras-elmo"]
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(site)]
    command += ["--only-binary=:all:", "--no-deps", "--no-compile"]
    command += ["--implementation", "cp", "--python-version", python]
    for platform in _PLATFORMS:
        command += ["--platform", platform]
    command += [f"{name}=={package.version}" for name, package in packages.items()]
    subprocess.run(command, check=True)


def files_of(name: str, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the names and contents of all files."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(Path(name, path.relative_to(folder))), path.read_bytes()


def files_of_run(
    name: str, folder: Path, exact: bool, weights_alone: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Yields what a run needs to go on; the arrays of its last checkpoint one by one.

    The checkpoint has its weights, and the optimizer's variables.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix in (".csv", ".json", ".txt"):
            yield str(Path(name, path.name)), path.read_bytes()
    last = max(folder.glob("checkpoints/*.npz"), default=None)
    if last is None:
        raise SystemExit(f"{folder} has no checkpoint of a run")
    with zipfile.ZipFile(last) as file:
        for member in file.namelist():
            if weights_alone and member.startswith("optimizer/"):
                continue
            content = file.read(member)
            if member.endswith(".npy"):
                content = in_planes(content, exact)
            yield str(Path(name, last.relative_to(folder), member)), content


def in_planes(content: bytes, exact: bool) -> bytes:
    """Puts the first bytes of all numbers of an .npy before their second ones.

    They compress well: few numbers are large. Unless `exact`, float32 is rounded to
    bfloat16, and half of the bytes are 0.
    """
    array = np.load(io.BytesIO(content))
    head = content[: len(content) - array.nbytes]
    if array.dtype == np.float32 and not exact:
        bits = array.view(np.uint32)
        array = bits + (0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return head + array.reshape(-1, 1).view(np.uint8).T.tobytes()


def from_planes(content: bytes) -> bytes:
    """Undoes `in_planes`, but for the rounding."""
    array = np.load(io.BytesIO(content))
    size = len(content) - array.nbytes
    body = np.frombuffer(content, np.uint8, offset=size)
    return content[:size] + body.reshape(array.itemsize, -1).T.tobytes()


def write_parts(
    files: Iterable[tuple[str, bytes]],
    folder: str,
    file_mib: float,
    files_a_part: int,
    **compression: Any,
) -> None:
    """Writes an archive, cut into files, and these into folders."""
    out, hashes = Path(folder), []
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, **compression) as tar:
            for name, content in files:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        size = archive.tell()
        archive.seek(0)
        out.mkdir(parents=True)
        while content := archive.read(int(file_mib * _MIB)):
            part = out / f"part-{len(hashes) // files_a_part:02}"
            part.mkdir(exist_ok=True)
            (part / f"{len(hashes):03}").write_bytes(content)
            hashes.append(hashlib.sha256(content).hexdigest())
    parts = list(out.iterdir())
    for part in parts:
        common.write_json(part / _MANIFEST, hashes)
    _tell(f"{size:,} bytes in {len(parts)} parts")


def read_parts(parts: Path, out: Path) -> None:
    """Checks and joins what `write_parts` wrote, and writes its files."""
    manifest = next(parts.glob(f"*/{_MANIFEST}"), None)
    try:
        hashes = json.loads(manifest.read_bytes()) if manifest else [""]
    except ValueError:
        raise SystemExit(f"{manifest} is damaged") from None
    paths = {path.name: path for path in parts.glob("*/[0-9]*")}
    with tempfile.TemporaryFile() as archive:
        for number, wanted in enumerate(hashes):
            name = f"{number:03}"
            content = paths[name].read_bytes() if name in paths else b""
            if hashlib.sha256(content).hexdigest() != wanted:
                raise SystemExit(f"{parts}: {name} is missing or damaged")
            archive.write(content)
        size = archive.tell()
        archive.seek(0)
        half = out.with_name(f"{out.name}.part")
        with tarfile.open(fileobj=archive) as tar:
            # Python before 3.11.4 has no filters.
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(half, **safe)
    for folder in [*half.rglob("*.npz")]:
        arrays = list(files_of("", folder))
        shutil.rmtree(folder)
        with zipfile.ZipFile(folder, "w") as file:
            for name, content in arrays:
                whole = from_planes(content) if name.endswith(".npy") else content
                file.writestr(name, whole)
    half.rename(out)
    _tell(f"{size:,} bytes unpacked")


def check_new(out: str | None) -> None:
    """Refuses a folder to write that is there, or none."""
    if out is None or Path(out).exists():
        raise SystemExit(f"{out} exists" if out else "--out DIR is needed")


def _prepared(argument: str) -> Path:
    if not Path(argument, _MANIFEST).exists():
        message = f"{argument} is no folder that keras-elmo prepare wrote"
        raise argparse.ArgumentTypeError(message)
    return Path(argument)


def _tell(message: str) -> None:
    print(f"{time.monotonic() - _BEGAN:.1f} s: {message}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the stage that the first argument names."""
    stage, *others = (sys.argv[1:] if arguments is None else arguments) or [""]
    stages = {"pack": pack, "unpack": unpack, "train": train, "bring": bring}
    if stage not in stages:
        print(__doc__, file=sys.stderr)
        raise SystemExit(f"{' or '.join(stages)} expected; received: {stage or 'none'}")
    stages[stage](others)


if __name__ == "__main__":
    main()
