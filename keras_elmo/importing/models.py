"""Imports a model, whatever program made it."""

import os

from keras_elmo.files.export import export_saved_model
from keras_elmo.files.published import load_published_weights, save_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.validation import check_tokenizer
from keras_elmo.importing import kinds
from keras_elmo.importing.checkpoint import import_checkpoint, open_checkpoint
from keras_elmo.importing.hub import read_hub_module
from keras_elmo.importing.many_langs import read_many_langs
from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.checks import check_choice, check_optional_path, check_path
from keras_elmo.utils.files import check_free, replacing
from keras_elmo.utils.types import StrPath

_KINDS = {
    "published": kinds.PUBLISHED,
    "checkpoint": kinds.CHECKPOINT,
    "hub": kinds.HUB,
    "many_langs": kinds.MANY_LANGS,
}


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
        kind: one of these names; found out if `None`.
        vocabulary: with a checkpoint: the file of the words that its softmax predicts,
            a line each. bilm-tf keeps it elsewhere than in the folder. With published
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
    source = os.fspath(source)
    check_choice((*_KINDS, None), kind=kind)
    check_tokenizer(tokenizer, "`tokenizer`")
    check_free(directory)
    found = kinds.kind_of(source) if kind is None else _KINDS[kind]
    if found == kinds.CHECKPOINT:
        open_checkpoint(source, vocabulary)
        if vocabulary is None:
            raise ValueError(
                "`vocabulary` must be the file of the words that the softmax of "
                f"{source} predicts. Received: vocabulary=None"
            )
        import_checkpoint(source, vocabulary, directory, tokenizer)
        return
    if found == kinds.PUBLISHED:
        import_published(*_two_files(source), directory, tokenizer, vocabulary)
        return
    if vocabulary is not None:
        raise ValueError(
            "`vocabulary` is of a checkpoint or of published weights, and "
            f"{source} holds {found}. Received: vocabulary={os.fspath(vocabulary)!r}"
        )
    if found == kinds.HUB:
        module = read_hub_module(source)
        module.encoder.tokenizer = tokenizer or module.encoder.tokenizer
        export_saved_model(module, directory)
    elif found == kinds.MANY_LANGS:
        encoder = read_many_langs(source)
        encoder.tokenizer = tokenizer
        _write(encoder, directory)
    else:
        raise ValueError(f"{source}: is {found} already; there is nothing to import")


def import_published(
    options: StrPath,
    weights: StrPath,
    directory: StrPath,
    tokenizer: str | None = None,
    vocabulary: StrPath | None = None,
) -> None:
    """Checks options.json and weights.hdf5 and writes a directory of them."""
    encoder = load_published_weights(options, weights, tokenizer, vocabulary)
    _write(encoder, directory)


def _write(encoder: Encoder, directory: StrPath) -> None:
    with replacing(directory) as temporary:
        files = PretrainingDirectory(temporary)
        os.makedirs(temporary)
        if encoder.tokenizer is not None:
            files.write_manifest(encoder.config, {"tokenizer": encoder.tokenizer})
        save_published_weights(encoder, files.options, files.weights)


def _two_files(path: str) -> tuple[str, str]:
    files = kinds.published_files(path)
    for found, what in zip(files, ("*options*.json", "*.hdf5"), strict=True):
        if len(found) != 1:
            raise ValueError(
                f"{path}: must hold one file {what}; else name the two files. "
                f"Received: {', '.join(found) or 'none'}"
            )
    return files[0][0], files[1][0]
