"""Files of this package that a runtime computes without TensorFlow and Keras."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, ElmoConfig
from keras_elmo.files.description import Description, Task, new_description
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config, StrPath

# The keys of the metadata.
_DESCRIPTION, _TOKENIZER, STATIC_WORDS = "keras_elmo", "tokenizer", "static_words"
# Of an int8 weight. Processors without VNNI add two products of an unsigned byte and a
# signed one in 16 bits, and saturate: 2 * 255 * 64 fits, 2 * 255 * 127 does not.
WEIGHT_BITS = 7
CHAR_IDS = "char_ids"
# What ONNX Runtime says of bytes that are no graph.
_NO_ONNX = ("Protobuf parsing failed", "No graph was found")
# What a file must be, for messages.
_RULE = "must be a model that keras_elmo exported"
_WORDS, _LAYER = "word_emb", "lstm_outputs"

# Of the axes of an input or output; `None` is any size.
Sizes: TypeAlias = list[int | None]
Shapes: TypeAlias = dict[str, list[int | str | None]]
Arrays: TypeAlias = dict[str, np.ndarray]
Names: TypeAlias = Collection[str]
# Sentences, as tokens.
Batch: TypeAlias = Sequence[Sequence[bytes]]
# The raw scalars of a mix, its gamma, and its `layer_norm`.
Mix: TypeAlias = tuple[np.ndarray, np.ndarray, bool]
# Computes the named outputs.
Run: TypeAlias = Callable[[list[str], Arrays], list[np.ndarray]]


class Graph(NamedTuple):
    """What a runtime tells of a file, and computes.

    Attributes:
        inputs: their shapes by their names.
        outputs: the same; an axis of any size is not an integer.
        description: as stored; for `read_description`.
        run: what computes it.
    """

    inputs: Shapes
    outputs: Shapes
    description: Config
    run: Run


def open_onnx_graph(path: StrPath) -> Graph:
    """Opens a file in ONNX Runtime; raises `ValueError` if it is damaged."""
    runtime = import_extra("onnxruntime", "Reading ONNX", "onnx")
    settings = runtime.SessionOptions()
    # Errors are raised; nothing is printed beside them.
    settings.log_severity_level = 4
    # It would keep memory for each size of a batch, which is rarely the same.
    settings.enable_mem_pattern = False
    with reading(path):
        try:
            session = runtime.InferenceSession(
                os.fspath(path),
                settings,
                providers=["CPUExecutionProvider"],
                # Else errors are printed on standard output and it tries again.
                enable_fallback=0,
            )
        except Exception as error:
            if not any(said in str(error) for said in _NO_ONNX):
                raise
            where = os.fspath(path)
            raise ValueError(f"{where}: not an ONNX file, or cut short") from error
    with reading(path, "its description is damaged"):
        about = session.get_modelmeta()
        stored = about.custom_metadata_map
        if about.producer_name != "keras_elmo" or _DESCRIPTION not in stored:
            raise ValueError(f"{os.fspath(path)}: {_RULE}; it has no description")
        description = json.loads(stored[_DESCRIPTION])
        description[_TOKENIZER] = stored.get(_TOKENIZER)
        if STATIC_WORDS in stored:
            description[STATIC_WORDS] = json.loads(stored[STATIC_WORDS])
    options = runtime.RunOptions()
    # What is not asked for is not computed.
    options.only_execute_path_to_fetches = True
    inputs, outputs = (
        {value.name: value.shape or [None] for value in values}
        for values in (session.get_inputs(), session.get_outputs())
    )
    return Graph(
        inputs,
        outputs,
        description,
        lambda outputs, feeds: session.run(outputs, feeds, options),
    )


class GraphSession:
    """A file that keras_elmo wrote; base of a class for each kind of model.

    Attributes:
        path: of the file.
        name: for messages; the path.
        about: what the file says of itself.
        config: the sizes of the biLM.
        tokenizer: the kind of `Tokenizer` for texts, if it is known.
        quantize: `"int8"`, or `None` for float32.
        task: what is done with words; `None` for an encoder.
        inputs: names.
    """

    def __init__(self, path: StrPath, graph: Graph, about: Description) -> None:
        self.path = self.name = os.fspath(path)
        self._graph = graph
        self.inputs = [*graph.inputs]
        self.about = about
        self.config = about.config
        self.tokenizer = about.tokenizer
        self.quantize = "int8" if about.dtype == "int8" else None
        self.task: Task | None = about.task
        self._ids = PlainIds(self.config.token_vocabulary)
        with reading(path, "its description is damaged"):
            self._check_graph()

    def _check_graph(self) -> None:
        """Raises `ValueError` if the description does not fit the graph."""
        raise NotImplementedError  # Every kind has its own.

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{self.path}: {_RULE}; {why}")

    def plain_tokenizer(self) -> PlainTokenizer:
        """Returns what splits texts as the training text was split."""
        return PlainTokenizer(self.tokenizer or TOKENIZER_IF_UNKNOWN)

    def feeds(self, sentences: Batch, width: int) -> Arrays:
        """Returns the inputs for a batch of tokens, by their names."""
        return {CHAR_IDS: self._ids(sentences, width)}

    def run(self, sentences: Batch, outputs: Names, width: int = 0) -> Arrays:
        """Returns outputs for a batch of tokens by name, padded to `width` at least."""
        return self._run(self.feeds(sentences, width), outputs)

    def _run(self, feeds: Arrays, outputs: Names) -> Arrays:
        with reading(self.path, "cannot be run"):
            values = self._graph.run([*outputs], feeds)
        return dict(zip(outputs, values, strict=True))

    @property
    def is_batchable(self) -> bool:
        """Whether a sentence's outputs are the same in every batch."""
        # Layer normalisation takes the mean over the whole batch.
        return not self.about.layer_norm

    def answer(self, texts: Sequence[Batch], outputs: Names, width: int = 0) -> Arrays:
        """Returns what a server does: `run`, with names for indices.

        Of pairs, `texts` are two batches.
        """
        (sentences,) = texts
        return self.run(sentences, outputs, width)

    def answer_shapes(self) -> Shapes:
        """Returns the shapes of what `answer` does; a string is an axis of any size."""
        return dict(self._graph.outputs)

    def _check_shapes(self, expected: Mapping[str, Sizes]) -> None:
        """Checks the sizes of what is used, by name."""
        shapes = {**self._graph.inputs, **self._graph.outputs}
        for name, sizes in expected.items():
            shape = shapes.get(name, [])
            pairs = zip(sizes, shape, strict=False)
            if len(shape) != len(sizes) or any(a not in (b, None) for a, b in pairs):
                last = "" if sizes[-1] is None else f", the last of {sizes[-1]}"
                self._refuse(f"{name} must have {len(sizes)} axes{last}")


def new_metadata(
    config: ElmoConfig,
    tokenizer: str | None,
    quantize: str | None,
    task: Task | None = None,
    **about: object,
) -> dict[str, str]:
    """Returns the metadata of a file: its description, and its tokenizer if known."""
    if quantize is not None:
        about |= {"quantize": quantize, "weight_bits": WEIGHT_BITS}
    metadata = {_DESCRIPTION: json.dumps(new_description(config, task, **about))}
    return {**metadata, _TOKENIZER: tokenizer} if tokenizer else metadata


class OnnxEncoder(GraphSession):
    """The encoder of a file that `export_onnx` wrote, with its `mix`."""

    def _check_graph(self) -> None:
        scalars, gamma, layer_norm = self.about.stored["mix"]
        scalars, gamma = np.array(scalars, "float32"), np.array(gamma, "float32")
        if scalars.shape != (self.config.num_layers + 1,) or gamma.shape != ():
            raise ValueError("its mix has another number of layers")
        self.mix: Mix = (scalars, gamma, layer_norm)
        units = self.config.projection_units
        names = [f"{_LAYER}{k}" for k in range(1, self.config.num_layers + 1)]
        self._names = [_WORDS, *names]
        self._check_shapes(
            {
                CHAR_IDS: [None, None, self.config.ids_per_token],
                _WORDS: [None, None, units],
                **dict.fromkeys(names, [None, None, 2 * units]),
            }
        )
        if self.inputs != [CHAR_IDS]:
            self._refuse(f"its input must be {CHAR_IDS}")

    def __repr__(self) -> str:
        return (
            f"OnnxEncoder({self.path!r}, {self.config.num_layers + 1} layers of "
            f"{2 * self.config.projection_units} units, tokenizer={self.tokenizer!r}, "
            f"quantize={self.quantize!r})"
        )

    def layers(self, sentences: Batch) -> list[np.ndarray]:
        """Returns the layers of a batch, `(batch, tokens, 2 * projection_units)`."""
        words, *layers = self.run(sentences, self._names).values()
        return [np.concatenate([words, words], axis=-1), *layers]
