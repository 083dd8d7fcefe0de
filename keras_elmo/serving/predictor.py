"""What a prediction is made of, whichever way it was asked for."""

import asyncio
from collections.abc import Sequence

from keras_elmo.serving.batching import Batcher, Request
from keras_elmo.serving.errors import Code, Limits, ServingError
from keras_elmo.serving.model import Model
from keras_elmo.serving.signature import LENGTHS, Arrays, Signature


class Predictor:
    """Checks a request against the limits and has it computed.

    Args:
        batcher: what computes.
        limits: what a request may ask for.
    """

    def __init__(self, batcher: Batcher, limits: Limits) -> None:
        self._batcher = batcher
        self._limits = limits

    async def predict(
        self,
        model: Model,
        signature: Signature,
        inputs: Arrays,
        output_filter: Sequence[str] | None = None,
    ) -> Arrays:
        """Computes outputs of a model.

        Args:
            model: whose signature it is; it stays until the outputs are there.
            signature: what to call.
            inputs: an array for each of its arguments, of the right type and rank.
            output_filter: the outputs that are wanted; all if empty or `None`.

        Returns:
            An array for each wanted output, in their order.

        Raises:
            ServingError: the request asks for what there is not, for too much, or at a
                time when too many do.
        """
        outputs = _wanted(signature, output_filter)
        sentences = self._count_sentences(inputs)
        with model.in_use():
            longest = await self._longest(signature, inputs, sentences)
            request = Request(signature, inputs, outputs, sentences, longest)
            return await asyncio.wrap_future(self._batcher.submit(request))

    def _count_sentences(self, inputs: Arrays) -> int:
        counts = {name: len(array) for name, array in inputs.items()}
        sentences = max(counts.values())
        if min(counts.values()) != sentences:
            shown = " and ".join(
                f"{count} of '{name}'" for name, count in counts.items()
            )
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"The inputs must have as many sentences each. Received: {shown}",
            )
        if sentences > self._limits.sentences:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"A request may have {self._limits.sentences:,} sentences. "
                f"Received: {sentences:,}",
            )
        return sentences

    async def _longest(
        self, signature: Signature, inputs: Arrays, sentences: int
    ) -> int:
        """How many tokens the longest sentence has, or more if it is not close."""
        if signature.given_tokens is not None:
            longest = inputs[signature.given_tokens].shape[1]
        else:
            (strings,) = inputs.values()
            # No string has more tokens than bytes. That settles it nearly always;
            # otherwise the tokenizer has to count them.
            longest = max(map(len, strings), default=0)
            if sentences * longest > self._limits.tokens:
                counted = await asyncio.to_thread(signature, inputs, [LENGTHS])
                longest = int(counted[LENGTHS].max())
        if sentences * longest > self._limits.tokens:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"A request may have {self._limits.tokens:,} tokens, padding included. "
                f"Received: {sentences:,} sentences, the longest of {longest:,} tokens",
            )
        return longest


def _wanted(signature: Signature, output_filter: Sequence[str] | None) -> Sequence[str]:
    outputs = output_filter or signature.outputs
    unknown = [name for name in outputs if name not in signature.outputs]
    if unknown or len(set(outputs)) != len(outputs):
        raise ServingError(
            Code.INVALID_ARGUMENT,
            f"output_filter must name different ones of {signature.outputs}. "
            f"Received: {[name[:60] for name in outputs[:20]]}",
        )
    return outputs
