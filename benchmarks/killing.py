"""Runs a `keras-elmo` command, and kills it with SIGKILL at random moments."""

import random
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# Of each phase, in order: how often it is aimed at, which of its next occurrences at
# most, and how many milliseconds may pass after it has begun.
Phases = Mapping[str, tuple[float, int, float]]


def command(arguments: Sequence[Any], part: int = 16_384) -> list[str]:
    """Returns a command that prints its phases, with parts of so many positions."""
    child = Path(__file__).with_name("killed.py")
    return [sys.executable, *map(str, (child, part, *arguments))]


def finish(command: Sequence[str]) -> None:
    """Lets a command run to its end."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def aims(
    phases: Phases, kills: int, chance: random.Random, once: Sequence[str]
) -> list[str]:
    """Returns the phase of each kill; those that occur `once` keep their place."""
    total = sum(weight for weight, *_ in phases.values())
    counts = {name: round(kills * phases[name][0] / total) for name in once}
    often = {name: phases[name][0] for name in phases if name not in once}
    drawn = chance.choices(
        list(often), list(often.values()), k=kills - sum(counts.values())
    )
    names: list[str] = []
    for name in phases:
        if name in once:
            names += [name] * counts[name]
        else:
            names, drawn = [*names, *drawn], []
    return names


def kill(
    command: Sequence[str], aim: str, phases: Phases, chance: random.Random
) -> str:
    """Kills a command a moment after a phase of it has begun.

    Returns:
        The phase in which it died; "between" two of them.
    """
    _, latest, milliseconds = phases[aim]
    occurrence = chance.randint(1, latest)
    delay = chance.uniform(0, milliseconds) / 1000
    printed = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            printed = line.strip()
            occurrence -= printed == f"begin {aim}"
            if occurrence == 0:
                time.sleep(delay)
                process.kill()
                break
        for line in process.stdout or ():
            printed = line.strip()
    if process.returncode == 0:
        raise SystemExit("the command ended before it was killed: it needs more to do")
    if process.returncode > 0:
        raise SystemExit(f"the command failed: {' '.join(command)}")
    word, _, phase = printed.partition(" ")
    phase = phase if word == "begin" else "between"
    print(f"aimed at {aim}, died in {phase}", file=sys.stderr, flush=True)
    return phase


def counts(killed: Sequence[Mapping[str, Any]], phases: Iterable[str]) -> list[str]:
    """Returns the cells of how many were killed, and how many in each phase."""
    found = [each["phase"] for each in killed]
    return [str(len(found)), *(str(found.count(each)) for each in header(phases)[1:])]


def header(phases: Iterable[str]) -> list[str]:
    """Returns the titles of `counts`."""
    return ["Killed", *phases, "between"]
