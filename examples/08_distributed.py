"""Pretrain on one device, on several devices and in several processes.

    python examples/08_distributed.py --backend jax --devices 4 --workers 3

A worker is killed on the way, and the same commands resume the run from its last
checkpoint. On several machines, start one worker on each: see docs/training.md.
"""

import argparse
import csv
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from demo_sentences import write_sentences

PRETRAIN = [sys.executable, "-m", "keras_elmo", "pretrain", "--resume"]
SIZES = ["--preset", "tiny", "--num-sampled", "256", "--batch-tokens", "320"]


def free_addresses(count: int) -> list[str]:
    """Returns unused addresses of this machine."""
    # All are open at once, so that they differ.
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in servers]
    for server in servers:
        server.close()
    return addresses


def worker_environment(backend: str, addresses: list[str], number: int) -> dict:
    """Returns the variables that tell a worker its number and the other workers."""
    if backend == "jax":
        return {
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses[0],
            "KERAS_DISTRIBUTION_NUM_PROCESSES": str(len(addresses)),
            "KERAS_DISTRIBUTION_PROCESS_ID": str(number),
        }
    task = {"type": "worker", "index": number}
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task})}


def start(backend: str, arguments: list, environments: list[dict]) -> list:
    """Starts a process of `keras-elmo pretrain` with each environment."""
    command = [*PRETRAIN, *SIZES, *map(str, arguments)]
    common = {**os.environ, "KERAS_BACKEND": backend}
    # Only the first one shows its progress.
    stderr = [None, *[subprocess.DEVNULL] * (len(environments) - 1)]
    return [
        subprocess.Popen(command, env=common | environment, stderr=err)
        for environment, err in zip(environments, stderr, strict=True)
    ]


def finish(processes: list[subprocess.Popen]) -> None:
    if any([process.wait() for process in processes]):
        raise SystemExit("a process has failed")


def main(out: Path, backend: str, devices: int, workers: int, steps: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    text, held_out = out / "text.txt", out / "held-out.txt"
    write_sentences(text, count=4000)
    write_sentences(held_out, count=200, seed=1)
    common = ["--corpus", text, "--validation", held_out, "--steps", steps]

    for name, count in (("one device", 1), (f"{devices} devices", devices)):
        arguments = [*common, "--out", out / name, "--devices", count]
        finish(start(backend, arguments, [{}]))

    run, addresses = out / f"{workers} workers", free_addresses(workers)
    arguments = [*common, "--out", run, "--devices", 1, "--checkpoint-every", 10]
    environments = [
        worker_environment(backend, addresses, number) for number in range(workers)
    ]
    processes = start(backend, arguments, environments)
    while not list(run.glob("checkpoints/step-*.npz")) and processes[-1].poll() is None:
        time.sleep(0.1)
    processes[-1].kill()
    print("killed one; exit statuses:", [process.wait() for process in processes])
    finish(start(backend, arguments, environments))

    for name in ("one device", f"{devices} devices", f"{workers} workers"):
        with open(out / name / "history.csv", encoding="utf-8", newline="") as file:
            *_, row = csv.DictReader(file)
        print(f"{name}: step {row['step']}, perplexity {row['perplexity_mean']:.5}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/distributed"))
    parser.add_argument("--backend", default="tensorflow", help="or jax")
    for name, value in (("devices", 2), ("workers", 2), ("steps", 60)):
        parser.add_argument(f"--{name}", type=int, default=value)
    main(**vars(parser.parse_args()))
