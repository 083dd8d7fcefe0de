"""What a run says at its end."""

import shlex
from collections.abc import Iterable

from keras_elmo.text.lines import are_files
from keras_elmo.training.recorder import RunState
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called

# From fewer words a model learns what they are, and little of their language.
_LITTLE_TEXT = 30_000


def closing_messages(
    options: TrainingOptions,
    state: RunState,
    words_per_epoch: int | None,
    first_step: int = 0,
) -> list[str]:
    """Returns what came out, what to beware of, and what to do next.

    `first_step` is the last step of the process before.
    """
    measured = [row.perplexity_mean for row in state.rows]
    known = [perplexity for perplexity in measured if perplexity is not None]
    messages = [f"{state.step:,} updates on {state.words:,} words"]
    if known:
        messages[0] += f"; the lowest validation perplexity is {min(known):,.4g}"
    if state.step == first_step:
        ends = f"{called('steps')}, {called('epochs')} or {called('minutes')}"
        messages.append(f"The run had ended before. To go on, give it more {ends}")
    words = words_per_epoch
    if words is None and state.positions[0][0]:
        words = state.words // state.positions[0][0]
    if words is not None and words < _LITTLE_TEXT and options.init is None:
        messages.append(
            f"Warning: the text has {words:,} words, too few to learn a language from: "
            f"about {_LITTLE_TEXT:,} are the least. Its perplexity says little. More "
            "text helps, or --init with a model of the language; see "
            "docs/low_resource.md"
        )
    return [*messages, *_next_commands(options)]


def _next_commands(options: TrainingOptions) -> list[str]:
    run = shlex.quote(str(options.directory))
    text = "TEXT"
    if options.validation is not None and are_files(options.validation):
        paths = options.validation
        if not isinstance(paths, Iterable) or isinstance(paths, str):
            paths = [paths]
        # A pattern in quotes is expanded by the command.
        text = " ".join(shlex.quote(str(path)) for path in paths)
    return [
        "Next:",
        f"  keras-elmo evaluate --model {run} --corpus {text}",
        f"  keras-elmo explore --model {run}",
        f"  keras-elmo export --model {run} --out saved_models/my-elmo",
    ]
