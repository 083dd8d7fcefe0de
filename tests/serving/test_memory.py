import platform

import pytest

from tests.fresh_process import run_python

PROGRAM = """
from pathlib import Path
from keras_elmo.serving.server import release_memory

def resident():
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])

blocks = [b"x" * 65_000 for _ in range(4_000)]
# What stays keeps the rest from being given back by itself.
blocks = blocks[::50]
before = resident()
release_memory()
print(before - resident())
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="malloc_trim is of glibc alone"
)
def test_what_was_freed_between_other_things_goes_back(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert int(run_python("program.py", cwd=tmp_path)) > 200e6
