"""keras-elmo embed: write the vectors of a file's sentences."""

import argparse


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "embed",
        help="write the vectors of a file's sentences",
        description="Writes the contextual vectors of every line of a text file. HDF5 "
        "has the published layout: a dataset a sentence, named by its number.",
    )
    command.set_defaults(run=run)
    command.add_argument("--model", required=True, metavar="DIR")
    command.add_argument("--input", required=True, metavar="FILE")
    command.add_argument(
        "--out", required=True, metavar="FILE", help="a name in .hdf5 or .parquet"
    )
    command.add_argument(
        "--layers",
        choices=("all", "mix"),
        default="all",
        help="every layer, or their average (all)",
    )
    command.add_argument(
        "--resume", action="store_true", help="go on with an interrupted --out"
    )


def run(options: argparse.Namespace) -> None:
    from keras_elmo.files.embed_file import embed_file

    embed_file(
        options.model,
        options.input,
        options.out,
        layers=options.layers,
        resume=options.resume,
        progress=True,
    )
