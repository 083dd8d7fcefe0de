"""ELMoForManyLangs in NumPy, and folders as it writes them.

Written from the format, with nothing of keras_elmo in it: one sentence at a time, in
double precision, with the tensors named and laid out as PyTorch has them.
"""

import json

import numpy as np

from tests.helpers.numpy_reference import relu, sigmoid

SPECIALS = ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>"]
WIDE_SPACE = "\u3000"
CHARACTERS = [*"abnkthe한국어是书👍", WIDE_SPACE, *SPECIALS]
WORDS = ["the", "bank", "한국어", "是书", "a" * 48, WIDE_SPACE, *SPECIALS]
SENTENCES = [
    ["the", "bank", "한국어", "是书", "."],
    ["bank"],
    ["👍", "👍🏽the", "unknown", WIDE_SPACE, "a" * 48, "a" * 49, "국" * 70],
    [],
]


def sizes(char_dim=5, word_dim=3, activation="relu", **encoder):
    """The content of the file that config.json names."""
    return {
        "encoder": {
            "name": "elmo",
            "projection_dim": 6,
            "cell_clip": 0.5,
            "proj_clip": 0.4,
            "dim": 8,
            "n_layers": 2,
            **encoder,
        },
        "token_embedder": {
            "name": "cnn",
            "activation": activation,
            "filters": [[1, 4], [2, 5], [7, 6]],
            "n_highway": 2,
            "word_dim": word_dim,
            "char_dim": char_dim,
            "max_characters_per_token": 50,
        },
        "classifier": {"name": "sampled_softmax", "n_samples": 8192},
        "dropout": 0.1,
    }


class ManyLangs:
    """A model with random weights.

    Args:
        sizes: as of `sizes`.
        seed: of the weights and of the order of the dictionaries.

    Attributes:
        words, characters: the id of each entry; `None` without such an embedding.
        embedder, encoder: the tensors of the two .pkl files, as arrays.
    """

    def __init__(self, sizes, seed=0, words=WORDS, characters=CHARACTERS):
        rng = np.random.default_rng(seed)
        self.sizes = sizes
        token, lstm = sizes["token_embedder"], sizes["encoder"]
        self.words = self.characters = None
        if token["word_dim"]:
            order = rng.permutation(len(words)).tolist()
            self.words = dict(zip(words, order, strict=True))
        if token["char_dim"]:
            order = rng.permutation(len(characters)).tolist()
            self.characters = dict(zip(characters, order, strict=True))
        units, cell = lstm["projection_dim"], lstm["dim"]
        features = sum(count for _, count in token["filters"])
        shapes, inputs = {}, token["word_dim"]
        if self.words:
            shapes["word_emb_layer.embedding.weight"] = (len(words), inputs)
        if self.characters:
            dim = token["char_dim"]
            shapes["char_emb_layer.embedding.weight"] = (len(characters), dim)
            for k, (width, count) in enumerate(token["filters"]):
                shapes[f"convolutions.{k}.weight"] = (count, dim, width)
                shapes[f"convolutions.{k}.bias"] = (count,)
            for k in range(token["n_highway"]):
                shapes[f"highways._layers.{k}.weight"] = (2 * features, features)
                shapes[f"highways._layers.{k}.bias"] = (2 * features,)
            inputs += features
        shapes |= {"projection.weight": (units, inputs), "projection.bias": (units,)}
        self.embedder = _random(shapes, rng)
        shapes = {}
        for k in range(lstm["n_layers"]):
            for name in (f"forward_layer_{k}", f"backward_layer_{k}"):
                shapes[f"{name}.input_linearity.weight"] = (4 * cell, units)
                shapes[f"{name}.state_linearity.weight"] = (4 * cell, units)
                shapes[f"{name}.state_linearity.bias"] = (4 * cell,)
                shapes[f"{name}.state_projection.weight"] = (units, cell)
        self.encoder = _random(shapes, rng)

    def write(self, folder, config_path="/home/somebody/sizes.json"):
        """Writes the folder; needs PyTorch."""
        import torch

        folder.mkdir(exist_ok=True)
        config = {"config_path": config_path, "seed": 1, "gpu": 0}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / config_path.split("/")[-1]).write_text(json.dumps(self.sizes))
        for name, state in (
            ("token_embedder", self.embedder),
            ("encoder", self.encoder),
        ):
            tensors = {key: torch.from_numpy(value) for key, value in state.items()}
            torch.save(tensors, folder / f"{name}.pkl")
        for name, entries in (("word", self.words), ("char", self.characters)):
            if entries is not None:
                lines = [f"{entry}\t{row}\n" for entry, row in entries.items()]
                (folder / f"{name}.dic").write_text("".join(lines), "utf-8")
        return folder

    def layers(self, tokens):
        """`(layers, tokens, 2 * projection_dim)` of a sentence alone."""
        x = np.array([self._embed(token) for token in ["<bos>", *tokens, "<eos>"]])
        layers, directions = [np.concatenate([x, x], axis=-1)], [x, x[::-1]]
        for k in range(self.sizes["encoder"]["n_layers"]):
            names = f"forward_layer_{k}", f"backward_layer_{k}"
            pairs = zip(names, directions, strict=True)
            outputs = [self._lstm(name, inputs) for name, inputs in pairs]
            if k:
                outputs = [y + x for y, x in zip(outputs, directions, strict=True)]
            directions = outputs
            layers.append(np.concatenate([outputs[0], outputs[1][::-1]], axis=-1))
        return np.array(layers)[:, 1:-1]

    def _embed(self, token):
        most = self.sizes["token_embedder"]["max_characters_per_token"]
        cut, parts = token[: most - 2], []
        if self.words:
            row = self.words.get(cut, self.words["<oov>"])
            parts.append(self.embedder["word_emb_layer.embedding.weight"][row])
        if self.characters:
            inside = [token] if token in ("<bos>", "<eos>") else cut
            # The marks are taken the wrong way round.
            word = ["<eow>", *inside, "<bow>"]
            word += ["<pad>"] * (most - len(word))
            unknown = self.characters["<oov>"]
            parts.append(self._cnn([self.characters.get(c, unknown) for c in word]))
        kernel, bias = (self.embedder[f"projection.{n}"] for n in ("weight", "bias"))
        return kernel.astype("float64") @ np.concatenate(parts) + bias

    def _cnn(self, ids):
        sizes, state = self.sizes["token_embedder"], self.embedder
        table = state["char_emb_layer.embedding.weight"].astype("float64")
        characters, features = table[ids], []
        for k, (width, _) in enumerate(sizes["filters"]):
            kernel = state[f"convolutions.{k}.weight"]
            windows = [
                np.einsum("wd,fdw->f", characters[start : start + width], kernel)
                for start in range(len(ids) - width + 1)
            ]
            features.append(np.max(windows, axis=0) + state[f"convolutions.{k}.bias"])
        activation = {"relu": relu, "tanh": np.tanh}[sizes["activation"]]
        x = activation(np.concatenate(features))
        for k in range(sizes["n_highway"]):
            both = state[f"highways._layers.{k}.weight"] @ x
            made, gate = np.split(both + state[f"highways._layers.{k}.bias"], 2)
            x = sigmoid(gate) * x + (1 - sigmoid(gate)) * relu(made)
        return x

    def _lstm(self, name, inputs):
        sizes = self.sizes["encoder"]
        kernels = [
            self.encoder[f"{name}.{part}.weight"].astype("float64")
            for part in ("input_linearity", "state_linearity", "state_projection")
        ]
        bias = self.encoder[f"{name}.state_linearity.bias"]
        h, c = np.zeros(sizes["projection_dim"]), np.zeros(sizes["dim"])
        outputs = []
        for x in inputs:
            gates = kernels[0] @ x + kernels[1] @ h + bias
            i, f, g, o = np.split(gates, 4)
            c = sigmoid(i) * np.tanh(g) + sigmoid(f) * c
            c = _clip(c, sizes["cell_clip"])
            h = _clip(kernels[2] @ (sigmoid(o) * np.tanh(c)), sizes["proj_clip"])
            outputs.append(h)
        return np.array(outputs)


def _clip(x, bound):
    # 0 stands for none.
    return np.clip(x, -bound, bound) if bound else x


def _random(shapes, rng, scale=0.3):
    return {
        name: rng.normal(0, scale, shape).astype("float32")
        for name, shape in shapes.items()
    }
