"""The pages that `make docs` builds, in a browser: whole, readable, self-contained."""

import contextlib
import functools
import http.server
import threading
from pathlib import Path

import pytest

from tests.helpers.browser import Browser, axe_core
from tests.helpers.installed import skip_without

BUILT = Path(__file__).parents[1] / "build" / "docs"
# Made from the others, or found by the search alone.
GENERATED = {"genindex.html", "search.html"}
PAGES = sorted(
    path.relative_to(BUILT).as_posix()
    for path in BUILT.rglob("*.html")
    if path.name not in GENERATED and "_" not in path.parts[0][:1]
)
WIDTHS = (1280, 390)
# The rules of axe-core whose answers a colour scheme can change.
COLOURS = ["color-contrast", "link-in-text-block"]

# Half a minute: axe-core reads every page.
pytestmark = pytest.mark.whole


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def url():
    if not PAGES:
        skip_without(f"no {BUILT}: make docs builds it", "BROWSER")
    handler = functools.partial(Quiet, directory=str(BUILT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(url, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    # Of the page that a new window has.
    browser.faults(url)
    yield browser
    browser.driver.quit()


def test_pages(browser, url):
    """No error, no request elsewhere, nothing wider than a phone; figures are there.

    axe-core, if there is one, finds nothing serious, and in dark no colours that are
    hard to read.
    """
    script = None
    with contextlib.suppress(pytest.skip.Exception):
        script = axe_core()
        browser.add_script(script)
    missing = "[...document.images].filter(i => !i.naturalWidth).length"
    found = []
    for number, page in enumerate(PAGES):
        browser.scheme("light")
        browser.open(url + page)
        for width in WIDTHS:
            browser.resize(width, 900)
            assert browser.run("document.documentElement.scrollWidth") <= width, page
            assert browser.run(missing) == 0, page
        assert not browser.faults(url), page
        if script:
            browser.resize(WIDTHS[0], 900)
            # The navigation and the colours of code are the same on all pages, and a
            # scheme has one colour for each kind of text.
            same = {"exclude": [".sidebar-drawer", ".highlight"]} if number % 8 else {}
            found += serious(browser, (page, "light"), same, {})
            if not number % 4:
                browser.scheme("dark")
                found += serious(browser, (page, "dark"), same, {"runOnly": COLOURS})
    assert not found
    # Skips, as all else is done.
    script or axe_core()


def serious(browser, place, context, rules):
    """What axe-core finds on the page, without what matters less."""
    found = browser.driver.execute_async_script(
        "axe.run(...[...arguments].slice(0, 2))"
        ".then((found) => arguments[2](found.violations))",
        {"include": ["html"], **context},
        {**rules, "resultTypes": ["violations"], "preload": False},
    )
    return [
        (*place, each["id"], len(each["nodes"]), each["nodes"][0]["html"])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def test_formulas_are_drawn(browser, url):
    """By the browser itself, as MathML."""
    browser.resize(1280, 900)
    browser.open(url + "how_it_works.html")
    sizes = browser.run(
        "[...document.querySelectorAll('div.math math')].map(m => m.clientHeight)"
    )
    assert len(sizes) > 5
    assert min(sizes) > 10
