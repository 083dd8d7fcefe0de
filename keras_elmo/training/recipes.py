"""Recipes: values of options that are left out."""

import dataclasses
from typing import cast

import keras

from keras_elmo.files.finding import RunFiles
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import Files
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import SPECIALS, UNKNOWN, Vocabulary
from keras_elmo.training.keras_configs import from_config
from keras_elmo.training.training_options import BATCH_TOKENS, TrainingOptions
from keras_elmo.training.warm_start import WarmStart
from keras_elmo.utils.checks import called
from keras_elmo.utils.types import Config

# A row of the softmax learns from words that occur so often, unless few words do.
_LEAST_COUNT = 5
_FEW_WORDS = 1000
# New text has unknown words. What they are like is learned from words that occur once.
_LEAST_COUNT_IF_ASKED = 2
# Below, a softmax of all words costs less than the rest of a step.
_LEAST_SAMPLED = 256


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Values of the options that are left out.

    Attributes:
        name: for messages.
        optimizer: one of `OPTIMIZERS`.
        most_sampled: upper bound on candidates of the sampled softmax.
        sampled_share: candidates for each word of the vocabulary.
        batch_tokens: positions of a batch.
        dtype: dtype policy, unless Keras has another one than float32.
        most_words: upper bound on a counted vocabulary.
        fits_text: whether a vocabulary of no given size leaves out rare words, and
            candidates are fewer for fewer words.
    """

    name: str
    optimizer: str
    most_sampled: int
    sampled_share: float
    batch_tokens: int = BATCH_TOKENS
    dtype: str = "float32"
    most_words: int = 50_000
    fits_text: bool = True

    def vocabulary(self, counted: Vocabulary, is_size_given: bool) -> Vocabulary:
        """Returns the words of a text that are worth a row of the softmax."""
        counts = counted.counts
        if counts is None:
            return counted
        fits_text = self.fits_text and not is_size_given
        least = _LEAST_COUNT if fits_text else _LEAST_COUNT_IF_ASKED
        frequent = sum(count >= least for count in counts[len(SPECIALS) :])
        size = len(SPECIALS) + max(frequent, _FEW_WORDS)
        if size >= len(counted):
            return counted
        kept = list(counts[:size])
        kept[UNKNOWN] += sum(counts[size:])
        return Vocabulary(counted.words[:size], kept)

    def num_sampled(self, num_words: int) -> int:
        """Returns the number of candidates for a vocabulary."""
        if not self.fits_text:
            return self.most_sampled
        share = max(_LEAST_SAMPLED, int(self.sampled_share * num_words))
        return min(self.most_sampled, share)


PUBLISHED = Recipe(
    "the published models",
    optimizer="adagrad",
    most_sampled=8192,
    sampled_share=1.0,
    fits_text=False,
)
_PROCESSOR = Recipe(
    "a processor", optimizer="adam", most_sampled=1024, sampled_share=0.1
)
# The softmax of up to 100,000 words costs less there than what sampling loses.
_GPU = Recipe(
    "a GPU",
    optimizer="muon",
    most_sampled=100_000,
    sampled_share=1.0,
    batch_tokens=32_768,
    dtype="mixed_bfloat16",
    most_words=100_000,
)


def choose_recipe(options: TrainingOptions, on_gpu: bool) -> Recipe:
    """Returns the recipe that the options name, or that suits the device."""
    if options.recipe == "published":
        return PUBLISHED
    return _GPU if on_gpu else _PROCESSOR


def complete_options(
    options: TrainingOptions, recipe: Recipe, recorded: Config, where: str
) -> TrainingOptions:
    """Fills in the options that are left out.

    Options go first, then what a resumed run began with, `recorded` in the file
    `where`, then the recipe. With `recipe` given, its values go before `recorded`.
    """
    values: Config = {}
    # Whoever set the policy of all layers has chosen.
    policy = keras.config.dtype_policy().name
    for name in ("optimizer", "batch_tokens", "dtype"):
        if getattr(options, name) is None:
            values[name] = getattr(recipe, name)
            if name == "dtype" and policy != "float32":
                values[name] = policy
            if options.recipe is None:
                values[name] = recorded.get(name) or values[name]
    if isinstance(values.get("optimizer"), dict):
        values["optimizer"] = from_config(values["optimizer"], where)
    if options.num_sampled is None and options.recipe is None:
        values["num_sampled"] = recorded.get("num_sampled")
    if options.vocabulary_size is None and not isinstance(options.corpus, Corpus):
        values["vocabulary_size"] = recorded.get("vocabulary_size")
    return dataclasses.replace(options, **values)


def words_to_predict(
    options: TrainingOptions,
    recipe: Recipe,
    tokenizer: str,
    start: WarmStart | None,
    report: CorpusStats,
) -> Vocabulary:
    """Returns the words of `init`, or those that are counted in text files."""
    if options.init is not None and options.vocabulary_size is None:
        try:
            words = (start or WarmStart(options.init)).vocabulary
        except ValueError as error:
            raise ValueError(
                f"{RunFiles(options.directory).vocabulary}: is lost, and "
                f"{called('init')}, which it came from, cannot be read: {error}"
            ) from error
        if words is not None:
            return words
    words = Vocabulary.count(
        cast(Files, options.corpus),
        tokenizer,
        max_size=options.vocabulary_size or recipe.most_words,
        max_distinct=options.max_distinct,
        progress=options.progress,
        report=report,
    )
    return recipe.vocabulary(words, options.vocabulary_size is not None)
