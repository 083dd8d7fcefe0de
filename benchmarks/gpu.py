"""How fast are training and inference on one GPU, and how much of it do they use?

Words/s, device memory, and operations/s beside those of a large matrix product in
bfloat16, measured in the same run. Runs on the JAX backend and needs no TensorFlow.

    python benchmarks/gpu.py --corpus train-* --dtype mixed_bfloat16 --out gpu.json

The text is cut into rows of one length that hold nothing but text, whether or not a
sentence ends where a row does: there is one shape and no padding, and what is learnt is
not the question. JAX needs shapes that do not depend on the text, so the character CNN
reads a word as often as it occurs. Its widest convolution puts out `positions * 44 *
1,024` numbers with the published filters: 1.5 GB in float32 for 128 rows of 64, and
training keeps those of all widths, twice as much. In float32, JAX lets a GPU round the
factors of a product to TF32.
"""

import os
import sys
from collections.abc import Sequence

import common
from common import markdown_table, spread

_POLICIES = ("float32", "bfloat16", "mixed_bfloat16")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        corpus=(None, "text files", {"nargs": "+", "required": True}),
        preset="original",
        dtype=("float32", "policy", {"choices": _POLICIES}),
        batch=(128, "rows of a step"),
        row_length=(64, "positions of a row"),
        vocabulary_size=(793_471, "of the softmax"),
        num_sampled=(8192, "candidates of the softmax while training"),
        steps=(10, "of a repetition"),
        repeats=5,
        product_size=(8192, "of the matrix product to compare with"),
    )
    # Read when Keras is imported.
    os.environ.setdefault("KERAS_BACKEND", "jax")
    # Where TensorFlow is installed, it would split the text, and take the GPU's memory.
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
    import gpu_runs

    environment = {**common.environment(), "device": gpu_runs.device_kind()}
    figures = gpu_runs.measure(options)
    common.publish(options, table, **figures, environment=environment)


def table(result: common.Result) -> str:
    """Returns the figures, one row per kind of work."""
    header = ["Preset", "Policy", "Rows x positions", "Work", "Words/s, median"]
    header += ["least to most", "TFLOP/s", "of a bfloat16 product's, %"]
    header += ["Peak device memory, GB"]
    rows = []
    for work in ("inference", "training"):
        figures = result[work]
        peak, speed = figures["peak_bytes"], figures["flops_per_second"]
        rows.append(
            [
                *(result["preset"], result["dtype"]),
                f"{result['batch']} x {result['row_length']}",
                work,
                *spread(figures["words_per_second"]),
                f"{speed / 1e12:,.1f}",
                f"{100 * speed / result['product_flops_per_second']:.1f}",
                "" if peak is None else f"{peak / 1e9:,.1f}",
            ]
        )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
