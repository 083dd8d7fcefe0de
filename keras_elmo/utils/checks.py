"""What arguments have to be."""


def check_positive(**arguments: float | None) -> None:
    """Refuses numbers that are not greater than 0; `None` is none.

    Raises:
        ValueError: names the first one.
    """
    for name, value in arguments.items():
        if value is not None and not value > 0:
            raise ValueError(f"`{name}` must be positive. Received: {name}={value}")
