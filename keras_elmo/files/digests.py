"""What tells a text, or a model, from any other."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import keras

from keras_elmo.models.encoder import Encoder


def file_digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a folder's files and their names."""
    digest = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()


def encoder_digest(encoder: Encoder, *others: Any) -> str:
    """Returns the SHA-256 of all that an encoder's vectors depend on.

    Args:
        encoder: wherever it was read from.
        *others: arrays that the vectors depend on, too.
    """
    kind = [
        encoder.config.to_options(),
        encoder.tokenizer,
        encoder.get_config()["dtype"],
    ]
    digest = hashlib.sha256(json.dumps(kind, sort_keys=True).encode())
    for array in (*encoder.weights, *others):
        digest.update(keras.ops.convert_to_numpy(array).tobytes())
    return digest.hexdigest()
