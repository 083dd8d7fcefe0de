"""The examples that the explorer shows by default."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

# Words that show the language of a vocabulary; English has "the" among the first 100.
_WORDS = 1000
_MOST_FREQUENT = 100
_USUAL_LENGTHS = range(5, 16)
_MOST_EXAMPLES = 6


class Examples(NamedTuple):
    """Examples that a newcomer can click on.

    Attributes:
        words: a sentence and one of its words, whose occurrences in the sample form one
            group for each sense.
        pairs: two sentences to compare word by word, or three: a word of the first has
            another sense in the second, and the same in the third.
        minimal_pairs: a likely sentence and an unlikely one.
        tagged: sentences with names, and with words that have several parts of speech.
    """

    words: list[tuple[str, str]]
    pairs: list[tuple[str, ...]]
    minimal_pairs: list[tuple[str, str]]
    tagged: list[str]


EXAMPLES = {
    "en": Examples(
        [
            ("We sat on the bank of the river and watched the boats .", "bank"),
            ("She opened an account at a bank in the city .", "bank"),
            ("The match ended with a late goal .", "match"),
            ("He lit the fire with a match .", "match"),
            ("A bat flew out of the dark cave .", "bat"),
            ("He hit the ball with his bat .", "bat"),
            ("The train stopped at the station .", "train"),
            ("They train young athletes for the games .", "train"),
        ],
        [
            (
                "We sat on the bank of the river .",
                "She opened an account at a bank in the city .",
                "The fishermen stood on the bank of the stream .",
            ),
            (
                "He hit the ball with his bat .",
                "A bat flew out of the dark cave .",
                "The player broke his bat in the first game .",
            ),
            ("The play was a great success .", "They play football on Sundays ."),
        ],
        [
            ("The boats are old .", "The boats is old ."),
            (
                "The author of the books has won a prize .",
                "The author of the books have won a prize .",
            ),
        ],
        [
            "Ada Lovelace met Charles Babbage in London in 1833 .",
            "The New York Times praised the new Star Wars film .",
            "Time flies like an arrow ; fruit flies like a banana .",
        ],
    ),
    "ko": Examples(
        [
            ("눈이 내려서 길이 하얗게 변했다 .", "눈이"),
            ("책을 오래 읽어서 눈이 아프다 .", "눈이"),
            ("은행에서 돈을 빌렸다 .", "은행에서"),
            ("노란 은행을 주워 구워 먹었다 .", "은행을"),
            ("전기가 끊겨 어두웠다 .", "전기가"),
            ("그의 전기를 읽었다 .", "전기를"),
        ],
        [
            (
                "시장에서 사과와 배를 샀다 .",
                "우리는 배를 타고 섬으로 갔다 .",
                "접시에 사과와 배를 담았다 .",
            ),
            (
                "어젯밤에 눈이 많이 내렸다 .",
                "책을 많이 읽어서 눈이 아프다 .",
                "산에 눈이 많이 쌓였다 .",
            ),
            ("기차가 작은 역을 지났다 .", "그녀는 영화에서 어머니 역을 맡았다 ."),
        ],
        [
            ("그는 학교에서 공부를 했다 .", "그는 학교를 공부에서 했다 ."),
            ("이 섬은 바다에 있다 .", "이 섬을 바다에 있다 ."),
        ],
        [
            "세종은 1443년에 한글을 만들었다 .",
            "김연아는 밴쿠버에서 금메달을 땄다 .",
            "나는 하늘을 나는 새를 보았다 .",
        ],
    ),
}


def language(words: Iterable[str]) -> str:
    """Returns a language that has examples, or "", given the most frequent words."""
    frequent = [*islice(words, _WORDS)]
    letters = [c for word in frequent for c in word if c.isalpha()]
    if sum(map(is_hangul, letters)) > len(letters) / 2:
        return "ko"
    return "en" if "the" in frequent[:_MOST_FREQUENT] else ""


def choose_examples(sentences: Sequence[Sequence[str]]) -> Examples:
    """Returns sentences of a text as examples, without minimal pairs."""
    usual = [tokens for tokens in sentences if len(tokens) in _USUAL_LENGTHS]
    chosen = [*islice(dict.fromkeys(map(tuple, usual or sentences)), _MOST_EXAMPLES)]
    texts = [" ".join(sentence) for sentence in chosen]
    words = [max(sentence, key=len) for sentence in chosen]
    pairs: list[tuple[str, ...]] = [*zip(texts[::2], texts[1::2], strict=False)]
    return Examples([*zip(texts, words, strict=True)], pairs, [], texts[:3])


def is_hangul(character: str) -> bool:
    return unicodedata.name(character, "").startswith("HANGUL")
