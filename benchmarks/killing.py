"""Kills a process in a phase that it tells of, and has it tell.

The child prints "begin X" and "end X" on standard output around each phase X; whoever
kills it waits for one of these lines, and some random milliseconds more.
"""

import random
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any


def telling(function: Callable[..., Any], phase: str) -> Callable[..., Any]:
    """Returns the function with its phase told around each call."""

    def call(*arguments: Any, **options: Any) -> Any:
        print(f"begin {phase}", flush=True)
        result = function(*arguments, **options)
        print(f"end {phase}", flush=True)
        return result

    return call


def kill(
    command: Sequence[str],
    aim: str,
    latest: int,
    milliseconds: float,
    chance: random.Random,
) -> str | None:
    """Starts a command and kills it with SIGKILL.

    Args:
        command: whose standard output tells of its phases.
        aim: the phase to wait for.
        latest: which of its occurrences it is at most.
        milliseconds: that may pass then.
        chance: decides on both.

    Returns:
        The phase it was in when it died, "between" two of them, or `None` if it ended
        before.
    """
    occurrence = chance.randint(1, latest)
    delay = chance.uniform(0, milliseconds) / 1000
    told = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            told = line.strip()
            occurrence -= told == f"begin {aim}"
            if occurrence == 0:
                time.sleep(delay)
                process.kill()
                break
        for line in process.stdout or ():
            told = line.strip()
    if process.returncode == 0:
        return None
    if process.returncode > 0:
        raise SystemExit(f"the command failed: {' '.join(command)}")
    word, _, phase = told.partition(" ")
    return phase if word == "begin" else "between"


def finish(command: Sequence[str]) -> None:
    """Lets a command run to its end."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
