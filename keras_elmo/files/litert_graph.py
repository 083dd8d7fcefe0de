"""LiteRT files of taggers and classifiers: their descriptions, and what runs them."""

import hashlib
import json
import os
import threading
import warnings
import zipfile
from typing import Any

import numpy as np

from keras_elmo.files.onnx_session import Arrays, Graph, Shapes
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config, StrPath

# The description, in a zip archive after the graph, as LiteRT's own metadata are.
_MEMBER = "keras_elmo.json"
# It holds the words of static vectors, too.
_MAX_BYTES = 2**28
_NO_TASK = "must be a tagger or a classifier that keras_elmo exported"


def write_litert_file(path: StrPath, graph: bytes, about: Config) -> None:
    """Writes a graph and its description."""
    about = {**about, "sha256": hashlib.sha256(graph).hexdigest()}
    with open(path, "wb") as file:
        file.write(graph)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(_MEMBER, json.dumps(about, ensure_ascii=False))


def read_stored_description(path: StrPath) -> Config:
    """Returns the description, as it is stored, without the graph."""
    with reading(path, _NO_TASK), zipfile.ZipFile(path) as archive:
        info = archive.getinfo(_MEMBER)
        if info.file_size > _MAX_BYTES:
            raise ValueError(f"its {_MEMBER} has {info.file_size:,} bytes")
        about = json.loads(archive.read(info))
        if not isinstance(about, dict) or about.get("task") is None:
            raise ValueError(f"its {_MEMBER} has no task")
        return about


def open_litert_graph(path: StrPath) -> Graph:
    """Opens a file in LiteRT, or the one inside TensorFlow."""
    about = read_stored_description(path)
    with reading(path, "cannot be read"):
        _check_graph(path, about)
        interpreter = _interpreter(os.fspath(path))
        # Here, and not at the first call: it tells of itself on standard error.
        interpreter.allocate_tensors()
        run = interpreter.get_signature_runner()
        shapes: list[Shapes] = [
            {
                name: [None if n < 0 else int(n) for n in tensor["shape_signature"]]
                for name, tensor in tensors.items()
            }
            for tensors in (run.get_input_details(), run.get_output_details())
        ]
        inputs, outputs = shapes
    # An interpreter has memory of its own for a batch.
    lock = threading.Lock()

    def compute(outputs: list[str], feeds: Arrays) -> list[np.ndarray]:
        with lock:
            values = run(**feeds)
        return [values[name] for name in outputs]

    return Graph(inputs, outputs, about, compute)


def _check_graph(path: StrPath, about: Config) -> None:
    """Raises `ValueError` if it is damaged: LiteRT would end the process."""
    with zipfile.ZipFile(path) as archive:
        end = archive.getinfo(_MEMBER).header_offset
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(min(2**20, end - file.tell())):
            digest.update(part)
    if digest.hexdigest() != about["sha256"]:
        raise ValueError("its graph has another checksum than its description says")


def _interpreter(path: str) -> Any:
    threads = os.cpu_count()
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            # It is deprecated, and says so.
            return tf.lite.Interpreter(path, num_threads=threads)
    return Interpreter(path, num_threads=threads)
