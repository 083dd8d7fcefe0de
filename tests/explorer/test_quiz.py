"""Questions about senses, and the model's answers."""

import math
from collections import Counter

import numpy as np
import pytest

from keras_elmo.explorer.quiz import Quiz

# Of each sense five occurrences on a line, in two directions, and one in the wrong one.
SENSES = ["river"] * 5 + ["money"] * 5
DIRECTIONS = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]


class Text:
    """A word with ten occurrences, and one that has a single sense."""

    places = [(1, ("the", "bank", f"w{k}")) for k in range(10)]

    def sensed(self):
        for place, sense in zip(self.places, SENSES, strict=True):
            yield "bank", place, sense
        for k in range(5):
            yield "river", (0, ("river", f"w{k}")), "water"

    def contexts_at(self, places):
        assert [*places] == self.places
        vectors = np.random.default_rng(0).normal(scale=0.05, size=(10, 4))
        vectors[range(10), DIRECTIONS] += 1
        return self.places, vectors


@pytest.fixture(scope="module")
def quiz():
    return Quiz(Text())


def test_questions(quiz):
    """Each occurrence of a word with several senses is asked for once."""
    questions = [quiz.question(k) for k in range(len(quiz))]
    asked = {question["tokens"][2]: question for question in questions}
    assert len(questions) == len(asked) == 10
    assert quiz.question(13) == questions[3]
    for place, sense in zip(Text.places, SENSES, strict=True):
        assert asked[place[1][2]]["answer"] == sense
        assert asked[place[1][2]]["position"] == 1


def test_model_answers(quiz):
    """By the other occurrences: the one in the wrong place is not known."""
    for number in range(10):
        question = quiz.question(number)
        k = int(question["tokens"][2][1:])
        assert question["guess"] == ("money" if DIRECTIONS[k] else "river")
        assert (question["guess"] == question["answer"]) == (k != 4)
        cosines = {each["name"]: each["cosine"] for each in question["senses"]}
        assert max(cosines, key=cosines.get) == question["guess"]
        nearest = int(question["nearest"].split()[2][1:])
        assert nearest != k and DIRECTIONS[nearest] == DIRECTIONS[k]


@pytest.mark.graph
def test_of_the_sample(of_sample):
    """Every sense has enough sentences, and the word stands where it is marked."""
    quiz = of_sample.quiz
    assert len(quiz) > 1000
    for number in range(0, len(quiz), 50):
        question = quiz.question(number)
        names = {sense["name"] for sense in question["senses"]}
        assert len(names) > 1 and {question["answer"], question["guess"]} <= names
        assert all(math.isfinite(sense["cosine"]) for sense in question["senses"])
        assert question["nearest"] != " ".join(question["tokens"])


@pytest.mark.graph
@pytest.mark.slow
@pytest.mark.parametrize(("code", "least"), [("en", 0.8), ("ko", 0.65)])
def test_shipped_models_know(code, least, shipped):
    """Most answers; one sense for all would be right in fewer than half."""
    quiz = shipped(code).quiz
    questions = [quiz.question(number) for number in range(len(quiz))]
    right = Counter(each["guess"] == each["answer"] for each in questions)
    assert right[True] / len(quiz) > least
