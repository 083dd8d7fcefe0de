import keras
import pytest

from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.recipes import choose_recipe, complete_options
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.small import CONFIG


def options(**given):
    return TrainingOptions(CONFIG, "text.txt", **given)


def counted(*counts):
    words = [f"word{k}" for k in range(len(counts))]
    return Vocabulary([*SPECIALS, *words], [0, 0, 7, *counts])


@pytest.mark.parametrize(
    ("counts", "given", "size"),
    [
        # Words that occur five times, but no fewer than a thousand.
        ([9] * 1200 + [4] * 100, {}, 1200),
        ([9] * 10 + [2] * 2000, {}, 1000),
        ([1] * 20, {}, 20),
        # Words that occur once show what unknown words are like.
        ([9] * 1200 + [2] * 100 + [1] * 9, {"vocabulary_size": 5000}, 1300),
        ([9] * 1200 + [2] * 100 + [1] * 9, {"recipe": "published"}, 1300),
        ([9] * 10 + [1] * 2000, {"recipe": "published"}, 1000),
    ],
)
def test_vocabulary_fits_the_text(counts, given, size):
    recipe = choose_recipe(options(**given), on_gpu=False)
    is_size_given = "vocabulary_size" in given
    words = recipe.vocabulary(counted(*counts), is_size_given)
    assert len(words) == len(SPECIALS) + size
    assert words.words == counted(*counts).words[: len(words)]
    # What is left out is unknown.
    assert words.counts == [0, 0, 7 + sum(counts[size:]), *counts[:size]]
    unknown = Vocabulary(counted(*counts).words)
    assert recipe.vocabulary(unknown, is_size_given) is unknown


@pytest.mark.parametrize(
    ("given", "on_gpu", "num_words", "num_sampled"),
    [
        ({}, False, 6457, 645),
        ({}, False, 50_000, 1024),
        # All of them.
        ({}, False, 200, 256),
        ({}, True, 60_000, 60_000),
        ({}, True, 800_000, 100_000),
        ({"recipe": "published"}, True, 6457, 8192),
    ],
)
def test_candidates(given, on_gpu, num_words, num_sampled):
    recipe = choose_recipe(options(**given), on_gpu)
    assert recipe.num_sampled(num_words) == num_sampled


def complete(recorded=None, on_gpu=False, **given):
    some = options(**given)
    recipe = choose_recipe(some, on_gpu)
    return complete_options(some, recipe, recorded or {}, "training.json")


def test_what_is_given_stands_before_all():
    """Options go before what the run began with, and that before the recipe."""
    recorded = {"optimizer": "adagrad", "batch_tokens": 640, "num_sampled": 9}
    for given, begun, wanted in [
        ({}, {}, ("adam", 1280, None)),
        ({}, recorded, ("adagrad", 640, 9)),
        ({"optimizer": "muon"}, recorded, ("muon", 640, 9)),
        ({"batch_tokens": 100, "num_sampled": 8}, recorded, ("adagrad", 100, 8)),
        ({"recipe": "published"}, {"optimizer": "adam"}, ("adagrad", 1280, None)),
    ]:
        full = complete(begun, **given)
        assert (full.optimizer, full.batch_tokens, full.num_sampled) == wanted
    assert complete({"vocabulary_size": 60}).vocabulary_size == 60
    assert complete({"vocabulary_size": 60}, vocabulary_size=70).vocabulary_size == 70
    full = complete(on_gpu=True)
    assert (full.optimizer, full.batch_tokens) == ("muon", 32_768)
    assert full.dtype == "mixed_bfloat16" and complete().dtype == "float32"


@pytest.mark.usefixtures("policy_is_restored")
def test_policy_of_keras():
    """The policy is taken, unless no model learns with it."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    assert complete().dtype == "mixed_bfloat16"
    keras.config.set_dtype_policy("mixed_float16")
    with pytest.raises(ValueError, match="`dtype` must be .*overflows"):
        complete()


@pytest.fixture
def policy_is_restored():
    before = keras.config.dtype_policy()
    yield
    keras.config.set_dtype_policy(before)
