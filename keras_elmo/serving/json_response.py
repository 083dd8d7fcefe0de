"""Arrays as the JSON that TensorFlow Serving answers with."""

from typing import Any

import orjson

from keras_elmo.serving.signature import Arrays


def dumps(value: Any) -> bytes:
    """Writes JSON; arrays are written as they lie in memory."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def prediction(outputs: Arrays, by_row: bool) -> bytes:
    """Writes the outputs of a model.

    Args:
        outputs: arrays of as many rows each.
        by_row: one object a row, under `predictions`, instead of one array an output,
            under `outputs`.
    """
    if not by_row:
        return dumps({"outputs": outputs})
    rows = zip(*outputs.values(), strict=True)
    return dumps(
        {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}
    )


def error(message: str) -> bytes:
    """Writes why there is no answer."""
    return dumps({"error": message})
