"""The downstream benchmark on made-up data: right inputs, fair batches, a report."""

import json
import lzma

import numpy as np
import pytest

import keras_elmo

CONFIG = keras_elmo.ElmoConfig(
    filters=((1, 4), (2, 4)), char_embedding_units=4, units=8, projection_units=4
)
NOUNS = ["bank", "river", "배", "나무"]
VERBS = ["flows", "closes", "간다"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Every data set in small, where its reader looks for it."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("ud_en_ewt", "sst", "nsmc"):
        (folder / name).mkdir()
    for split, number in (("train", 40), ("dev", 9)):
        pairs = [(NOUNS[k % 4], VERBS[k % 3]) for k in range(number)]
        _write_xz(
            folder / "ud_en_ewt" / f"{split}.conllu.xz",
            "".join(
                f"# text = {noun} {verb}\n1-2\t{noun}{verb}\t_\t_\n"
                f"1\t{noun}\t_\tNOUN\n1.1\tgone\t_\tX\n2\t{verb}\t_\tVERB\n\n"
                for noun, verb in pairs
            ),
        )
        (folder / "sst" / f"sst2.{split}.txt").write_text(
            "".join(f"{k % 2} {' '.join(pair)} .\n" for k, pair in enumerate(pairs)),
            encoding="utf-8",
        )
        _write_xz(
            folder / "nsmc" / f"{split}.tsv.xz",
            "id\tdocument\tlabel\n"
            + "".join(f"{k}\t{a},{b}!\t{k % 2}\n" for k, (a, b) in enumerate(pairs))
            + "99\t\t0\n",
        )
    return folder


def _write_xz(path, text):
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


def test_ewt_leaves_out_rows_that_are_no_token(benchmark, data):
    task = benchmark("tasks").read_task("ewt", data, "unicode")
    assert task.num_train == 40 and len(task.dev) == 9
    assert task.num_classes == 2 and task.is_tagging
    assert task.sentences[1] == ["river", "closes"]
    assert task.labels[1].tolist() == [0, 1]


def test_sst2_is_split_at_spaces(benchmark, data):
    task = benchmark("tasks").read_task("sst2", data, "unicode")
    assert task.sentences[0] == ["bank", "flows", "."]
    assert not task.is_tagging
    assert [int(label) for label in task.labels[:3]] == [0, 1, 0]


def test_nsmc_is_cut_by_the_models_tokenizer(benchmark, data):
    read_task = benchmark("tasks").read_task
    task = read_task("nsmc", data, "unicode")
    assert task.sentences[0] == ["bank", ",", "flows", "!"]
    assert task.sentences[task.num_train - 1] == []
    assert read_task("nsmc", data, "whitespace").sentences[0] == ["bank,flows!"]


def test_training_sentences_are_drawn_alike_each_time(benchmark, data):
    read_task = benchmark("tasks").read_task
    drawn = read_task("nsmc", data, "unicode", train_size=7)
    assert drawn.num_train == 7
    assert drawn.sentences == read_task("nsmc", data, "unicode", 7).sentences
    whole = read_task("nsmc", data, "unicode")
    assert drawn.sentences[7:] == whole.sentences[41:]


def test_an_unknown_task_is_refused(benchmark, data):
    with pytest.raises(ValueError, match="Received: name='mnli'"):
        benchmark("tasks").read_task("mnli", data, "unicode")


def test_batches_hold_every_sentence_once_in_the_order_of_the_seed(benchmark):
    heads = benchmark("heads")
    lengths = np.arange(100) % 13
    places = np.arange(10, 100)

    def batches(seed):
        return list(heads.batches(lengths, places, np.random.default_rng(seed)))

    assert sorted(np.concatenate(batches(0))) == places.tolist()
    for one, same in zip(batches(0), batches(0), strict=True):
        assert one.tolist() == same.tolist()
    assert batches(0)[0].tolist() != batches(1)[0].tolist()
    spread = [np.ptp(lengths[batch]) for batch in batches(0)]
    assert max(spread) <= 5


def test_words_seen_once_train_the_unknown_vector(benchmark):
    words = benchmark("words")
    sentences = [["a", "b", "a"], [], ["a", "c"]]
    static = words.StaticWords(sentences, num_train=2, units=4)
    assert static.batch(np.array([0, 1, 2])).tolist() == [[2, 3, 2], [0] * 3, [2, 1, 0]]
    random = np.random.default_rng(0)
    seen = {int(static.batch(np.array([0]), random)[0, 1]) for _ in range(20)}
    assert seen == {words.UNKNOWN, 3}
    # Pooling needs a position, even of a sentence without words.
    assert static.mask(np.array([0, 1])).tolist() == [[True] * 3, [True, False, False]]


def test_cached_layers_are_what_elmo_embedding_computes(benchmark):
    encoder = keras_elmo.build_encoder(CONFIG)
    sentences = [["a", "river"], ["the", "bank", "closes"], [], ["배"]]
    cached = benchmark("words").CachedLayers(encoder, sentences)
    assert cached.batch(np.array([0, 1])).shape == (2, 3, 3, 8)
    assert cached.greatest_difference(encoder, sentences) <= 1e-6
    other = keras_elmo.build_encoder(CONFIG)
    assert cached.greatest_difference(other, sentences) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("task", ["ewt", "nsmc"])
def test_the_whole_benchmark(benchmark, data, task, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    model = tmp_path / "model"
    model.mkdir()
    keras_elmo.save_published_weights(
        keras_elmo.build_encoder(CONFIG), model / "options.json", model / "weights.hdf5"
    )
    out = tmp_path / "out" / "result.json"
    benchmark("downstream").main(
        f"--model {model} --task {task} --seeds 1 --epochs 2 --out {out}".split()
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    assert set(result["words"]) == {"elmo", "random", "static"}
    for words in result["words"].values():
        assert len(words["accuracy"]) == 1 and 0 <= words["mean"] <= 1
    weights = result["words"]["elmo"]["mix"][0]["weights"]
    assert len(weights) == 3 and sum(weights) == pytest.approx(1)
    # Nothing of where the files lay.
    assert str(tmp_path) not in json.dumps(result)
    table = capsys.readouterr().out
    benchmark("report").main([str(out)])
    printed = capsys.readouterr().out
    assert table.strip() in printed
    assert f"--model model --task {task} --seeds 1 --epochs 2" in printed


def test_a_row_shows_means_over_the_seeds(benchmark):
    downstream = benchmark("downstream")
    words = {"mean": 0.9, "standard_deviation": 0.0123}
    mixes = [
        {"weights": [0.25, 0.75], "gamma": 1.0},
        {"weights": [0.75, 0.25], "gamma": 2.0},
    ]
    result = {
        "task": "sst2",
        "model": "en",
        "train_sentences": 6920,
        "dev_sentences": 872,
        "words": {name: words | {"mix": mixes} for name in downstream.WORDS},
    }
    row = downstream.table([result]).splitlines()[-1]
    assert row == (
        "| SST-2, sentiment | en | 6,920 + 872 | 90.00 ± 1.23 | 90.00 ± 1.23 "
        "| 90.00 ± 1.23 | 0.50, 0.50; 1.50 |"
    )
