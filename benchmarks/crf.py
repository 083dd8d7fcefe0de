"""How long do the loss and decoding of a CRF take? Milliseconds, beside pytorch-crf.

The backend is Keras's: KERAS_BACKEND. All get the same scores, of sentences without
padding, and their results are compared before anything is timed. The associative way,
an alternative to the scan of `CRFLoss`, multiplies the matrices of all tokens in a
tree: more products, fewer steps.

    python benchmarks/crf.py --out crf.json
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import common
import numpy as np
from common import markdown_table

_TOLERANCE = 1e-3
Run = Callable[[], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__, arguments, batch_size=32, tokens=50, tags=17, repeats=5, calls=20
    )
    import keras

    rng = np.random.default_rng(0)
    shape = (options.batch_size, options.tokens)
    scores = rng.normal(size=(*shape, options.tags)).astype("float32")
    labels = rng.integers(0, options.tags, shape)
    ours, crf = keras_elmo_runs(scores, labels)
    systems = {"keras_elmo": ours, "pytorch-crf": torch_runs(scores, labels, crf)}
    wanted = float(ours["loss"]())
    losses = {name: float(runs["loss"]()) for name, runs in systems.items()}
    losses["the associative way"] = float(ours["loss, associative"]())
    for name, loss in losses.items():
        if abs(loss - wanted) > _TOLERANCE * abs(wanted):
            raise RuntimeError(f"the loss of {name} is {loss}, not {wanted}")
    one, other = (np.asarray(runs["decode"]()) for runs in systems.values())
    if (one != other).any():
        raise RuntimeError("they find other paths")
    rows = []
    for what in ours:
        timed = {
            name: lambda run=runs[what]: _milliseconds(run, options.calls)
            for name, runs in systems.items()
            if what in runs
        }
        rows.append({"what": what, "ms": common.in_turn(timed, options.repeats)})
    common.publish(options, table, backend=keras.backend.backend(), rows=rows)


def keras_elmo_runs(
    scores: np.ndarray, labels: np.ndarray
) -> tuple[dict[str, Run], Any]:
    """Returns what computes each result on the backend of Keras, and the layer."""
    from keras import ops

    import keras_elmo

    crf = keras_elmo.CRF(scores.shape[-1])
    crf.build(scores.shape)
    loss = keras_elmo.CRFLoss()

    def associative(x: Any) -> Any:
        potentials = crf(x)
        return ops.mean(_sums(potentials) - _path_scores(potentials, labels))

    functions = {
        "loss": lambda x: loss(labels, crf(x)),
        "loss and gradient": lambda x: loss(labels, crf(x)),
        "loss, associative": associative,
        "loss and gradient, associative": associative,
        "decode": lambda x: keras_elmo.crf_decode(crf(x))[0],
    }
    return {
        name: _compiled(function, crf, scores, "gradient" in name)
        for name, function in functions.items()
    }, crf


def _sums(potentials: Any) -> Any:
    """Returns the logarithm of the sum over all paths: products in a tree."""
    from keras import ops

    def product(left: Any, right: Any) -> Any:
        pairs = ops.expand_dims(left, -1) + ops.expand_dims(right, -3)
        return ops.logsumexp(pairs, axis=-2)

    steps = ops.swapaxes(potentials, 0, 1)
    while (count := steps.shape[0]) > 1:
        even = count - count % 2
        halves = product(steps[0:even:2], steps[1:even:2])
        steps = ops.concatenate([halves, steps[even:]]) if count % 2 else halves
    # The potentials of the first token are the same after every tag.
    return ops.logsumexp(steps[0][:, 0], axis=-1)


def _path_scores(potentials: Any, labels: np.ndarray) -> Any:
    from keras import ops

    batch, tokens = labels.shape
    num_tags = potentials.shape[-1]
    before = np.concatenate([np.zeros((batch, 1), int), labels[:, :-1]], axis=1)
    path = np.zeros((batch, tokens, num_tags, num_tags), "float32")
    row, step = np.indices(labels.shape)
    path[row, step, before, labels] = 1
    return ops.sum(potentials * path, axis=(1, 2, 3))


def _compiled(
    function: Callable[[Any], Any], crf: Any, scores: np.ndarray, with_gradient: bool
) -> Run:
    """Returns a call of a function, and of its gradient by scores and weights."""
    import keras

    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.constant(scores)

        def run(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            if not with_gradient:
                return y
            weights = [weight.value for weight in crf.weights]
            return y, tape.gradient(y, [x, *weights])

        graph = tf.function(run, autograph=False)

        def in_graph() -> Any:
            outputs = graph(x)
            return outputs[0].numpy() if with_gradient else outputs.numpy()

        return in_graph
    if backend == "jax":
        import jax

        def stateless(x: Any, weights: Any) -> Any:
            with keras.StatelessScope(zip(crf.weights, weights, strict=True)):
                return function(x)

        if with_gradient:
            stateless = jax.value_and_grad(stateless, argnums=(0, 1))
        compiled = jax.jit(stateless)
        values = [weight.value for weight in crf.weights]

        def in_xla() -> Any:
            outputs = jax.block_until_ready(compiled(scores, values))
            return np.asarray(outputs[0] if with_gradient else outputs)

        return in_xla
    import torch

    x = torch.tensor(scores, requires_grad=with_gradient)

    def eagerly() -> Any:
        with torch.set_grad_enabled(with_gradient):
            y = function(x)
        if with_gradient:
            y.backward()
        return y.detach().numpy()

    return eagerly


def torch_runs(scores: np.ndarray, labels: np.ndarray, crf: Any) -> dict[str, Run]:
    """Returns what pytorch-crf computes, with the weights of a layer."""
    import torch
    from keras import ops
    from torchcrf import CRF

    theirs = CRF(scores.shape[-1], batch_first=True)
    pairs = {
        "transitions": crf.transitions,
        "start_transitions": crf.start_scores,
        "end_transitions": crf.end_scores,
    }
    with torch.no_grad():
        for name, weight in pairs.items():
            getattr(theirs, name).copy_(torch.tensor(ops.convert_to_numpy(weight)))
    x, y = torch.tensor(scores, requires_grad=True), torch.tensor(labels)
    # Its own mask is of a type that PyTorch warns of.
    mask = torch.ones(labels.shape, dtype=torch.bool)

    def loss() -> Any:
        with torch.no_grad():
            return -theirs(x, y, mask=mask, reduction="mean").numpy()

    def gradient() -> Any:
        value = -theirs(x, y, mask=mask, reduction="mean")
        value.backward()
        return value.detach().numpy()

    def decode() -> Any:
        with torch.no_grad():
            return theirs.decode(x, mask=mask)

    return {"loss": loss, "loss and gradient": gradient, "decode": decode}


def _milliseconds(run: Run, calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        run()
    return 1e3 * (time.perf_counter() - began) / calls


def table(result: common.Result) -> str:
    """Returns one row per result, and its medians."""
    sizes = f"{result['batch_size']} x {result['tokens']} x {result['tags']}"
    header = ["Backend", "Sentences x words x tags", "Result"]
    header += ["keras_elmo, ms", "pytorch-crf, ms"]
    rows = []
    for row in result["rows"]:
        medians = {name: statistics.median(ms) for name, ms in row["ms"].items()}
        figures = [
            f"{medians[name]:.2f}" if name in medians else ""
            for name in ("keras_elmo", "pytorch-crf")
        ]
        rows.append([result["backend"], sizes, row["what"], *figures])
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
