"""keras-elmo import: take published weights over."""

import argparse

from keras_elmo.commands.outputs import refuse_existing


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "import",
        help="take published weights over",
        description="Checks a model in the published format and makes a directory of "
        "it that embed, export and pretrain --init take.",
    )
    command.set_defaults(run=run)
    command.add_argument("--options", required=True, metavar="FILE")
    command.add_argument("--weights", required=True, metavar="FILE")
    command.add_argument("--out", required=True, metavar="DIR")


def run(options: argparse.Namespace) -> None:
    from keras_elmo.files.published import (
        load_published_weights,
        save_published_weights,
    )
    from keras_elmo.files.run_directory import PretrainingDirectory

    refuse_existing(options.out)
    encoder = load_published_weights(options.options, options.weights)
    directory = PretrainingDirectory(options.out)
    save_published_weights(encoder, directory.options, directory.weights)
