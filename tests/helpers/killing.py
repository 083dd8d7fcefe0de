"""Kills `keras-elmo` with SIGKILL in a phase of its work.

    python -m tests.helpers.killing PART_POSITIONS COMMAND ...

runs the command in parts of so many positions, and prints a line when a phase begins
and when it ends. `KERAS_ELMO_KILLS` sets how often a test kills, and `pytest -s` shows
in which phases:

    KERAS_ELMO_KILLS=30 .venv/bin/python -m pytest -s tests -k test_killed_process
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice

from tests.helpers.fresh_process import ROOT, environment, forked_python

KILLS = int(os.environ.get("KERAS_ELMO_KILLS", 3))


def command(*arguments, part=16_384):
    """Returns the command of a process that prints its phases."""
    return [str(each) for each in (forked_python(), "-m", __name__, part, *arguments)]


def finish(command):
    """Lets a command run to its end."""
    subprocess.run(
        command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, check=True
    )


def kill_often(commands, phases, first=(), last=(), skipped=lambda phase: False):
    """Kills a command, and runs the next one, `KILLS` times.

    Args:
        commands: what `command` returns, with `--resume`; they take turns.
        phases: for each phase, which of its next occurrences is the latest to be killed
            in, and how many milliseconds may pass after its beginning.
        first: phases that occur at the beginning only: one of the kills.
        last: phases that occur at the end only: one of the kills each.
        skipped: tells whether a phase cannot occur now.
    """
    chance = random.Random(0)
    between = [name for name in phases if name not in (*first, *last)]
    chance.shuffle(between)
    number = max(1, KILLS - len(first) - len(last))
    died, commands = Counter(), cycle(commands)
    for phase in (*first, *islice(cycle(between), number), *last):
        if not skipped(phase):
            latest, milliseconds = phases[phase]
            delay = chance.uniform(0, milliseconds) / 1000
            died[_kill(next(commands), phase, chance.randint(1, latest), delay)] += 1
    print(f"killed {died.total()} times: {dict(died)}")


def _kill(command, phase, occurrence, delay):
    """Returns the phase in which the process died, or "between"."""
    printed = ""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            printed = line.strip()
            occurrence -= printed == f"begin {phase}"
            if occurrence == 0:
                time.sleep(delay)
                process.kill()
                break
        for line in process.stdout:
            printed = line.strip()
    assert process.returncode == -signal.SIGKILL, f"ended before the end of {phase}"
    word, _, phase = printed.partition(" ")
    return phase if word == "begin" else "between"


def _print_phases():
    """Makes each function of a phase print when it begins and ends."""
    from keras_elmo.embedding.embedder import Embedder
    from keras_elmo.embedding.parts import PartFolder
    from keras_elmo.embedding.writers import Hdf5Writer, ParquetWriter
    from keras_elmo.files import checkpoint
    from keras_elmo.files.run_directory import PretrainingDirectory
    from keras_elmo.text import part_dictionaries
    from keras_elmo.text.preparing import TextParts
    from keras_elmo.text.vocabulary import Vocabulary
    from keras_elmo.training import recorder
    from keras_elmo.training.devices.base import Devices
    from keras_elmo.training.devices.tensorflow import TensorFlowDevices

    for owner, name, phase in (
        (Devices, "update", "step"),
        (TensorFlowDevices, "update", "step"),
        (recorder, "perplexity", "validation"),
        (checkpoint, "save_checkpoint", "checkpoint"),
        (PretrainingDirectory, "write_weights", "weights"),
        (Embedder, "cache_words", "cache"),
        (Embedder, "embed_window", "embed"),
        (PartFolder, "write", "write"),
        (PartFolder, "read", "read"),
        (Hdf5Writer, "append", "join"),
        (ParquetWriter, "append", "join"),
        (Hdf5Writer, "finish", "finish"),
        (ParquetWriter, "finish", "finish"),
        (PartFolder, "complete", "rename"),
        (TextParts, "write", "part"),
        (part_dictionaries, "_merge", "merge"),
        (part_dictionaries, "_write_shard", "shard"),
        (TextParts, "remove", "rename"),
    ):
        setattr(owner, name, _printing(getattr(owner, name), phase))
    count = Vocabulary.count.__func__
    Vocabulary.count = classmethod(_printing(count, "count"))


def _printing(function, phase):
    def call(*arguments, **options):
        print(f"begin {phase}", flush=True)
        result = function(*arguments, **options)
        print(f"end {phase}", flush=True)
        return result

    return call


if __name__ == "__main__":
    from keras_elmo.cli import main
    from keras_elmo.embedding import embedder
    from keras_elmo.text import preparing

    embedder._MAX_POSITIONS = preparing._PART_WORDS = int(sys.argv[1])
    _print_phases()
    sys.exit(main(sys.argv[2:]))
