"""No call copies a weight: counted by the pages of memory that it maps anew."""

import json
import sys

import pytest

from tests.helpers.fresh_process import HELPERS, run_python

pytestmark = [
    pytest.mark.graph,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is counted"),
]

# A copy of a kernel's smaller half would be 2,048 pages of 4 KiB.
FEW = 1_000


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    output = run_python(
        HELPERS / "count_page_faults.py",
        tmp_path_factory.mktemp("page_faults"),
        cwd="/",
        # Every copy is mapped anew, and TensorFlow keeps no memory of its own.
        MALLOC_MMAP_THRESHOLD_=str(2**22),
        TF_ENABLE_ONEDNN_OPTS="0",
    )
    return json.loads(output)


@pytest.mark.parametrize(
    "path", ["embed", "precompute", "ElmoEmbedding", "predict", "fit", "SavedModel"]
)
def test_a_call_copies_no_weight(counts, path):
    assert counts[path] < FEW


def test_a_resumed_update_copies_no_more_than_a_fresh_one(counts):
    # Two equal models differ by up to 2,000 pages of 60,000. A copy of both kernels, of
    # two halves each, would be 8,192.
    assert counts["resumed update"] < counts["fresh update"] + 4 * FEW
