"""A tagger or a classifier as a LiteRT file: ids in, Viterbi inside."""

import tempfile

from keras_elmo.downstream.task_model import TaskModel
from keras_elmo.files.litert_graph import write_litert_file
from keras_elmo.utils.files import replacing
from keras_elmo.utils.keras_private import exporting
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import StrPath, Tensor


def write_litert(model: TaskModel, path: StrPath, quantize: str | None) -> None:
    """Writes a LiteRT file with operators that every interpreter has."""
    encoder = model.elmo.encoder
    names = model.input_names()
    specs = []
    for char_ids, *static_ids in names:
        sizes = [None, None, encoder.config.ids_per_token]
        specs.append(tf.TensorSpec(sizes, tf.int32, char_ids))
        specs += [tf.TensorSpec([None, None], tf.int32, name) for name in static_ids]

    def outputs(*ids: Tensor) -> dict[str, Tensor]:
        size = len(names[0])
        texts = [ids[k : k + size] for k in range(0, len(ids), size)]
        return model.outputs_of_ids(texts)

    module = tf.Module(name=model.task.kind)
    module.weights = [weight.value for weight in model.weights]
    with exporting("LiteRT"):
        function = tf.function(outputs, specs, autograph=False)
        concrete = function.get_concrete_function()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, concrete)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        if quantize is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        content = converter.convert()
    about = {
        "options": encoder.config.to_options(),
        "tokenizer": encoder.tokenizer,
        "quantize": quantize,
        "layer_norm": model.elmo.layer_norm,
        **model.task.as_dict(),
    }
    if model.static is not None:
        about["static_words"] = model.static.words
    with replacing(path) as temporary:
        write_litert_file(temporary, content, about)
