"""Flair's tagger on the vectors that `Tagger` has, for a comparison.

Needs `pip install flair`. Flair has no mix of layers that is learned, so ELMo's vector
is the mean of its layers, and its trainer is what its tutorial calls.

    python benchmarks/quality/flair_tagger.py --static runs/static-en.txt \\
        --cache runs/layers --seed 0
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import common
import flair
import flair.trainers
import numpy as np
import torch
from flair.data import Sentence
from layer_cache import LayerCache

import keras_elmo
from keras_elmo.text.plain_ids import PlainIds, StaticIds


class OurVectors(flair.embeddings.TokenEmbeddings):
    """[static; ELMo] of sentences whose layers are stored."""

    def __init__(
        self, encoder: keras_elmo.Encoder, layers: LayerCache, static: str
    ) -> None:
        self.name = "static and ELMo"
        super().__init__()
        self._layers = layers
        self._char_ids = PlainIds(encoder.config.token_vocabulary)
        embedding = keras_elmo.StaticEmbedding.from_file(static)
        self._static_ids = StaticIds(embedding.words)
        self._static = np.asarray(embedding.get_weights()[0])
        self._units = 2 * encoder.config.projection_units

    @property
    def embedding_length(self) -> int:
        return self._static.shape[1] + self._units

    def _add_embeddings_internal(self, sentences: list[Sentence]) -> None:
        for sentence in sentences:
            words = [[token.text.encode() for token in sentence]]
            layers = self._layers.of_words(self._char_ids(words)[0])
            layers = layers.reshape(-1, len(sentence), self._units)
            elmo = layers.astype("float32").mean(axis=0)
            static = self._static[self._static_ids(words, len(sentence))[0]]
            rows = torch.tensor(np.concatenate([static, elmo], axis=-1))
            for token, row in zip(sentence, rows, strict=True):
                token.set_embedding(self.name, row.to(flair.device))


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains on WNUT-17, and prints the best F1 of the development set."""
    path = {"metavar": "PATH"}
    options = common.options(
        __doc__,
        arguments,
        elmo=(str(common.ROOT / "saved_models/elmo-en"), "", path),
        static=(None, "file of static vectors", {**path, "required": True}),
        cache=(None, "folder of stored layers", {**path, "required": True}),
        epochs=30,
        seed=0,
    )
    flair.set_seed(options.seed)
    corpus = flair.datasets.ColumnCorpus(
        common.data_folder() / "wnut17",
        {0: "text", 1: "ner"},
        train_file="train.conll",
        dev_file="dev.conll",
        sample_missing_splits=False,
    )
    encoder = keras_elmo.load(options.elmo)
    layers = LayerCache(Path(options.cache), encoder, "wnut17")
    sentences = [*corpus.train, *corpus.dev]
    layers.add([[token.text for token in sentence] for sentence in sentences])
    tagger = flair.models.SequenceTagger(
        embeddings=OurVectors(encoder, layers, options.static),
        tag_dictionary=corpus.make_label_dictionary("ner", add_unk=False),
        tag_type="ner",
        hidden_size=128,
    )
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        flair.trainers.ModelTrainer(tagger, corpus).train(
            folder,
            learning_rate=0.1,
            mini_batch_size=32,
            max_epochs=options.epochs,
            embeddings_storage_mode="cpu",
            # So no model is saved, which holds vectors that Flair cannot write.
            save_final_model=False,
            use_final_model_for_eval=True,
        )
        seconds = time.monotonic() - began
        table = Path(folder, "loss.tsv").read_text(encoding="utf-8")
    header, *rows = (line.split("\t") for line in table.splitlines())
    column = header.index("DEV_F1")
    print(
        json.dumps(
            {
                "f1_by_epoch": [float(row[column]) for row in rows],
                "seconds": round(seconds),
                "parameters": sum(weights.numel() for weights in tagger.parameters()),
                "flair": flair.__version__,
                "environment": common.environment(),
            }
        )
    )


if __name__ == "__main__":
    main()
