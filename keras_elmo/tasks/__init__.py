"""Whole models of tasks: from text to what a task asks for."""

from keras_elmo.tasks.text_classifier import TextClassifier

__all__ = ["TextClassifier"]
