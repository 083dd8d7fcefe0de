"""The folder of an index: a description, arrays that are mapped, perhaps a graph."""

import os
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from keras_elmo.files.validation import check_tokenizer
from keras_elmo.utils.arrays import map_array, write_array
from keras_elmo.utils.checks import called, check_path, received
from keras_elmo.utils.files import is_free, read_json_object, replacing, write_json
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config, StrPath

Arrays: TypeAlias = dict[str, np.ndarray]

_FORMAT = 1
_DESCRIPTION = "index.json"
_GRAPH = "graph.usearch"
# A model that was given as an object has no name.
_DESCRIBED = {"model": (str, NoneType), "model_hash": (str,), "layer": (int,)}
# Types and axes; each is a file NAME.npy.
_ARRAYS = {
    # Of unit length, a row for each token that can be found.
    "vectors": ("float32", 2),
    # Which token of the text each is.
    "places": ("int64", 1),
    # The word of each token of the text, and where each sentence begins.
    "tokens": ("int32", 1),
    "sentence_limits": ("int64", 1),
    # The distinct words in UTF-8, one after the other, and where each begins.
    "words": ("uint8", 1),
    "word_limits": ("int64", 1),
}
_ROWS_AT_A_TIME = 10_000


def save_index(path: StrPath, arrays: Arrays, description: Config, graph: Any) -> None:
    """Writes a folder, or replaces one of an index."""
    check_path(path=path)
    is_index = os.path.exists(os.path.join(path, _DESCRIPTION))
    if not is_free(path) and not is_index:
        raise ValueError(
            f"{called('path')} must not exist, or hold an index, which is replaced. "
            + received(path=os.fspath(path))
        )
    with replacing(path) as temporary:
        os.makedirs(temporary)
        for name, values in arrays.items():
            write_array(_file(temporary, name), values)
        if graph is not None:
            graph.save(os.path.join(temporary, _GRAPH))
        description = {"format": _FORMAT, **description}
        write_json(os.path.join(temporary, _DESCRIPTION), description)


def load_index(path: StrPath) -> tuple[Arrays, Config, Any]:
    """Maps the arrays of a folder; returns them, the description, and the graph."""
    check_path(path=path)
    file = os.path.join(path, _DESCRIPTION)
    if not os.path.exists(file):
        raise ValueError(
            f"{called('path')} must be a folder that Index.save wrote; {file} is "
            f"missing. {received(path=os.fspath(path))}"
        )
    description = read_json_object(file)
    if description.get("format") != _FORMAT:
        raise ValueError(
            f"{file}: the format must be {_FORMAT}; a later keras_elmo may know others"
        )
    for key, kinds in _DESCRIBED.items():
        if key not in description or not isinstance(description[key], kinds):
            raise ValueError(f"{file}: must name the model, its hash and the layer")
    # An index without this key has the tokenizer of its model.
    check_tokenizer(description.get("tokenizer"), file)
    arrays = {name: map_array(_file(path, name), *_ARRAYS[name]) for name in _ARRAYS}
    _check_lengths(path, arrays)
    graph = os.path.join(path, _GRAPH)
    if not os.path.exists(graph):
        return arrays, description, None
    module = import_extra("usearch.index", f"The graph of {os.fspath(path)}", "index")
    with reading(graph):
        return arrays, description, module.Index.restore(graph, view=True)


def build_graph(vectors: np.ndarray) -> Any:
    """Returns a graph of neighbours for approximate search."""
    module = import_extra("usearch.index", "An approximate index", "index")
    graph = module.Index(ndim=vectors.shape[1], metric="ip", dtype="f16")
    for first in range(0, len(vectors), _ROWS_AT_A_TIME):
        rows = np.asarray(vectors[first : first + _ROWS_AT_A_TIME])
        graph.add(np.arange(first, first + len(rows)), rows)
    return graph


def _file(path: StrPath, name: str) -> str:
    return os.path.join(path, f"{name}.npy")


def _check_lengths(path: StrPath, arrays: Arrays) -> None:
    ends = {"sentence_limits": "tokens", "word_limits": "words"}
    # Arrays of numbers, and what they number.
    counted = {"places": "tokens", "tokens": "word_limits"}
    consistent = len(arrays["vectors"]) == len(arrays["places"]) and all(
        len(arrays[limits])
        and arrays[limits][0] == 0
        and arrays[limits][-1] == len(arrays[name])
        and (np.diff(arrays[limits]) >= 0).all()
        for limits, name in ends.items()
    )
    for name, of in counted.items():
        numbers, total = arrays[name], len(arrays[of]) - (of in ends)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < total:
            consistent = False
    if not consistent:
        raise ValueError(f"{os.fspath(path)}: the arrays do not belong together")
