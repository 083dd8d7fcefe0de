"""Tells whether Keras exports the model that is being traced."""

import sys

# Keras's modules that write files for other runtimes; a SavedModel is TensorFlow's own.
_FORMATS = {
    "keras.src.export.litert": "LiteRT",
    "keras.src.export.onnx": "ONNX",
    "keras.src.export.openvino": "OpenVINO",
}


def export_format() -> str | None:
    """Returns the runtime that `model.export` is writing a file for, if it is.

    Keras tells no layer; the frames of the call do. A layer asks while a graph is made,
    so that this is no part of any step.
    """
    frame = sys._getframe(1) if sys.modules.keys() & _FORMATS.keys() else None
    while frame is not None:
        if (name := frame.f_globals.get("__name__")) in _FORMATS:
            return _FORMATS[name]
        frame = frame.f_back
    return None
