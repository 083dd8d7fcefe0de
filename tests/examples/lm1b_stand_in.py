"""Prepares a small data set that tensorflow_datasets takes for its lm1b.

python lm1b_stand_in.py DATA_DIR
"""

import sys

import tensorflow_datasets as tfds


class Lm1b(tfds.core.GeneratorBasedBuilder):
    # The version that tensorflow_datasets has, or it would not find this one.
    VERSION = tfds.core.Version("1.1.0")

    def _info(self):
        text = tfds.features.FeaturesDict({"text": tfds.features.Text()})
        return tfds.core.DatasetInfo(builder=self, features=text)

    def _split_generators(self, dl_manager):
        splits = {"train": range(50), "test": range(50, 60)}
        return {name: self._generate_examples(k) for name, k in splits.items()}

    def _generate_examples(self, numbers):
        for number in numbers:
            yield number, {"text": f"Sentence number {number} ."}


if __name__ == "__main__":
    Lm1b(data_dir=sys.argv[1]).download_and_prepare()
