"""The names of keras_elmo.sklearn; `__init__.py` loads each on first use."""

from .elmo_vectorizer import ElmoVectorizer as ElmoVectorizer
