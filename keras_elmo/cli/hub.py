"""The subcommands of `keras-elmo` that publish a model."""

import dataclasses

from keras_elmo.cli.parsing import Arguments, command, import_keras
from keras_elmo.utils.options import Option

_RUN = Option("run", "A run of pretrain that was validated", flag="RUN", required=True)
_LICENSE = Option(
    "license",
    "Licence of the weights, as the Hub calls it, such as cc-by-sa-4.0 or mit",
    "NAME",
)
_LANGUAGE = Option("language", "Language of the text, such as en", "CODE")


@command(
    "card",
    "print the card of a run",
    "card runs/my-elmo --license cc-by-sa-4.0 --language en",
    _RUN,
    _LICENSE,
    _LANGUAGE,
)
def _card(arguments: Arguments) -> None:
    """Prints the README.md that publish would upload; nothing is sent anywhere.

    Saved as RUN/README.md and edited, it is what publish uploads.
    """
    from keras_elmo.training.publishing import run_card

    print(run_card(**arguments), end="")


@command(
    "publish",
    "upload a run to the Hugging Face Hub",
    "publish runs/my-elmo hf://me/my-elmo --license cc-by-sa-4.0 --language en",
    _RUN,
    Option(
        "repository",
        "The repository, hf://OWNER/NAME, which is made if it is not there",
        flag="REPOSITORY",
        required=True,
    ),
    dataclasses.replace(_LICENSE, required=True),
    _LANGUAGE,
    Option("private", "Make a new repository private", type=bool),
)
def _publish(arguments: Arguments) -> None:
    """Uploads the weights of a run, its vocabulary and a card, as one commit.

    Then hf://OWNER/NAME stands for the model wherever one is asked for. Needs the extra
    "hub", and a token: call "hf auth login", or set HF_TOKEN.
    """
    from keras_elmo.training.publishing import publish

    import_keras()
    print(f"published {arguments['repository']}: {publish(**arguments)}")
