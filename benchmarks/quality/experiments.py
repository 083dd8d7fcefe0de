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
UNMET_LEMMAS = "semcor, unmet lemmas by WordNet's first sense"
FIRST_SENSE = "semcor, WordNet's first sense"
# Before the name of one.
PARADIGM = "blimp, "
# Development texts of a language; and positions of a row, its boundaries included.
TEXTS = {"en": ("enwiki", "enwiki2", "enbooks"), "ko": ("kowiki",)}
ROWS = {"rows": 66, "paragraphs": 258}
PAIR_PROBES = {"of_word": "kobest wic", "of_place": "kobest wic by places"}
_TAGGING = ("ewt", "wnut17", "gsd")
# One of each kind, in both languages.
_FEW_TASKS = ("ewt", "wnut17", "sst5", "gsd")
_SIZES = {
    "ewt": (125, 400, 1_250, 4_000, None),
    "sst2": (70, 220, 700, 2_200, None),
    "nsmc": (100, 1_000, 10_000, None),
}
# Training sentences of a regression; of others all.
_FITTED = {"nsmc": 20_000}
_LAMBDAS = (1.0, 0.001)


@dataclass(frozen=True)
class Head:
    """How a model goes on from word vectors.

    Args:
        kind: `"bilstm"`, or `"linear"`: of each token alone, or logistic regression
            of a whole sentence's pooled vectors.
        mix_l2: lambda of the paper, on the raw mix weights.
    """

    kind: str = "bilstm"
    mix_l2: float = 0.0


_LINEAR = Head("linear")


@dataclass(frozen=True)
class Run:
    """A head trained on one kind of words.

    Args:
        task: its name.
        words: the input of the head, as `Encoders` names it.
        above: joined to the output of the biLSTM; nothing, if empty.
        head: its kind.
        size: training sentences; all, if `None`.
    """

    task: str
    words: str
    above: str = ""
    head: Head = Head()
    size: int | None = None

    @property
    def is_regression(self) -> bool:
        return self.head.kind == "linear" and self.task in _OF_SENTENCES

    def key(self, seed: int) -> str:
        """Returns the name of the run's score."""
        words = f"{self.words} above {self.above}" if self.above else self.words
        head = f"{self.head.kind} {self.head.mix_l2:g}"
        return f"{self.task}, {words}, {head}, {self.size or 'all'}, seed {seed}"


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
    words: Sequence[str], head: Head, sizes: Mapping[str, int] | None = None
) -> Experiment:
    """Every kind of words on every task, below the same head."""

    def runs(task: str) -> list[Run]:
        size = (sizes or {}).get(task)
        return [Run(task, each, head=head, size=size) for each in words]

    columns = [WORDS.get(each, each) for each in words]
    return Experiment(columns, _rows(TITLES, runs), True)


def _mixes(words: Sequence[str]) -> Experiment:
    """The paper's table 2: the last layer, or all of them with lambda 1 and 0.001."""

    def runs(task: str) -> list[Run]:
        last = Run(task, f"static+elmo:{NUM_LAYERS - 1}")
        mixes = (Run(task, "static+elmo", head=Head(mix_l2=each)) for each in _LAMBDAS)
        return [Run(task, "static"), last, *mixes]

    columns = ["Static", "Last layer", *(f"All, λ = {each:g}" for each in _LAMBDAS)]
    return Experiment(columns, _rows(_FEW_TASKS, runs))


def _places(words: Sequence[str]) -> Experiment:
    """The paper's table 3: ELMo at the input, the output, or both."""

    def runs(task: str) -> list[Run]:
        both = Run(task, "static+elmo", above="elmo")
        return [Run(task, "static+elmo"), both, Run(task, "static", above="elmo")]

    columns = ["Input only", "Input and output", "Output only"]
    return Experiment(columns, _rows(_TAGGING, runs))


def _layers(words: Sequence[str]) -> Experiment:
    """The paper's table 6: parts of speech from each layer alone, token by token."""
    names = [*(f"elmo:{layer}" for layer in range(NUM_LAYERS)), "elmo"]
    columns = [*(f"Layer {layer}" for layer in range(NUM_LAYERS)), "Mix"]
    return Experiment(
        columns,
        _rows(("ewt", "gsd"), lambda task: [Run(task, n, head=_LINEAR) for n in names]),
    )


def _samples(words: Sequence[str]) -> Experiment:
    """Figure 1 of the paper's analysis: the score against the size of the data."""
    compared = ("static", "elmo", "static+elmo")
    rows = {
        f"{TITLES[task]}, {f'{size:,}' if size else 'all'}": [
            Run(task, each, size=size) for each in compared
        ]
        for task, sizes in _SIZES.items()
        for size in sizes
    }
    return Experiment([WORDS[each] for each in compared], rows)


# What describes a method: measured with some model, and not again with each new one.
METHODS = ("mixes", "places", "samples")
# Of each name what makes the table, given the words that `main` and `linear` compare.
EXPERIMENTS: dict[str, Callable[[Sequence[str]], Experiment]] = {
    "main": lambda words: _below(words, Head()),
    "linear": lambda words: _below(words, _LINEAR, _FITTED),
    "mixes": _mixes,
    "places": _places,
    "layers": _layers,
    "samples": _samples,
}
