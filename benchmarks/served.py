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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import common

_READY = re.compile(r"at http://(.+):(\d+)/v1/models/(\S+) and gRPC .+:(\d+)$")


class Served:
    """A running server.

    Attributes:
        process: it.
        host: its address.
        port: its port for REST.
        grpc_port: its port for gRPC.
        name: the model's name.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        lines = map(str.strip, process.stdout or ())
        # Versions that do not load are named first.
        found = next(filter(None, map(_READY.search, lines)), None)
        if found is None:
            raise RuntimeError("the server did not start")
        self.host, port, self.name, grpc_port = found.groups()
        self.port, self.grpc_port = int(port), int(grpc_port)

    def connect(self, timeout: float = 60) -> http.client.HTTPConnection:
        """Returns a connection, to be used again and again."""
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(
        self, path: str, body: Any = None, method: str | None = None
    ) -> tuple[int, Any]:
        """Sends one request; returns the status and the JSON, or text, of the answer.

        Args:
            path: where to; `~` stands for the model.
            body: bytes, or what to write as JSON; none for GET.
        """
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


def p50_and_p99(seconds: Sequence[float]) -> dict[str, float]:
    """Returns the time that half of the requests took at most, and 99 of 100."""
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50": cuts[49], "p99": cuts[98]}


@contextlib.contextmanager
def served(
    model: str | os.PathLike[str],
    *options: str,
    environment: dict[str, str] | None = None,
) -> Iterator[Served]:
    """Serves a model while the block runs; it has to end in order.

    Args:
        model: what to serve.
        *options: further ones of `keras-elmo serve`.
        environment: of the process; this one's if `None`.
    """
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
