"""What is compared with what."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

TITLES = {
    "ewt": "UD EWT, parts of speech",
    "gsd": "UD GSD, parts of speech (Korean)",
    "wnut17": "WNUT-17, entities (span F1)",
    "sst2": "SST-2, sentiment",
    "sst5": "SST-5, sentiment",
    "nsmc": "NSMC, sentiment (Korean)",
}
WORDS = {
    "random": "Random biLM",
    "static": "Static",
    "elmo": "ELMo",
    "static+elmo": "[static; ELMo]",
    "young": "Young ELMo",
    "bert": "BERT-style",
}
# What is compared unless others are asked for.
COMPARED = ("random", "static", "elmo", "static+elmo")
# Of the same text and time as each other.
OF_EQUAL_TIME = ("young", "bert")
NUM_LAYERS = 3
# Of the ways to find a sense, the names of what they are scored as.
SENSE_PROBES = {"voted": "semcor", "nearest_mean": "semcor by means"}
MOST_FREQUENT = "semcor, most frequent"
# Of the vectors that are compared, the same.
PAIR_PROBES = {"of_word": "kobest wic", "of_place": "kobest wic by places"}
# One of each kind, in both languages.
_FEW_TASKS = ("ewt", "wnut17", "sst5", "gsd")
_SIZES = {
    "ewt": (125, 400, 1_250, 4_000, None),
    "sst2": (70, 220, 700, 2_200, None),
    "nsmc": (100, 1_000, 10_000, None),
}
_LAMBDAS = (1.0, 0.001)


@dataclass(frozen=True)
class Head:
    """How a model goes on from word vectors.

    Args:
        kind: `"bilstm"`, or `"linear"`, which sees each token alone.
        mix_l2: lambda of the paper, on the raw mix weights.
    """

    kind: str = "bilstm"
    mix_l2: float = 0.0


@dataclass(frozen=True)
class Run:
    """A head trained on one kind of words.

    Args:
        task: its name.
        words: what goes into the head, as `Encoders` names it.
        above: what goes beside the biLSTM's output; nothing, if empty.
        head: its kind.
        size: training sentences; all, if `None`.
    """

    task: str
    words: str
    above: str = ""
    head: Head = Head()
    size: int | None = None

    def key(self, seed: int) -> str:
        """Returns what tells this run from any other."""
        words = f"{self.words} above {self.above}" if self.above else self.words
        head = f"{self.head.kind} {self.head.mix_l2:g}"
        return f"{self.task}, {words}, {head}, {self.size or 'all'}, seed {seed}"


def probe_key(probe: str, encoder: str, layer: int) -> str:
    """Returns the key of a layer's score without any trained head."""
    return f"{probe}, {encoder}:{layer}"


@dataclass(frozen=True)
class Experiment:
    """A table of runs.

    Args:
        columns: what each stands under.
        rows: of each row's title its runs.
        counts_errors: whether the last columns say how many fewer errors than static
            vectors ELMo makes, alone and beside them.
    """

    columns: list[str]
    rows: dict[str, list[Run]]
    counts_errors: bool = False


def _below(head: Head) -> Callable[[Sequence[str]], Experiment]:
    """Every kind of words on every task, below the same head."""

    def experiment(words: Sequence[str]) -> Experiment:
        return Experiment(
            [WORDS.get(each, each) for each in words],
            {
                title: [Run(task, each, head=head) for each in words]
                for task, title in TITLES.items()
            },
            counts_errors=True,
        )

    return experiment


def _mixes(words: Sequence[str]) -> Experiment:
    """The paper's table 2: the last layer, or all of them with lambda 1 and 0.001."""
    return Experiment(
        ["Static", "Last layer", *(f"All, λ = {each:g}" for each in _LAMBDAS)],
        {
            TITLES[task]: [
                Run(task, "static"),
                Run(task, f"static+elmo:{NUM_LAYERS - 1}"),
                *(
                    Run(task, "static+elmo", head=Head(mix_l2=each))
                    for each in _LAMBDAS
                ),
            ]
            for task in _FEW_TASKS
        },
    )


def _places(words: Sequence[str]) -> Experiment:
    """The paper's table 3: ELMo beside the input, the output, or both."""
    return Experiment(
        ["Input only", "Input and output", "Output only"],
        {
            TITLES[task]: [
                Run(task, "static+elmo"),
                Run(task, "static+elmo", above="elmo"),
                Run(task, "static", above="elmo"),
            ]
            for task in _FEW_TASKS
        },
    )


def _layers(words: Sequence[str]) -> Experiment:
    """The paper's table 6: parts of speech from each layer alone, token by token."""
    layers = [f"elmo:{layer}" for layer in range(NUM_LAYERS)]
    return Experiment(
        [*(f"Layer {layer}" for layer in range(NUM_LAYERS)), "Mix"],
        {
            TITLES[task]: [
                Run(task, each, head=Head("linear")) for each in (*layers, "elmo")
            ]
            for task in ("ewt", "gsd")
        },
    )


def _equal_time(words: Sequence[str]) -> Experiment:
    """ELMo and BERT that have read the same text for the same time."""
    return Experiment(
        [WORDS[each] for each in OF_EQUAL_TIME],
        {
            TITLES[task]: [
                Run(task, each, head=Head("linear")) for each in OF_EQUAL_TIME
            ]
            for task in ("ewt", "wnut17", "sst2", "sst5")
        },
    )


def _samples(words: Sequence[str]) -> Experiment:
    """Figure 1 of the paper's analysis: the score against the size of the data."""
    compared = ("static", "elmo", "static+elmo")
    return Experiment(
        [WORDS[each] for each in compared],
        {
            f"{TITLES[task]}, {f'{size:,}' if size else 'all'}": [
                Run(task, each, size=size) for each in compared
            ]
            for task, sizes in _SIZES.items()
            for size in sizes
        },
    )


EXPERIMENTS: dict[str, Callable[[Sequence[str]], Experiment]] = {
    "main": _below(Head()),
    "linear": _below(Head("linear")),
    "mixes": _mixes,
    "places": _places,
    "layers": _layers,
    "samples": _samples,
    "equal-time": _equal_time,
}
