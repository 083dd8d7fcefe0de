"""What the processor of this machine is good at."""

import re
from pathlib import Path

from keras import ops

# As Linux names what multiplies bfloat16, on x86 and on ARM.
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})
_CPUINFO = Path("/proc/cpuinfo")


def multiplies_bfloat16(cpuinfo: Path = _CPUINFO) -> bool | None:
    """Whether the processor has instructions for products of bfloat16.

    Args:
        cpuinfo: Linux's description of the processors.

    Returns:
        `None` if it is not known.
    """
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return None if found is None else not _BFLOAT16.isdisjoint(found[1].split())


def dtype_message(dtype: str) -> str | None:
    """Returns what a person should know of a dtype policy here, if anything."""
    if dtype != "mixed_bfloat16" or multiplies_bfloat16() is not False:
        return None
    if not _computes_on_it():
        return None
    return (
        "This processor has no products of bfloat16, and mixed_bfloat16 is many times "
        "slower than float32 on it"
    )


def _computes_on_it() -> bool:
    """Whether it is the processor that Keras computes on."""
    return "cpu" in str(ops.zeros(()).device).lower()
