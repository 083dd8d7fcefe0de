"""ELMo in NumPy: a second opinion on every layer, and the shortest way to read one.

Written from the paper (Peters et al. 2018) and the published file format, with
nothing of keras_elmo in it. It computes one sentence at a time, so that there is no
padding and no mask to get wrong, and in double precision. A model is two plain
dicts, as they are in the published files: `options` (options.json) and `weights`
(the name of each HDF5 dataset and its array).

    sentence     ["I", "bank", "there"]
    char_ids     (tokens + 2, 50)  one row a word, the sentence's boundaries included
    x            (tokens + 2, p)   `token_embeddings`
    layers       L + 1 arrays (tokens + 2, 2 p)   `bilm`
    vectors      (tokens, 2 p)     `scalar_mix` of the layers without the boundaries
"""

import json

import h5py
import numpy as np

MAX_CHARACTERS = 50
# Ids in the file are one less: 0 is the masked position, for which it has no row.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 257, 258, 259, 260, 261


# ---------------------------------------------------------------- files


def published_shapes(options):
    """Returns the name and shape of every dataset that `options` calls for."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    embedding, units = cnn["embedding"]["dim"], lstm["dim"]
    projection = lstm["projection_dim"]
    features = sum(count for _, count in cnn["filters"])
    shapes = {"char_embed": (261, embedding)}
    for i, (width, count) in enumerate(cnn["filters"]):
        shapes[f"CNN/W_cnn_{i}"] = (1, width, embedding, count)
        shapes[f"CNN/b_cnn_{i}"] = (count,)
    for k in range(cnn.get("n_highway", 0)):
        for gate in ("carry", "transform"):
            shapes[f"CNN_high_{k}/W_{gate}"] = (features, features)
            shapes[f"CNN_high_{k}/b_{gate}"] = (features,)
    if features != projection:
        shapes["CNN_proj/W_proj"] = (features, projection)
        shapes["CNN_proj/b_proj"] = (projection,)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            cell = _cell(direction, layer)
            shapes[f"{cell}/W_0"] = (2 * projection, 4 * units)
            shapes[f"{cell}/B"] = (4 * units,)
            shapes[f"{cell}/W_P_0"] = (units, projection)
    return shapes


def _cell(direction, layer):
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def random_weights(options, seed=0, scale=0.3):
    """Returns float32 weights drawn from a normal distribution."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(0, scale, shape).astype("float32")
        for name, shape in published_shapes(options).items()
    }


def write_published(options, weights, options_path, weights_path):
    """Writes a model in the published format."""
    with open(options_path, "w", encoding="utf-8") as file:
        json.dump(options, file)
    with h5py.File(weights_path, "w") as file:
        for name, array in weights.items():
            file[name] = array


def read_published(options_path, weights_path):
    """Returns `(options, weights)` of a model in the published format."""
    with open(options_path, encoding="utf-8") as file:
        options = json.load(file)
    weights = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            weights[name] = item[...]

    with h5py.File(weights_path, "r") as file:
        file.visititems(keep)
    return options, weights


# ---------------------------------------------------------------- characters


def character_ids(tokens):
    """Returns the (tokens + 2, 50) ids of a sentence: its words' UTF-8 bytes."""

    def word(inside):
        ids = [BEGIN_WORD, *inside, END_WORD]
        return ids + [PADDING] * (MAX_CHARACTERS - len(ids))

    words = [[b + 1 for b in token.encode()[: MAX_CHARACTERS - 2]] for token in tokens]
    return np.array([word(w) for w in ([BEGIN_SENTENCE], *words, [END_SENTENCE])])


def pad(rows, value=0):
    """Stacks arrays of different lengths into one, filled up with `value`."""
    longest = max(len(row) for row in rows)
    batch = np.full((len(rows), longest, *rows[0].shape[1:]), value, rows[0].dtype)
    for filled, row in zip(batch, rows, strict=True):
        filled[: len(row)] = row
    return batch


def token_embeddings(char_ids, options, weights):
    """Char CNN, highway, projection: (tokens, 50) ids -> (tokens, projection)."""
    cnn = options["char_cnn"]
    table = np.concatenate(
        [np.zeros((1, cnn["embedding"]["dim"])), _w(weights, "char_embed")]
    )
    characters = table[char_ids]
    activation = {"relu": relu, "tanh": np.tanh}[cnn["activation"]]
    features = []
    for i, (width, _) in enumerate(cnn["filters"]):
        kernel, bias = _w(weights, f"CNN/W_cnn_{i}")[0], _w(weights, f"CNN/b_cnn_{i}")
        # The padding characters are characters too: no window is left out.
        windows = [
            np.einsum("twc,wcf->tf", characters[:, start : start + width], kernel)
            for start in range(char_ids.shape[1] - width + 1)
        ]
        features.append(activation(np.max(windows, axis=0) + bias))
    x = np.concatenate(features, axis=-1)
    for k in range(cnn.get("n_highway", 0)):
        names = ("W_carry", "b_carry", "W_transform", "b_transform")
        x = highway(x, *(_w(weights, f"CNN_high_{k}/{name}") for name in names))
    if "CNN_proj/W_proj" in weights:
        x = x @ _w(weights, "CNN_proj/W_proj") + _w(weights, "CNN_proj/b_proj")
    return x


def highway(x, carry_kernel, carry_bias, transform_kernel, transform_bias):
    """A layer that may let its input through; "carry" is the gate, as in the file."""
    gate = sigmoid(x @ carry_kernel + carry_bias)
    return gate * relu(x @ transform_kernel + transform_bias) + (1 - gate) * x


# ---------------------------------------------------------------- the biLM


def lstm(x, kernel, bias, projection, cell_clip=None, projection_clip=None, state=None):
    """One direction of one layer over (time, inputs).

    Returns (time, projection) and the last state `(h, c)`.
    """
    h, c = state or (np.zeros(projection.shape[1]), np.zeros(projection.shape[0]))
    outputs = []
    for x_t in x:
        i, j, f, o = np.split(np.concatenate([x_t, h]) @ kernel + bias, 4)
        # The forget gate's bias of one is not in the file.
        c = clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), cell_clip)
        h = clip((sigmoid(o) * np.tanh(c)) @ projection, projection_clip)
        outputs.append(h)
    return np.reshape(outputs, (len(x), len(h))), (h, c)


def bilm(x, options, weights, state=None):
    """Both directions of every layer over (tokens, projection).

    Returns h_0 = [x; x], h_1, .., h_L and the state: `state[layer][direction]` is
    the `(h, c)` with which the next sentence may begin. None begins with zeros.
    """
    size = options["lstm"]
    clips = size.get("cell_clip"), size.get("proj_clip")
    layers, last = [np.concatenate([x, x], axis=-1)], []
    directions = [x, x[::-1]]  # the second reads from the end, and stays so till below
    for layer in range(size["n_layers"]):
        finals = []
        for direction, inputs in enumerate(directions):
            cell = _cell(direction, layer)
            outputs, final = lstm(
                inputs,
                *(_w(weights, f"{cell}/{name}") for name in ("W_0", "B", "W_P_0")),
                *clips,
                state and state[layer][direction],
            )
            finals.append(final)
            # The sum is the next layer's input; what the cell feeds back is without.
            if layer > 0 and size.get("use_skip_connections"):
                outputs = outputs + inputs
            directions[direction] = outputs
        last.append(finals)
        layers.append(np.concatenate([directions[0], directions[1][::-1]], axis=-1))
    return layers, last


def encode(tokens, options, weights, state=None):
    """A sentence's layers h_0 .. h_L, boundaries included, and the last state."""
    x = token_embeddings(character_ids(tokens), options, weights)
    return bilm(x, options, weights, state)


def scalar_mix(layers, scalars, gamma=1.0, mask=None, layer_norm=False):
    """gamma * sum_k softmax(scalars)_k h_k.

    With `layer_norm` each layer is first normalised by one mean and one variance
    over all the elements of the batch that `mask` (batch, tokens) lets through.
    """
    if layer_norm:
        mask = np.ones(layers[0].shape[:-1], bool) if mask is None else mask
        layers = [(h - h[mask].mean()) / np.sqrt(h[mask].var() + 1e-12) for h in layers]
    share = np.exp(scalars - np.max(scalars))
    share /= share.sum()
    return gamma * sum(s * h for s, h in zip(share, layers, strict=True))


# ---------------------------------------------------------------- the softmax


def softmax_nll(hidden, targets, kernel, bias):
    """-log p(target) over the whole vocabulary: (n, p) and (n,) -> (n,) nats."""
    logits = hidden @ kernel.T + bias
    return (
        np.logaddexp.reduce(logits, axis=-1) - logits[np.arange(len(targets)), targets]
    )


def language_model_nll(char_ids, token_ids, options, weights, kernel, bias):
    """One sentence's nats: what follows each token, and what precedes it.

    Returns two arrays one shorter than the sentence: of the tokens 1.. given those
    to their left, and of the tokens ..n-2 given those to their right.
    """
    x = token_embeddings(char_ids, options, weights)
    top = bilm(x, options, weights)[0][-1]
    forward, backward = np.split(top, 2, axis=-1)
    return (
        softmax_nll(forward[:-1], token_ids[1:], kernel, bias),
        softmax_nll(backward[1:], token_ids[:-1], kernel, bias),
    )


# ---------------------------------------------------------------- arithmetic


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def clip(x, bound):
    return x if bound is None else np.clip(x, -bound, bound)


def _w(weights, name):
    return np.asarray(weights[name], "float64")
