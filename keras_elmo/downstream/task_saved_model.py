"""A tagger or a classifier as a SavedModel: strings in, names out."""

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.downstream.task_model import TaskModel
from keras_elmo.files.saved_model_format import add_signatures, write_description
from keras_elmo.files.task_description import TAGGER, Task
from keras_elmo.text.character_ids import character_ids, vocabulary_encoding
from keras_elmo.utils.files import replacing
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import StrPath, Tensor


def write_saved_model(model: TaskModel, path: StrPath, tokenizer: str | None) -> None:
    """Writes a SavedModel that TensorFlow runs alone; see `export`."""
    encoder, task = model.elmo.encoder, model.task
    if tokenizer == "own":
        tokenizer = encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    vocabulary = encoder.config.token_vocabulary
    module = tf.Module(name=task.kind)
    # TensorFlow's own variables: through Keras's, each would be stored twice.
    module.weights = [weight.value for weight in model.weights]
    if vocabulary is not None:
        module.words = vocabulary_encoding(vocabulary).table
    if model.static is not None:
        module.static_words = model.static.table()

    def ids_of(tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        num_tokens = tf.shape(tokens)[1]
        tokens = tf.where(tf.sequence_mask(lengths, num_tokens), tokens, "")
        # A batch without words has a position.
        tokens = tf.pad(tokens, [[0, 0], [0, tf.maximum(0, 1 - num_tokens)]])
        ids = [character_ids(tokens, vocabulary)]
        return ids if model.static is None else [*ids, model.static.ids(tokens)]

    def compute(*texts: Tensor) -> dict[str, Tensor]:
        tokens, lengths = texts[:2]
        pairs = zip(texts[::2], texts[1::2], strict=True)
        outputs = model.outputs_of_ids([ids_of(*pair) for pair in pairs])
        named = _named(task, outputs, tf.shape(tokens)[1])
        return {**named, "sequence_len": tf.identity(lengths)}

    signatures = add_signatures(module, compute, tokenizer, task.prefixes)
    signatures.setdefault("serving_default", signatures["tokens"])
    with replacing(path) as temporary:
        tf.saved_model.save(module, temporary, signatures)
        layer_norm = model.elmo.layer_norm
        write_description(temporary, encoder, tokenizer, layer_norm, task.as_dict())


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
