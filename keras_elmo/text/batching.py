"""Lines to tokens, many at a time: one line at a time costs twenty times as much."""

import os
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heapreplace
from itertools import islice, pairwise
from random import Random

from keras_elmo.text.character_ids import MAX_BYTES
from keras_elmo.text.lines import Shard, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.prefetch import prefetch_map

# Of those who read a whole file and do little else.
TOKENIZER_THREADS = min(4, os.cpu_count() or 1)

# A chunk ends at either: the characters bound the memory, whatever the lines are.
_CHUNK_LINES = 2048
_CHUNK_CHARACTERS = 1_000_000


def token_chunks(
    lines: Iterable[str],
    tokenizer: str,
    stats: CorpusStats | None = None,
    num_threads: int = 0,
) -> Iterator[tuple[list[bytes], list[int]]]:
    """Yields the tokens of some lines at a time.

    Args:
        lines: text.
        tokenizer: the kind of `Tokenizer`.
        stats: counts the words.
        num_threads: that cut the next chunks while the one before them is used.

    Yields:
        The tokens of n lines one after the other, and n + 1 limits: the k-th line's
        are `tokens[limits[k] : limits[k + 1]]`.
    """
    stats = CorpusStats() if stats is None else stats
    tokenize = Tokenizer(tokenizer).ragged

    def cut(chunk: list[str]) -> tuple[list[bytes], list[int]]:
        # On a GPU machine the index arithmetic would travel there and back.
        with tf.device("CPU"):
            ragged = tokenize(chunk)
            return ragged.values.numpy().tolist(), ragged.row_splits.numpy().tolist()

    for tokens, limits in prefetch_map(cut, _chunks(lines), num_threads):
        stats.words += len(tokens)
        stats.truncated_words += sum(map(MAX_BYTES.__lt__, map(len, tokens)))
        yield tokens, limits


def tokenized_lines(
    lines: Iterable[str], tokenizer: str, stats: CorpusStats | None = None
) -> Iterator[list[bytes]]:
    """Yields the tokens of each line; the arguments are those of `token_chunks`."""
    return lines_of(token_chunks(lines, tokenizer, stats))


def lines_of(
    chunks: Iterable[tuple[list[bytes], list[int]]],
) -> Iterator[list[bytes]]:
    """Yields the tokens of each line of chunks."""
    for tokens, limits in chunks:
        for start, end in pairwise(limits):
            yield tokens[start:end]


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == _CHUNK_LINES or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


class TokenizedFile:
    """Yields the tokens of each line, also of blank ones; each iteration begins anew.

    Some lines are read while those before them are used.

    Args:
        path: of the text; plain, .gz or .xz.
        tokenizer: the kind of `Tokenizer`.

    Attributes:
        path: as given.
        position: bytes of the file, as it lies on the disk, that the latest iteration
            has read.
        report: what it has met, right when an iteration has ended.
    """

    def __init__(self, path: str, tokenizer: str) -> None:
        self.path = path
        self.position = 0
        self.report = CorpusStats()
        self._tokenizer = tokenizer

    def __iter__(self) -> Iterator[list[bytes]]:
        self.position = 0
        self.report = CorpusStats()
        lines = read_lines([self.path], self.report, self._advance, keep_blank=True)
        chunks = token_chunks(lines, self._tokenizer, self.report, TOKENIZER_THREADS)
        return lines_of(chunks)

    def _advance(self, count: int) -> None:
        self.position += count


Sentence = list[bytes]

# What the shuffle buffer holds at most. The characters bound the memory where
# lines are long.
_BUFFER_LINES = 16_384
_BUFFER_CHARACTERS = 32_000_000

# Shards often differ in what they are about; a decompressor takes 9 MB.
_OPEN_SHARDS = 8

# A window is sorted by length: this many sentences, and batches enough that one of
# them spans few lengths.
_WINDOW_SENTENCES = 8_192
_WINDOW_BATCHES = 64

# What ends a sentence, and what may stand between that and the next one.
_FINAL = (".", "!", "?", "…", "。", "！", "？")
_CLOSING = "\"'”’»)]}」』）】"
_STAY = (*_FINAL, *_CLOSING)


def interleaved(shards: Iterable[Shard]) -> Iterator[str]:
    """Yields the lines of several files mixed, of a bounded number at a time.

    Each is read at a pace in proportion to its size, so that those which begin together
    end together: neither short lines nor a large file are left over at the end.
    """
    waiting = enumerate(shards)
    # When the next line is due, when the file began, and which it is. A file takes a
    # unit of time.
    opened = [(0.0, 0.0, *each) for each in islice(waiting, _OPEN_SHARDS)]
    while opened:
        _, began, place, shard = opened[0]
        line = next(shard, None)
        if line is not None:
            yield line
            heapreplace(opened, (began + shard.share_read, began, place, shard))
            continue
        follower = next(waiting, None)
        if follower is None:
            heappop(opened)
        else:
            heapreplace(opened, (began + 1, began + 1, *follower))


def shuffled(lines: Iterable[str], random: Random) -> Iterator[str]:
    """Yields the lines in another order, holding a bounded number of them."""
    buffer: list[str] = []
    characters = 0
    for line in lines:
        buffer.append(line)
        characters += len(line)
        while len(buffer) > _BUFFER_LINES or characters > _BUFFER_CHARACTERS:
            place = random.randrange(len(buffer))
            buffer[place], buffer[-1] = buffer[-1], buffer[place]
            line = buffer.pop()
            characters -= len(line)
            yield line
    random.shuffle(buffer)
    yield from buffer


def mixed_lines(
    files: Sequence[str],
    random: Random,
    report: CorpusStats,
    first: int = 0,
    every: int = 1,
) -> Iterator[str]:
    """Yields the lines of several files mixed and in another order.

    Args:
        files: paths of text files.
        random: of the order.
        report: counts what is read.
        first: of each file the first line to yield, from 0.
        every: the distance of the lines to yield.
    """
    drawn = random.sample(files, len(files))
    shards = (Shard(file, report, first, every) for file in drawn)
    return shuffled(interleaved(shards), random)


def split_sentence(tokens: Sentence, limit: int) -> list[Sentence]:
    """Cuts a line into rows of at most `limit` tokens.

    A row ends at the last end of a sentence in its second half, else at the limit.
    """
    rows = []
    start = 0
    while len(tokens) - start > limit:
        end = start + limit
        for place in range(end, start + limit // 2, -1):
            if _ends_sentence(tokens, start, place):
                end = place
                break
        rows.append(tokens[start:end])
        start = end
    rows.append(tokens[start:])
    return rows


def _ends_sentence(tokens: Sentence, start: int, place: int) -> bool:
    """Whether a sentence that begins after `start` ends before `place`."""
    if _text(tokens[place]).startswith(_STAY):
        # The marks of "?!" and of '."' stay together.
        return False
    last = place - 1
    while last > start and not _text(tokens[last]).rstrip(_CLOSING):
        last -= 1
    return _text(tokens[last]).rstrip(_CLOSING).endswith(_FINAL)


def _text(token: bytes) -> str:
    return token.decode(errors="replace")


def length_batches(
    sentences: Iterable[Sentence], batch_tokens: int, random: Random | None
) -> Iterator[list[Sentence]]:
    """Groups sentences of about the same length, each in one batch.

    Args:
        sentences: the tokens of each sentence; they are streamed.
        batch_tokens: positions of a batch. It holds `batch_tokens // T` sentences,
            where T is its longest one with both boundaries; the last batch of all
            may hold fewer.
        random: breaks ties among equal lengths and orders the batches of a window;
            without it the order is that of the text, longest first.
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
            batches, window = _cut(window, batch_tokens, random)
            positions = sum(len(carried) + 2 for carried in window)
            yield from batches
    batches, rest = _cut(window, batch_tokens, random)
    yield from batches
    if rest:
        yield rest


def _cut(
    window: list[Sentence], batch_tokens: int, random: Random | None
) -> tuple[list[list[Sentence]], list[Sentence]]:
    """Returns the full batches of a window, and the sentences of no full one."""
    if random is not None:
        random.shuffle(window)
    window.sort(key=len, reverse=True)
    batches = []
    start = 0
    while start < len(window):
        rows = max(1, batch_tokens // (len(window[start]) + 2))
        if start + rows > len(window):
            break
        batches.append(window[start : start + rows])
        start += rows
    if random is not None:
        random.shuffle(batches)
    return batches, window[start:]
