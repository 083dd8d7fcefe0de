"""Contextual word vectors that anyone can pretrain and use in a Keras model."""

import lazy_loader

__version__ = "0.1.0"

# The names in __init__.pyi; the module of each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
