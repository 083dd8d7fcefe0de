"""The benchmarks use the public names; what they use beside them stands here."""

import ast

from tests.benchmarks.conftest import BENCHMARKS

# By module, with the reason.
INTERNAL = {
    # Compressed files, and folders and patterns of files, are read as the commands do.
    "keras_elmo.text.lines": {"expand_files", "read_lines"},
    # Words are counted, and vectors are compared, of the tokens that the commands see.
    "keras_elmo.text.batching": {"tokenized_lines"},
    "keras_elmo.text.stats": {"CorpusStats"},
    # Tags are read as the commands do.
    "keras_elmo.text.tagged_text": {"read_tagged"},
    "keras_elmo.text.vocabulary": {"PADDING_ID"},
    # An exported model is loaded without the server, whose share is measured.
    "keras_elmo.text.tokenizer": {"register_operations"},
    # A command in a process of its own.
    "keras_elmo.cli": {"main"},
    # The batches of `pretrain`, for its speed without its loop.
    "keras_elmo.training.training_data": {"Batch", "batches_from"},
    # Scores belong to vectors: the same hashes as in the files of `embed`.
    "keras_elmo.embedding.parts": {"encoder_hash", "file_hash"},
    # Hours of measuring are written whole.
    "keras_elmo.utils.files": {"replacing", "write_json"},
}
PUBLIC = {"keras_elmo", "keras_elmo.plots"}


def test_internal_names():
    found = {}
    for path in sorted(BENCHMARKS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {each.name for each in node.names}
                assert not any(n.startswith("keras_elmo.") for n in names), path.name
            elif isinstance(node, ast.ImportFrom) and node.module not in PUBLIC:
                if (node.module or "").startswith("keras_elmo"):
                    names = found.setdefault(node.module, set())
                    names |= {each.name for each in node.names}
    assert found == INTERNAL
