"""One update, however many devices and processes compute it."""

import dataclasses
import json
import socket
import subprocess
import time

import numpy as np
import pytest

from keras_elmo.text.batch_shapes import pad_batch
from keras_elmo.training.devices.base import (
    WorkerStatus,
    most_cpu_devices,
    spelled_out,
    split_batch,
)
from keras_elmo.training.devices.jax import choose_jax_devices
from keras_elmo.training.devices.tensorflow import choose_tensorflow_devices
from tests.helpers.fresh_process import environment, forked_python
from tests.helpers.installed import require_installed
from tests.helpers.runs import ready_made

pytestmark = pytest.mark.slow

STEPS = 4
# What runs for a moment is not worth making faster.
QUICKLY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false"
)


@pytest.fixture(params=["tensorflow", "jax"], scope="module")
def backend(request):
    require_installed(request.param)
    return request.param


@pytest.fixture
def started(backend):
    """Starts processes; kills those that are left at the end."""
    processes = []

    def start(folder, *runs, **variables):
        processes.append(process_of(backend, folder, *runs, **variables))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def folder(backend, tmp_path_factory):
    """Runs on one device, and on two and then one."""
    folder = tmp_path_factory.mktemp(backend)
    runs = [("moved", 2, STEPS // 2), ("one", 1, STEPS), ("moved", 1, STEPS)]
    finish(process_of(backend, folder, *runs))
    return folder


def process_of(backend, folder, *runs, workers=1, hold=0, **variables):
    arguments = [workers, hold]
    for name, devices, steps in runs:
        arguments += [folder / name, devices, steps]
    return subprocess.Popen(
        [
            forked_python(backend),
            "-m",
            "tests.training.run_elsewhere",
            *map(str, arguments),
        ],
        env=environment(KERAS_BACKEND=backend, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start_workers(started, backend, folder, hold=0):
    """Two processes on this machine; returns the chief first."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    return [
        started(
            folder,
            ("run", 1, STEPS),
            workers=2,
            hold=hold,
            **place_of(backend, addresses, worker),
        )
        for worker in range(2)
    ]


def place_of(backend, addresses, worker):
    if backend == "tensorflow":
        task = {"type": "worker", "index": worker}
        return {
            "TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task})
        }
    return {
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses[0],
        "KERAS_DISTRIBUTION_NUM_PROCESSES": str(len(addresses)),
        "KERAS_DISTRIBUTION_PROCESS_ID": str(worker),
    }


def finish(*processes):
    for process in processes:
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said


def weights(directory, step=STEPS):
    path = directory / "checkpoints" / f"step-{step:08}.npz"
    with np.load(path) as file:
        return [file[name] for name in sorted(file.files) if name.startswith("model")]


def assert_close(directory, other, step=STEPS):
    both = zip(weights(directory, step), weights(other, step), strict=True)
    for found, wanted in both:
        np.testing.assert_allclose(
            found.astype("float64"), wanted.astype("float64"), atol=1e-5, rtol=0
        )


def test_more_devices_than_there_are(backend, monkeypatch):
    """A CPU is divided into a few parts."""
    choose = choose_tensorflow_devices
    if backend == "jax":
        config, told = pytest.importorskip("jax").config, []
        monkeypatch.setattr(config, "update", lambda name, value: told.append(value))
        choose = choose_jax_devices
    with pytest.raises(ValueError, match="`devices` must be at most .*=1000"):
        choose(1000)
    if backend == "jax":
        assert told == [most_cpu_devices()]


def test_several_devices(folder):
    """Several devices update as one does, with clipping and the sampled softmax.

    Seven rows do not divide by two.
    """
    assert_close(folder / "moved", folder / "one", STEPS // 2)
    # The updates change something.
    halfway = weights(folder / "one", step=STEPS // 2)
    assert not np.allclose(weights(folder / "one")[0], halfway[0], atol=1e-3)


def test_checkpoint_of_more_devices(folder):
    """A run begun on two devices goes on with one."""
    assert_close(folder / "moved", folder / "one")


# XLA compiles the gradients three times.
def test_compiled_by_xla(tmp_path):
    """XLA updates as a graph for all shapes does, on one device and on two."""
    require_installed("tensorflow")
    # A process can have one strategy of several devices.
    runs = [("all-two-xla", 2, 3), ("all-xla", 1, 3), ("all", 1, 3)]
    finish(process_of("tensorflow", tmp_path, *runs, XLA_FLAGS=QUICKLY))
    for name, *_ in runs[:2]:
        assert_close(tmp_path / name, tmp_path / "all", step=3)


# Two processes train, one is killed, both train again.
def test_two_processes(backend, started, folder, tmp_path):
    """Two processes update as one device does; a killed worker ends the other.

    The run goes on from its last checkpoint and loses nothing.
    """
    directory = tmp_path / "run"
    chief, other = start_workers(started, backend, tmp_path, hold=4)
    began = time.monotonic()
    while not (directory / "checkpoints" / "step-00000003.npz").exists():
        assert chief.poll() is None, chief.communicate()[0]
        assert time.monotonic() - began < 600
        time.sleep(0.1)
    other.kill()
    said, _ = chief.communicate(timeout=600)
    assert chief.returncode != 0
    if backend == "tensorflow":
        assert "another worker was lost" in said
    # The chief came no further than the other one.
    assert not (directory / "checkpoints" / "step-00000004.npz").exists()
    finish(*start_workers(started, backend, tmp_path))
    assert_close(directory, folder / "one")


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_split_batch(parts):
    """Rows are shared out evenly."""
    (batch,) = ready_made(1, rows=4)
    shared = split_batch(batch, parts)
    assert {part["token_ids"].shape for part in shared} == {(-(-4 // parts), 7)}
    rows = [row.tolist() for part in shared for row in part["token_ids"]]
    real = [row for row in rows if row != [-1] * 7]
    assert sorted(real) == sorted(batch["token_ids"].tolist())
    assert sum(part["char_ids"].sum() for part in shared) == batch["char_ids"].sum()


def test_split_distinct_words():
    batch = {"words": np.ones((4, 50)), "positions": np.ones((3, 2))}
    batch["token_ids"] = np.ones((3, 2))
    for part in split_batch(batch, 2):
        np.testing.assert_array_equal(part["words"], batch["words"])
        assert part["positions"].shape == part["token_ids"].shape == (2, 2)


def test_split_no_batch():
    """Without a batch, each device multiplies a masked row."""
    for part in split_batch(None, 2):
        assert part["token_ids"].tolist() == [[-1, -1]]
        assert part["char_ids"].shape == (1, 2, 50)
        assert not part["char_ids"].any()


def test_status_of_masked_rows():
    """Masked positions are not words, and are not predicted."""
    (batch,) = ready_made(1, rows=3)
    status = WorkerStatus.of(batch, (1, 5))
    assert (status.words, status.predictions) == (15, 18)
    padded = pad_batch(batch, rows=5, tokens=9)
    assert WorkerStatus.of(padded, (1, 5)) == dataclasses.replace(
        status, rows=5, tokens=9
    )


def test_spelled_out():
    """Distinct words become the ids of each position."""
    (batch,) = ready_made(1)
    words, positions = np.unique(
        batch["char_ids"].reshape(-1, 50), axis=0, return_inverse=True
    )
    positions = positions.reshape(batch["token_ids"].shape)
    listed = {"words": words, "positions": positions, "token_ids": batch["token_ids"]}
    assert spelled_out(batch) is batch
    found = spelled_out(listed)
    assert found.keys() == batch.keys()
    np.testing.assert_array_equal(found["char_ids"], batch["char_ids"])


@pytest.mark.parametrize(
    ("value", "known"),
    [("{", False), ("[]", False), ("", True), ('{"task": {}}', True)],
)
def test_bad_tf_config(value, known, monkeypatch):
    pytest.importorskip("tensorflow")
    monkeypatch.setenv("TF_CONFIG", value)
    if known:
        choose_tensorflow_devices(1)
    else:
        with pytest.raises(ValueError, match="variable TF_CONFIG must be a JSON obj"):
            choose_tensorflow_devices(1)


@pytest.mark.parametrize(
    ("platform", "given", "wanted"),
    [("gpu", None, "keras-elmo/jax"), ("gpu", "mine", None), ("cpu", None, None)],
)
def test_compiled_steps_are_kept(platform, given, wanted, monkeypatch, tmp_path):
    """JAX keeps them in a folder of the user, but not those for a CPU."""
    jax = pytest.importorskip("jax")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", given)
    try:
        choose_jax_devices(1)
        found = jax.config.jax_compilation_cache_dir
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
    assert found == (str(tmp_path / wanted) if wanted else given)


@pytest.mark.parametrize("missing", ["NUM_PROCESSES", "PROCESS_ID"])
def test_incomplete_jax_variables(missing, monkeypatch):
    """The variables of a group of processes belong together."""
    pytest.importorskip("jax")
    values = {"JOB_ADDRESSES": "localhost:1", "NUM_PROCESSES": "2", "PROCESS_ID": "0"}
    for name, value in values.items():
        monkeypatch.setenv(f"KERAS_DISTRIBUTION_{name}", value)
    monkeypatch.delenv(f"KERAS_DISTRIBUTION_{missing}")
    with pytest.raises(ValueError, match=f"variable KERAS_DISTRIBUTION_{missing} must"):
        choose_jax_devices(None)
