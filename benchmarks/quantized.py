"""What do 8-bit weights cost? Tasks, and who is whose neighbour; float32 beside int8.

A linear head learns from the vectors of the float32 ONNX file of a shipped model, and
is fed those of the int8 one: parts of speech of the English treebank, and the sentiment
of Korean reviews. Of an untrained model of the published size: of three words drawn
from real text, is the same one of two closer to the third? Needs scikit-learn.

    python benchmarks/quantized.py --out quantized.json
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common
import inference
import numpy as np
from common import markdown_table

sys.path.append(str(Path(__file__).parent / "quality"))

from data_sets import read_conllu, read_tsv  # noqa: E402

_TRIPLES = 200_000
# Vectors of the sentences, and the class of each.
Examples = tuple[np.ndarray, np.ndarray]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        preset="original",
        train=(3_000, "sentences that a head learns from"),
        sentences=(200, "sentences whose words are compared"),
    )
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for task, name, read in (
            ("parts of speech, UD English EWT", "elmo-en", _parts_of_speech),
            ("sentiment, NSMC", "elmo-ko", _sentiment),
        ):
            files = export(name, Path(scratch) / name)
            rows.append({"task": task, "model": name} | _task(files, read, options))
        model = Path(scratch) / "model"
        common.call_in_process(
            "random_model", "write_random_model", options.preset, model
        )
        files = export(str(model), Path(scratch) / "random")
        text = inference.read_sentences(options.corpus)[: options.sentences]
        kept = _order_kept(*(_words(file, text) for file in files))
    rows.append({"task": "the closer of two words", "model": options.preset} | kept)
    common.publish(options, table, rows=rows)


def export(model: str, path: Path) -> list[Path]:
    """Writes both files of a model; returns their paths."""
    files = [Path(f"{path}-{kind}.onnx") for kind in ("float32", "int8")]
    common.call_in_process("random_model", "export_onnx", model, *files)
    return files


def _task(
    files: Sequence[Path], read: Callable[..., Any], options: Any
) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    (train, exact), (_, rounded) = (read(file, options.train) for file in files)
    head = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    head.fit(*train)
    return {
        "float32": 100 * head.score(*exact),
        "int8": 100 * head.score(*rounded),
        "examples": len(exact[1]),
    }


def _parts_of_speech(file: Path, num_train: int) -> list[Examples]:
    """Returns the words to learn from and to test on."""
    found = []
    for split, count in (("train", num_train), ("dev", None)):
        path = common.data_folder() / "ud_en_ewt" / f"{split}.conllu.xz"
        pairs = read_conllu(path)[:count]
        tags = np.array([tag for _, tags in pairs for tag in tags])
        found.append((_words(file, [words for words, _ in pairs]), tags))
    return found


def _sentiment(file: Path, num_train: int) -> list[Examples]:
    """Returns the reviews to learn from and to test on."""
    import keras_elmo

    found = []
    for split, count in (("train", 2 * num_train), ("dev", 2 * num_train)):
        path = common.data_folder() / "nsmc" / f"{split}.tsv.xz"
        texts, labels = zip(*read_tsv(path)[:count], strict=True)
        vectors = keras_elmo.embed(file, list(texts), layers="mix", pooling="mean")
        found.append((vectors, np.array(labels)))
    return found


def _words(file: Path, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Returns the mix of the layers of each word."""
    import keras_elmo

    return np.concatenate(list(keras_elmo.embed(file, sentences, layers="mix")))


def _order_kept(exact: np.ndarray, rounded: np.ndarray) -> dict[str, float]:
    random = np.random.default_rng(0)
    words, one, other = random.integers(len(exact), size=(3, _TRIPLES))
    closer = []
    for vectors in (exact, rounded):
        vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        cosines = [(vectors[words] * vectors[k]).sum(axis=-1) for k in (one, other)]
        closer.append(cosines[0] > cosines[1])
    return {
        "float32": 100.0,
        "int8": 100 * float((closer[0] == closer[1]).mean()),
        "examples": _TRIPLES,
    }


def table(result: common.Result) -> str:
    """Returns the figures, a row a task."""
    header = ["Task", "Model", "Tested on", "float32, %", "int8, %", "Difference"]
    rows = [
        [
            row["task"],
            row["model"],
            f"{row['examples']:,}",
            f"{row['float32']:.2f}",
            f"{row['int8']:.2f}",
            f"{row['int8'] - row['float32']:+.2f}",
        ]
        for row in result["rows"]
    ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
