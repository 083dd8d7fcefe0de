"""What a run is trained on and validated with."""

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Any, TypeAlias, cast

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.batch_shapes import BatchShapes
from keras_elmo.text.batching import MAX_BATCH_TOKENS
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import Files, are_files
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.types import Config, Tensor

# `char_ids` and `token_ids` of some sentences.
Batch: TypeAlias = dict[str, Tensor]
Batches: TypeAlias = Corpus | Iterable[Batch]
# The arguments of a run that stay the same until it ends: values of JSON.
Manifest: TypeAlias = dict[str, object]
# The entries of a manifest that depend on the text: the shapes of batches, if they are
# few (a place in the text is a number of such batches); candidates; words of an epoch.
SHAPES, NUM_SAMPLED, NUM_WORDS = CHOSEN = (
    "shapes",
    "num_sampled",
    "words_per_epoch",
)


class TrainingData:
    """The training and validation data of a run: text files, `Corpus` or batches.

    `compiles` says whether a program is compiled for each shape of a batch; `options`
    are arguments of `Corpus`, for text files.

    Attributes:
        tokenizer: the tokenizer of a text or `Corpus`, else `None`.
        vocabulary: the words of a `Corpus`; `None` for batches and uncounted text.
        shapes: those of the batches of a text or `Corpus`, after `open`.
        manifest: the part of the run's manifest that describes the data.
    """

    def __init__(
        self,
        corpus: Files | Corpus | Iterable[object],
        validation: Files | Corpus | Iterable[object] | None,
        vocabulary_size: int | None,
        shard: tuple[int, int],
        compiles: bool,
        **options: Any,
    ) -> None:
        self._is_text = are_files(corpus)
        self._compiles = compiles
        if (
            validation is not None
            and are_files(validation, "validation") != self._is_text
        ):
            kind = "text files" if self._is_text else "batches or a Corpus"
            refuse("validation", f"{kind}, as `corpus` is", validation)
        if self._is_text:
            # Bad arguments are reported before the words are counted.
            nothing = Vocabulary(SPECIALS)
            corpus = Corpus(cast(Files, corpus), nothing, shard=shard, **options)
            if validation is not None:
                validation = Corpus(cast(Files, validation), nothing, **options)
        self._corpus = cast(Batches, corpus)
        self._validation = cast("Batches | None", validation)
        self.tokenizer: str | None = getattr(corpus, "tokenizer", None)
        self.vocabulary: Vocabulary | None = None
        self.shapes: BatchShapes | None = None
        if isinstance(corpus, Corpus) and not self._is_text:
            self.vocabulary = corpus.vocabulary
            num_words = len(corpus.vocabulary)
            if vocabulary_size not in (None, num_words):
                rule = f"{num_words}, the words of `corpus`, or None"
                refuse("vocabulary_size", rule, vocabulary_size)
            vocabulary_size = num_words
            if isinstance(validation, Corpus):
                if validation.vocabulary.words != corpus.vocabulary.words:
                    raise ValueError(
                        "`validation` must have the vocabulary of `corpus`"
                    )
        elif not self._is_text and vocabulary_size is None:
            rule = "the number of target ids, where `corpus` is batches"
            refuse("vocabulary_size", rule, None)
        self.manifest = {"vocabulary_size": vocabulary_size, **self._describe()}

    def _describe(self) -> Manifest:
        corpus, validation = self._corpus, self._validation
        manifest: Manifest = {
            "kind_of_corpus": "batches",
            "tokenizer": self.tokenizer,
            "validation": None,
        }
        if isinstance(corpus, Corpus):
            prefix = "" if self._is_text else "corpus."
            manifest |= {
                "kind_of_corpus": "text" if self._is_text else "a Corpus",
                f"{prefix}batch_tokens": corpus.batch_tokens,
                f"{prefix}max_tokens": corpus.max_tokens,
                f"{prefix}seed": corpus.seed,
                "corpus": corpus.names_and_sizes(),
            }
        if isinstance(validation, Corpus):
            manifest["validation"] = validation.names_and_sizes()
            if not self._is_text:
                manifest["validation.tokenizer"] = validation.tokenizer
                manifest["validation.max_tokens"] = validation.max_tokens
        return manifest

    def choose_shapes(self) -> Config | None:
        """Returns the shapes for the manifest of a new run, if they are few."""
        shapes = self._chosen_shapes()
        return None if shapes is None or not shapes.lengths else shapes._asdict()

    def _chosen_shapes(self) -> BatchShapes | None:
        if not isinstance(self._corpus, Corpus):
            return None
        return self._corpus.choose_shapes(self._compiles)

    def open(
        self, files: PretrainingDirectory
    ) -> tuple[Vocabulary | None, Batches, Batches | None]:
        """Returns the run's vocabulary, training data and validation data."""
        if self._is_text:
            self.vocabulary = files.read_vocabulary()
            for corpus in (self._corpus, self._validation):
                if isinstance(corpus, Corpus):
                    corpus.vocabulary = self.vocabulary
        elif self.vocabulary is not None:
            if files.read_vocabulary().words != self.vocabulary.words:
                raise ValueError(
                    f"{called('corpus')} must have the words of {files.vocabulary}, "
                    "with which the run began"
                )
        if isinstance(self._corpus, Corpus):
            self.shapes = _stored_shapes(files, self._corpus.max_tokens)
        if self.shapes is None and not self.choose_shapes():
            self.shapes = self._chosen_shapes()
        return self.vocabulary, self._corpus, self._validation


def _stored_shapes(files: PretrainingDirectory, longest: int) -> BatchShapes | None:
    """Returns the few shapes of a run; `None` for one that began without them."""
    stored = files.read_manifest().get(SHAPES)
    if stored is None:
        return None
    try:
        lengths, num_words = sorted(map(int, stored["lengths"])), stored["num_words"]
        is_possible = 0 < lengths[0] <= lengths[-1] <= longest
        if is_possible and 0 < num_words <= MAX_BATCH_TOKENS:
            return BatchShapes(tuple(lengths), int(num_words))
    except (IndexError, KeyError, TypeError, ValueError):
        pass
    raise ValueError(
        f"{files.training}: {SHAPES} must be null, or have `lengths` of at most "
        f"{longest} and `num_words`. Received: {reprlib.repr(stored)}"
    )


def check_batch(batch: object) -> None:
    """Raises a `ValueError` unless a batch has what a language model reads."""
    keys = list(batch) if isinstance(batch, Mapping) else type(batch)
    kinds = ({"char_ids", "token_ids"}, {"words", "positions", "token_ids"})
    if not isinstance(keys, list) or not any(kind <= set(keys) for kind in kinds):
        raise ValueError(
            "a batch must be a dictionary of `char_ids` and `token_ids`. "
            f"Received: a batch of {keys}"
        )


def batches_from(
    corpus: Batches,
    position: tuple[int, int] = (0, 0),
    epochs: int | None = None,
    shapes: BatchShapes | None = None,
) -> Iterator[tuple[Batch, tuple[int, int]]]:
    """Yields batches after a position, until some epochs are over, if that is given.

    Each comes with the position behind it: an epoch, and how many of its batches were
    read. The batches of a `Corpus` have some `shapes`.
    """
    first, skip = position
    for epoch in count(first) if epochs is None else range(first, epochs):
        if isinstance(corpus, Corpus):
            batches = corpus.batches(epoch, skip=skip, shapes=shapes)
        else:
            batches = islice(corpus, skip, None)
        number = skip
        for number, batch in enumerate(batches, skip + 1):
            yield batch, (epoch, number)
        if not number:
            raise ValueError(
                f"{called('corpus')} must hold a sentence. Received: no batch"
            )
        skip = 0
