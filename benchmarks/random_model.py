"""An untrained model in the published format: as fast as any."""

import keras

import keras_elmo


def write_random_model(preset: str, folder: str) -> None:
    """Writes options.json and weights.hdf5."""
    keras.utils.set_random_seed(0)
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset(preset))
    keras_elmo.save_published_weights(
        encoder, f"{folder}/options.json", f"{folder}/weights.hdf5"
    )
