"""Loops over the tokens of a batch that other runtimes have, too.

While a file for LiteRT, ONNX or OpenVINO is written, outputs are concatenated: LiteRT
has no arrays of tensors whose size is not known. Everywhere else Keras has the loops.
"""

from collections.abc import Callable

from keras import ops

from keras_elmo.utils.keras_private import export_format
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor


def scan(
    step: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    state: Tensor,
    steps: Tensor,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Does what `keras.ops.scan` does.

    The output of a step has the shape and the type of the state, or of its first
    tensor.
    """
    if export_format() is None:
        return ops.scan(step, state, steps, reverse=reverse)
    state = tf.nest.map_structure(tf.convert_to_tensor, state)
    num_steps = tf.shape(steps)[0]
    # They begin with one that is dropped, because no tensor of a loop may be empty.
    outputs = tf.expand_dims(tf.nest.flatten(state)[0], 0)

    def body(
        k: Tensor, state: Tensor, outputs: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        place = num_steps - 1 - k if reverse else k
        state, output = step(state, tf.gather(steps, place))
        output = tf.expand_dims(output, 0)
        both = [output, outputs] if reverse else [outputs, output]
        return k + 1, state, tf.concat(both, axis=0)

    _, state, outputs = tf.while_loop(
        lambda k, *_: k < num_steps,
        body,
        (tf.constant(0), state, outputs),
        shape_invariants=(
            tf.TensorShape([]),
            tf.nest.map_structure(lambda x: x.shape, state),
            tf.TensorShape([None, *outputs.shape[1:]]),
        ),
    )
    return state, outputs[:-1] if reverse else outputs[1:]
