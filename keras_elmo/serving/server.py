"""Runs the server's process, from taking its ports to its end."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from keras_elmo.files.exported_sources import KERAS_SUFFIX
from keras_elmo.files.finding import LITERT_SUFFIX, ONNX_SUFFIX, needs_no_keras
from keras_elmo.files.loading import open_model
from keras_elmo.serving import metrics
from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.guard import Guard, names_for
from keras_elmo.serving.http import (
    address,
    bound_socket,
    first_signal,
    http_server,
    start_listening,
)
from keras_elmo.serving.limits import Limits, ServeOptions
from keras_elmo.serving.rest import rest_app
from keras_elmo.serving.versions import SERVED, ModelManager, numbered_folders
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.memory import (
    freeze_garbage,
    return_freed_memory,
    share_freed_memory,
)
from keras_elmo.utils.types import StrPath

_REFRESH_SECONDS = 1.0
# Seconds between two returns of freed memory if requests never pause.
_RETURN_SECONDS = 60.0

_log = logging.getLogger(__name__)


def serve(
    model: StrPath, log: Callable[[str], None], options: ServeOptions, limits: Limits
) -> signal.Signals:
    """Serves a model until SIGINT or SIGTERM, then finishes all requests it has.

    The model is the name or path of an exported model; an .onnx or .tflite file, which
    has no gRPC; a .keras file of a tagger or a classifier; or a folder of exported
    models with numbers as names, of which the newest one that loads is served. `log` is
    called with a sentence when the server is ready and when the version changes.
    Returns the signal that ended the server.
    """
    share_freed_memory()
    host = options.host
    name = options.name or os.path.basename(os.path.abspath(model))
    if not options.name:
        for suffix in (ONNX_SUFFIX, LITERT_SUFFIX, KERAS_SUFFIX):
            name = name.removesuffix(suffix)
    # A folder of versions is not a model itself.
    folder = model
    if not numbered_folders(Path(model)):
        folder = open_model(model, kinds=SERVED).path
    if not name or set(name) & set("/:"):
        raise ValueError(
            f"{called('name')} must have no '/' or ':'. {received(name=name)}"
        )
    has_grpc = not needs_no_keras(folder)
    # Ports are taken first, because loading takes long. (If two servers start at the
    # same time, one fails only when it listens.)
    with bound_socket(host, options.port) as listening:
        # Until gRPC takes its port, which would also log that the port is taken.
        rpc = bound_socket(host, options.grpc_port)
        with rpc if has_grpc else contextlib.nullcontext():
            # Ctrl-C interrupts this thread.
            models = ModelManager(folder, name, log)
        freeze_garbage()
        return asyncio.run(_run(models, listening, has_grpc, options, limits, log))


async def _run(
    models: ModelManager,
    listening: socket.socket,
    has_grpc: bool,
    options: ServeOptions,
    limits: Limits,
    log: Callable[[str], None],
) -> signal.Signals:
    rpc = None
    if has_grpc:
        # It imports TensorFlow, whose messages it uses.
        from keras_elmo.serving.grpc import GrpcServer

        rpc = GrpcServer(address(options.host, options.grpc_port), limits)
    ended = first_signal()
    batcher = Batcher(limits)
    metrics.WAITING_REQUESTS.set_function(batcher.__len__)
    metrics.MODEL_VERSION.set_function(lambda: models.model.version)
    app = rest_app(models, batcher, limits, lambda: not ended.done())
    names = names_for(options.host, options.allow_hosts)
    http = http_server(app if names is None else Guard(app, names), limits)
    if rpc:
        await rpc.start(models, batcher)
    host, port = start_listening(listening)
    serving = asyncio.create_task(http.serve([listening]))
    refreshing = asyncio.create_task(_refresh(models, batcher))
    rpc_address = f" and gRPC {address(host, rpc.port)}" if rpc else ""
    log(
        f"serving {models.name}, version {models.model.version}, at "
        f"http://{address(host, port)}/v1/models/{models.name}{rpc_address}"
    )
    number = await ended
    refreshing.cancel()
    http.should_exit = True
    await asyncio.gather(serving, *([rpc.stop()] if rpc else []))
    batcher.close()
    return number


async def _refresh(models: ModelManager, batcher: Batcher) -> None:
    """Looks for new versions, and returns freed memory, while requests are answered."""
    clock = asyncio.get_running_loop().time
    num_batches = returned_batches = 0
    returned = clock()
    said = ""
    while True:
        await asyncio.sleep(_REFRESH_SECONDS)
        try:
            await asyncio.to_thread(models.refresh)
            is_at_rest = batcher.num_batches == num_batches
            num_batches = batcher.num_batches
            # The next batch has to map every returned page again.
            is_due = is_at_rest or clock() > returned + _RETURN_SECONDS
            if is_due and returned_batches != num_batches:
                returned_batches, returned = num_batches, clock()
                await asyncio.to_thread(return_freed_memory)
        except Exception as error:
            # The loaded model is served, whatever is wrong in the folder.
            if repr(error) != said:
                said = repr(error)
                _log.exception("looking for another version")
