"""A `keras-elmo serve` process, started and asked, and a model for it."""

import contextlib
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import common

_READY = re.compile(r"at http://(.+):(\d+)/v1/models/(\S+?)(?: and gRPC .+:(\d+))?$")


Key = TypeVar("Key", bound=Hashable)


class Served:
    """A running server: its process, its address and ports, and the model's name."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        lines = map(str.strip, process.stdout or ())
        # Versions that do not load are named first.
        ready = next(filter(None, map(_READY.search, lines)), None)
        if ready is None:
            raise RuntimeError("the server did not start")
        self.host, port, self.name, grpc_port = ready.groups()
        self.port = int(port)
        # An .onnx file is served over REST alone.
        self.grpc_port = grpc_port and int(grpc_port)

    def connect(self, timeout: float = 60) -> http.client.HTTPConnection:
        """Returns a connection, to be used again and again."""
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(
        self, path: str, body: Any = None, method: str | None = None
    ) -> tuple[int, Any]:
        """Returns the status and the JSON or text of an answer; `~` is the model."""
        path = path.replace("~", f"/v1/models/{self.name}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        with contextlib.closing(self.connect()) as connection:
            connection.request(
                method or ("GET" if body is None else "POST"), path, body
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.status, json.loads(text) if is_json and text else text

    def predict(self, **body: Any) -> Any:
        """Returns what a prediction returns, which has to succeed."""
        status, answer = self.ask("~:predict", body)
        if status != 200:
            raise RuntimeError(f"{status}: {answer}")
        return answer.get("predictions", answer.get("outputs"))

    def metric(self, name: str) -> float:
        """Returns a number of the metrics page; the sum over its labels."""
        _, page = self.ask("/monitoring/prometheus/metrics")
        lines = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE)
        if not lines:
            raise KeyError(name)
        return sum(map(float, lines))


@contextlib.contextmanager
def exported(preset: str) -> Iterator[Path]:
    """Yields an exported model with random weights, there while the block runs."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        common.call_in_process("random_model", "export_random_model", preset, model)
        yield model


def measure(
    loads: dict[Key, Callable[[], list[float]]],
    seconds: float,
    repeats: int,
    unit: str = "requests_per_second",
) -> list[tuple[Key, dict[str, Any]]]:
    """Runs loads in turn, so that whatever else the machine does slows all of them.

    Args:
        loads: each runs for a while and returns the seconds of each request.
        seconds: for how long each runs.
        repeats: how often.
        unit: the name of the figures.

    Returns:
        Of each load the requests per second of each time, and the median and the 99th
        percentile of a request's seconds.
    """
    runs: dict[Key, list[list[float]]] = {key: [] for key in loads}
    for _ in range(repeats):
        for key, load in loads.items():
            runs[key].append(load())
            rate = len(runs[key][-1]) / seconds
            print(f"{key}: {rate:,.0f}/s", file=sys.stderr, flush=True)
    rows = []
    for key, times in runs.items():
        cuts = statistics.quantiles([second for run in times for second in run], n=100)
        rates = [len(run) / seconds for run in times]
        rows.append((key, {unit: rates, "p50": cuts[49], "p99": cuts[98]}))
    return rows


def latency_cells(row: dict[str, Any]) -> list[str]:
    """Returns the cells of the latencies, in milliseconds, of a row of `measure`."""
    return [f"{1e3 * row[name]:,.1f}" for name in ("p50", "p99")]


LATENCIES = ["p50, ms", "p99, ms"]


@contextlib.contextmanager
def served(
    model: str | os.PathLike[str],
    *options: str,
    environment: dict[str, str] | None = None,
) -> Iterator[Served]:
    """Runs `keras-elmo serve` while the block runs; it has to end without an error."""
    command = [sys.executable, "-m", "keras_elmo", "serve", "--model", str(model)]
    command += ["--port", "0", "--grpc-port", "0", *map(str, options)]
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(model).parent,
    ) as process:
        try:
            yield Served(process)
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        if process.returncode != 0 or "Traceback" in errors:
            raise RuntimeError(f"ended with {process.returncode}: {errors}")
