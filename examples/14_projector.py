"""Look at the vectors of one word in TensorBoard's embedding projector.

    python examples/14_projector.py --word bank --out bank
    tensorboard --logdir bank                              # pip install tensorboard

Writes a vector for each occurrence of the word in a text, by default the sample that
comes with keras_elmo: vectors.tsv, metadata.tsv with the sentences, and a config for
TensorBoard. At projector.tensorflow.org, load the first two.
"""

import argparse
from pathlib import Path

import keras_elmo

CONFIG = """\
embeddings {
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def main(model: str, text: Path, word: str, layer: int, out: Path) -> None:
    lines = text.read_text(encoding="utf-8").splitlines()
    sentences = [tokens for tokens in map(str.split, lines) if word in tokens]
    vectors, metadata = [], ["sentence\tposition"]
    embedded = keras_elmo.embed(model, sentences)
    for tokens, layers in zip(sentences, embedded, strict=True):
        for position in (k for k, token in enumerate(tokens) if token == word):
            vectors.append("\t".join(map(str, layers[layer][position])))
            marked = [*tokens[:position], f"[{word}]", *tokens[position + 1 :]]
            metadata.append(f"{' '.join(marked)}\t{position}")
    if not vectors:
        raise SystemExit(f"{text}: must have the word {word}, with spaces around it")
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("vectors.tsv", "\n".join(vectors)),
        ("metadata.tsv", "\n".join(metadata)),
        ("projector_config.pbtxt", CONFIG.rstrip()),
    ):
        (out / name).write_text(content + "\n", encoding="utf-8", newline="\n")
    print(f"{len(vectors)} vectors of {word} are in {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="elmo-en", help="a model's name or path")
    parser.add_argument("--text", type=Path, default=Path(keras_elmo.sample("en")))
    parser.add_argument("--word", default="bank")
    parser.add_argument("--layer", type=int, default=-1, help="0 is without context")
    parser.add_argument("--out", type=Path, default=Path("projector"))
    main(**vars(parser.parse_args()))
