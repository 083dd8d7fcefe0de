import dataclasses
import json
import shlex

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.cli import _parser
from keras_elmo.files.run_history import HistoryRow, write_history
from keras_elmo.training.learning_rates import (
    build_learning_rate,
    learning_rate_config,
)
from keras_elmo.training.manifest import ENDS, fixed_options
from keras_elmo.training.publishing import run_card
from keras_elmo.training.recipes import choose_recipe, complete_options
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.files import write_json
from tests.files.test_finding import point_to
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.hub import TOKEN, Hub
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import SMALLER as CONFIG

pytest.importorskip("huggingface_hub")

pytestmark = [
    pytest.mark.graph,
    # Of the Hub's library and the one that it sends with.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]

WORDS = ["<S>", "</S>", "<UNK>", "bank", "river"]
NAME = "hf://someone/elmo-xx"
SENTENCES = [["the", "bank"], ["river"]]
ROW = HistoryRow(100, 1, 12_000, 9.0, 99.0, 0.1, 1.0, 2.0, 2.0, 61.0, 59.0, 60.0)
ROWS = [
    ROW,
    dataclasses.replace(ROW, step=200, words=24_000, perplexity_mean=50.0),
    dataclasses.replace(ROW, step=300, words=36_000, perplexity_mean=55.0),
]


@pytest.fixture
def run(tmp_path):
    """A run on private files, whose second validation was the best."""
    path = tmp_path / "my-run"
    files = write_pretrained(path, CONFIG, WORDS)
    write_history(files.history, ROWS)
    corpus = [[f"diary-{k}.txt", 10] for k in range(5)]
    about = {"corpus": corpus, "seed": 7, "dtype": "float32"}
    write_json(files.training, {**files.read_manifest(), **about})
    (path / "checkpoints").mkdir()
    (path / "checkpoints" / "step-00000300.npz").write_bytes(b"large")
    return path


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty Hub, and its token."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    # Its store of large files is another server.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    made = Hub("someone/elmo-xx", {})
    with made.running() as address:
        point_to(address, monkeypatch)
        yield made


def ask(run, *flags, name=NAME):
    return command("publish", run, name, "--license", "mit", *flags)


def test_card(run):
    """The card names words read, the best perplexity, and how to use the model."""
    flags = ["--license", "cc-by-4.0", "--language", "en"]
    status, card, err = command("card", run, *flags)
    assert (status, err) == (0, "")
    assert card.startswith("---\nlanguage: en\nlicense: cc-by-4.0\nlibrary_name: ")
    for text in (
        "# my-run\n",
        "| Words read | 24,000, in 200 updates |",
        "| Words predicted | the 2 most frequent |",
        "the exact softmax 50.0 (forward 61.0, backward 59.0)",
        f"keras_elmo.load_language_model({str(run)!r})".replace("'", '"'),
        '`Tokenizer("whitespace")`',
        "keras-elmo pretrain --options options.json --corpus 'diary-*.txt' ",
        "--num-sampled 4 --dtype float32 --seed 7 --steps 300\n",
    ):
        assert text in card, text
    _, card, _ = command("card", run)
    assert card.startswith("---\nlibrary_name: ")


@pytest.mark.parametrize(
    ("license", "language"),
    [
        ("mit", "ko"),
        ("cc-by-sa-4.0", "tlh"),
        ("openrail++", "zh-Hant"),
        ("other", "multilingual"),
    ],
)
def test_identifiers_of_the_hub(run, license, language):
    head = run_card(run, license=license, language=language)
    assert head.startswith(f"---\nlanguage: {language}\nlicense: {license}\n")


@pytest.mark.parametrize("license", ["MIT", "my own", "cc by 4.0", "mit\nx: y", "-"])
def test_another_license(run, license):
    said = "--license must be an identifier in lower case, such as "
    assert_one_line(*command("card", run, f"--license={license}"), said)


def begin(run, **given):
    """Writes what a run with some options records; returns it."""
    options = TrainingOptions(CONFIG, "diary.txt", dtype="float32", **given)
    options = complete_options(options, choose_recipe(options, on_gpu=False), {}, "")
    rate = None
    if isinstance(options.optimizer, str):
        rate = learning_rate_config(build_learning_rate(options, CONFIG.units))
    manifest = {
        "num_sampled": 4,
        **fixed_options(options),
        "corpus": [["diary.txt", 10]],
        "learning_rate": rate,
        "tokenizer": "whitespace",
        "batch_tokens": options.batch_tokens,
        **{name: getattr(options, name) for name in ENDS},
    }
    write_json(run / "training.json", manifest)
    return manifest


def commanded(run):
    """The card's command as the parser reads it, and what stands below it."""
    status, card, err = command("card", run)
    assert status == 0, err
    _, line, below = card.split("```\n")[-3:]
    parsed = vars(_parser().parse_args([*shlex.split(line)[1:], "--out", "again"]))
    for name in ("command", "refuse", "options"):
        parsed.pop(name)
    return TrainingOptions(CONFIG, **parsed), below


@pytest.mark.parametrize("recipe", [None, "device", "published"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"optimizer": "muon", "seed": 3},
        {"optimizer": "adam", "schedule": "constant"},
        {"optimizer": "adagrad", "schedule": "falling", "learning_rate": 0.3},
        {"epochs": 3, "learning_rate": 0.01},
        {"epochs": 3, "schedule": "falling"},
        {"minutes": 1.5, "epochs": 7, "steps": 900, "schedule": "falling"},
        {"schedule": "cosine", "steps": 400},
        {"schedule": "cosine", "steps": 400, "warmup_steps": 20, "learning_rate": 0.1},
    ],
    ids=str,
)
def test_command_of_card(run, given, recipe):
    """The command begins a run that records the same."""
    manifest = begin(run, recipe=recipe, **given)
    options, below = commanded(run)
    assert below == ""
    ends = {name: manifest[name] for name in ENDS}
    if "falls_from" not in str(manifest["learning_rate"]):
        ends = {**dict.fromkeys(ENDS), "steps": given.get("steps", 300)}
    assert {name: getattr(options, name) for name in ENDS} == ends
    again = fixed_options(options)
    # Those that the recipe chose for this text.
    assert again.pop("vocabulary_size") == len(WORDS)
    rate = learning_rate_config(build_learning_rate(options, CONFIG.units))
    for name, value in {**again, "learning_rate": rate}.items():
        assert value == manifest[name], name
    assert options.batch_tokens == manifest["batch_tokens"]


def test_card_of_old_run(run):
    """Without a recorded end, the card names updates, and a warning."""
    manifest = begin(run)
    write_json(
        run / "training.json", {k: v for k, v in manifest.items() if k not in ENDS}
    )
    assert "if it did here, give one of them instead of" in run_card(run)
    assert commanded(run)[0].steps == 300


def test_command_of_card_of_a_corpus(run):
    """Sizes of a `Corpus` go before the recipe."""
    manifest = begin(run)
    sizes = {"batch_tokens": 99, "max_tokens": 33}
    manifest |= {f"corpus.{name}": size for name, size in sizes.items()}
    del manifest["batch_tokens"]
    write_json(run / "training.json", {**manifest, "kind_of_corpus": "a Corpus"})
    options, _ = commanded(run)
    assert {name: getattr(options, name) for name in sizes} == sizes


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"learning_rate": keras.optimizers.schedules.CosineDecay(0.1, 9, 0.5)},
            "`CosineDecay` as `learning_rate`",
        ),
        ({"optimizer": keras.optimizers.SGD(0.1)}, "`SGD` as `optimizer`"),
    ],
    ids=["schedule", "optimizer"],
)
def test_command_of_card_from_python(run, given, told):
    """What no command can say stands below it."""
    begin(run, **given)
    options, below = commanded(run)
    assert below == f"\nIn Python, with {told}.\n"
    assert options.learning_rate is None and options.schedule is None


def test_published_model_is_loaded(run, hub):
    """The Hub's model has equal vectors; private files stay."""
    status, out, err = ask(run, "--language", "en")
    assert status == 0, err
    assert out.startswith(f"published {NAME}: http://127.0.0.1")
    of_run = ["options.json", "training.json", "vocabulary.txt", "weights.hdf5"]
    assert sorted(hub.files) == ["README.md", *of_run]
    assert not any(b"diary" in hub.files[name] for name in of_run)
    assert json.loads(hub.files["training.json"])["tokenizer"] == "whitespace"
    expected = keras_elmo.embed(str(run), SENTENCES)
    for one, other in zip(keras_elmo.embed(NAME, SENTENCES), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    words = keras_elmo.load_language_model(NAME).vocabulary.words
    assert words == WORDS
    assert keras_elmo.inspect_model(NAME)["languages"] == ["en"]
    card = hub.files["README.md"].decode()
    assert f'keras_elmo.embed("{NAME}"' in card and "license: mit" in card


def test_own_card(run, hub):
    """A README.md of the run is taken, if it has the same licence."""
    (run / "README.md").write_text("---\nlicense: mit\n---\nMine.", encoding="utf-8")
    assert ask(run)[0] == 0
    assert hub.files["README.md"].endswith(b"Mine.")
    (run / "README.md").write_text("Mine.", encoding="utf-8")
    assert_one_line(
        *ask(run), "README.md: must say the same licence as --license: none"
    )


def test_refusals(run, hub, monkeypatch, tmp_path):
    assert_one_line(*ask(tmp_path / "nowhere"), "nowhere: no such file or folder")
    for result in (ask("elmo-en"), command("card", "elmo-en")):
        said = "elmo-en: is a shipped model; RUN must be a run of keras_elmo\n"
        assert_one_line(*result, said)
    for wrong in ("someone/elmo", f"{NAME}@v1"):
        said = "must have the form hf://OWNER/NAME. Received: REPOSITORY "
        assert_one_line(*ask(run, name=wrong), said)
    for language in ("en: x", "Klingon", "EN", "e", "english"):
        result = ask(run, "--language", language)
        assert_one_line(*result, "--language must be a code of two or three letters")
    status, _, err = command("publish", run, NAME)
    assert status == 2 and "required: --license" in err
    weights = (run / "weights.hdf5").read_bytes()
    (run / "weights.hdf5").write_bytes(weights[:-100])
    assert_one_line(*ask(run), "weights.hdf5")
    (run / "weights.hdf5").write_bytes(weights)
    monkeypatch.setenv("HF_TOKEN", "wrong")
    assert_one_line(*ask(run), f"{NAME}: cannot be uploaded: ", "401")
    monkeypatch.delenv("HF_TOKEN")
    assert_one_line(*ask(run), "publishing needs a token of the Hugging Face Hub")
    write_history(run / "history.csv", [dataclasses.replace(ROW, perplexity_mean=None)])
    for result in (ask(run), command("card", run)):
        assert_one_line(*result, "my-run: has no perplexity", "--validation")
    assert hub.files == {}
