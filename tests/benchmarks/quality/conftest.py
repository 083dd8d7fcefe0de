"""Every data set in small, and the scripts of benchmarks/quality by their names."""

import importlib
import json
import lzma
import sys

import pytest

import keras_elmo
from tests.benchmarks.conftest import BENCHMARKS

NOUNS = ["bank", "river", "배", "나무"]
VERBS = ["flows", "closes", "간다"]
CONFIG = keras_elmo.ElmoConfig(
    filters=((1, 4), (2, 4)), char_embedding_units=4, units=8, projection_units=4
)


@pytest.fixture(scope="session")
def quality():
    """Imports a script by its name."""
    folders = [str(BENCHMARKS / "quality"), str(BENCHMARKS)]
    sys.path[:0] = folders
    try:
        yield importlib.import_module
    finally:
        for folder in folders:
            sys.path.remove(folder)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Where the readers look for them."""
    folder = tmp_path_factory.mktemp("data")
    for split, number in (("train", 40), ("dev", 9)):
        pairs = [(NOUNS[k % 4], VERBS[k % 3]) for k in range(number)]
        rest = "\t_" * 6
        conllu = "".join(
            f"# text = {noun} {verb}\n1-2\t{noun}{verb}\t_\t_{rest}\n"
            f"1\t{noun}\t_\tNOUN{rest}\n1.1\tgone\t_\tX{rest}\n"
            f"2\t{verb}\t_\tVERB{rest}\n\n"
            for noun, verb in pairs
        )
        for name in ("ud_en_ewt", "ud_ko_gsd"):
            _write_xz(folder / name / f"{split}.conllu.xz", conllu)
        # Two sentences are parted by an empty line, or by a tab.
        _write(
            folder / "wnut17" / f"{split}.conll",
            "".join(
                f"the\tO\n{noun}\tB-location\n{verb}\tO\n{'' if k % 2 else chr(9)}\n"
                for k, (noun, verb) in enumerate(pairs)
            ),
        )
        for name, classes in (("sst2", 2), ("sst5", 5)):
            _write(
                folder / "sst" / f"{name}.{split}.txt",
                "".join(
                    f"{k % classes} {' '.join(pair)} .\n"
                    for k, pair in enumerate(pairs)
                ),
            )
        _write_xz(
            folder / "nsmc" / f"{split}.tsv.xz",
            "id\tdocument\tlabel\n"
            + "".join(f"{k}\t{a},{b}!\t{k % 2}\n" for k, (a, b) in enumerate(pairs))
            + "99\t\t0\n",
        )
        _write_xz(folder / "semcor" / f"{split}.jsonl.xz", _semcor(pairs))
        _write(
            folder / "kobest_wic" / f"{split}.tsv",
            "ID\tTarget\tSENTENCE1\tSENTENCE2\tANSWER\n"
            + "".join(
                f"{k}\t배\t[배]를 {verb}.\t큰 {'[배]' if k else '배'}가 {noun}\t"
                f"{('True', 'FALSE')[k % 2]}\n"
                for k, (noun, verb) in enumerate(pairs)
            ),
        )
    return folder


def _semcor(pairs):
    rows = []
    for k, (noun, verb) in enumerate(pairs):
        sense = f"{noun}%{k % 3 // 2}"
        annotations = [[1, noun, "NN", [sense], [], 1], [2, verb, "VB", ["v"], [], 1]]
        tokens = ["in_the", noun, verb]
        rows.append(json.dumps({"tokens": tokens, "ann": annotations}))
    return "\n".join(rows) + "\n"


def _write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_xz(path, text):
    path.parent.mkdir(exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture(scope="session")
def encoder():
    encoder = keras_elmo.build_encoder(CONFIG)
    encoder.tokenizer = "unicode"
    return encoder
