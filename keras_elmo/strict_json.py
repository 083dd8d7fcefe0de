"""JSON that somebody else may have written."""

import json
import os
from collections import Counter
from typing import Any

# Of a recipe that names 100,000 files there are 8 MB. What is parsed takes up to 20
# times as much memory.
_MOST_BYTES = 1 << 24


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the object that a JSON file holds.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no file, too large, or as `parse_json_object` has it.
    """
    where = os.fspath(path)
    if os.path.exists(where) and not os.path.isfile(where):
        # A pipe would be waited for.
        raise ValueError(f"{where}: must be a file")
    with open(where, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{where}: must have at most {_MOST_BYTES:,} bytes")
    return parse_json_object(content, where)


def parse_json_object(content: bytes, where: str) -> dict[str, Any]:
    """Returns the object that some bytes of JSON are.

    Args:
        content: the bytes.
        where: where they stand, for an error to name.

    Raises:
        ValueError: they are no JSON, something else than an object, nested deeper than
            Python can go, or name a key twice.
    """
    try:
        value = json.loads(content, object_pairs_hook=_distinct)
    except ValueError as error:
        raise ValueError(f"{where}: not valid JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{where}: not valid JSON: nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be a JSON object, not {_start_of(value)}")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Programs that read the file take the first value, or the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {_start_of(twice)} stands there twice")
    return value


def _start_of(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 50 else f"{text[:50]} ..."
