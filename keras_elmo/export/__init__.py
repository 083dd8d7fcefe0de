"""Models as files for other programs: SavedModel, ONNX."""
