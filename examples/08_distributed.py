"""The same training on one device, on several, and in several processes.

    python examples/08_distributed.py --backend jax --devices 4 --workers 3

Each is `keras-elmo pretrain`; what differs is how many devices it is told to take, and
what its environment tells it of other processes. A worker is killed on the way, and the
same commands go on from the last checkpoint. On several machines, start one on each
with everybody's addresses: docs/training.md.
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
    """Returns addresses of this machine at which nobody listens."""
    # All are open at once, so that no two are the same.
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in servers]
    for server in servers:
        server.close()
    return addresses


def place(backend: str, addresses: list[str], number: int) -> dict[str, str]:
    """Returns what tells a worker its place among the others."""
    if backend == "jax":
        return {
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses[0],
            "KERAS_DISTRIBUTION_NUM_PROCESSES": str(len(addresses)),
            "KERAS_DISTRIBUTION_PROCESS_ID": str(number),
        }
    task = {"type": "worker", "index": number}
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task})}


def start(backend: str, arguments: list, places: list[dict]) -> list[subprocess.Popen]:
    command = [*PRETRAIN, *SIZES, *map(str, arguments)]
    environment = {**os.environ, "KERAS_BACKEND": backend}
    # The first one shows its progress.
    stderr = [None, *[subprocess.DEVNULL] * (len(places) - 1)]
    return [
        subprocess.Popen(command, env=environment | place, stderr=err)
        for place, err in zip(places, stderr, strict=True)
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
    places = [place(backend, addresses, number) for number in range(workers)]
    processes = start(backend, arguments, places)
    while not list(run.glob("checkpoints/step-*.npz")) and processes[-1].poll() is None:
        time.sleep(0.1)
    processes[-1].kill()
    print("killed; the others end:", [process.wait() for process in processes])
    finish(start(backend, arguments, places))

    for name in ("one device", f"{devices} devices", f"{workers} workers"):
        with open(out / name / "history.csv", encoding="utf-8", newline="") as file:
            *_, row = csv.DictReader(file)
        perplexity = float(row["perplexity_mean"])
        print(f"{name}: step {row['step']}, perplexity {perplexity:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/distributed"))
    parser.add_argument("--backend", default="tensorflow", help="or jax")
    for name, value in (("devices", 2), ("workers", 2), ("steps", 60)):
        parser.add_argument(f"--{name}", type=int, default=value)
    main(**vars(parser.parse_args()))
