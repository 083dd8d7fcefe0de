"""Layers as operators of ONNX: the graphs of encoders, taggers and classifiers."""
