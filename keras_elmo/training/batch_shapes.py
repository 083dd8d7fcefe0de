"""Batches as several devices need them."""

import numpy as np

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.language_model_head import PADDING_ID
from keras_elmo.training.batches import Batch

# What no row has fewer of: its two boundaries.
_LEAST_TOKENS = 2


def shared_out(batch: Batch | None, parts: int) -> list[Batch]:
    """Returns batches of every so many rows, padded to the same number.

    Rows of like length follow each other, so each part gets its share of the long
    ones.
    """
    rows = 0 if batch is None else len(batch["token_ids"])
    # At least one each: what a device multiplies must not be empty.
    padded_rows = parts * max(1, -(-rows // parts))
    whole = padded(batch, padded_rows)
    return [
        {name: value[part::parts] for name, value in whole.items()}
        for part in range(parts)
    ]


def padded(batch: Batch | None, rows: int, tokens: int = _LEAST_TOKENS) -> Batch:
    """Returns the batch with at least so many rows and positions, masked ones."""
    if batch is None:
        batch = {
            "char_ids": np.zeros((0, _LEAST_TOKENS, MAX_CHARACTERS), "int32"),
            "token_ids": np.full((0, _LEAST_TOKENS), PADDING_ID, "int32"),
        }
    char_ids, token_ids = (np.asarray(batch[k]) for k in ("char_ids", "token_ids"))
    more = (
        (0, max(0, rows - token_ids.shape[0])),
        (0, max(0, tokens - token_ids.shape[1])),
    )
    return {
        "char_ids": np.pad(char_ids, (*more, (0, 0))),
        "token_ids": np.pad(token_ids, more, constant_values=PADDING_ID),
    }
