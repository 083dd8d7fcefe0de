"""How long until the explorer's address, and until a click shows everything?

Starts `keras-elmo explore` with its sample text, and clicks in Chromium. A click ends
when all panels have been drawn. With `--before`, another checkout's explorer runs
beside this one's, and they take turns.

    python benchmarks/explorer_clicks.py --models elmo-en elmo-ko --out clicks.json
"""

import contextlib
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import common
from common import markdown_table

import keras_elmo

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu")
# Runs an action, and returns the milliseconds until nothing is busy and all is painted.
_TIMED = """
const [action, argument, done] = arguments;
const began = performance.now();
const painted = () => requestAnimationFrame(() => setTimeout(() =>
  done(performance.now() - began)));
const look = () => {
  if (document.querySelector('[aria-busy=true]')) return;
  observer.disconnect();
  painted();
};
const observer = new MutationObserver(look);
observer.observe(document.body, { subtree: true, attributeFilter: ['aria-busy'] });
({
  open: () => { location.hash = argument; },
  word: () => document.querySelectorAll('#tokens button')[argument].click(),
  layer: () => {
    const slider = document.querySelector('#word .layers input');
    slider.value = argument;
    slider.dispatchEvent(new Event('input'));
  },
})[action]();
setTimeout(look);
"""
_KINDS = {
    "new": "Another sentence",
    "next": "A new word of it",
    "again": "The first word again",
    "layer": "Another layer",
}


@contextlib.contextmanager
def explored(model: str, tree: Path) -> Iterator[tuple[str, float, int]]:
    """Yields an explorer's address, the seconds until it is printed, the process."""
    command = [sys.executable, "-m", "keras_elmo", "explore", "--model", model]
    began = time.perf_counter()
    with subprocess.Popen(
        [*command, "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tree,
    ) as process:
        try:
            lines = iter(process.stdout or ())
            found = next(filter(None, (re.search("open (.+)", each) for each in lines)))
            seconds = time.perf_counter() - began
            next(each for each in lines if "ready" in each)
            yield found[1], seconds, process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        models=(["elmo-en", "elmo-ko"], "names of shipped models"),
        sentences=25,
        before=(None, "another checkout", {"type": common.existing, "metavar": "TREE"}),
    )
    trees = {"before": options.before, "now": common.ROOT}
    if options.before is None:
        del trees["before"]
    measured = {
        model: _measure(model, trees, options.sentences) for model in options.models
    }
    common.publish(options, table, measured=measured)


def _measure(model: str, trees: dict[str, Path], count: int) -> dict[str, Any]:
    path = Path(keras_elmo.sample(model[-2:]))
    lines = path.read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = {
        name: {kind: {"milliseconds": [], "processor": 0.0} for kind in _KINDS}
        for name in trees
    }
    with contextlib.ExitStack() as stack:
        windows = {}
        for name, tree in trees.items():
            url, found[name]["seconds"], server = stack.enter_context(
                explored(model, tree)
            )
            windows[name] = stack.enter_context(_window(url)), server
        for line in random.Random(0).sample(lines, count):
            for name, (driver, server) in windows.items():
                _click(driver, server, model, line, found[name])
    return found


def _processor_seconds(process: int) -> float:
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    ticks = map(int, stat.rpartition(")")[2].split()[11:13])
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def _click(
    driver: Any, server: int, model: str, line: str, found: dict[str, Any]
) -> None:
    # Another sentence than that of the text, and a word of it.
    words = line.rstrip(".").split()
    text, at = " ".join([*words, words[0], "."]), len(words) // 2
    asked = urlencode({"view": "word", "model": model, "text": text, "at": at})
    for kind, action, argument in (
        ("new", "open", asked),
        ("next", "word", at - 1),
        ("again", "word", at),
        ("layer", "layer", 0),
    ):
        before = _processor_seconds(server)
        took = driver.execute_async_script(_TIMED, action, argument)
        found[kind]["milliseconds"].append(took)
        found[kind]["processor"] += _processor_seconds(server) - before


@contextlib.contextmanager
def _window(url: str) -> Iterator[Any]:
    """Yields a window of Chromium that shows the page."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        # Named, or selenium would ask the network for them.
        options.binary_location = shutil.which("chromium") or ""
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            driver.get(url)
            while driver.execute_script(
                "return document.querySelector('[aria-busy=true]')"
            ):
                time.sleep(0.1)
            yield driver
        finally:
            driver.quit()


def table(result: common.Result) -> str:
    """Returns a row a model, a kind of click, and a checkout."""
    header = ["Model", "Click", "", "Address, s", "Milliseconds, median"]
    header += ["least to most", "Processor time of the server, ms, mean"]
    rows = []
    for model, trees in result["measured"].items():
        for kind, title in _KINDS.items():
            for name, measured in trees.items():
                took = measured[kind]["milliseconds"]
                processor = 1000 * measured[kind]["processor"] / len(took)
                rows.append(
                    [
                        *(model, title, name, f"{measured['seconds']:.1f}"),
                        f"{statistics.median(took):.0f}",
                        f"{min(took):.0f} to {max(took):.0f}",
                        f"{processor:.0f}",
                    ]
                )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
