"""An untrained model, in the published format or exported: as fast as any. And ONNX."""

import keras

import keras_elmo


def write_random_model(preset: str, folder: str) -> None:
    """Writes options.json and weights.hdf5."""
    keras_elmo.save_published_weights(
        _encoder(preset), f"{folder}/options.json", f"{folder}/weights.hdf5"
    )


def export_random_model(preset: str, folder: str) -> None:
    """Writes a SavedModel that cuts raw text itself."""
    keras_elmo.export_saved_model(_encoder(preset), folder, "unicode")


def export_onnx(model: str, exact: str, rounded: str) -> None:
    """Writes the ONNX files of a model, in float32 and in int8."""
    keras_elmo.export_onnx(model, exact)
    keras_elmo.export_onnx(model, rounded, quantize="int8")


def _encoder(preset: str) -> keras_elmo.Encoder:
    keras.utils.set_random_seed(0)
    return keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset(preset))
