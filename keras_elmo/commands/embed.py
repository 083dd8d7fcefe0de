"""keras-elmo embed: write the vectors of a file's sentences."""

import argparse


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "embed",
        help="write the vectors of a file's sentences",
        description="Writes the contextual vectors of every line of a text file. HDF5 "
        "has the published layout: a dataset a sentence, named by its number. Parquet "
        "is a table of tokens, or of sentences. A command that was killed goes on with "
        "--resume, and the file is the same in the end.",
    )
    command.set_defaults(run=run, arguments={"name_or_path": "--model"})
    command.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="a run, imported weights, an exported model, or a shipped one by its name",
    )
    command.add_argument("--input", required=True, metavar="FILE")
    command.add_argument(
        "--out", required=True, metavar="FILE", help="a name in .hdf5 or .parquet"
    )
    command.add_argument(
        "--layers",
        choices=("all", "mix"),
        default="all",
        help="every layer, or their mix: the exported one, or the average (all)",
    )
    command.add_argument(
        "--rows",
        choices=("tokens", "sentences"),
        default="tokens",
        help="of a Parquet table; a sentence's is the mean over its tokens (tokens)",
    )
    command.add_argument(
        "--dtype",
        choices=("float32", "float16"),
        default="float32",
        help="of the numbers in the file (float32)",
    )
    command.add_argument(
        "--resume",
        action="store_true",
        help="go on with what an interrupted command has left, if it has left anything",
    )


def run(options: argparse.Namespace) -> None:
    from keras_elmo.embedding.embed_file import embed_file

    try:
        embed_file(
            options.model,
            options.input,
            options.out,
            layers=options.layers,
            resume=options.resume,
            progress=True,
            rows=options.rows,
            dtype=options.dtype,
        )
    except KeyboardInterrupt as interrupt:
        if not interrupt.args:
            # Before there was anything to go on with.
            raise
        raise KeyboardInterrupt(
            f"{interrupt}\nkeras-elmo: repeat the command with --resume to go on"
        ) from None
