"""Imports a model, whatever program made it."""

from keras_elmo.files.exported_sources import KerasFile
from keras_elmo.files.loading import MODELS, Kind, open_model
from keras_elmo.files.run_sources import PublishedFolder
from keras_elmo.files.validation import check_tokenizer
from keras_elmo.importing.bilm_checkpoint import BilmCheckpoint
from keras_elmo.importing.hub import HubModule
from keras_elmo.importing.many_langs import ManyLangsFolder
from keras_elmo.utils.checks import check_choice, check_optional_path, check_path
from keras_elmo.utils.files import check_free
from keras_elmo.utils.types import StrPath

# The formats of other programs that every function takes only once imported.
FOREIGN = (BilmCheckpoint, HubModule, ManyLangsFolder)
_KINDS: dict[str, Kind] = {
    **{kind.key: kind for kind in FOREIGN},
    "published": PublishedFolder,
}
# What can be inspected. Several of our kinds may match, and the first is taken; of
# foreign kinds, only one may match.
EVERY_KIND: tuple[Kind, ...] = (KerasFile, *MODELS[:-1], *_KINDS.values())


def import_model(
    source: StrPath,
    directory: StrPath,
    kind: str | None = None,
    vocabulary: StrPath | None = None,
    tokenizer: str | None = None,
) -> None:
    """Converts a model of another program to one that every function here takes.

    - `"published"`: options.json and weights.hdf5, as bilm-tf and AllenNLP have them.
    - `"checkpoint"`: the folder that bilm-tf trained in. What is written is a run:
      an encoder, the softmax and its words, and Adagrad's sums, so that `pretrain` with
      `resume` goes on with the next update.
    - `"hub"`: the folder of TensorFlow Hub's module, `saved_model.pb` and `variables`.
      What is written is an exported model with the module's mix.
    - `"many_langs"`: the folder of a model of ELMoForManyLangs: config.json,
      encoder.pkl, token_embedder.pkl, char.dic and word.dic. Reading it needs PyTorch.

    Args:
        source: the folder; of a checkpoint also the prefix of its files.
        directory: to write; it must not exist, or be empty.
        kind: one of these names; detected if `None`.
        vocabulary: with a checkpoint: the file of the words that its softmax predicts,
            one per line. bilm-tf keeps it elsewhere than in the folder. With published
            weights: the words that the rows of `embedding` are of, in a model of word
            ids.
        tokenizer: the kind of `Tokenizer` for the model's text, which none of them
            names: `"published"` for the original English models. If `None`, text is
            taken as tokenized.

    Raises:
        ImportError: PyTorch is needed and not installed.
        ValueError: a file is missing or damaged, or two contradict each other; names
            the file, and the variable with both shapes. Or there is no such model.
        OSError: the disk has no room.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.save_published_weights(
        encoder, "theirs/options.json", "theirs/weights.hdf5"
    )
    keras_elmo.import_model("theirs", "ours")
    print(keras_elmo.load("ours").config)
    ```
    """
    check_path(source=source, directory=directory)
    check_optional_path(vocabulary=vocabulary)
    check_choice((*_KINDS, None), kind=kind)
    check_tokenizer(tokenizer, "`tokenizer`")
    check_free(directory)
    if kind is None:
        opened = open_model(source, "source", EVERY_KIND, (*_KINDS.values(),))
    else:
        opened = _KINDS[kind](source, "source")
    opened.convert(directory, tokenizer, vocabulary)
