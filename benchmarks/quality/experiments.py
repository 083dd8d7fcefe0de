"""What is compared with what: the rows and columns of each table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

TITLES = {
    "ewt": "UD EWT, parts of speech",
    "gsd": "UD GSD, parts of speech (Korean)",
    "wnut17": "WNUT-17, entities (span F1)",
    "sst2": "SST-2, sentiment",
    "sst5": "SST-5, sentiment",
    "nsmc": "NSMC, sentiment (Korean)",
}
_OF_SENTENCES = ("sst2", "sst5", "nsmc")
WORDS = {
    "random": "Random biLM",
    "static": "Static",
    "elmo": "ELMo",
    "static+elmo": "[static; ELMo]",
}
# Compared by default.
COMPARED = ("random", "static", "elmo", "static+elmo")
NUM_LAYERS = 3
# The names of scores, by the way to find a sense and by the vector of a word.
SENSE_PROBES = {"voted": "semcor", "nearest_mean": "semcor by means"}
MOST_FREQUENT = "semcor, most frequent"
# Of WordNet alone, so measured once, by the scripts of commit 10fcca0.
UNMET_LEMMAS = "semcor, unmet lemmas by WordNet's first sense"
FIRST_SENSE = "semcor, WordNet's first sense"
# Before the name of one.
PARADIGM = "blimp, "
# Development texts of a language; and positions of a row, its boundaries included.
TEXTS = {"en": ("enwiki", "enwiki2", "enbooks"), "ko": ("kowiki",)}
ROWS = {"rows": 66, "paragraphs": 258}
PAIR_PROBES = {"of_word": "kobest wic", "of_place": "kobest wic by places"}
# Training sentences of a regression; of others all.
_FITTED = {"nsmc": 20_000}


@dataclass(frozen=True)
class Run:
    """A head trained on one kind of words.

    Args:
        task: its name.
        words: the input of the head, as `Encoders` names it.
        head: `"bilstm"`, or `"linear"`: of each token alone, or logistic regression
            of a whole sentence's pooled vectors.
        size: training sentences; all, if `None`.
    """

    task: str
    words: str
    head: str = "bilstm"
    size: int | None = None

    @property
    def is_regression(self) -> bool:
        return self.head == "linear" and self.task in _OF_SENTENCES

    def key(self, seed: int) -> str:
        """Returns the name of the run's score."""
        # Scores with an L2 penalty on the mix have another number than 0.
        head, size = f"{self.head} 0", self.size or "all"
        return f"{self.task}, {self.words}, {head}, {size}, seed {seed}"


def probe_key(probe: str, encoder: str, layer: int) -> str:
    """Returns the name of a layer's score without any trained head."""
    return f"{probe}, {encoder}:{layer}"


def perplexity_key(text: str, rows: str) -> str:
    """Returns the name of the perplexity of a development text."""
    return f"perplexity, {text}, {rows}"


@dataclass(frozen=True)
class Experiment:
    """A table: its columns' titles, and of each row's title the runs.

    With `counts_errors`, the last columns say how many fewer errors than static vectors
    ELMo makes, alone and beside them.
    """

    columns: list[str]
    rows: dict[str, list[Run]]
    counts_errors: bool = False


def _rows(
    tasks: Iterable[str], runs: Callable[[str], list[Run]]
) -> dict[str, list[Run]]:
    return {TITLES[task]: runs(task) for task in tasks}


def _below(
    words: Sequence[str], head: str, sizes: Mapping[str, int] | None = None
) -> Experiment:
    """Every kind of words on every task, below the same head."""

    def runs(task: str) -> list[Run]:
        size = (sizes or {}).get(task)
        return [Run(task, each, head=head, size=size) for each in words]

    columns = [WORDS.get(each, each) for each in words]
    return Experiment(columns, _rows(TITLES, runs), True)


def _layers(words: Sequence[str]) -> Experiment:
    """The paper's table 6: parts of speech from each layer alone, token by token."""
    names = [*(f"elmo:{layer}" for layer in range(NUM_LAYERS)), "elmo"]
    columns = [*(f"Layer {layer}" for layer in range(NUM_LAYERS)), "Mix"]
    return Experiment(
        columns,
        _rows(
            ("ewt", "gsd"), lambda task: [Run(task, n, head="linear") for n in names]
        ),
    )


# Of each name what makes the table, given the words that `main` and `linear` compare.
EXPERIMENTS: dict[str, Callable[[Sequence[str]], Experiment]] = {
    "main": lambda words: _below(words, "bilstm"),
    "linear": lambda words: _below(words, "linear", _FITTED),
    "layers": _layers,
}
