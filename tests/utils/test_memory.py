"""What glibc does with freed memory, in processes of their own."""

import platform

import pytest

from tests.helpers.fresh_process import run_python

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="mallopt and malloc_trim are glibc's"
)

# A block that glibc would return, whatever it has freed before.
KEPT = """
import resource, sys

if sys.argv[1] == "kept":
    from keras_elmo.utils.memory import keep_freed_memory

    keep_freed_memory()

def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def use():
    b"x" * 100_000_000

use()
before = page_faults()
for _ in range(5):
    use()
print(page_faults() - before)
"""

RETURNED = """
from pathlib import Path
from keras_elmo.utils.memory import return_freed_memory

def resident():
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])

blocks = [b"x" * 65_000 for _ in range(4_000)]
# What stays keeps the rest from being returned by itself.
blocks = blocks[::50]
before = resident()
return_freed_memory()
print(before - resident())
"""

# All threads hold blocks at the same time.
POOLS = """
import ctypes, sys, threading

if sys.argv[1] == "shared":
    from keras_elmo.utils.memory import share_freed_memory

    share_freed_memory()
together = threading.Barrier(4)

def use():
    block = bytes(10_000)
    together.wait()
    del block

threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
output = ctypes.c_void_p(libc.fopen(b"pools.xml", b"w"))
libc.malloc_info(0, output)
libc.fclose(output)
print(open("pools.xml").read().count("<heap nr="))
"""


def run(program, folder, *arguments):
    (folder / "program.py").write_text(program, encoding="utf-8")
    return int(run_python("program.py", *arguments, cwd=folder))


def test_a_freed_block_is_used_again(tmp_path):
    # It has 24,415 pages of 4 KiB.
    assert run(KEPT, tmp_path, "kept") < 1_000 < run(KEPT, tmp_path, "returned")


def test_memory_between_blocks_that_stay_is_returned(tmp_path):
    assert run(RETURNED, tmp_path) > 200e6


def test_threads_share_one_pool(tmp_path):
    assert run(POOLS, tmp_path, "each") > 1
    assert run(POOLS, tmp_path, "shared") == 1


FROZEN = """
import gc, weakref
from keras_elmo.utils.memory import freeze_garbage

class Node:
    def __init__(self):
        self.itself = self

node = Node()
freeze_garbage()
assert gc.get_freeze_count() > 1_000
seen = weakref.ref(node)
del node
gc.collect()
assert seen()
freeze_garbage()
print(int(seen() is None))
"""


def test_frozen_cycles_are_freed_by_the_next_call(tmp_path):
    assert run(FROZEN, tmp_path) == 1
