"""Serves an exported model over the two interfaces of TensorFlow Serving."""
