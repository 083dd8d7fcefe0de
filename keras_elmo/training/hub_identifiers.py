"""Licences and languages as the Hugging Face Hub calls them."""

import re
import warnings

from keras_elmo.utils.checks import called, refuse

# Forms of what the Hub calls licences and languages, whose lists grow.
_LICENSE = (
    r"[a-z0-9][a-z0-9.+-]*",
    "an identifier in lower case, such as cc-by-sa-4.0, mit or other",
)
_LANGUAGE = (
    r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*|multilingual",
    "a code of two or three letters, such as en",
)


def check_identifiers(license: str, language: str) -> None:
    """Raises a `ValueError` if a licence or language, if given, has another form."""
    for argument, value, (form, rule) in (
        ("license", license, _LICENSE),
        ("language", language, _LANGUAGE),
    ):
        if value and not re.fullmatch(form, value):
            refuse(argument, f"{rule}, as the Hub calls it", value)
    _warn_of_license(license)


def _warn_of_license(license: str) -> None:
    """Warns of a licence that SPDX does not list, as far as its list is installed."""
    try:
        from packaging.licenses import (
            InvalidLicenseExpression,
            canonicalize_license_expression,
        )
    except ImportError:
        # Before version 24.2 of packaging, which Keras brings.
        return
    try:
        canonicalize_license_expression(license or "mit")
    except InvalidLicenseExpression:
        if license != "other":
            warnings.warn(
                f"{license}: SPDX lists no licence of this name; unless the Hub does, "
                f"say other as {called('license')}",
                stacklevel=4,
            )
