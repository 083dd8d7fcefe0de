"""How often a backend makes a graph, or compiles one."""

import contextlib
from unittest import mock

import keras


@contextlib.contextmanager
def counted_compilations():
    """Yields a list, to which each graph of TensorFlow or program of JAX adds an item.

    PyTorch computes operation by operation.
    """
    made = []
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        make = tf.Graph.__init__

        def init(self, *args, **kwargs):
            made.append(type(self))
            make(self, *args, **kwargs)

        with mock.patch.object(tf.Graph, "__init__", init):
            yield made
    elif backend == "jax":
        from jax import monitoring

        def listen(event, seconds, **about):
            if event.endswith("backend_compile_duration"):
                made.append(event)

        monitoring.register_event_duration_secs_listener(listen)
        try:
            yield made
        finally:
            monitoring.unregister_event_duration_listener(listen)
    else:
        yield made
