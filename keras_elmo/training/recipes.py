"""What a run is trained with where no option says so."""

import dataclasses

import keras

from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import SPECIALS, UNKNOWN, Vocabulary
from keras_elmo.training.keras_configs import object_of
from keras_elmo.training.training_options import BATCH_TOKENS, TrainingOptions
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
        most_sampled: candidates of the sampled softmax, at most.
        sampled_share: the same, for each word of the vocabulary.
        batch_tokens: positions of a batch.
        dtype: dtype policy, or `None` for that of Keras.
        most_words: of a vocabulary that is counted.
        fits_text: whether a vocabulary of no given size leaves out rare words, and
            candidates are fewer for fewer words.
    """

    name: str
    optimizer: str
    most_sampled: int
    sampled_share: float
    batch_tokens: int = BATCH_TOKENS
    dtype: str | None = None
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


def recipe_of(options: TrainingOptions, on_gpu: bool) -> Recipe:
    """Returns the recipe that the options name, or that suits the device."""
    if options.recipe == "published":
        return PUBLISHED
    return _GPU if on_gpu else _PROCESSOR


def completed(
    options: TrainingOptions, recipe: Recipe, recorded: Config, where: str
) -> TrainingOptions:
    """Fills in the options that are left out.

    What was given stands first, then what a run to resume began with, then the recipe.
    A recipe that is given counts as its values. `where` is the file of what is
    recorded.
    """
    values: Config = {}
    for name in ("optimizer", "batch_tokens", "dtype"):
        if getattr(options, name) is None:
            value = getattr(recipe, name)
            if name == "dtype" and keras.config.dtype_policy().name != "float32":
                # Whoever set the policy of all layers has chosen.
                value = None
            if options.recipe is None:
                value = recorded.get(name) or value
            values[name] = value
    if isinstance(values.get("optimizer"), dict):
        values["optimizer"] = object_of(values["optimizer"], where)
    if options.num_sampled is None and options.recipe is None:
        values["num_sampled"] = recorded.get("num_sampled")
    if options.vocabulary_size is None and not isinstance(options.corpus, Corpus):
        values["vocabulary_size"] = recorded.get("vocabulary_size")
    return dataclasses.replace(options, **values)
