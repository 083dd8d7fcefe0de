"""The explorer's page in a real browser."""

import io
import os
import re
import time
from pathlib import Path

import pytest
from PIL import Image

from keras_elmo.downstream.tagger import Tagger
from keras_elmo.explorer.api import Api
from keras_elmo.explorer.explored_tagger import ExploredTagger
from keras_elmo.explorer.explorer import Explorer
from tests.explorer.conftest import MIXES
from tests.helpers.browser import Browser, axe_core
from tests.helpers.small import random_encoder

# Chromium starts once.
pytestmark = [pytest.mark.graph, pytest.mark.slow]

VIEWS = ("word", "compare", "surprise", "tags", "quiz", "mix")
BANK = "view=word&text=we+sat+on+the+bank&at=4"
PAIR = "first=the+bank+of+a+river&second=a+bank+lends+money"
THREE = f"{PAIR}&third=we+sat+on+the+bank"
MINIMAL = "likely=we+sat+on+the+bank&unlikely=we+sat+on+the+boats"
MARKUP = "<img src=x onerror=window.hacked=1> <script>window.hacked=1</script>"
TAGGED = "tagged=the+bank+Ada+배+river+Ada+the+bank"
# Of every view.
STATE = f"{THREE}&{MINIMAL}&{TAGGED}&text=we+sat+on+the+bank&at=4"


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(window, page):
    """After each test nothing has gone wrong but what the test expects."""
    window.resize(1280, 1000)
    window.scheme("light")
    window.language("en")
    window.expected = []
    window.faults(page.url)
    yield window
    left = [
        fault
        for fault in window.faults(page.url)
        if not any(each in fault for each in window.expected)
    ]
    assert not left


@pytest.fixture
def open_page(browser, start_page):
    """Starts a page of its own and opens it."""

    def open_page(api, fragment=""):
        page = start_page(api)
        # Its address is another one than the shared page's.
        browser.expected = ["elsewhere:"]
        browser.open(page.url, fragment)
        return page

    return open_page


def test_word(browser, page):
    """A click shows neighbours, substitutes, and the map; the slider moves it."""
    browser.open(page.url, "text=we+sat+on+the+bank")
    assert "Choose a word" in browser.text("#map")
    browser.click("#tokens button", 4)
    assert "at=4" in browser.run("location.hash")
    assert browser.one("#tokens [aria-pressed=true]").text == "bank"
    assert len(browser.all("#map g.point")) == 16
    assert len(browser.all("#neighbours li")) == 12
    assert len(browser.all("#substitutes ol")) == 3
    assert len(browser.all("#substitutes li")) == 30
    browser.click("#neighbours .same")
    words = {each.text for each in browser.all("#neighbours .middle")}
    assert words == {"bank", "Bank"}
    # The word stands in the middle, in one column; after it is on the left in Hebrew.
    starts = [each.location["x"] for each in browser.all("#neighbours .after")]
    hebrew = [each.text for each in browser.all("#neighbours .before")].index(
        "שלום עולם"
    )
    assert starts.pop(hebrew) < min(starts) and len(set(starts)) == 1
    assert len({each.location["x"] for each in browser.all("#neighbours .middle")}) == 1
    # Colours and shapes have names.
    for mark in browser.all("#map .point"):
        assert mark.get_attribute("aria-label").startswith("Cluster ")
    before = browser.run("document.querySelector('#map g').style.transform")
    browser.one("#word input[type=range]").click()
    browser.press("HOME")
    assert browser.run("new URLSearchParams(location.hash).get('layer')") == "0"
    assert "the word alone" in browser.text("#word output")
    assert browser.run("document.querySelector('#map g').style.transform") != before
    # A neighbour is looked at in its turn.
    browser.click("#neighbours .middle button")
    assert browser.one("#tokens [aria-pressed=true]").text in ("bank", "Bank")


def test_forms(browser, page):
    """What counts as the word can be changed; another word has its own."""
    browser.open(page.url, BANK)
    field = browser.one("#map .pattern")
    assert field.get_attribute("value") == "bank"
    browser.run("void (arguments[0].value = 'b*')", field)
    browser.run("arguments[0].dispatchEvent(new Event('change'))", field)
    browser.wait("document.querySelectorAll('#map g').length > 16")
    assert "pattern=b*" in browser.run("location.hash")
    browser.click("#tokens button", 0)
    assert browser.one("#map .pattern").get_attribute("value") == "we"
    assert "pattern" not in browser.run("location.hash")


def test_groups(browser, explorers, open_page):
    """Groups are clusters, or senses of the sample; one cluster is not a group."""
    answer = explorers["small"].map(("the", "bank"), 1, "bank")
    senses = [{"name": "river", "size": 6}, {"name": "money", "size": 4}]

    class Sensed:
        def __getattr__(self, name):
            return getattr(explorers["small"], name)

        def map(self, *arguments):
            points = [
                {**point, "cluster": 0, "sense": k % 3 - 1}
                for k, point in enumerate(answer["points"])
            ]
            clusters = [{"size": len(points), "words": ["the"]}]
            return {**answer, "points": points, "clusters": clusters, "senses": senses}

    open_page(Api({"small": Sensed()}, MIXES, 300), BANK)
    assert "No groups stand out." in browser.text("#map .legend")
    assert "one point for all" in browser.text("#map .legend")
    browser.one("#map .colour").send_keys("senses")
    browser.wait("location.hash.includes('colour=sense')")
    legend = browser.text("#map .legend")
    assert "river" in legend and "money" in legend and "no sense given" in legend
    assert len(browser.all("#map g.cluster-1")) == 5
    label = browser.one("#map g.cluster-0").get_attribute("aria-label")
    assert label.startswith("river: ")


def test_picture(browser, page):
    """It can be saved, with colours of its own."""
    browser.open(page.url, BANK)
    browser.run(
        "void (URL.createObjectURL = (blob) => { window.saved = blob; return '#'; })"
    )
    browser.run("void (HTMLAnchorElement.prototype.click = () => {})")
    browser.click("#map .download")
    picture = browser.driver.execute_async_script(
        "window.saved.text().then(arguments[0])"
    )
    assert picture.startswith("<svg") and "http://www.w3.org/2000/svg" in picture
    assert picture.count('transform="translate(') == 17
    assert 'fill="rgb(' in picture and "style=" not in picture


def test_korean(browser, page):
    """The page speaks it if the browser does, and shows a Korean model first."""
    browser.language("ko-KR")
    browser.open(page.url)
    assert browser.run("document.documentElement.lang") == "ko"
    assert browser.one("#model").get_attribute("value") == "korean"
    browser.open(page.url, STATE)
    for view in VIEWS:
        browser.click(f"[data-view={view}]")
        text = browser.text(f"#{view} h2") + browser.text("nav")
        assert not re.search("[A-Za-z]{3}", text)
    assert "2층" in browser.text("#mixes")
    browser.expected = ["status of 400"]
    browser.open(page.url, "view=compare&first=a&second=+")
    assert "문장에는 단어가 하나는" in browser.text("#heat [role=alert]")


def test_sample_mix(browser, explorers, open_page):
    """It is shown until the user names a mix."""
    open_page(Api(explorers, [], 300), "view=mix")
    assert "Sample: elmo-en" in browser.text("#mixes")


def test_loading(browser, explorers, start_page):
    """The page says what is read, and goes on when all is there."""
    api = Api(explorers, MIXES, 300)
    api.reading = "small", 1, 2
    page = start_page(api)
    browser.expected = ["elsewhere:"]
    browser.driver.get("about:blank")
    browser.driver.get(page.url)
    waiting = "document.getElementById('status').textContent.includes('small and the')"
    for _ in range(100):
        if browser.run(waiting):
            break
        time.sleep(0.05)
    assert "(1 of 2)" in browser.text("#status")
    api.reading = None
    browser.wait()
    assert len(browser.all("#map g.point")) > 1


def test_keyboard(browser, page):
    """Words and points are reached and chosen without a mouse."""
    browser.open(page.url, BANK)
    browser.run("document.querySelector('#tokens button').focus()")
    browser.press("ARROW_RIGHT", "ENTER")
    assert browser.one("#tokens [aria-pressed=true]").text == "sat"
    browser.press("ARROW_LEFT", "ARROW_LEFT", "SPACE")
    assert browser.one("#tokens [aria-pressed=true]").text == "bank"
    assert "we sat on the bank" in browser.text("#map .readout")
    browser.run("document.querySelector('#map [tabindex=\"0\"]').focus()")
    seen = {browser.text("#map .readout")}
    for _ in range(15):
        browser.press("ARROW_RIGHT")
        seen.add(browser.text("#map .readout"))
    assert len(seen) > 12
    # Tab comes back to one point, however the last one was reached.
    browser.run("document.querySelectorAll('#map g')[3].focus()")
    browser.press("ARROW_RIGHT")
    assert len(browser.all("#map g[tabindex='0']")) == 1
    # The browser's own keys are left to it.
    back = "{key: 'ArrowLeft', altKey: true, bubbles: true, cancelable: true}"
    for selector in ("#tokens button", "#map g"):
        assert browser.run(
            f"document.querySelector('{selector}')"
            f".dispatchEvent(new KeyboardEvent('keydown', {back}))"
        )


def test_examples(browser, page):
    """The one that is pressed keeps the focus; another model has its own."""
    browser.open(page.url)
    shown = {}
    for view in VIEWS[:4]:
        browser.click(f"[data-view={view}]")
        buttons = f"#{view} .examples button"
        browser.run(f"document.querySelector('{buttons}').focus()")
        browser.press("ENTER")
        focused = "document.activeElement.parentElement.className"
        assert browser.run(focused) == "examples"
        shown[view] = browser.text(buttons)
    browser.one("#model").send_keys("korean")
    browser.wait()
    for view, text in shown.items():
        browser.click(f"[data-view={view}]")
        assert browser.text(f"#{view} .examples button") != text


def test_back(browser, page):
    """What was shown lately is there at once: nothing is asked again."""
    browser.open(page.url, BANK)
    shown = browser.text("#word")
    browser.click("#tokens button", 0)
    browser.run("void (window.fetch = () => { throw new Error('asked'); })")
    browser.driver.back()
    browser.wait("location.hash.includes('at=4')")
    assert browser.text("#word") == shown


def test_play(browser, page):
    """From layer 0 to the top, unless somebody moves the slider or leaves the view."""
    browser.open(page.url, BANK)
    browser.run("void (window.setInterval = (tick) => { window.tick = tick; })")
    layer = "new URLSearchParams(location.hash).get('layer')"
    browser.one("#word .play").click()
    for number in ("0", "1", "2"):
        assert browser.run(layer) == number
        browser.run("tick()")
    browser.one("#word .play").click()
    browser.run("tick()")
    browser.one("#word input[type=range]").click()
    browser.press("HOME")
    browser.run("tick()")
    assert browser.run(layer) == "0"
    browser.one("#word .play").click()
    browser.click("[data-view=compare]")
    browser.run("tick()")
    assert browser.run(layer) == "0"


def test_compare(browser, page):
    browser.open(page.url, "view=compare")
    assert browser.one("#first").get_attribute("value").startswith("We sat")
    assert "of the stream" in browser.one("#third").get_attribute("value")
    browser.run("document.querySelector('#first').value = 'the bank'")
    browser.run("document.querySelector('#third').value = ''")
    browser.write("#second", "a bank lends")
    assert len(browser.all("#heat tbody td")) == 6
    top = browser.text("#heat tbody")
    browser.one("#compare input[type=range]").click()
    browser.press("HOME")
    assert browser.text("#heat tbody") != top
    assert browser.all("#heat tbody td")[4].text == "1.00"


def test_three_sentences(browser, page):
    """The page has two tables, and compares words that stand in all three sentences."""
    browser.open(page.url, f"view=compare&{THREE}")
    assert len(browser.all("#heat table")) == 2
    assert len(browser.all("#heat tbody td")) == 5 * (4 + 5)
    (row,) = browser.all("#heat .shared li")
    words, cosines = row.text.split("\n")[0], browser.all("#heat .shared .percent")
    assert words == "bank"
    cells = [each.text for each in browser.all("#heat tbody td")]
    # The word is second in the first two sentences, and fifth in the third.
    found = [f"{float(cells[4 + 1]):.2f}", f"{float(cells[20 + 5 + 4]):.2f}"]
    assert [each.text for each in cosines] == found and found[0] != found[1]
    browser.one("#compare input[type=range]").click()
    browser.press("HOME")
    assert [each.text for each in browser.all("#heat .percent")] == ["1.00", "1.00"]
    browser.write("#third", "money")
    assert "No word stands in all three" in browser.text("#heat")
    browser.write("#third", "")
    assert len(browser.all("#heat table")) == 1
    assert "third" not in browser.run("location.hash")


def test_quiz(browser, of_sample, open_page):
    """An answer is judged and counted once; the address holds the question."""
    page = open_page(Api({"sample": of_sample}, MIXES, 300), "view=quiz")
    marked = browser.text("#question mark")
    assert marked in browser.text("#question .sentence")
    right = []
    for number in range(3):
        assert not browser.text("#question .result")
        if not number:
            browser.run("document.querySelector('#question .choices button').focus()")
        browser.press("ENTER")
        chosen = browser.one("#question [aria-pressed=true]").text
        answer = browser.one("#question .right").text
        right.append(chosen == answer)
        verdict = browser.text("#question .verdict")
        assert verdict == (f"Right: {answer}." if right[-1] else f"It is {answer}.")
        tally = browser.text("#question .tally")
        assert f"Of {number + 1} answered you have {sum(right)} right" in tally
        assert not browser.all("#question .choices button:enabled")
        # The focus is on the next question, then on its first choice.
        browser.press("ENTER")
        browser.wait()
        focused = "document.activeElement.parentElement.className"
        assert browser.run(focused) == "choices"
        assert f"question={number + 1}" in browser.run("location.hash")
    sentence = browser.text("#question .sentence")
    browser.driver.back()
    browser.wait()
    assert browser.text("#question .tally") == tally
    browser.open(page.url, "view=quiz&question=3")
    assert browser.text("#question .sentence") == sentence
    assert not browser.text("#question .result")


def test_quiz_without_senses(browser, page):
    """A text whose senses are not known has no questions."""
    browser.open(page.url, "view=quiz")
    assert "without --text" in browser.text("#question")


def test_surprise(browser, page):
    browser.open(page.url, f"view=surprise&{MINIMAL}")
    assert len(browser.all("#bits .bits")) == 2
    assert [each.text.split()[-1] for each in browser.all(".other")] == [
        "bank",
        "boats",
    ]
    assert "unknown: boats" in browser.text("#bits")
    assert "times as likely" in browser.text(".verdict")
    both = browser.text("#bits")
    browser.click("[value=forward]")
    assert browser.text("#bits") != both
    # An unknown name shows both sides.
    unequal = "likely=we+sat&unlikely=we+sat+on+the+bank&direction=toString"
    browser.open(page.url, f"view=surprise&{unequal}")
    assert "bits less a word" in browser.text(".verdict")
    browser.click("[value=backward]")
    assert "times as likely" in browser.text(".verdict")


def test_tags(browser, page, tagger):
    """A tag and its probability at each word; all tags of one that is pointed at."""
    from selenium.webdriver.common.action_chains import ActionChains

    browser.open(page.url, f"view=tags&{TAGGED}&chosen=2")
    words = tuple("the bank Ada 배 river Ada the bank".split())
    expected = tagger.tag(words)["words"]
    names = [tag["name"] for tag in tagger.describe()["tags"]]
    shown = [button.text.split("\n") for button in browser.all(".tagged button")]
    for (word, tag, share), each in zip(shown, expected, strict=True):
        assert (word, tag) == (each["word"], names[each["tag"]])
        probability = dict(map(tuple, each["marginals"]))[each["tag"]]
        assert float(share.removesuffix(" %")) == pytest.approx(
            100 * probability, abs=0.51
        )
    joined = browser.run("[...document.querySelectorAll('.tagged li')]")
    assert ["joins" in item.get_attribute("class").split() for item in joined] == [
        each["joins"] for each in expected
    ]

    def rows():
        return [row.text for row in browser.all(".marginals .bars .text")]

    def order(k):
        return [names[j] for j, _ in expected[k]["marginals"]]

    assert browser.text(".marginals h3") == "Ada" and rows() == order(2)
    assert browser.text(".marginals b") == names[expected[2]["tag"]]
    buttons = browser.all(".tagged button")
    ActionChains(browser.driver).move_to_element(buttons[1]).perform()
    assert browser.text(".marginals h3") == "bank" and rows() == order(1)
    ActionChains(browser.driver).move_to_element(browser.one("h1")).perform()
    assert browser.text(".marginals h3") == "Ada"
    browser.run("arguments[0].focus()", buttons[2])
    browser.press("ARROW_RIGHT")
    assert browser.text(".marginals h3") == "배" and rows() == order(3)
    browser.press("ENTER")
    assert "chosen=3" in browser.run("location.hash")
    assert browser.one(".tagged [aria-pressed=true]").text.startswith("배")
    # At first the word that the tagger is least sure of.
    browser.write("#sentence", "the bank Ada")
    assert "chosen" not in browser.run("location.hash")
    pressed = browser.one(".tagged [aria-pressed=true]").text.split("\n")[0]
    found = tagger.tag(("the", "bank", "Ada"))["words"]
    sure = {w["word"]: dict(map(tuple, w["marginals"]))[w["tag"]] for w in found}
    assert pressed == min(sure, key=sure.get)


def test_tags_of_any_sentence(browser, page):
    """No words are refused by a sentence; markup, Hebrew and many words are shown."""
    browser.open(page.url, f"view=tags&{TAGGED}")
    browser.write("#sentence", MARKUP)
    assert browser.all(".tagged .text")[0].text == "<img"
    assert not browser.run("window.hacked") and not browser.all("main img")
    browser.write("#sentence", "שלום עולם bank")
    first, last = (browser.all(".tagged button")[k].location["x"] for k in (0, 2))
    assert first > last
    browser.resize(360, 740)
    browser.write("#sentence", "a" * 500 + " word" * 299)
    assert len(browser.all(".tagged button")) == 300
    assert browser.run("document.documentElement.scrollWidth") <= 360
    browser.expected = ["status of 400"]
    for text, said in ((" ", "at least one word"), ("a " * 301, "have 300 tokens")):
        browser.write("#sentence", text)
        assert said in browser.text("#tagged [role=alert]")
        assert not browser.all(".marginals")


def test_hundreds_of_tags(browser, explorers, open_page):
    """The likeliest tags have a bar each, and the rest has one."""
    tags = [f"T{k}" for k in range(300)]
    tagger = Tagger(random_encoder(), tags=tags, lstm_units=0, crf=False)
    many = ExploredTagger(tagger, "many.keras")
    open_page(Api(explorers, MIXES, 300, many), "view=tags&tagged=the+bank")
    assert len(browser.all(".marginals li")) == 25
    assert "276 other tags" in browser.text(".marginals")
    assert "many.keras: each word gets its own" in browser.text("#tagged .note")


def test_language_of_the_tagger(browser, explorers, start_page):
    """Its examples are in the language of the model that has its biLM."""
    encoder = explorers["small"].encoder
    tagger = Tagger(encoder, tags=["NOUN", "VERB"], lstm_units=0)
    page = start_page(Api(explorers, [], 300, ExploredTagger(tagger, "pos")))
    browser.expected = ["elsewhere:"]
    for model in ("small", "korean"):
        browser.open(page.url, f"view=tags&model={model}")
        assert browser.text("#tags .examples button").startswith("Ada Lovelace")


def test_no_tagger(browser, explorers, open_page):
    """There is no such view, even if the address names it."""
    open_page(Api(explorers, MIXES, 300), f"view=tags&{STATE}")
    assert not browser.one("[data-view=tags]").is_displayed()
    assert not browser.one("#tags").is_displayed()
    assert browser.one("#word").is_displayed()


def test_mix(browser, page, tmp_path):
    browser.open(page.url, "view=mix")
    assert "layer 1: 50.0 %" in browser.text("#mixes")
    file = tmp_path / "my-mix.csv"
    file.write_text("epoch,a/layer_0,a/layer_1\n0,0.5,0.5\n1,0.25,0.75\n")
    browser.one("[type=file]").send_keys(str(file))
    browser.wait("document.querySelector('#mixes').innerText.includes('my-mix.csv')")
    assert "layer 1: 75.0 %" in browser.text("#mixes")
    browser.expected = ["status of 400"]
    file.write_text("no mix\n")
    browser.one("[type=file]").send_keys(str(file))
    browser.wait("document.querySelector('#mixes [role=alert]')")
    assert "my-mix.csv: lacks the column epoch" in browser.text("#mixes")
    # The mixes from before are still there.
    browser.click("[data-view=compare]")
    browser.click("[data-view=mix]")
    assert "layer 1: 75.0 %" in browser.text("#mixes")


def test_hostile_text(browser, page):
    """It is shown as text, or refused by a sentence; the page goes on."""
    browser.open(page.url, BANK)
    browser.write("#text", MARKUP)
    tokens = [each.text for each in browser.all("#tokens button")]
    assert " ".join(tokens) == MARKUP
    browser.click("#tokens button", 1)
    assert browser.text("#map .readout b") == "src=x"
    browser.write("#text", "a\x07b \u202eevil bank")
    assert [each.text[:2] for each in browser.all("#tokens button")][0] == "a\u2407"
    assert not browser.run("window.hacked") and not browser.all("main img")
    browser.expected = ["status of 400"]
    for text, said in (
        ("word " * 3_000, "may have 12,000 characters. Received: 15,000"),
        (" ", "at least one word"),
    ):
        browser.write("#text", text)
        assert said in browser.text("#tokens [role=alert]")
    browser.write("#text", "the bank")
    assert not browser.all("[role=alert]")


def test_reload(browser, page):
    """The address holds the state; one that is wrong is said where it is."""
    browser.open(page.url, f"{BANK}&layer=1&same=1&model=korean")
    shown = browser.text("#word")
    browser.driver.refresh()
    browser.wait("document.querySelector('#map g')")
    assert browser.text("#word") == shown
    assert browser.one("#model").get_attribute("value") == "korean"
    assert browser.one(".same").is_selected()
    browser.click("[data-view=compare]")
    browser.driver.back()
    browser.wait("!document.getElementById('word').hidden")
    assert browser.text("#word") == shown
    browser.expected = ["status of 400"]
    for name in ("x", "toString"):
        browser.open(page.url, f"view={name}&model={name}&layer=9&text=the+bank&at=7")
        assert "must be one of the 2 tokens" in browser.text("#map [role=alert]")
        assert browser.one("#model").get_attribute("value") == "small"


def test_two_tabs(browser, page):
    """Each has a state of its own."""
    browser.open(page.url, BANK)
    first, text = browser.driver.current_window_handle, browser.text("#map")
    browser.driver.switch_to.new_window("tab")
    browser.open(page.url, "model=korean")
    assert browser.one("#tokens [aria-pressed=true]").text == "눈이"
    browser.driver.close()
    browser.driver.switch_to.window(first)
    assert browser.text("#map") == text
    browser.click("#tokens button", 0)
    assert browser.one("#tokens [aria-pressed=true]").text == "we"


def test_model_without_softmax(browser, page):
    """What it cannot answer is not asked."""
    browser.open(page.url, f"{BANK}&model=encoder")
    assert not browser.one("#substitutes").is_displayed()
    browser.open(page.url, "text=we+sat+on+the+bank&model=encoder")
    assert not browser.one("#substitutes").is_displayed()
    browser.click("[data-view=surprise]")
    assert "predicts no words" in browser.text("#bits")


def test_model_that_dies(browser, explorers, open_page):
    """Its panel says so, and the rest works; also when the server has ended."""

    class Dying:
        def __getattr__(self, name):
            return getattr(explorers["small"], name)

        def map(self, *arguments):
            raise MemoryError

    page = open_page(Api({"small": Dying()}, MIXES, 300), BANK)
    browser.expected += ["status of 500", "ERR_", "failed:"]
    assert "The server failed; see its log" in browser.text("#map [role=alert]")
    assert len(browser.all("#neighbours li")) == 12
    page.stop()
    browser.click("#tokens button", 2)
    for panel in ("#map", "#neighbours", "#substitutes"):
        assert "does not answer" in browser.text(f"{panel} [role=alert]")
    browser.click("#neighbours .error button")
    assert "does not answer" in browser.text("#neighbours [role=alert]")


def test_scripts(browser, page):
    """Hangul, and Hebrew from right to left, the word in the middle."""
    browser.open(page.url, "text=배를+타고+섬으로&at=0&same=1")
    assert browser.text("#neighbours .after") == "타고 섬으로 갔다"
    browser.open(page.url, "text=שלום+עולם+bank&at=2&same=1")
    direction = "getComputedStyle(document.querySelector('.tokens')).direction"
    assert browser.run(direction) == "rtl"
    first, last = (browser.all("#tokens button")[k].location["x"] for k in (0, 2))
    assert first > last
    browser.open(page.url, "text=עולם&at=0&same=1")
    row = {
        name: browser.one(f"#neighbours .{name}").location["x"]
        for name in ("before", "middle", "after")
    }
    assert row["before"] > row["middle"] > row["after"]


def test_phone(browser, page):
    """Nothing is wider than a phone."""
    browser.resize(360, 740)
    browser.open(page.url, STATE)
    for view in VIEWS:
        browser.click(f"[data-view={view}]")
        assert browser.run("document.documentElement.scrollWidth") <= 360, view


def test_accessible(browser, page):
    """axe-core finds nothing serious. Dark mode changes only colours."""
    script = axe_core()
    for scheme, rules in (("light", ""), ("dark", "{runOnly: ['color-contrast']}")):
        browser.scheme(scheme)
        browser.open(page.url, STATE)
        browser.driver.execute_script(script)
        for view in VIEWS:
            browser.click(f"[data-view={view}]")
            found = browser.driver.execute_async_script(
                f"axe.run({rules}).then((found) => arguments[0](found.violations))"
            )
            serious = [
                (view, scheme, each["id"], each["nodes"][0]["html"])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
            assert not serious


@pytest.mark.skipif(
    "KERAS_ELMO_SCREENSHOTS" not in os.environ,
    reason="KERAS_ELMO_SCREENSHOTS names no folder, such as docs/figures",
)
def test_screenshots(browser, start_page):
    """Takes the pictures of the documentation, with a tagger that a variable names."""
    tagger = ExploredTagger.load(os.environ["KERAS_ELMO_TAGGER"])
    api = Api({"elmo-en": Explorer.load("elmo-en")}, MIXES, 300, tagger)
    page = start_page(api)
    folder = Path(os.environ["KERAS_ELMO_SCREENSHOTS"])
    browser.expected = ["elsewhere:"]
    for name in ("word", "compare", "surprise", "quiz", "tags"):
        browser.resize(1040, 400)
        browser.open(page.url, f"view={name}&same=1")
        if name == "quiz":
            browser.click("#question .choices button", 1)
        browser.resize(1040, browser.run("document.documentElement.scrollHeight"))
        picture = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png()))
        # A palette takes half of the bytes; this one keeps the colours of few points.
        picture.convert("RGB").quantize(
            128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        ).save(folder / f"explorer-{name}.png", optimize=True)
