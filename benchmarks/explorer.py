"""How long until the explorer's page opens, and until it answers a click?

Starts `keras-elmo explore` with its sample text, and asks what the page asks at a click
on a word: neighbours, substitutes and the map, at once.

    python benchmarks/explorer.py --models elmo-en elmo-ko --out explorer.json
"""

import contextlib
import http.client
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import common
from common import markdown_table

_METHODS = ("neighbours", "substitutes", "map")
_READY = re.compile(r"open http://(.+):(\d+)/$")


class Page:
    """A running explorer."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.pid = process.pid
        lines = map(str.strip, process.stdout or ())
        found = next(filter(None, map(_READY.search, lines)), None)
        if found is None:
            raise RuntimeError("the explorer did not start")
        self._address = found[1], int(found[2])

    def request(self, path: str, body: Any = None) -> bytes:
        """Returns an answer, by a connection of its own."""
        with contextlib.closing(
            http.client.HTTPConnection(*self._address, timeout=120)
        ) as connection:
            headers = {"content-type": "application/json"}
            if body is None:
                connection.request("GET", path)
            else:
                connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {text.decode()}")
        return text

    def click(self, body: Any) -> float:
        """Returns the milliseconds until all panels have their answers."""
        began = time.perf_counter()
        with ThreadPoolExecutor(len(_METHODS)) as threads:
            paths = [f"/api/{method}" for method in _METHODS]
            list(threads.map(self.request, paths, [body] * len(paths)))
        return 1000 * (time.perf_counter() - began)


@contextlib.contextmanager
def explored(model: str) -> Iterator[Page]:
    """Runs the explorer while the block runs."""
    command = [sys.executable, "-m", "keras_elmo", "explore", "--model", model]
    with subprocess.Popen(
        [*command, "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Page(process)
        finally:
            process.send_signal(signal.SIGTERM)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        models=(["elmo-en", "elmo-ko"], "names of shipped models"),
        clicks=50,
        concurrent=200,
    )
    measured = {model: _measure(model, options) for model in options.models}
    common.publish(options, table, measured=measured)


def _measure(model: str, options: Any) -> dict[str, Any]:
    sample = files("keras_elmo.explore") / "samples" / f"{model[-2:]}.txt"
    lines = sample.read_text(encoding="utf-8").splitlines()
    asked = []
    for line in random.Random(0).sample(lines, options.clicks + 1):
        # Another sentence than that of the text, and a word of it.
        words = line.rstrip(".").split()
        text = " ".join([*words, words[0], "."])
        asked.append({"model": model, "text": text, "position": len(words) // 2})
    began = time.perf_counter()
    with explored(model) as page:
        page.request("/")
        page.request("/api/models", {})
        first_page = time.perf_counter() - began
        first = page.click(asked[0])
        clicks = [page.click(each) for each in asked[1:]]
        again = [page.click(each) for each in asked[1:]]
        at_once = time.perf_counter()
        with ThreadPoolExecutor(options.concurrent) as threads:
            bodies = [asked[k % len(asked)] for k in range(options.concurrent)]
            list(threads.map(page.request, ["/api/neighbours"] * len(bodies), bodies))
        at_once = time.perf_counter() - at_once
        status = Path(f"/proc/{page.pid}/status").read_text(encoding="utf-8")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return {
        "seconds_to_page": first_page,
        "first_click_ms": first,
        "clicks_ms": clicks,
        "again_ms": again,
        "concurrent_seconds": at_once,
        "peak_bytes": 1024 * int(peak[1]) if peak else 0,
    }


def table(result: common.Result) -> str:
    """Returns a row a model."""
    header = ["Model", "First page, s", "First click, ms", "A click, ms, median"]
    header += ["worst", "The same again, median"]
    header += [f"{result['concurrent']} at once, s", "Peak memory, MB"]
    rows = []
    for model, measured in result["measured"].items():
        rows.append(
            [
                model,
                f"{measured['seconds_to_page']:.1f}",
                f"{measured['first_click_ms']:.0f}",
                f"{statistics.median(measured['clicks_ms']):.0f}",
                f"{max(measured['clicks_ms']):.0f}",
                f"{statistics.median(measured['again_ms']):.0f}",
                f"{measured['concurrent_seconds']:.1f}",
                common.megabytes(measured["peak_bytes"]),
            ]
        )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
