"""Notices that a process is a fork of one in which TensorFlow computes."""

import os

# The process that made the first encoder. Its forks do not have its threads.
_computing: int | None = None


def check_not_forked(backend: str) -> None:
    """Raises a `RuntimeError` where TensorFlow would wait forever.

    Its threads start with the first variable. A forked process has only the thread that
    forked it, and would wait for the rest. Other backends do not wait, or warn.
    """
    global _computing
    if backend != "tensorflow":
        return
    if _computing is None:
        _computing = os.getpid()
    if _computing != os.getpid():
        raise RuntimeError(
            "TensorFlow cannot compute in a fork of a process that has an encoder: it "
            "would wait forever. Start the process by spawn: "
            "multiprocessing.get_context('spawn'), "
            "DataLoader(multiprocessing_context='spawn'), gunicorn without --preload; "
            "or make the first encoder after the fork. "
            f"Received: process {os.getpid()}, a fork of {_computing}"
        )
