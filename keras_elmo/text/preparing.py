"""Splits a text into words once, part by part."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, count, takewhile
from pathlib import Path
from types import NoneType

from keras_elmo.config import TOKENIZERS
from keras_elmo.text.batching import TOKENIZER_THREADS, split_stream, token_chunks
from keras_elmo.text.line_sources import LineSource, SourceLine, open_source
from keras_elmo.text.lines import Files, is_prepared
from keras_elmo.text.part_dictionaries import Part, check_part, join_parts
from keras_elmo.text.prepared import VERSION, PreparedText
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import (
    check_boolean,
    check_choice,
    check_path,
    check_type,
    refuse,
)
from keras_elmo.utils.files import (
    check_free,
    read_json_object,
    remove_leftovers,
    write_json,
)
from keras_elmo.utils.locks import held
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.types import StrPath

# Words in a part, and in a shard of the folder: 16 MB of numbers.
_PART_WORDS = 4_000_000
# Bounds on the lines of tokens that are numbered at a time.
_CHUNK_TOKENS = 200_000
_CHUNK_LINES = 2048


def prepare(
    corpus: Files | Iterable[object],
    out: StrPath,
    tokenizer: str | None = None,
    column: str | None = None,
    progress: bool = False,
) -> None:
    """Splits a text into words once, and writes it as a folder of numbers.

    `pretrain`, `perplexity`, `Corpus` and `Vocabulary.count` take the folder like the
    text: with the same seed, batches and vocabularies of any size are the same. They
    read it through memory maps, without TensorFlow.

    Each part of 4 million words goes into the folder `OUT.parts`. At the end, when all
    words of the text are known, the parts are numbered anew and joined. A process that
    is killed loses the part that it was splitting, or what it had joined: the same call
    goes on, and the folder has the same bytes. The memory depends on the number of
    distinct words, not on the length of the text.

    Args:
        corpus: the text: a path or a glob pattern, or several, as `Corpus` takes them;
            with `column`, JSON lines or Parquet. Or an iterable over texts or lists of
            tokens, such as a generator, a column of pandas, or a streamed data set; a
            list of strings holds paths. A text of several lines becomes several lines.
        out: the folder to write. If it holds the same files already, nothing is done.
        tokenizer: the kind of `Tokenizer`; `"unicode"` if `None`. Lists of tokens stay
            as they are, as with `"whitespace"`.
        column: name of the text, in files or rows that have several columns; rows
            without a text are left out.
        progress: whether to show a bar and messages on stderr.

    Raises:
        ValueError: there is no word, a row is damaged or lacks the column, `out`
            exists, or an interrupted call left parts of another text.
        OSError: a file cannot be written; complete parts are kept.
        ImportError: Parquet needs the extra `parquet`.
        KeyboardInterrupt: after Ctrl-C; says what is kept.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the bank of the river\\nthe bank\\n")
    keras_elmo.prepare("text.txt", "prepared")
    vocabulary = keras_elmo.Vocabulary.count("prepared")
    corpus = keras_elmo.Corpus("prepared", vocabulary, batch_tokens=20, max_tokens=10)
    (batch,) = corpus.batches(epoch=0)
    assert batch["token_ids"].shape == (2, 7)
    ```
    """
    check_path(out=out)
    check_choice((*TOKENIZERS, None), tokenizer=tokenizer)
    check_type((str, NoneType), "a name or None", column=column)
    check_boolean(progress=progress)
    stats = CorpusStats()
    source = open_source(corpus, column, stats)
    if source.is_split and tokenizer not in (None, "whitespace"):
        refuse("tokenizer", "None for text that is split already", tokenizer)
    tokenizer = "whitespace" if source.is_split else tokenizer or "unicode"
    folder = TextParts(os.path.normpath(out), source, tokenizer)
    if folder.is_complete():
        if progress:
            print(f"{folder.out} is complete; nothing to do", file=sys.stderr)
        return
    with folder.opened():
        _split(source, tokenizer, folder, progress)
        if progress:
            print("Joining the parts", file=sys.stderr)
        join_parts(folder.parts(), folder.out, source.files, tokenizer, stats)
        folder.remove()
    if progress:
        for message in stats.messages():
            print(message, file=sys.stderr)


class TextParts:
    """`OUT.parts`: the parts of a text that is being prepared."""

    def __init__(self, out: str, source: LineSource, tokenizer: str) -> None:
        self.out = out
        self._source = source
        self._tokenizer = tokenizer
        self.path = f"{out}.parts"
        self._begun = os.path.join(self.path, "begun.json")

    def is_complete(self) -> bool:
        """Whether `out` holds the text already; raises if it holds anything else."""
        is_same = False
        if is_prepared(self.out):
            # An iterable: its process was killed before it removed the parts.
            is_same = os.path.exists(self.path)
            if self._source.is_stored:
                text = PreparedText(self.out)
                before = text.tokenizer, text.names_and_sizes()
                is_same = before == (self._tokenizer, self._source.files)
        if not is_same:
            check_free(self.out)
            return False
        self.remove()
        return True

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Locks the folder for this process, and removes it if it gets no part."""
        os.makedirs(self.path, exist_ok=True)
        used = f"{self.path} must not be in use: another process writes it"
        with held(self.path, used):
            check_free(self.out)
            remove_leftovers(self.path)
            if self.parts():
                self._check_begun()
            elif not os.path.exists(self._begun):
                check_free(self.path)
            write_json(self._begun, self._manifest())
            try:
                yield
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"stopped; {self._kept()}") from None
            finally:
                if not self.parts():
                    self.remove()

    def parts(self) -> list[str]:
        """Returns the paths of the parts, up to the first that is missing."""
        return list(takewhile(os.path.isdir, map(self._part, count())))

    def write(self, part: Part) -> None:
        """Writes the next part."""
        part.write(self._part(len(self.parts())))

    def _kept(self) -> str:
        """Describes which parts are already saved."""
        number = len(self.parts())
        if not number:
            return "nothing is kept"
        parts = "1 part is" if number == 1 else f"{number:,} parts are"
        return f"{parts} kept in {self.path}; the same call goes on from there"

    def remove(self) -> None:
        """Removes the folder; its manifest, which says whose it is, at the end."""
        if os.path.exists(self._begun):
            for path in Path(self.path).glob("*/"):
                shutil.rmtree(path)
            shutil.rmtree(self.path)

    def _part(self, number: int) -> str:
        return os.path.join(self.path, f"part-{number:05}")

    def _manifest(self) -> dict[str, object]:
        return {
            "version": VERSION,
            "tokenizer": self._tokenizer,
            "corpus": self._source.files,
        }

    def _check_begun(self) -> None:
        begun = read_json_object(self._begun)
        for name, value in self._manifest().items():
            if begun.get(name) != value:
                rule = f"{begun.get(name)!r}, as in {self._begun}"
                if name == "corpus":
                    rule = f"the files that {self._begun} names, with their sizes"
                    value = self._source.name
                rule += f"; or remove {self.path} to begin again"
                refuse(name, rule, value)


def _split(
    source: LineSource, tokenizer: str, folder: TextParts, progress: bool
) -> None:
    """Writes the parts that are missing."""
    offsets = [0, *accumulate(size for _, size in source.files)]
    position = 0
    for path in folder.parts():
        last_line = check_part(path, source.lines, folder.path)
        position = offsets[last_line.file] + last_line.position
    with Progress("Preparing", offsets[-1] or None, visible=progress) as bar:
        bar.update(0, position)

        def show(words: int, line: SourceLine) -> None:
            bar.update(words, offsets[line.file] + line.position)

        for part in split_parts(source.lines, source.is_split, tokenizer, show):
            # Lines without any word make no text.
            if part.num_words or folder.parts():
                folder.write(part)
        bar.update(0, offsets[-1])
    if not folder.parts():
        raise ValueError(f"there is no word in {source.name}")


def split_parts(
    lines: Iterable[SourceLine],
    is_split: bool,
    tokenizer: str,
    show: Callable[[int, SourceLine], None] = lambda words, line: None,
) -> Iterator[Part]:
    """Yields the parts of a text; the last is shorter.

    `show` is called now and then, with the number of new words and the last line.
    """
    contents = ((line, line.content) for line in lines)
    if is_split:
        chunks = split_stream(
            contents, lambda line: len(line[1]), _CHUNK_TOKENS, _CHUNK_LINES
        )
    else:
        chunks = token_chunks(contents, tokenizer, None, TOKENIZER_THREADS)
    part = Part()
    for chunk in chunks:
        for line, tokens in chunk:
            part.add(line, tokens)
            if part.num_words >= _PART_WORDS:
                yield part
                part = Part()
        show(sum(len(tokens) for _, tokens in chunk), chunk[-1][0])
    if part.num_lines:
        yield part
