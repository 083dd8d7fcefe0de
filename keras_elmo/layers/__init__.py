"""Integers to vectors: Keras layers with plain arguments."""
