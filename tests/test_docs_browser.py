"""The pages that `make docs` builds, in a browser: whole, readable, self-contained."""

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

# A minute or more: every page is loaded four times, and axe-core reads it twice.
pytestmark = pytest.mark.slow


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


def test_pages_are_whole(browser, url):
    """No error, no request elsewhere, nothing wider than a phone; figures are there."""
    for page in PAGES:
        for width in WIDTHS:
            browser.resize(width, 900)
            browser.open(url + page)
            assert browser.run("document.documentElement.scrollWidth") <= width, page
            missing = "[...document.images].filter(i => !i.naturalWidth).length"
            assert browser.run(missing) == 0, page
        assert not browser.faults(url), page


def test_formulas_are_drawn(browser, url):
    """By the browser itself, as MathML."""
    browser.resize(1280, 900)
    browser.open(url + "how_it_works.html")
    sizes = browser.run(
        "[...document.querySelectorAll('div.math math')].map(m => m.clientHeight)"
    )
    assert len(sizes) > 5
    assert min(sizes) > 10


def test_pages_are_accessible(browser, url):
    """axe-core finds nothing serious, in light and in dark."""
    script = axe_core()
    serious = []
    for page in PAGES:
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            browser.open(url + page)
            browser.driver.execute_script(script)
            found = browser.driver.execute_async_script(
                "axe.run().then((found) => arguments[0](found.violations))"
            )
            serious += [
                (page, scheme, each["id"], len(each["nodes"]), each["nodes"][0]["html"])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
    assert not serious
