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
    command.set_defaults(run=run, arguments={"name_or_path": "--model"})
    command.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="a run, a model exported with --language-model, or a shipped one by its "
        "name",
    )
    command.add_argument("--corpus", required=True, nargs="+", metavar="GLOB")


def run(options: argparse.Namespace) -> None:
    from keras_elmo.files.loading import load_language_model
    from keras_elmo.text.corpus import Corpus
    from keras_elmo.training.perplexity import perplexity

    model = load_language_model(options.model)
    if model.vocabulary is None:
        raise ValueError(f"{options.model}: does not say which words it predicts")
    corpus = Corpus(
        options.corpus, model.vocabulary, model.encoder.tokenizer or "whitespace"
    )
    print(json.dumps(perplexity(model, corpus)))
    for message in corpus.report.messages():
        print(message, file=sys.stderr)
