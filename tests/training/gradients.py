"""What a step should see."""

import tensorflow as tf


def gradients_of(model, batch):
    """The loss and its plain gradients, in double precision, weights unchanged."""
    seed = model.head.softmax.seed_generator.state
    before = seed.numpy()
    variables = [weight.value for weight in model.trainable_variables]
    with tf.GradientTape() as tape:
        model(batch, training=True)
        (loss,) = model.losses
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
    # The step that follows draws the same candidates.
    seed.assign(before)
    return float(loss), [gradient.numpy().astype("float64") for gradient in gradients]
