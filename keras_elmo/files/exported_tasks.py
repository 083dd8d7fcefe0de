"""A tagger or a classifier in an ONNX or LiteRT file, run without Keras."""

import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from keras_elmo.files.description import STATIC_IDS, TAGGER, Task, read_description
from keras_elmo.files.finding import LITERT_SUFFIX
from keras_elmo.files.litert_graph import open_litert_graph
from keras_elmo.files.onnx_session import (
    CHAR_IDS,
    STATIC_WORDS,
    Arrays,
    Batch,
    GraphSession,
    Names,
    OnnxEncoder,
    Shapes,
    Sizes,
    open_onnx_graph,
)
from keras_elmo.text.answers import LabelsTexts, TagsSentences
from keras_elmo.text.batching import Tokens, batches_of_like_length
from keras_elmo.text.labelled_files import LabelledText
from keras_elmo.text.plain_ids import StaticIds
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.token_lists import read_sentences
from keras_elmo.utils.types import StrPath, Tensor

# The most positions of a padded batch, unless one sentence alone is longer.
_MAX_POSITIONS = 4_096
# Texts that are split into words at a time.
_AHEAD = 512


class ExportedTask(GraphSession):
    """A model that was exported whole, which does a `task`; base of both kinds."""

    task: Task

    def _check_graph(self) -> None:
        task = self.task
        self.multi_label, self.pairs = task.multi_label, task.pairs
        words = self.about.stored.get(STATIC_WORDS)
        self._static = None if words is None else StaticIds(words)
        text: Mapping[str, Sizes] = {CHAR_IDS: [None, None, self.config.ids_per_token]}
        if self._static is not None:
            text = {**text, STATIC_IDS: [None, None]}
        expected = {f"{p}{name}": text[name] for p in task.prefixes for name in text}
        if set(self.inputs) != set(expected):
            self._refuse(f"its inputs must be {', '.join(expected)}")
        outputs: dict[str, Sizes] = {"probabilities": [None, len(task.names)]}
        if task.kind == TAGGER:
            outputs = dict.fromkeys(("tags", "scores"), [None, None])
            outputs["marginals"] = [None, None, len(task.names)]
        self._check_shapes({**expected, **outputs})

    def feeds(self, sentences: Batch, width: int) -> Arrays:
        ids = super().feeds(sentences, width)
        if self._static is not None:
            ids[STATIC_IDS] = self._static(sentences, ids[CHAR_IDS].shape[1] - 2)
        return ids


class ExportedTagger(TagsSentences, ExportedTask):
    """A `Tagger` in a file that its `export` wrote: `keras_elmo.load("names.onnx")`."""

    def __repr__(self) -> str:
        return f"ExportedTagger({self.path!r}, tags={reprlib.repr(self.tags)})"

    @property
    def tags(self) -> list[str]:
        return list(self.task.names)

    def run(self, sentences: Batch, outputs: Names, width: int = 0) -> Arrays:
        values = super().run(sentences, outputs, width)
        tags = values.get("tags", np.empty(0))
        if tags.min(initial=-1) < -1 or tags.max(initial=-1) >= len(self.task.names):
            self._refuse("it has tags without a name")
        return values

    def _splitter(self) -> PlainTokenizer:
        return self.plain_tokenizer()

    def answer(self, texts: Sequence[Batch], outputs: Names, width: int = 0) -> Arrays:
        values = super().answer(texts, outputs, width)
        if "tags" in values:
            # The index -1, of no tag, is the last one.
            names = [*(name.encode() for name in self.task.names), b""]
            values["tags"] = np.array(names, object)[values["tags"]]
        return values

    def answer_shapes(self) -> Shapes:
        shapes = super().answer_shapes()
        return {name: shapes[name] for name in ("tags", "scores")}

    def _computed(
        self, window: Sequence[Tokens], batch_size: int, outputs: Sequence[str]
    ) -> Sequence[Sequence[np.ndarray]]:
        rows: list[Sequence[np.ndarray]] = [()] * len(window)
        lengths = list(map(len, window))
        for places in batches_of_like_length(lengths, batch_size, _MAX_POSITIONS):
            values = self.run([window[k] for k in places], outputs)
            columns = (values[name] for name in outputs)
            for k, *row in zip(places, *columns, strict=True):
                rows[k] = row
        return rows


class ExportedClassifier(LabelsTexts, ExportedTask):
    """A `TextClassifier` in a file that its `export` wrote."""

    _max_positions = _MAX_POSITIONS

    def __repr__(self) -> str:
        kinds = f"multi_label={self.multi_label}, pairs={self.pairs}"
        labels = reprlib.repr(self.labels)
        return f"ExportedClassifier({self.path!r}, labels={labels}, {kinds})"

    @property
    def labels(self) -> list[str]:
        return list(self.task.names)

    def _words(self, texts: Iterable[Tensor]) -> list[list[Tokens]]:
        columns: list[Iterable[Tensor]] = [texts]
        if self.task.pairs:
            columns = [*zip(*texts, strict=True)]
        return [[*read_sentences(x, self.plain_tokenizer(), _AHEAD)] for x in columns]

    def _as_known(self, rows: list[LabelledText]) -> list[LabelledText]:
        # In a file every label is a string.
        return [row._replace(labels=[*map(str, row.labels)]) for row in rows]

    def probabilities(self, *texts: Batch) -> np.ndarray:
        feeds = {}
        for prefix, sentences in zip(self.task.prefixes, texts, strict=True):
            # A text without words has a position.
            for name, ids in self.feeds(sentences, width=1).items():
                feeds[f"{prefix}{name}"] = ids
        return self._run(feeds, ["probabilities"])["probabilities"]

    def answer(self, texts: Sequence[Batch], outputs: Names, width: int = 0) -> Arrays:
        rows = self.probabilities(*texts)
        names = np.array([name.encode() for name in self.task.names], object)
        if self.task.multi_label:
            labels = np.where(rows >= 0.5, names, b"")
        else:
            labels = names[rows.argmax(axis=1)]
        values = {"labels": labels, "probabilities": rows}
        return {name: values[name] for name in outputs}

    def answer_shapes(self) -> Shapes:
        shape = super().answer_shapes()["probabilities"]
        labels = shape if self.task.multi_label else shape[:1]
        return {"labels": labels, "probabilities": shape}


InGraphFile: TypeAlias = OnnxEncoder | ExportedTagger | ExportedClassifier


def open_graph_file(path: StrPath) -> InGraphFile:
    """Opens an ONNX or LiteRT file as what it holds, or raises `ValueError`."""
    path = os.fspath(path)
    is_litert = path.endswith(LITERT_SUFFIX)
    graph = (open_litert_graph if is_litert else open_onnx_graph)(path)
    about = read_description(graph.description, path)
    if about.task is None:
        return OnnxEncoder(path, graph, about)
    kind = ExportedTagger if about.task.kind == TAGGER else ExportedClassifier
    return kind(path, graph, about)
