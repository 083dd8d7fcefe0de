"""Text whose words have no spaces between them, and text of the same letters."""

import warnings

import pytest

from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.splitting import FirstText, text_splitter, unspaced

WITHOUT = {
    "Chinese": "我们坐在河岸上看船。银行借钱给我们。",
    "Japanese": "私たちは川の岸に座って船を見ていた。カタカナもある。",
    "Thai": "เรานั่งอยู่ริมฝั่งแม่น้ำและดูเรือ ธนาคารให้ยืมเงิน",
    "Khmer": "យើងអង្គុយនៅមាត់ទន្លេហើយមើលទូក។",
    "Lao": "ພວກເຮົານັ່ງຢູ່ແຄມແມ່ນ້ຳແລະເບິ່ງເຮືອ",
    "Burmese": "ကျွန်တော်တို့သည် မြစ်ကမ်းပေါ်တွင် ထိုင်၍ လှေများကို ကြည့်နေသည်။",
}
WITH = {
    "Chinese": "我们 坐 在 河岸 上 看 船 。 银行 借 钱 给 我们 。",
    "Japanese": "私 たち は 川 の 岸 に 座っ て 船 を 見 て い た 。",
    "Thai": "เรา นั่ง อยู่ ริม ฝั่ง แม่น้ำ และ ดู เรือ ธนาคาร ให้ ยืม เงิน",
    "Korean": "우리는 강가에 앉아 배를 보았다. 銀行에서 돈을 빌렸다.",
    "English": f"我们坐在河岸上看船 {'is a line of a poem about boats . ' * 9}",
    "a name in brackets": "봉화산악지도(海東八道烽火山岳地圖)는 강가의 마을과 산을 "
    "그렸다. 지도는 박물관의 일 층에 있으며 누구든지 가서 볼 수 있다.",
    "nothing": "",
}


@pytest.mark.parametrize("language", WITHOUT)
def test_without_spaces(language):
    text = WITHOUT[language]
    for texts in ([text], [text.encode()], ["", text] * 2000):
        assert unspaced(texts).startswith("about 100 % of the letters are of a")
    half = "a" * sum(map(str.isalpha, text)) + " " + text
    assert unspaced([half]).startswith(("about 50 %", "about 60 %", "about 70 %"))


@pytest.mark.parametrize("language", WITH)
def test_with_spaces(language):
    assert unspaced([WITH[language]]) is None


def test_the_first_text():
    """One warning, of the first text that can tell."""
    look_at = FirstText()
    look_at([b"ascii", "alone"])
    with pytest.warns(UserWarning, match="docs/faq.md names segmenters"):
        look_at(["ascii", WITHOUT["Thai"]])
    look_at([WITHOUT["Thai"]])


@pytest.mark.parametrize("tokenizer", ["unicode", PlainTokenizer("whitespace")])
def test_whatever_is_split(tokenizer):
    split = text_splitter(tokenizer)
    with warnings.catch_warnings(record=True, action="always") as warned:
        for text in ("ascii", WITHOUT["Chinese"], WITHOUT["Thai"]):
            (tokens,) = split([text])
            assert tokens
    assert len(warned) == 1 and "each phrase becomes one word" in str(warned[0].message)
