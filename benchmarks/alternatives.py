"""Which form of a model, or a small transformer? Speed, size, memory and start-up.

The Keras encoder, the SavedModel and both ONNX files of each model embed the same real
sentences in their natural order, each in a process of its own, in turn; so does, with
ONNX Runtime, a transformer of MiniLM's sizes with random weights. The vectors of a
model's forms are compared before anything is timed.

    python benchmarks/alternatives.py --transformer transformer/bin/python \\
        --out alternatives.json

The transformer is the BERT of Hugging Face, exported by PyTorch. Its int8 file is
quantized as `export_dynamic_quantized_onnx_model` of sentence-transformers does for
AVX-512 VNNI: 8 bits, a scale a column, and all products, those of the attention, too.
No weights are downloaded, so its pieces are learned from other articles of Wikipedia:
as many as MiniLM has, without case. Words are those of the text for every system, and
each process splits them itself. Where the files are written needs

    python -m venv transformer
    transformer/bin/pip install torch==2.13.0 transformers onnx onnxruntime

and where the transformer runs, `tokenizers` (of the extra `quality`).
"""

import argparse
import contextlib
import json
import lzma
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common
from common import markdown_table, megabytes
from inference import Child, agreement, read_sentences

# Sentences of a repetition, by batch size, of a large model and of a small one.
_SENTENCES = {1: (20, 200), 32: (160, 640), 128: (256, 1024)}
_TOLERANCE = 1e-5
# Peak memory is that of this batch size, if it is measured.
_MEMORY_BATCH = 32
_TRANSFORMER = "transformer"
_PIECES = 30_522
_SIZES = {
    "vocab_size": _PIECES,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
}
_QUANTIZED = ["Conv", "MatMul", "Attention", "LSTM", "Gather", "Transpose"]
_QUANTIZED += ["EmbedLayerNormalization"]
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class System(NamedTuple):
    """A form of a model: what a child process runs."""

    model: str
    form: str
    system: str
    path: Path
    is_large: bool

    @property
    def name(self) -> str:
        """For messages, and to tell it from others."""
        return f"{self.model}, {self.form}"

    def child(self, batch_size: int) -> Child:
        """Starts a process that embeds."""
        return Child(sys.executable, self.system, "float32", self.path, batch_size)

    def bytes_on_disk(self) -> int:
        """The size of what the process loads, a transformer's pieces left out."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files if file.is_file())


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        transformer=(
            None,
            "that has transformers; no transformer if not given",
            {"metavar": "PYTHON"},
        ),
        presets=(["original"], "sizes with random weights", {"nargs": "*"}),
        models=(["elmo-en"], "in saved_models", {"nargs": "*"}),
        batch_sizes=(list(_SENTENCES), "", {"choices": list(_SENTENCES)}),
        repeats=5,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = folder / "sentences.json"
        sentences = read_sentences(options.corpus)
        text.write_text(json.dumps(sentences), encoding="utf-8")
        systems = [
            system
            for model in (*options.presets, *options.models)
            for system in _forms(model, folder / model, model in options.presets)
        ]
        about = {}
        if options.transformer:
            answer = common.call_in_process(
                *("alternatives", "write_transformer", folder / "transformer", text),
                python=options.transformer,
            )
            # Exporters print, too.
            about = {"transformer": json.loads(answer.splitlines()[-1])}
            systems += [
                System(_TRANSFORMER, form, "transformer", path, False)
                for form, path in _onnx_files(folder / "transformer").items()
            ]
        _compare(systems, text)
        rows = _measure(systems, text, options)
    common.publish(options, table, **about, rows=rows)


def _forms(model: str, folder: Path, is_preset: bool) -> Iterator[System]:
    """Writes the files of a model, and yields its forms."""
    folder.mkdir()
    source = common.ROOT / "saved_models" / model
    if is_preset:
        source = folder / "published"
        common.call_in_process("random_model", "write_random_model", model, source)
    exported, files = folder / "saved_model", _onnx_files(folder)
    common.call_in_process("random_model", "export_saved_model", source, exported)
    common.call_in_process("random_model", "export_onnx", source, *files.values())
    yield System(model, "Keras", "keras_elmo", source, is_preset)
    yield System(model, "SavedModel", "saved_model", exported, is_preset)
    for form, path in files.items():
        yield System(model, form, "keras_elmo", path, is_preset)


def _onnx_files(folder: Path) -> dict[str, Path]:
    """Returns the names of ONNX files, by their forms."""
    return {"ONNX": folder / "float32.onnx", "ONNX int8": folder / "int8.onnx"}


def write_transformer(folder: str, text: str) -> None:
    """Writes ONNX files and pieces; runs in the peer's environment.

    Prints the number of pieces that a word of a text has, and the difference between
    ONNX Runtime and PyTorch.
    """
    import numpy as np
    import onnxruntime
    import torch
    import transformers
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from tokenizers import BertWordPieceTokenizer

    exact, rounded = _onnx_files(Path(folder)).values()
    exact.parent.mkdir()

    # === Pieces ===
    pieces = BertWordPieceTokenizer(lowercase=True)
    pieces.train_from_iterator(_paragraphs(), vocab_size=_PIECES, show_progress=False)
    # With the boundaries, which a new one leaves out.
    pieces = BertWordPieceTokenizer(pieces.get_vocab(), lowercase=True)
    pieces.save(str(exact.with_name("tokenizer.json")))
    sentences = [" ".join(words) for words in json.loads(Path(text).read_text("utf-8"))]
    found = pieces.encode_batch(sentences)
    num_pieces = sum(len(each.ids) - 2 for each in found)
    num_words = sum(sentence.count(" ") + 1 for sentence in sentences)

    # === Model ===
    torch.manual_seed(0)
    config = transformers.BertConfig(**_SIZES, attn_implementation="eager")
    bert = transformers.BertModel(config, add_pooling_layer=False).eval()

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids: Any, mask: Any, types: Any) -> Any:
            return self.bert(ids, mask, types).last_hidden_state

    model = Hidden().eval()
    axes = {0: "batch", 1: "pieces"}
    with torch.no_grad():
        torch.onnx.export(
            model,
            _padded([9, 5]),
            str(exact),
            input_names=list(_INPUTS),
            output_names=["last_hidden_state"],
            dynamic_axes=dict.fromkeys((*_INPUTS, "last_hidden_state"), axes),
            opset_version=17,
            dynamo=False,
        )

    # === The same vectors? ===
    inputs = _padded([3, 40, 17])
    with torch.no_grad():
        wanted = model(*inputs).numpy()
    session = onnxruntime.InferenceSession(exact, providers=["CPUExecutionProvider"])
    feeds = dict(zip(_INPUTS, (tensor.numpy() for tensor in inputs), strict=True))
    (vectors,) = session.run(None, feeds)
    is_piece = inputs[1].numpy() > 0
    difference = float(np.abs(vectors - wanted)[is_piece].max())
    if difference > 1e-4:
        raise RuntimeError(f"ONNX Runtime and PyTorch differ by {difference}")

    # === int8 ===
    quantize_dynamic(
        exact,
        rounded,
        op_types_to_quantize=_QUANTIZED,
        per_channel=True,
        weight_type=QuantType.QInt8,
        extra_options={"MatMulConstBOnly": False},
    )
    figures = {
        "pieces_per_word": num_pieces / num_words,
        "words_per_sentence": num_words / len(sentences),
        "parameters": sum(weight.numel() for weight in bert.parameters()),
        "greatest_difference": difference,
        "transformers": transformers.__version__,
        "torch": torch.__version__,
    }
    print(json.dumps(figures))


def _paragraphs() -> Iterator[str]:
    """Yields text of the domain, but not of the articles that are embedded."""
    for path in sorted((common.data_folder() / "enwiki").glob("train-*.txt.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            yield from lines


def _padded(lengths: Sequence[int]) -> tuple[Any, Any, Any]:
    """Returns ids, mask and types of random sentences, as PyTorch's tensors."""
    import torch

    ids = torch.randint(5, _PIECES, (len(lengths), max(lengths)))
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    return ids * mask, mask, torch.zeros_like(ids)


def _compare(systems: Sequence[System], text: Path) -> None:
    """Raises if a model's forms in float32 have different vectors."""
    references: dict[str, Any] = {}
    for system in systems:
        with system.child(32) as child:
            vectors = child.embed(text, 32, compare=True)["vectors"]
        found = agreement(references.setdefault(system.model, vectors), vectors)
        print(f"{system.name}: {found}", file=sys.stderr, flush=True)
        if "int8" not in system.form and found["greatest_difference"] > _TOLERANCE:
            raise RuntimeError(f"{system.name} computes something else: {found}")


def _measure(
    systems: Sequence[System], text: Path, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Returns a row for each system."""
    starts = common.in_turn(
        {system.name: partial(_start, system, text) for system in systems},
        options.repeats,
        "seconds to the first vectors, ",
    )
    rows = [
        {
            "model": system.model,
            "form": system.form,
            "bytes": system.bytes_on_disk(),
            "first_seconds": starts[system.name],
            "batch_sizes": {},
        }
        for system in systems
    ]
    for batch_size in options.batch_sizes:
        figures = _speeds(systems, batch_size, text, options.repeats)
        for row, system in zip(rows, systems, strict=True):
            row["batch_sizes"][str(batch_size)] = figures[system.name]
    return rows


def _start(system: System, text: Path) -> float:
    """Returns the seconds from the start of a process to the first sentence's vectors.

    The process reads the sentences from a file of a few MB, too.
    """
    began = time.perf_counter()
    with system.child(1) as child:
        child.embed(text, 1)
        return time.perf_counter() - began


def _speeds(
    systems: Sequence[System], batch_size: int, text: Path, repeats: int
) -> dict[str, dict[str, Any]]:
    """Returns the figures of every system by its name, measured in turn."""
    answers: dict[str, dict[str, Any]] = {}
    counts = {
        system.name: _SENTENCES[batch_size][not system.is_large] for system in systems
    }
    with contextlib.ExitStack() as stack:
        children = {
            system.name: stack.enter_context(system.child(batch_size))
            for system in systems
        }

        def speed(name: str) -> float:
            answers[name] = children[name].embed(text, counts[name])
            return answers[name]["words"] / answers[name]["seconds"]

        speeds = common.in_turn(
            {name: partial(speed, name) for name in children},
            repeats,
            f"words/s, batches of {batch_size}, ",
        )
    return {
        name: {
            "words_per_second": speeds[name],
            "words": answers[name]["words"],
            "sentences": counts[name],
            "peak_bytes": answers[name]["peak_bytes"],
        }
        for name in children
    }


def table(result: common.Result) -> str:
    """Returns the figures, a row for each form of a model."""
    sizes = [str(size) for size in result["batch_sizes"]]
    header = ["Model", "Form", *(f"Words/s, {size} a batch" for size in sizes)]
    header += ["ms a sentence", "First vectors, s", "On disk, MB", "Peak memory, MB"]
    rows = []
    for row in result["rows"]:
        measured = row["batch_sizes"]
        memory = measured.get(str(_MEMORY_BATCH), measured[sizes[-1]])["peak_bytes"]
        rows.append(
            [
                row["model"],
                row["form"],
                *(_spread(measured[size]["words_per_second"]) for size in sizes),
                _milliseconds(measured["1"]) if "1" in measured else "",
                f"{statistics.median(row['first_seconds']):.1f}",
                megabytes(row["bytes"]),
                megabytes(memory),
            ]
        )
    return markdown_table(header, rows)


def _spread(speeds: Sequence[float]) -> str:
    median, ends = common.spread(speeds)
    return f"{median} ({ends})"


def _milliseconds(figures: dict[str, Any]) -> str:
    """Returns the time of a sentence by itself."""
    speed = statistics.median(figures["words_per_second"])
    return f"{1000 * figures['words'] / figures['sentences'] / speed:.1f}"


if __name__ == "__main__":
    main()
