"""A tagger or a classifier as a SavedModel: strings in, names out."""

from collections.abc import Callable
from typing import TypeAlias

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.downstream.exported_task import ExportedTask
from keras_elmo.files.saved_model import write_description
from keras_elmo.files.task_description import TAGGER, Task
from keras_elmo.text.character_ids import character_ids, vocabulary_encoding
from keras_elmo.text.tokenizer import Tokenizer, register_operations
from keras_elmo.utils.files import replacing
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import StrPath, Tensor

Signature: TypeAlias = Callable[..., dict[str, Tensor]]


def write_saved_model(
    model: ExportedTask, path: StrPath, tokenizer: str | None
) -> None:
    """Writes a SavedModel that TensorFlow runs alone.

    Args:
        model: what is written.
        path: of the folder.
        tokenizer: how the signature `default` splits texts, `"own"` as the training
            text, or `None` for no such signature.
    """
    encoder = model.elmo.encoder
    if tokenizer == "own":
        tokenizer = encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    register_operations(tokenizer)
    served = _Served(model)
    signatures = {"tokens": served.of_tokens(), "serving_default": served.of_tokens()}
    if tokenizer is not None:
        # The second is for clients that name no signature.
        default = served.of_strings(tokenizer)
        signatures |= dict.fromkeys(("default", "serving_default"), default)
    with replacing(path) as temporary:
        tf.saved_model.save(served.module, temporary, signatures)
        layer_norm = model.elmo.layer_norm
        task = model.task.as_dict()
        write_description(temporary, encoder, tokenizer, layer_norm, task)


class _Served:
    """The functions of the signatures, and what they hold.

    Concrete functions are saved as they are; others would be traced once more.
    """

    def __init__(self, model: ExportedTask) -> None:
        self._model = model
        self._vocabulary = model.elmo.encoder.config.token_vocabulary
        self._prefixes = model.task.prefixes
        self.module = tf.Module(name=model.task.kind)
        # TensorFlow's own variables: through Keras's, each would be stored twice.
        self.module.weights = [weight.value for weight in model.weights]
        if self._vocabulary is not None:
            self.module.words = vocabulary_encoding(self._vocabulary).table
        if model.static is not None:
            self.module.static_words = model.static.table()

    def of_tokens(self) -> Signature:
        """Returns the function of words."""
        if not hasattr(self.module, "tokens"):
            specs = []
            for prefix in self._prefixes:
                name = f"{prefix}tokens"
                specs.append(tf.TensorSpec([None, None], tf.string, name))
                name = f"{prefix}sequence_len"
                specs.append(tf.TensorSpec([None], tf.int32, name))
            function = tf.function(self._from_tokens, specs, autograph=False)
            self.module.tokens = function.get_concrete_function()
        return self.module.tokens

    def of_strings(self, tokenizer: str) -> Signature:
        """Returns the function of texts."""
        split = Tokenizer(tokenizer)
        of_tokens = self.of_tokens()

        def from_strings(*texts: Tensor) -> dict[str, Tensor]:
            arguments = {}
            for prefix, strings in zip(self._prefixes, texts, strict=True):
                tokens = split.ragged(strings)
                lengths = tf.cast(tokens.row_lengths(), tf.int32)
                arguments[f"{prefix}tokens"] = tokens.to_tensor("")
                arguments[f"{prefix}sequence_len"] = lengths
            return of_tokens(**arguments)

        specs = [
            tf.TensorSpec([None], tf.string, f"{prefix}strings")
            for prefix in self._prefixes
        ]
        function = tf.function(from_strings, specs, autograph=False)
        self.module.default = function.get_concrete_function()
        return self.module.default

    def _from_tokens(self, *texts: Tensor) -> dict[str, Tensor]:
        tokens, lengths = texts[:2]
        pairs = zip(texts[::2], texts[1::2], strict=True)
        outputs = self._model.outputs_of_ids([self._ids(*pair) for pair in pairs])
        num_tokens = tf.shape(tokens)[1]
        named = _named(self._model.task, outputs, num_tokens)
        return {**named, "sequence_len": tf.identity(lengths)}

    def _ids(self, tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        mask = tf.sequence_mask(lengths, tf.shape(tokens)[1])
        # A batch without words has a position.
        tokens = tf.pad(
            tf.where(mask, tokens, ""),
            [[0, 0], [0, tf.maximum(0, 1 - tf.shape(tokens)[1])]],
        )
        ids = [character_ids(tokens, self._vocabulary)]
        if self._model.static is not None:
            ids.append(self._model.static.ids(tokens))
        return ids


def _named(
    task: Task, outputs: dict[str, Tensor], num_tokens: Tensor
) -> dict[str, Tensor]:
    """Returns names for indices."""
    names = tf.constant(task.names)
    if task.kind == TAGGER:
        tags, scores = (outputs[name][:, :num_tokens] for name in ("tags", "scores"))
        strings = tf.gather(names, tf.maximum(tags, 0))
        return {"tags": tf.where(tags < 0, "", strings), "scores": scores}
    probabilities = outputs["probabilities"]
    if task.multi_label:
        labels = tf.where(probabilities >= 0.5, names, "")
    else:
        labels = tf.gather(names, tf.argmax(probabilities, axis=-1))
    return {"labels": labels, "probabilities": probabilities}
