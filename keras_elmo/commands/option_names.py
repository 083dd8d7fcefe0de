"""What a Python argument is called on the command line."""

import argparse
import re

_ARGUMENT = re.compile(r"`(\w+)`")


def with_options(message: str, options: argparse.Namespace) -> str:
    """Returns an error's message that names options instead of arguments.

    Most are named alike; a command's default `arguments` says what the others are.
    """
    others = getattr(options, "arguments", {})

    def option(argument: re.Match[str]) -> str:
        name = argument[1]
        if name in others:
            return others[name]
        return f"--{name.replace('_', '-')}" if name in options else argument[0]

    return _ARGUMENT.sub(option, message)
