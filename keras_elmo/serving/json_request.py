"""The JSON of a prediction: what TensorFlow Serving's clients send, as arrays."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import orjson

from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.signature import Argument, Arrays

_INT32 = range(-(2**31), 2**31)
_SHOWN = 60


class JsonRequest(NamedTuple):
    """The body of a `:predict`.

    Attributes:
        signature_name: `""` if none is named.
        by_row: whether it has `instances`, a list of rows, instead of `inputs`, a list
            a column. The answer has the same form.
        value: the value of that key.
        output_filter: the outputs that are wanted; all if `None`.
    """

    signature_name: str
    by_row: bool
    value: Any
    output_filter: list[str] | None

    @classmethod
    def parse(cls, body: bytes) -> "JsonRequest":
        """Reads a body.

        Raises:
            ServingError: it is not what TensorFlow Serving takes.
        """
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise _invalid(f"JSON Parse error: {error}") from None
        if not isinstance(request, dict):
            raise _invalid(f"The body must be an object. Received: {_shown(request)}")
        name = request.get("signature_name", "")
        if not isinstance(name, str):
            raise _invalid(
                f"'signature_name' must be a string. Received: {_shown(name)}"
            )
        given = [key for key in ("instances", "inputs") if key in request]
        if len(given) != 1:
            raise _invalid(
                "The body must have either 'instances' or 'inputs'. "
                f"Received: {' and '.join(given) or 'neither'}"
            )
        wanted = request.get("output_filter")
        if wanted is not None and not _is_list_of_strings(wanted):
            raise _invalid(
                "'output_filter' must be a list of outputs' names. "
                f"Received: {_shown(wanted)}"
            )
        return cls(name, given == ["instances"], request[given[0]], wanted)

    def arrays(self, arguments: Mapping[str, Argument]) -> Arrays:
        """Returns an array for each argument of a signature.

        Raises:
            ServingError: the values are not what the signature takes.
        """
        columns = (self._rows if self.by_row else self._columns)(arguments)
        return {
            name: _array(columns[name], argument, f"'{name}'")
            for name, argument in arguments.items()
        }

    def _rows(self, arguments: Mapping[str, Argument]) -> dict[str, list[Any]]:
        rows = self.value
        if not isinstance(rows, list) or not rows:
            raise _invalid(
                f"'instances' must be a list of at least one. Received: {_shown(rows)}"
            )
        # One argument needs no name.
        if len(arguments) == 1 and not _is_object(rows[0]):
            return dict.fromkeys(arguments, rows)
        for place, row in enumerate(rows):
            if not _is_object(row) or row.keys() != arguments.keys():
                raise _invalid(
                    f"'instances', item {place}: must be an object with "
                    f"{_names(arguments)}. Received: {_shown(row)}"
                )
        return {name: [row[name] for row in rows] for name in arguments}

    def _columns(self, arguments: Mapping[str, Argument]) -> dict[str, Any]:
        columns = self.value
        if len(arguments) == 1 and not _is_object(columns):
            return dict.fromkeys(arguments, columns)
        if not _is_object(columns) or columns.keys() != arguments.keys():
            raise _invalid(
                f"'inputs' must be an object with {_names(arguments)}. "
                f"Received: {_shown(columns)}"
            )
        return columns


def _array(value: Any, argument: Argument, where: str) -> np.ndarray:
    """A rectangle of values; `where` is its place in the body."""
    if not isinstance(value, list):
        raise _invalid(
            f"{where} must be a list, {argument.rank} deep. Received: {_shown(value)}"
        )
    convert = _string if argument.dtype.kind == "O" else _int32
    if argument.rank == 1:
        array = np.empty(len(value), argument.dtype)
        array[:] = [convert(leaf, where) for leaf in value]
        return array
    width = len(value[0]) if value and isinstance(value[0], list) else 0
    array = np.empty((len(value), width), argument.dtype)
    for place, row in enumerate(value):
        if not isinstance(row, list) or len(row) != width:
            raise _invalid(
                f"{where}, item {place}: must be a list of {width}, like the first; "
                f"pad it. Received: {_shown(row)}"
            )
        array[place] = [convert(leaf, where) for leaf in row]
    return array


def _string(leaf: Any, where: str) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode()
    if not _is_base64(leaf):
        raise _invalid(
            f'{where} must hold strings, or {{"b64": ...}}. Received: {_shown(leaf)}'
        )
    text = leaf["b64"]
    try:
        # Padding may be left out.
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid(
            f"{where}: not base64: {error}. Received: {_shown(text)}"
        ) from None


def _int32(leaf: Any, where: str) -> int:
    # A bool is an int, too, in Python.
    if type(leaf) is not int or leaf not in _INT32:
        raise _invalid(f"{where} must hold 32-bit integers. Received: {_shown(leaf)}")
    return leaf


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"b64"}
        and isinstance(value["b64"], str)
    )


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _names(arguments: Mapping[str, Argument]) -> str:
    return " and ".join(f"'{name}'" for name in arguments)


def _shown(value: Any) -> str:
    """A value for an error, short however large or deep it is."""
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        keys = ", ".join(f"'{key[:_SHOWN]}'" for key in list(value)[:5])
        return f"an object with {keys or 'nothing'}"
    shown = orjson.dumps(value[:_SHOWN] if isinstance(value, str) else value).decode()
    return shown


def _invalid(message: str) -> ServingError:
    return ServingError(Code.INVALID_ARGUMENT, message)
