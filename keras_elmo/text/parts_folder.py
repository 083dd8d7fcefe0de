"""The folder in which a text is prepared until it is complete."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from keras_elmo.text.line_sources import LineSource
from keras_elmo.text.lines import is_prepared
from keras_elmo.text.part_dictionaries import SORTED_WORDS, Part, join_parts
from keras_elmo.text.prepared import VERSION, PreparedText
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import called, received, refuse
from keras_elmo.utils.files import (
    check_free,
    read_json_object,
    remove_leftovers,
    write_json,
)
from keras_elmo.utils.locks import held


class PartsFolder:
    """`OUT.parts`: the parts of a text that is being prepared."""

    def __init__(self, out: str, source: LineSource, tokenizer: str) -> None:
        self.out = out
        self._source = source
        self._tokenizer = tokenizer
        self.path = f"{out}.parts"
        self._begun = os.path.join(self.path, "begun.json")
        self._joined = os.path.join(self.path, "prepared")

    def is_complete(self) -> bool:
        """Whether `out` holds the text already; raises if it holds anything else."""
        if not is_prepared(self.out):
            check_free(self.out)
            return False
        if self._source.is_stored:
            text = PreparedText(self.out)
            before = text.tokenizer, text.names_and_sizes()
            is_same = before == (self._tokenizer, self._files())
        else:
            # Complete, but killed before the parts were removed.
            is_same = os.path.exists(self.path)
        if not is_same:
            check_free(self.out)
        self._remove()
        return True

    def _files(self) -> list[list[object]]:
        return list(map(list, self._source.files))

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Locks the folder for this process, and removes it if it gets no part."""
        os.makedirs(self.path, exist_ok=True)
        used = f"{self.path} must not be in use: another process writes it"
        with held(self.path, used):
            check_free(self.out)
            if self.parts():
                self._check_begun()
            else:
                write_json(self._begun, self._expected())
            remove_leftovers(self.path)
            try:
                yield
            finally:
                if not self.parts():
                    self._remove()

    def parts(self) -> list[str]:
        """Returns the paths of the parts, of which none is missing."""
        paths: list[str] = []
        while os.path.isdir(path := self._part(len(paths))):
            paths.append(path)
        return paths

    def write(self, part: Part) -> None:
        """Writes the next part."""
        part.write(self._part(len(self.parts())))

    def finish(self, stats: CorpusStats) -> None:
        """Joins the parts, and renames what they become to `out`."""
        files = self._source.files
        join_parts(self.parts(), self._joined, files, self._tokenizer, stats)
        check_free(self.out)
        os.replace(self._joined, self.out)
        self._remove()

    def kept(self) -> str:
        """Describes which parts are already saved."""
        number = len(self.parts())
        if not number:
            return "nothing is kept"
        parts = "1 part is" if number == 1 else f"{number:,} parts are"
        return f"{parts} kept in {self.path}; the same call goes on from there"

    def _part(self, number: int) -> str:
        return os.path.join(self.path, f"part-{number:05}")

    def _expected(self) -> dict[str, object]:
        return {
            "version": VERSION,
            "tokenizer": self._tokenizer,
            "corpus": self._files(),
        }

    def _check_begun(self) -> None:
        begun = read_json_object(self._begun)
        for name, value in self._expected().items():
            if begun.get(name) == value:
                continue
            again = f"or remove {self.path} to begin again"
            if name == "corpus":
                rule = f"the files that {self._begun} names, with their sizes"
                raise ValueError(
                    f"{called(name)} must be {rule}; {again}. "
                    + received(corpus=self._source.name)
                )
            refuse(name, f"{begun.get(name)!r}, as in {self._begun}; {again}", value)

    def _remove(self) -> None:
        """Removes the folder, unless it holds other files."""
        with contextlib.suppress(FileNotFoundError):
            remove_leftovers(self.path)
            # From the last on, so that none is missing if this is interrupted.
            for path in (self._joined, *reversed(self.parts())):
                if os.path.isdir(path):
                    shutil.rmtree(path)
            for path in (os.path.join(self.path, SORTED_WORDS), self._begun):
                if os.path.exists(path):
                    os.remove(path)
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
