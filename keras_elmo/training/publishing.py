"""A card for a run, and its upload to the Hugging Face Hub."""

import json
import os
import re
import shlex
import textwrap
from pathlib import Path

from keras_elmo.config import PRESETS, ElmoConfig
from keras_elmo.files.downloads import hub_error, parse_repository
from keras_elmo.files.finding import RunFiles, read_card
from keras_elmo.files.loading import open_model
from keras_elmo.files.run_history import HistoryRow, read_history
from keras_elmo.files.run_sources import Run
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary, counts_file
from keras_elmo.training.learning_rates import FALLS_FROM
from keras_elmo.training.manifest import ENDS
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called, counted, received, refuse
from keras_elmo.utils.files import read_json_object
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.options import options_of
from keras_elmo.utils.types import Config, StrPath

# What a model needs to be read again.
_KEYS = ("tokenizer", "vocabulary_size", "num_sampled")
_MOST_FILES = 3
# Forms of the Hub's names, whose lists grow: it checks the card before the upload.
_IDENTIFIERS = {
    "license": (
        r"[a-z0-9][a-z0-9.+-]*",
        "an identifier in lower case, such as cc-by-sa-4.0, mit or other, as the Hub "
        "calls it",
    ),
    "language": (
        r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*|multilingual",
        "a code of two or three letters, such as en, as the Hub calls it",
    ),
}

_CARD = """\
---
{head}library_name: keras-elmo
tags:
- elmo
- word-embeddings
---

# {title}

{about}

| | |
| --- | --- |
| Words read | {best.words:,}, in {updates} |
| Words predicted | the {num_words:,} most frequent |
| Perplexity | of the validation text, by the exact softmax {best.perplexity_mean:.1f} \
(forward {best.perplexity_forward:.1f}, backward {best.perplexity_backward:.1f}) |

## Use

```python
import keras_elmo

for vectors in keras_elmo.embed("{name}", ["A sentence of your own."]):
    print(vectors.shape)  # layers, words, {units}
layer = keras_elmo.ElmoEmbedding("{name}")  # of a Keras model
language_model = keras_elmo.load_language_model("{name}")
```

## Training

{how}:

```
{command}
```
{in_python}"""


def run_card(
    run: StrPath, name: str = "", license: str = "", language: str = ""
) -> str:
    """Returns the README.md of a run: sizes, words read, perplexity, and how to use it.

    The run will be loaded by `name`, `hf://OWNER/NAME`, or its path if that is empty.
    The Hub's identifier of the license, such as `"cc-by-sa-3.0"`, and the code of the
    language are left out if they are empty.
    """
    head = {"language": language, "license": license}
    for key, value in head.items():
        form, rule = _IDENTIFIERS[key]
        if value and not re.fullmatch(form, value):
            refuse(key, rule, value)
    path = open_model(run, "run", kinds=(Run,)).path
    files = RunFiles(path)
    rows = read_history(files.history)
    measured = [row for row in rows if row.perplexity_mean is not None]
    if not measured or not files.holds_a_language_model():
        raise ValueError(
            f"{path}: has no perplexity that its card could tell; train it with "
            "--validation"
        )
    # The run keeps the weights of this measurement.
    best = min(measured, key=lambda row: row.perplexity_mean or 0.0)
    config = ElmoConfig.from_options(files.options)
    manifest = read_json_object(files.training)
    below = "an embedding of words"
    if count := sum(number for _, number in config.filters):
        below = f"a character CNN ({count:,} filters)"
    about = (
        "ELMo (Peters et al. 2018): a biLM with "
        f"{counted(config.num_layers, 'layer')} of "
        f"bidirectional LSTMs ({config.units:,} cells, projected to "
        f"{config.projection_units:,} numbers a direction) above {below}, "
        f"{config.num_weights:,} weights. Text is cut by "
        f'`Tokenizer("{manifest.get("tokenizer")}")`.'
    )
    vocabulary = Vocabulary.load(files.vocabulary)
    command, in_python = _command(config, manifest, len(vocabulary), rows[-1])
    made = counted(rows[-1].step, "update")
    how = "As many updates as this run made"
    if "--minutes" in command or "--epochs" in command:
        how = f"Until the learning rate is 0, here after {made}"
    elif "--schedule falling" in command and "steps" not in manifest:
        # The run has not recorded what should end it.
        how += (
            ". The rate falls to 0 only with `--minutes` or `--epochs`;\n"
            "if it did here, give one of them instead of `--steps`"
        )
    return _CARD.format(
        head="".join(f"{key}: {value}\n" for key, value in head.items() if value),
        title=os.path.basename(name or os.path.abspath(path)),
        name=name or path,
        about=textwrap.fill(about, 88),
        units=2 * config.projection_units,
        best=best,
        updates=counted(best.step, "update"),
        num_words=len(vocabulary) - len(SPECIALS),
        how=how,
        command=command,
        in_python="".join(f"\nIn Python, with {option}.\n" for option in in_python),
    )


def _command(
    config: ElmoConfig, manifest: Config, num_words: int, last: HistoryRow
) -> tuple[str, list[str]]:
    """Returns the command that trains such a model, and values for Python alone.

    Files have their own names, without folders.
    """
    names = [name for name, preset in PRESETS.items() if preset == config]
    sizes = ["--preset", names[0]] if names else ["--options", "options.json"]
    rate, in_python = _rate_options(manifest.get("learning_rate"))
    ends = {name: manifest.get(name) for name in ENDS}
    falls = rate.get("schedule") == "falling"
    if not (falls and (ends["minutes"] or ends["epochs"])):
        # The updates are the same, whatever ended them.
        ends = {**dict.fromkeys(ENDS), "steps": last.step}
    values = {**manifest, "learning_rate": None, **ends, **rate}
    for name in ("batch_tokens", "max_tokens"):
        # A `Corpus` from Python has its own.
        values.setdefault(name, manifest.get(f"corpus.{name}"))
    if manifest.get("init") is None and values.get("vocabulary_size") is None:
        # A recipe has chosen it; the command does not name one.
        values["vocabulary_size"] = num_words
    if isinstance(optimizer := values.get("optimizer"), dict):
        in_python.append(f"`{optimizer.get('class_name')}` as `optimizer`")
        values["optimizer"] = None
    words = ["keras-elmo", "pretrain", *sizes]
    for name, option in options_of(TrainingOptions).items():
        value = values.get(name)
        if value is None or value == option.default or not option.flag:
            continue
        texts = [value]
        if isinstance(value, list):
            texts = _files([file for file, _ in value])
        words += [option.flag, *map(str, texts)]
    return shlex.join(words), in_python


def _files(names: list[str]) -> list[str]:
    """Returns the names of a few files, or one pattern that many of them match."""
    if len(names) <= _MOST_FILES:
        return names
    start = os.path.commonprefix(names)
    endings = [name[len(start) :][::-1] for name in names]
    return [f"{start}*{os.path.commonprefix(endings)[::-1]}"]


def _rate_options(recorded: object) -> tuple[Config, list[str]]:
    """Returns the options for a manifest's learning rate, or a value for Python."""
    if not isinstance(recorded, dict):
        return {"learning_rate": recorded}, []
    if FALLS_FROM in recorded:
        return {"learning_rate": recorded[FALLS_FROM], "schedule": "falling"}, []
    name, about = recorded.get("class_name"), recorded.get("config") or {}
    begins, warmup = about.get("initial_learning_rate"), about.get("warmup_steps")
    # As `build_learning_rate` makes it.
    is_plain = about.get("alpha") == 0 and not (warmup and begins)
    if name != "CosineDecay" or not is_plain:
        return {}, [f"`{name}` as `learning_rate`"]
    return {
        "learning_rate": about.get("warmup_target") if warmup else begins,
        "schedule": "cosine",
        "warmup_steps": warmup,
        "steps": about.get("decay_steps", 0) + (warmup or 0),
    }, []


def publish(
    run: StrPath,
    repository: str,
    license: str,
    language: str = "",
    private: bool = False,
) -> str:
    """Uploads a run to the Hub, with a card, from where `load` reads it back.

    The upload is one commit with the sizes, the weights, the vocabulary and its counts,
    without checkpoints and curves. A README.md in the folder of the run replaces
    `run_card`. The repository is made if it is not there. Returns the address of the
    commit.
    """
    name, _ = parse_repository(repository, "repository", may_be_old=False)
    card = run_card(run, repository, license, language)
    files = RunFiles(run)
    own = Path(files.path) / "README.md"
    if own.is_file():
        card = own.read_text(encoding="utf-8")
        if (said := read_card(own, "license")) != license:
            raise ValueError(
                f"{own}: must say the same licence as {called('license')}: "
                f"{said or 'none'}. {received(license=license)}"
            )
    hub = import_extra("huggingface_hub", "Publishing", "hub")
    if not hub.get_token():
        raise ValueError(
            "publishing needs a token of the Hugging Face Hub: set HF_TOKEN, or call "
            "`hf auth login`"
        )
    # Raises if the weights have other sizes.
    Run(files.path).describe()
    manifest = read_json_object(files.training)
    kept = json.dumps({key: manifest.get(key) for key in _KEYS}, indent=2) + "\n"
    contents: dict[str, str | bytes] = {
        "README.md": card.encode(),
        os.path.basename(files.training): kept.encode(),
    }
    for path in (files.options, files.weights, files.vocabulary):
        contents[os.path.basename(path)] = path
    if os.path.exists(counts := counts_file(files.vocabulary)):
        contents[os.path.basename(counts)] = counts
    try:
        api = hub.HfApi()
        api.create_repo(name, private=private, exist_ok=True)
        additions = [hub.CommitOperationAdd(*file) for file in contents.items()]
        commit = api.create_commit(
            name, additions, commit_message=f"keras-elmo publish {repository}"
        )
    except Exception as error:
        raise hub_error(repository, "uploaded", error) from error
    return str(commit.commit_url)
