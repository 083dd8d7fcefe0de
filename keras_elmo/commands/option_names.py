"""What a Python argument is called on the command line."""

import argparse
import re
from collections.abc import Mapping

_ARGUMENT = re.compile(r"`(\w+)`")
_VALUE = re.compile(r"\b(\w+)=")
_RECEIVED = " Received: "


def with_options(message: str, options: argparse.Namespace) -> str:
    """Returns an error's message that names options instead of arguments.

    Most are named alike; a command's default `arguments` says what the others are.
    """
    names = {name: f"--{name.replace('_', '-')}" for name in vars(options)}
    names |= getattr(options, "arguments", {})
    expected, received, values = message.partition(_RECEIVED)
    expected = _renamed(_ARGUMENT, expected, names, "{}")
    expected = expected.replace("must be None", "must not be given")
    expected = expected.replace("or be None", "or not be given")
    return expected + received + _renamed(_VALUE, values, names, "{} ")


def _renamed(
    pattern: re.Pattern[str], text: str, names: Mapping[str, str], form: str
) -> str:
    def renamed(found: re.Match[str]) -> str:
        return form.format(names[found[1]]) if found[1] in names else found[0]

    return pattern.sub(renamed, text)
