"""Count words and embed text with Apache Beam, on this machine or on a cluster.

python examples/10_beam.py                                  # generated sentences
python examples/10_beam.py --text 'news/*.txt' --model my_model --out vectors
python examples/10_beam.py ... --runner=FlinkRunner --flink_master=...

Needs the extra `beam`. Whatever this script does not know is an option
of Beam's; docs/scale.md says how to reach Flink, Spark and Dataflow with them.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
from apache_beam.options.pipeline_options import PipelineOptions
from demo_sentences import write_sentences
from shipped_models import ENGLISH

from keras_elmo.scale import count_words, embed_text
from keras_elmo.text.vocabulary import Vocabulary


def main(
    text: Sequence[str], model: str, out: Path, beam_options: Sequence[str]
) -> None:
    options = PipelineOptions(list(beam_options))

    # Every worker counts what it reads; the sums come together in one file.
    count_words(text, out / "vocabulary.txt", max_size=10_000, options=options)
    vocabulary = Vocabulary.load(out / "vocabulary.txt")
    print(f"{len(vocabulary):,} words, the most frequent: {vocabulary.words[3:9]}")

    # Every worker loads the model once, and writes a file for each piece of a text. One
    # vector a sentence here: the mean over its tokens of the model's mix of layers.
    vectors = out / "vectors"
    embed_text(model, text, vectors, layers="mix", rows="sentences", options=options)

    # The folder is one table, in any order; a row says where its sentence stands.
    table = parquet.read_table(vectors).sort_by("line")
    mix = table["mix"].combine_chunks()
    rows = mix.flatten().to_numpy().reshape(len(table), -1)
    print(f"{len(table):,} sentences, a vector of {rows.shape[1]} numbers each")

    cosines = rows @ rows[0] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[0])
    nearest = int(np.argsort(-cosines)[1])
    for row in (0, nearest):
        file, line = table["file"][row], table["line"][row].as_py()
        print(f"   {file}, line {line + 1}: cosine {cosines[row]:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", nargs="+", help="files or patterns")
    parser.add_argument("--model", default=str(ENGLISH), help="an exported folder")
    parser.add_argument("--out", type=Path, help="a folder")
    arguments, others = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = arguments.text
        if texts is None:
            for seed in range(3):
                path = Path(folder, f"part-{seed}.txt")
                write_sentences(path, count=500, seed=seed)
            texts = [f"{folder}/part-*.txt"]
        main(texts, arguments.model, arguments.out or Path(folder, "out"), others)
