"""Lines to batches: tokenized many lines at a time, shuffled, grouped by length."""

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from heapq import heappop, heapreplace
from itertools import chain, islice
from random import Random
from typing import TypeVar

from keras_elmo.config import MAX_BYTES
from keras_elmo.text.lines import positioned_lines
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.splitting import text_splitter
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.prefetch import prefetch_map

T = TypeVar("T")
# The tokens of a sentence, or what stands for them.
Sentence = TypeVar("Sentence", bound=Sized)
Tokens = list[bytes]
LengthOf = Callable[[int], int]

# More cannot be meant: a position of the smallest model takes 20 kB of memory.
MAX_BATCH_TOKENS = 10_000_000
# For callers that read a whole file and do little else.
TOKENIZER_THREADS = min(4, os.cpu_count() or 1)

# Lines that are tokenized at a time: one at a time costs twenty times as much. The
# bound on characters bounds the memory.
_CHUNK_LINES = 2048
_CHUNK_CHARACTERS = 1_000_000

# Bounds of the shuffle buffer; again the characters bound the memory.
_BUFFER_LINES = 16_384
_BUFFER_CHARACTERS = 32_000_000

# Files read at a time. They often differ in subject; a decompressor takes 9 MB.
_OPEN_SHARDS = 8

# Sentences that are sorted by length at a time: at least this many, and enough for this
# many batches, so that each batch spans few lengths.
_WINDOW_SENTENCES = 8_192
_WINDOW_BATCHES = 64


def split_stream(
    values: Iterable[T], size: Callable[[T], int], max_size: int, max_values: int
) -> Iterator[list[T]]:
    """Yields lists of consecutive values; each ends where it reaches either bound."""
    part: list[T] = []
    total = 0
    for value in values:
        part.append(value)
        total += size(value)
        if total >= max_size or len(part) >= max_values:
            yield part
            part, total = [], 0
    if part:
        yield part


def token_chunks(
    lines: Iterable[tuple[T, str]],
    tokenizer: str | PlainTokenizer,
    stats: CorpusStats | None = None,
    num_threads: int = 0,
) -> Iterator[list[tuple[T, Tokens]]]:
    """Yields lists of lines, each with its tokens in place of its text.

    What stands before the text, such as the line's position, stays before the tokens.
    Threads, if there are any, tokenize ahead.
    """
    stats = CorpusStats() if stats is None else stats
    split = text_splitter(tokenizer)

    def split_chunk(chunk: list[tuple[T, str]]) -> list[tuple[T, Tokens]]:
        places, texts = zip(*chunk, strict=True)
        return list(zip(places, split(texts), strict=True))

    chunks = split_stream(
        lines, lambda line: len(line[1]), _CHUNK_CHARACTERS, _CHUNK_LINES
    )
    for chunk in prefetch_map(split_chunk, chunks, num_threads):
        lengths = [len(token) for _, tokens in chunk for token in tokens]
        stats.words += len(lengths)
        stats.truncated_words += sum(map(MAX_BYTES.__lt__, lengths))
        yield chunk


def tokenized_lines(
    lines: Iterable[str],
    tokenizer: str | PlainTokenizer,
    stats: CorpusStats | None = None,
) -> Iterator[Tokens]:
    """Yields the tokens of each line; takes the arguments of `token_chunks`."""
    for chunk in token_chunks(enumerate(lines), tokenizer, stats):
        for _, tokens in chunk:
            yield tokens


def tokenized_file(
    path: str, tokenizer: str | PlainTokenizer, stats: CorpusStats
) -> Iterator[tuple[int, Tokens]]:
    """Yields each line of a file, blank ones too, as its position and its tokens.

    The position counts the bytes before the line as they are stored, compressed or not.
    Threads tokenize ahead.
    """
    lines = positioned_lines(path, stats, keep_blank=True)
    return chain.from_iterable(token_chunks(lines, tokenizer, stats, TOKENIZER_THREADS))


def interleaved(files: Iterable[Iterator[tuple[float, T]]]) -> Iterator[T]:
    """Yields the lines of several files mixed, reading a few files at a time.

    Each file yields pairs: the fraction of the file before a line, and the line. Files
    that begin together end together, however long they and their lines are.
    """
    waiting = enumerate(files)
    # When the next line is due, when the file began, and its index. Each file takes a
    # unit of time.
    opened = [(0.0, 0.0, *numbered) for numbered in islice(waiting, _OPEN_SHARDS)]
    while opened:
        _, began, index, file = opened[0]
        if (read := next(file, None)) is not None:
            fraction, line = read
            yield line
            heapreplace(opened, (began + fraction, began, index, file))
        elif (follower := next(waiting, None)) is not None:
            heapreplace(opened, (began + 1, began + 1, *follower))
        else:
            heappop(opened)


def shuffled(
    lines: Iterable[T], random: Random, size: Callable[..., int] = len
) -> Iterator[T]:
    """Yields lines in another order, from a buffer of bounded size."""
    buffer: list[T] = []
    characters = 0
    for line in lines:
        buffer.append(line)
        characters += size(line)
        while len(buffer) > _BUFFER_LINES or characters > _BUFFER_CHARACTERS:
            index = random.randrange(len(buffer))
            buffer[index], buffer[-1] = buffer[-1], buffer[index]
            line = buffer.pop()
            characters -= size(line)
            yield line
    random.shuffle(buffer)
    yield from buffer


def length_batches(
    sentences: Iterable[Sentence],
    batch_tokens: int,
    random: Random | None,
    padded_length: LengthOf = int,
) -> Iterator[list[Sentence]]:
    """Groups sentences of about the same length, each in one batch.

    A batch holds `batch_tokens // T` sentences, where T is the `padded_length` of the
    longest one with both boundaries. The last batch may hold fewer. `random` orders
    sentences of equal length, and the batches of a window; without it they are in the
    order of the text, longest first.
    """
    window: list[Sentence] = []
    positions = 0
    for sentence in sentences:
        window.append(sentence)
        positions += len(sentence) + 2
        if (
            len(window) >= _WINDOW_SENTENCES
            and positions >= _WINDOW_BATCHES * batch_tokens
        ):
            batches, window = _full_batches(window, batch_tokens, random, padded_length)
            positions = sum(len(carried) + 2 for carried in window)
            yield from batches
    batches, rest = _full_batches(window, batch_tokens, random, padded_length)
    yield from batches
    if rest:
        yield rest


def _full_batches(
    window: list[Sentence],
    batch_tokens: int,
    random: Random | None,
    padded_length: LengthOf,
) -> tuple[list[list[Sentence]], list[Sentence]]:
    """Returns the full batches of a window, and the sentences left over."""
    if random is not None:
        random.shuffle(window)
    window.sort(key=len, reverse=True)
    batches = []
    start = 0
    while start < len(window):
        rows = max(1, batch_tokens // padded_length(len(window[start]) + 2))
        if start + rows > len(window):
            break
        batches.append(window[start : start + rows])
        start += rows
    if random is not None:
        random.shuffle(batches)
    return batches, window[start:]


def batches_of_like_length(
    lengths: list[int], batch_size: int, max_positions: int = 16_384
) -> Iterator[list[int]]:
    """Yields the indices of sentences of similar length, a batch at a time."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Sorted, so this sentence would be the longest of the batch.
        positions = (lengths[index] + 2) * (len(batch) + 1)
        if batch and (len(batch) == batch_size or positions > max_positions):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
