"""One process at a time with a file or a folder."""


def lock(descriptor: int) -> bool:
    """Takes an open file or folder for this process, until it is closed.

    The system lets go of it however the process ends.

    Args:
        descriptor: of the file or folder.

    Returns:
        Whether it could be taken: not while another process holds it. Where the system
        or the disk knows no locks, nothing is held.
    """
    try:
        import fcntl
    except ImportError:
        # Windows has none.
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A network's disk, perhaps.
        pass
    return True
