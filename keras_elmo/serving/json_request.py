"""Reads the JSON of a `:predict` request, as TensorFlow Serving's clients send it."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import orjson

from keras_elmo.serving.limits import invalid, shown
from keras_elmo.serving.signatures import Argument, Arrays

_INT32 = range(-(2**31), 2**31)


class JsonRequest(NamedTuple):
    """The body of a `:predict` request."""

    # Empty if the body names no signature.
    signature_name: str
    # Whether the body has `instances`, a list of rows, or `inputs`, a list for each
    # argument. The answer has the same form.
    by_row: bool
    value: Any
    output_filter: list[str] | None

    @classmethod
    def parse(cls, body: bytes | bytearray) -> "JsonRequest":
        """Reads a body; raises `ServingError` where TensorFlow Serving refuses it."""
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise invalid(f"JSON Parse error: {error}") from None
        if not isinstance(request, dict):
            raise invalid("The body must be an object", shown(request))
        name = request.get("signature_name", "")
        if not isinstance(name, str):
            raise invalid("'signature_name' must be a string", shown(name))
        keys = [key for key in ("instances", "inputs") if key in request]
        if len(keys) != 1:
            raise invalid(
                "The body must have either 'instances' or 'inputs'",
                " and ".join(keys) or "neither",
            )
        outputs = request.get("output_filter")
        if outputs is not None and not (
            isinstance(outputs, list) and all(isinstance(name, str) for name in outputs)
        ):
            raise invalid(
                "'output_filter' must be a list of outputs' names", shown(outputs)
            )
        return cls(name, keys == ["instances"], request[keys[0]], outputs)

    def arrays(self, arguments: Mapping[str, Argument]) -> Arrays:
        """Returns an array for each argument of a signature."""
        value = self.value
        if self.by_row and (not isinstance(value, list) or not value):
            raise invalid("'instances' must be a list of at least one", shown(value))
        rows = value if self.by_row else [value]
        columns: Mapping[str, object]
        if len(arguments) == 1 and not _is_object(rows[0]):
            # A single argument needs no name.
            columns = dict.fromkeys(arguments, value)
        elif self.by_row:
            for place, row in enumerate(rows):
                _check_keys(row, arguments, f"'instances', item {place}:")
            columns = {name: [row[name] for row in rows] for name in arguments}
        else:
            columns = _check_keys(value, arguments, "'inputs'")
        return {
            name: _array(columns[name], argument, f"'{name}'")
            for name, argument in arguments.items()
        }


def _check_keys(
    value: object, arguments: Mapping[str, Argument], where: str
) -> Mapping[str, object]:
    if isinstance(value, dict) and value.keys() == arguments.keys():
        return value
    names = " and ".join(f"'{name}'" for name in arguments)
    raise invalid(f"{where} must be an object with {names}", shown(value))


def _array(value: object, argument: Argument, where: str) -> np.ndarray:
    """Converts nested lists; `where` is their place in the body."""
    if not isinstance(value, list):
        raise invalid(f"{where} must be a list, {argument.rank} deep", shown(value))
    convert = _string if argument.dtype.kind == "O" else _int32
    if argument.rank == 1:
        return np.array([convert(leaf, where) for leaf in value], argument.dtype)
    width = len(value[0]) if value and isinstance(value[0], list) else 0
    # Checked first: an array with one long row and many short ones would be large.
    for place, row in enumerate(value):
        if not isinstance(row, list) or len(row) != width:
            raise invalid(
                f"{where}, item {place}: must be a list of {width}, like the first; "
                "pad it",
                shown(row),
            )
    array = np.empty((len(value), width), argument.dtype)
    for place, row in enumerate(value):
        array[place] = [convert(leaf, where) for leaf in row]
    return array


def _string(leaf: object, where: str) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode()
    text = _base64(leaf)
    if text is None:
        raise invalid(f'{where} must hold strings, or {{"b64": ...}}', shown(leaf))
    try:
        # Padding may be left out.
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(f"{where}: not base64: {error}", shown(text)) from None


def _int32(leaf: object, where: str) -> int:
    # In Python, a bool is an int, too.
    if type(leaf) is not int or leaf not in _INT32:
        raise invalid(f"{where} must hold 32-bit integers", shown(leaf))
    return leaf


def _base64(value: object) -> str | None:
    """Returns the text of `{"b64": text}`, or `None` for any other value."""
    if isinstance(value, dict) and value.keys() == {"b64"}:
        return value["b64"] if isinstance(value["b64"], str) else None
    return None


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and _base64(value) is None
