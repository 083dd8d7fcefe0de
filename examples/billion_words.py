"""Writes the 1 Billion Word Benchmark as files that `keras-elmo pretrain` reads.

    pip install tensorflow-datasets
    python examples/billion_words.py --out text/lm1b
    keras-elmo pretrain --corpus 'text/lm1b/train-*' --tokenizer whitespace \\
        --validation 'text/lm1b/test-00000-*' --preset original \\
        --vocabulary-size 793471 --out runs/lm1b

tensorflow_datasets downloads it (1.8 GB) and keeps it; the files written here take
about as much again. A file that is there already is not written again.
"""

import argparse
import gzip
import os
from pathlib import Path

import tensorflow_datasets as tfds


def write_split(builder, split: str, num_files: int, out: Path) -> None:
    """Writes a split as gzipped files of about the same size, one sentence per line."""
    for number, part in enumerate(tfds.even_splits(split, num_files)):
        path = out / f"{split}-{number:05}-of-{num_files:05}.txt.gz"
        if path.exists():
            continue
        unfinished = path.with_suffix(".unfinished")
        with gzip.open(unfinished, "wb", compresslevel=3) as file:
            # In the order of the data set: pretraining shuffles by itself.
            for example in tfds.as_numpy(builder.as_dataset(split=part)):
                file.write(example["text"] + b"\n")
        os.replace(unfinished, path)
        print(path)


def main(out: Path, data_dir: Path | None, num_files: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    builder = tfds.builder("lm1b", data_dir=data_dir)
    builder.download_and_prepare()
    write_split(builder, "train", num_files, out)
    write_split(builder, "test", num_files, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("text/lm1b"))
    parser.add_argument("--data-dir", type=Path, help="of tensorflow_datasets")
    parser.add_argument("--num-files", type=int, default=100)
    main(**vars(parser.parse_args()))
