"""TensorFlow Serving's gRPC interface: `Predict` of its PredictionService."""

import asyncio
import logging
import math
from collections.abc import Mapping

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.body import Bodies
from keras_elmo.serving.limits import Code, Limits, ServingError, invalid
from keras_elmo.serving.metrics import count_request
from keras_elmo.serving.signatures import Argument, Arrays, encode
from keras_elmo.serving.versions import ModelManager

_SERVICE = "tensorflow.serving.PredictionService"
# How long calls may take that are being answered when the server stops.
_GRACE_SECONDS = 600

_log = logging.getLogger(__name__)


def arrays(
    tensors: Mapping[str, TensorProto],
    arguments: Mapping[str, Argument],
    max_values: int,
) -> Arrays:
    """Returns an array for each argument, of no more values than allowed.

    A few bytes can announce any number of values.
    """
    if set(tensors) != set(arguments):
        raise invalid(f"The inputs must be {list(arguments)}", sorted(tensors)[:20])
    return {
        name: _array(tensors[name], argument, f"'{name}'", max_values)
        for name, argument in arguments.items()
    }


def _array(
    tensor: TensorProto, argument: Argument, name: str, max_values: int
) -> np.ndarray:
    dtype = tf.as_dtype(argument.dtype)
    if tensor.dtype != dtype.as_datatype_enum:
        raise invalid(f"{name} must be of type {dtype.name}", f"type {tensor.dtype}")
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or len(sizes) != argument.rank:
        raise invalid(f"{name} must have {argument.rank} axes", f"shape {sizes[:9]}")
    # An axis of size 0 counts as 1: TensorFlow would allocate a row of any length.
    if min(sizes) < 0 or math.prod(max(size, 1) for size in sizes) > max_values:
        raise invalid(f"{name} may have {max_values:,} values", f"shape {sizes}")
    # TensorFlow would repeat the last value until the shape is full.
    values = tensor.string_val if dtype == tf.string else tensor.int_val
    count = len(tensor.tensor_content) // argument.dtype.itemsize or len(values)
    if count != math.prod(sizes):
        raise invalid(f"{name} must have the values of its shape", f"{count:,} values")
    try:
        return tf.make_ndarray(tensor)
    except ValueError as error:
        raise invalid(f"{name} must have the values of its shape", error) from None


class GrpcServer:
    """Takes a port in the running event loop, and answers after `start`."""

    def __init__(self, address: str, limits: Limits) -> None:
        self._limits = limits
        self._bodies = Bodies(limits)
        self._calls: set[asyncio.Task[object]] = set()
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", limits.body_bytes),
                ("grpc.max_send_message_length", -1),
                # For each connection. Further calls wait at the client.
                ("grpc.max_concurrent_streams", limits.waiting),
                # Otherwise two servers could share a port unnoticed.
                ("grpc.so_reuseport", 0),
            ]
        )
        try:
            self.port: int = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"cannot listen at {address}: {error}") from error

    async def start(self, models: ModelManager, batcher: Batcher) -> None:
        """Begins to answer."""
        self._models = models
        self._batcher = batcher
        # Bytes in and out: grpc would report a body that it cannot parse as its own
        # failure, and would write answers in the event loop.
        predict = grpc.unary_unary_rpc_method_handler(self._predict)
        handlers = grpc.method_handlers_generic_handler(_SERVICE, {"Predict": predict})
        self._server.add_generic_rpc_handlers((handlers,))
        await self._server.start()

    async def stop(self) -> None:
        """Takes no more calls and finishes those that have arrived.

        A client that has opened a call has `receive_seconds` to send its request.
        """
        stopping = asyncio.create_task(self._server.stop(_GRACE_SECONDS))
        await asyncio.wait([stopping], timeout=self._limits.receive_seconds)
        if self._calls:
            await asyncio.wait(self._calls)
        # All other calls have no request yet.
        await self._server.stop(None)
        await stopping

    async def _predict(self, body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        # This task also sends the answer.
        if task := asyncio.current_task():
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)
        try:
            with count_request("GRPC"):
                with self._bodies.count(body):
                    return await self._answer(body)
        except ServingError as error:
            code, message = error.code, str(error)
        except Exception:
            _log.exception("Predict")
            code, message = Code.INTERNAL, "The server failed; see its log"
        return await context.abort(grpc.StatusCode[code.name], message)

    async def _answer(self, body: bytes) -> bytes:
        try:
            request = PredictRequest.FromString(body)
        except DecodeError as error:
            raise invalid(f"Not a PredictRequest: {error}") from None
        spec = request.model_spec
        if spec.version_label:
            label = spec.version_label
            raise invalid(f"Unrecognized servable version label: {label}")
        version = spec.version.value if spec.HasField("version") else None
        model = self._models.find(spec.name, version)
        signature = model.signature(spec.signature_name)
        max_values = max(self._limits.tokens, self._limits.sentences)
        inputs = arrays(request.inputs, signature.arguments, max_values)
        outputs = await self._batcher.predict(
            model, signature, inputs, list(request.output_filter)
        )
        response = PredictResponse()
        response.model_spec.name = spec.name
        response.model_spec.version.value = model.version
        response.model_spec.signature_name = spec.signature_name or "serving_default"

        def write(outputs: Arrays) -> bytes:
            for name, array in outputs.items():
                response.outputs[name].CopyFrom(tf.make_tensor_proto(array))
            return response.SerializeToString()

        return await encode(outputs, write)
