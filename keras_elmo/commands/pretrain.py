"""keras-elmo pretrain: train a model on text."""

import argparse


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows the defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False):
            return action.help
        return super()._get_help_string(action)


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "pretrain",
        help="train a model on text",
        description="Trains a biLM on text: UTF-8, a sentence or paragraph a line, "
        "plain, .gz or .xz. Ctrl-C and SIGTERM stop it after writing a checkpoint; a "
        "run that was killed goes on with --resume as if it had not been.",
        formatter_class=_HelpFormatter,
    )
    command.set_defaults(
        run=run,
        arguments={
            "name": "--preset",
            "config": "--preset or --options",
            "name_or_path": "--init",
            "directory": "--out",
            "max_size": "--vocabulary-size",
            "keep_checkpoints": "--keep",
        },
    )
    _add_files(command)
    _add_recipe(command)
    _add_end(command)
    _add_keeping(command)


def _add_files(command: argparse.ArgumentParser) -> None:
    required = command.add_argument_group("required")
    required.add_argument(
        "--corpus",
        required=True,
        nargs="+",
        metavar="GLOB",
        help="the text files to train on; several patterns are mixed",
    )
    required.add_argument(
        "--out", required=True, metavar="DIR", help="the directory of the run"
    )
    command.add_argument(
        "--validation",
        nargs="+",
        metavar="GLOB",
        help="held-out text, to measure perplexity on",
    )


def _add_recipe(command: argparse.ArgumentParser) -> None:
    recipe = command.add_argument_group("the model and how it is trained")
    recipe.add_argument(
        "--init",
        metavar="DIR",
        help="begin from a run, an exported model, a shipped one by its name, or "
        "imported published weights",
    )
    sizes = recipe.add_mutually_exclusive_group()
    sizes.add_argument(
        "--preset",
        help="sizes: tiny, mini, or a published one: small, medium, original; if not "
        "given, those of --init, or mini",
    )
    sizes.add_argument(
        "--options",
        metavar="FILE",
        help="sizes of one's own, in the form of the published options.json",
    )
    recipe.add_argument(
        "--tokenizer",
        choices=("unicode", "whitespace"),
        help="unicode splits raw text of any language; whitespace is for text that is "
        "tokenised already; if not given, that of --init, or unicode",
    )
    recipe.add_argument(
        "--vocabulary-size",
        type=int,
        metavar="N",
        help="words that are predicted; all words get vectors. If not given, the words "
        "of --init, or 50,000, the most frequent and three special ones",
    )
    recipe.add_argument(
        "--max-distinct",
        type=int,
        default=20_000_000,
        metavar="N",
        help="distinct words that are held in memory while words are counted; beyond "
        "that the rarest are dropped",
    )
    recipe.add_argument(
        "--num-sampled",
        type=int,
        default=8192,
        metavar="N",
        help="candidates of the sampled softmax; fewer are faster on a CPU",
    )
    recipe.add_argument(
        "--batch-tokens",
        type=int,
        default=1280,
        metavar="N",
        help="tokens of an update, of one worker",
    )
    recipe.add_argument(
        "--optimizer",
        default="adagrad",
        choices=("adagrad", "adam"),
        help="adagrad is the published one; adam learns more in the same time",
    )
    recipe.add_argument(
        "--learning-rate",
        type=float,
        metavar="X",
        help="if not given, 0.2 for adagrad and 0.002 for adam",
    )
    recipe.add_argument(
        "--schedule",
        default="constant",
        choices=("constant", "cosine"),
        help="cosine lets the learning rate fall to 0 over --steps, which it needs",
    )
    recipe.add_argument(
        "--warmup-steps",
        type=int,
        default=0,
        metavar="N",
        help="updates over which --schedule cosine lets it rise at first",
    )
    recipe.add_argument(
        "--dtype",
        default="float32",
        choices=("float32", "mixed_bfloat16"),
        help="what products are computed in; mixed_bfloat16 is faster where the "
        "processor multiplies it",
    )
    recipe.add_argument(
        "--seed", type=int, default=0, metavar="N", help="0 to 2^32 - 1"
    )
    recipe.add_argument(
        "--devices",
        type=int,
        metavar="N",
        help="GPUs of this machine to use; all of them if not given. Several machines: "
        "see docs/training.md",
    )


def _add_end(command: argparse.ArgumentParser) -> None:
    end = command.add_argument_group("when it ends, whichever comes first")
    end.add_argument("--steps", type=int, metavar="N", help="updates to stop after")
    end.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="passes over the corpus to stop after; 10 if neither --steps nor "
        "--minutes is given",
    )
    end.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="time to stop after, counted anew by --resume",
    )
    end.add_argument(
        "--patience",
        type=int,
        metavar="N",
        help="measurements without a lower perplexity of --validation to stop after",
    )


def _add_keeping(command: argparse.ArgumentParser) -> None:
    keeping = command.add_argument_group("measuring and keeping")
    keeping.add_argument(
        "--validate-every",
        type=int,
        default=1000,
        metavar="N",
        help="updates between two measurements, each with a checkpoint",
    )
    keeping.add_argument(
        "--checkpoint-every",
        type=int,
        metavar="N",
        help="updates between two further checkpoints",
    )
    keeping.add_argument(
        "--checkpoint-minutes",
        type=float,
        default=10.0,
        metavar="N",
        help="time between two checkpoints at most",
    )
    keeping.add_argument(
        "--keep", type=int, default=3, metavar="N", help="last checkpoints to keep"
    )
    keeping.add_argument(
        "--tensorboard",
        action="store_true",
        help="write the learning curves to DIR/tensorboard, too",
    )
    keeping.add_argument(
        "--resume",
        action="store_true",
        help="go on with the run that --out holds, if it holds one",
    )


def run(options: argparse.Namespace) -> None:
    from keras_elmo.config import ElmoConfig
    from keras_elmo.training.pretrain import pretrain

    config = None
    if options.options is not None:
        config = ElmoConfig.from_options(options.options)
    elif options.preset is not None or options.init is None:
        config = ElmoConfig.preset(options.preset or "mini")
    try:
        pretrain(
            config,
            options.corpus,
            options.validation,
            options.out,
            init=options.init,
            tokenizer=options.tokenizer,
            vocabulary_size=options.vocabulary_size,
            max_distinct=options.max_distinct,
            num_sampled=options.num_sampled,
            batch_tokens=options.batch_tokens,
            optimizer=options.optimizer,
            learning_rate=options.learning_rate,
            schedule=options.schedule,
            warmup_steps=options.warmup_steps,
            dtype=options.dtype,
            seed=options.seed,
            devices=options.devices,
            steps=options.steps,
            epochs=options.epochs,
            minutes=options.minutes,
            patience=options.patience,
            validate_every=options.validate_every,
            checkpoint_every=options.checkpoint_every,
            checkpoint_minutes=options.checkpoint_minutes,
            keep_checkpoints=options.keep,
            tensorboard=options.tensorboard,
            resume=options.resume,
        )
    except KeyboardInterrupt as interrupt:
        if not interrupt.args:
            raise
        raise KeyboardInterrupt(
            f"{interrupt}\nkeras-elmo: repeat the command with --resume to go on"
        ) from None
