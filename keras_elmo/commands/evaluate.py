"""keras-elmo evaluate: measure perplexity on held-out text."""

import argparse
import json
import sys


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "evaluate",
        help="measure perplexity on held-out text",
        description="Prints the perplexity of each direction as JSON, by the exact "
        "softmax over the model's vocabulary.",
    )
    command.set_defaults(run=run)
    command.add_argument("--model", required=True, metavar="DIR")
    command.add_argument("--corpus", required=True, nargs="+", metavar="GLOB")


def run(options: argparse.Namespace) -> None:
    from keras_elmo.files.directory import PretrainingDirectory
    from keras_elmo.text.corpus import Corpus
    from keras_elmo.training.perplexity import perplexity

    directory = PretrainingDirectory(options.model)
    model = directory.read_model()
    corpus = Corpus(
        options.corpus,
        directory.read_vocabulary(),
        model.encoder.tokenizer or "whitespace",
    )
    print(json.dumps(perplexity(model, corpus)))
    for message in corpus.report.messages():
        print(message, file=sys.stderr)
