"""The command that counts what thousands of spoiled files do, and what it would see."""

import os
import random
import re
import subprocess
import sys

import pytest

from tests.helpers import count_spoiled
from tests.helpers.fresh_process import ROOT


# A process that loads each kind first: half a minute.
@pytest.mark.slow
def test_command(tmp_path):
    """Nothing happens that must not, and every input is counted."""
    command = [
        sys.executable,
        "-m",
        count_spoiled.__name__,
        "--inputs",
        "140",
        "--seed",
        "1",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = dict(re.findall(r"^([a-z ]+\d* ?\w*): (\d+)$", done.stdout, re.MULTILINE))
    assert sum(map(int, counts.values())) == 140
    assert int(counts["refused"]) > 60


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ({"outcome": "refused", "seconds": 1, "bytes": 10**8}, None),
        ({"outcome": "loaded", "happened": [["open", "/scratch/a"]]}, None),
        ({"outcome": "loaded", "happened": [["open", "/etc/passwd"]]}, "read outside"),
        ({"outcome": "loaded", "happened": [["os.system", "x"]]}, "ran code"),
        ({"outcome": "crashed"}, "crashed"),
        ({"outcome": "refused", "seconds": 11}, "hung over 10 s"),
        ({"outcome": "refused", "bytes": 2 * 10**9}, "took over 1 GB"),
    ],
)
def test_faults(result, fault):
    """Each fault is seen in what a process reports."""
    assert count_spoiled.faults_of(result, ("/scratch",)) == ({fault} - {None})


def test_spoiled_content():
    """The same seed spoils in the same way, and each way changes something."""
    content = b'{"a": 1, "b": [2.5, "text"]}' * 50
    for way in count_spoiled._WAYS:
        one, other = (way(content, random.Random(seed)) for seed in (3, 3))
        assert one == other
        assert any(way(content, random.Random(seed)) != content for seed in range(9))
        assert isinstance(way(b"", random.Random(0)), bytes)
