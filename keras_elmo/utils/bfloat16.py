"""Tells whether the device multiplies bfloat16, and warns if it does not."""

import re
import warnings
from pathlib import Path

import keras
from keras import ops

# Names that Linux gives the instructions on x86 and on ARM.
_INSTRUCTIONS = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})
_CPUINFO = Path("/proc/cpuinfo")


def multiplies_bfloat16(cpuinfo: Path = _CPUINFO) -> bool | None:
    """Whether the device multiplies bfloat16 in hardware; `None` if unknown."""
    # A symbolic tensor may have no device.
    device = str(ops.zeros(()).device).lower()
    if device and "cpu" not in device:
        return True
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return None if flags is None else not _INSTRUCTIONS.isdisjoint(flags[1].split())


def warn_if_slow(policy: keras.DTypePolicy) -> None:
    """Warns if a dtype policy computes in bfloat16 and the device does not."""
    if policy.compute_dtype == "bfloat16" and multiplies_bfloat16() is False:
        # One place for all models, so that Python shows the warning once.
        warnings.warn(
            f"this processor has no instructions for bfloat16: {policy.name} is many "
            "times slower than float32 here",
            stacklevel=2,
        )
