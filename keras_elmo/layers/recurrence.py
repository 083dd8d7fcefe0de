"""Who runs the recurrence: chosen here, by the backend, and nowhere else."""

from typing import Any, Protocol

import keras

from keras_elmo.layers.lstm_step import Reader, State


class Rows(Protocol):
    """The rows of a batch, laid out for a recurrence to read.

    Made from a `(batch, time)` mask. What it is laid out as is its own affair; the
    last axis stays the last.
    """

    def arrange(self, x: Any, reverse: bool = False) -> Any:
        """Lays a `(batch, time, features)` tensor out.

        Args:
            x: the tensor.
            reverse: whether each row is read from its last live position.
        """

    def restore(self, x: Any, reverse: bool = False) -> Any:
        """Undoes `arrange`; masked positions are 0."""

    def run(
        self, readers: list[Reader], keep_state: bool, training: bool | None
    ) -> tuple[list[Any], list[State]]:
        """Runs several LSTMs side by side.

        Args:
            readers: the LSTMs, of equal sizes and clips; their states are in the
                order of the batch.
            keep_state: whether the last states are asked for.
            training: whether a gradient will be; the results are the same.

        Returns:
            The outputs of each LSTM, laid out, and their last states, if asked for,
            in the order of the batch; a row's is that after its last live position.
        """


def rows_of(batch: Any, time: Any, mask: Any) -> Rows:
    """Returns the rows of a batch as this backend reads them.

    Args:
        batch: number of rows.
        time: number of positions of a row.
        mask: `(batch, time)` booleans, True for the first positions of a row, or
            `None` for all.
    """
    if keras.backend.backend() == "tensorflow":
        from keras_elmo.layers.packed_rows import PackedRows

        return PackedRows(batch, time, mask)
    from keras_elmo.layers.padded_rows import PaddedRows

    return PaddedRows(batch, time, mask)
