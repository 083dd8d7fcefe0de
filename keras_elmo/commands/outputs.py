"""What a command may write to."""

import os


def refuse_existing(path: str) -> None:
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise ValueError(f"{path} exists already; name another, or remove it")
