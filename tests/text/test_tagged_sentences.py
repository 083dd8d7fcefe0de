import warnings

import numpy as np
import pytest

from keras_elmo.text.tagged_sentences import (
    check_known,
    in_scheme_of,
    labels_of,
    tagged_sentences,
    tags_of,
    warn_of_unknown,
)

WORDS = [["We", "sat"], ["Ada"]]
TAGS = [["O", "O"], ["B-PER"]]
PAIRS = [*zip(WORDS, TAGS, strict=True)]


def parts(sentences):
    return [[row.words for row in sentences], [row.tags for row in sentences]]


@pytest.mark.parametrize(
    "data",
    [
        (PAIRS,),
        (tuple(PAIRS),),
        (iter(PAIRS),),
        # Sentences without words are left out.
        ([([], []), *PAIRS, (["", ""], [""])],),
        (WORDS, TAGS),
        (np.array([["We", "sat"], ["Ada", ""]]), [["O", "O"], ["B-PER", ""]]),
        ([[b"We", np.str_("sat")], [b"Ada"]], TAGS),
    ],
)
def test_forms(data):
    assert parts(tagged_sentences(*data)) == [WORDS, TAGS]


def test_datasets():
    """Of sentences, and of batches of them, ragged or padded."""
    tf = pytest.importorskip("tensorflow")
    ragged = tuple(map(tf.ragged.constant, (WORDS, TAGS)))
    by_sentence = tf.data.Dataset.from_tensor_slices(ragged)
    padded = tuple(part.to_tensor("") for part in ragged)
    batches = tf.data.Dataset.from_tensors(padded)
    for dataset in (by_sentence, by_sentence.batch(2), batches):
        assert parts(tagged_sentences(dataset)) == [WORDS, TAGS]
    assert parts(tagged_sentences(*padded)) == [WORDS, TAGS]


def test_files(tmp_path):
    for name, (words, tags) in zip("ab", PAIRS, strict=True):
        lines = map("\t".join, zip(words, tags, strict=True))
        (tmp_path / name).write_text("\n".join(lines))
    names = [str(tmp_path / "a"), tmp_path / "b"]
    assert parts(tagged_sentences(names)) == [WORDS, TAGS]
    assert parts(tagged_sentences(str(tmp_path / "?"))) == [WORDS, TAGS]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ((7,), TypeError, "`x` must be files, .* Received: 7"),
        (([("a", "b", "c")],), TypeError, "`x`, item 0 must be files"),
        (([(WORDS[0], TAGS[0]), 5],), TypeError, "`x`, item 1 must be .* Received: 5"),
        (([("We sat", ["O"])],), TypeError, "`x`, sentence 0: words must be a list"),
        (([(["We"], "O")],), TypeError, "sentence 0: tags must be a list of strings"),
        (([(["We", 3], ["O", "O"])],), TypeError, "words must be strings. Received: 3"),
        ((WORDS, [[0, 0], [1]]), TypeError, "tags must be strings. Received: 0"),
        ((WORDS, TAGS[:1]), ValueError, "`y` must have as many .*: 2 and 1"),
        ((WORDS, "O"), TypeError, "`y` must hold the tags"),
        (([*PAIRS, (["We"], [])],), ValueError, "sentence 2: must have one tag for"),
        (([(["", "a"], ["O", "O"])],), ValueError, "words must not be empty, but for"),
        (([],), ValueError, "`x` must have a sentence with a word"),
        ((PAIRS, None, "ner"), ValueError, "`column` must be None where `x` holds no"),
    ],
)
def test_refuses(data, error, message):
    with pytest.raises(error, match=message):
        tagged_sentences(*data)


def test_tags():
    """Those of training data have no IOB1, and are those of its valid spans."""
    assert tags_of(tagged_sentences(PAIRS)) == ["B-PER", "O"]
    iob1 = [(["a", "b", "c"], ["I-X", "I-X", "O"])]
    assert tags_of(tagged_sentences(iob1)) == ["B-X", "I-X", "O"]
    plain = tagged_sentences([(["a", "b"], ["VERB", "NOUN"])])
    assert tags_of(plain) == ["NOUN", "VERB"]
    with pytest.raises(ValueError, match=r"at least 2 different tags. .*: \['NOUN'\]"):
        tags_of(tagged_sentences([(["a"], ["NOUN"])]))


def test_schemes():
    sentences = tagged_sentences([(["a", "b"], ["I-X", "I-X"])])
    bioes = ["O", "B-X", "E-X"]
    (converted,) = in_scheme_of(bioes, sentences)
    assert converted.tags == ["B-X", "E-X"]
    assert in_scheme_of(["NOUN", "VERB"], sentences) is sentences
    nouns = tagged_sentences([(["a"], ["NOUN"])])
    said = r"`x`, sentence 0: must have a tag that marks a span, .*\(BIO.*: 'NOUN'"
    with pytest.raises(ValueError, match=said):
        in_scheme_of(bioes, nouns)


def from_files(folder, **files):
    """Returns the sentences of files of words and tags."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tagged_sentences([folder / name for name in sorted(files)])


def test_schemes_of_files(tmp_path):
    """A file in another scheme than the tagger's is named, and converted."""
    files = {"bio": "a O\nb B-X\nc I-X\n", "iob1": "a O\nb I-X\n\nc I-X\n"}
    sentences = from_files(tmp_path, **files, mixed="a B-X\n\nb B-X\nc O\nd I-X\n")
    with pytest.warns(UserWarning, match="converted") as warned:
        converted = in_scheme_of(["O", "B-X", "I-X"], sentences)
    assert sum((row.tags for row in converted), []).count("I-X") == 1
    said = [str(warning.message) for warning in warned]
    assert len(said) == 2
    assert said[0].endswith(
        "iob1: IOB1 is recognised and converted to BIO, such as I-X in line 2 to B-X"
    )
    assert said[1].endswith(
        "mixed: what BIO does not allow (1 in all) is converted to BIO, such as I-X in "
        "line 5 to B-X"
    )
    bioes = ["O", "B-X", "I-X", "E-X", "S-X"]
    with pytest.warns(UserWarning, match="bio: BIO is recognised and converted to BIO"):
        assert in_scheme_of(bioes, sentences[:1])[0].tags == ["O", "B-X", "E-X"]
    with pytest.raises(ValueError, match=r"pos, line 2: must have a tag .*: 'VERB'"):
        in_scheme_of(bioes, from_files(tmp_path, pos="we O\nsat VERB\n"))


def test_tags_that_are_not_known(tmp_path):
    """One warning has how often each comes, and its first line."""
    text = "We PRON\nsat VERB\nin ADP\n\nWe PRON\n"
    sentences = from_files(tmp_path, a=text, b=text)
    with pytest.warns(UserWarning, match="tags that the tagger does not know") as told:
        warn_of_unknown(sentences, ["VERB"])
    (message,) = [str(warning.message) for warning in told]
    where = tmp_path / "a"
    assert f"'PRON' (4 times, first in {where}, line 1), 'ADP' (2 times" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown(sentences, ["VERB", "PRON", "ADP"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Wort Etikett\nAda B-PER\nsat O\n",
            "some mark no span .*: 'Etikett' .in .*file, line 1.; if it is a header",
        ),
        ("Ada B-PER\nsat O\nX X-LOC\n", r"mark no span .*: 'X-LOC' \(in .*, line 3\)$"),
        ("Ada b-per\nsat O\n", r"mark no span .*: 'b-per' \(in .*file, line 1\)"),
        ("Ada b-per\nsat o\n", r"mark no span .*: 'b-per' .*, 'o' \(in .*, line 2\)"),
        ("we P\nsat V\nus p\n", "tags that differ by case .*: 'P' .*, 'p' .*line 3"),
    ],
)
def test_names_of_tags(tmp_path, text, said):
    with pytest.warns(UserWarning, match=said) as warned:
        tags_of(from_files(tmp_path, file=text))
    assert len(warned) == 1


def test_labels():
    sentences = tagged_sentences(PAIRS)
    assert labels_of(sentences, ["O", "B-LOC"]) == [[0, 0], [-1]]
    check_known(sentences, ["O", "B-PER"], "x")
    with pytest.raises(ValueError, match=r"knows, .*: 'B-PER' \(in `x`, sentence 1\)"):
        check_known(sentences, ["O"], "x")
