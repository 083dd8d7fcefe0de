"""Headless Chromium, and what it saw go wrong."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.helpers.installed import skip_without

# A browser's own services would ask other hosts.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


def programs():
    """Returns the paths of Chromium and its driver; skips where there are none."""
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    try:
        import selenium  # noqa: F401
    except ImportError:
        found.append(None)
    if None in found:
        skip_without(
            "needs selenium, and chromium and chromedriver on the path", "BROWSER"
        )
    return found


def axe_core():
    """Returns axe-core's script; skips where there is none, unless one is named."""
    name = "KERAS_ELMO_AXE"
    path = Path(os.environ.get(name, "node_modules/axe-core/axe.min.js"))
    if not path.is_file():
        absent = f"no {path}; {name} names axe.min.js of axe-core"
        if name in os.environ:
            pytest.fail(absent)
        pytest.skip(absent)
    return path.read_text(encoding="utf-8")


class Browser:
    """A window, with the few things that the tests do in it."""

    def __init__(self, profile):
        chromium, driver = programs()
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        logs = {"browser": "ALL", "performance": "ALL"}
        options.set_capability("goog:loggingPrefs", logs)
        service = webdriver.ChromeService(driver)
        self.driver = webdriver.Chrome(options=options, service=service)
        # Not the page that a new window has, which looks for others.
        self.driver.get("about:blank")
        self.resize(1280, 1000)

    def resize(self, width, height):
        self._cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, value):
        """Sets light or dark; nothing moves, so that a test need not wait for it."""
        features = {"prefers-color-scheme": value, "prefers-reduced-motion": "reduce"}
        listed = [{"name": name, "value": each} for name, each in features.items()]
        self._cdp("Emulation.setEmulatedMedia", features=listed)

    def language(self, value):
        """Sets what pages take for the browser's language."""
        agent = self.run("navigator.userAgent")
        self._cdp("Network.setUserAgentOverride", userAgent=agent, acceptLanguage=value)

    def add_script(self, source):
        """Runs a script in every page that is loaded from now on, before its own."""
        self._cdp("Page.addScriptToEvaluateOnNewDocument", source=source)

    def _cdp(self, command, **parameters):
        self.driver.execute_cdp_cmd(command, parameters)

    def open(self, url, fragment=""):
        """Loads the page anew, and waits until it has computed everything."""
        if self.run("location.href.split('#')[0]") == url:
            # A page that is open would only scroll.
            self.driver.get("about:blank")
        self.driver.get(f"{url}#{fragment}")
        self.wait()

    def wait(self, script="true"):
        """Waits until a script returns something, and nothing is being loaded."""
        from selenium.webdriver.support.ui import WebDriverWait

        idle = "!document.querySelector('[aria-busy=true]')"
        WebDriverWait(self.driver, 30, 0.05).until(
            lambda driver: driver.execute_script(f"return {idle} && ({script})"),
            f"waited for {script}",
        )

    def run(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.one(selector).text

    def click(self, selector, which=0):
        self.all(selector)[which].click()
        self.wait()

    def write(self, selector, text):
        """Puts a text into a field at once, however long, and submits its form."""
        field = self.one(selector)
        self.run("arguments[0].value = arguments[1]", field, text)
        self.run("arguments[0].form.requestSubmit()", field)
        self.wait()

    def press(self, *keys):
        from selenium.webdriver.common.keys import Keys

        for key in keys:
            self.driver.switch_to.active_element.send_keys(getattr(Keys, key))
        self.wait()

    def faults(self, url):
        """Returns JavaScript's errors, failed requests, and requests to others."""
        found = [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            parameters = event["params"]
            if event["method"] == "Network.loadingFailed":
                found.append(f"failed: {parameters['errorText']}")
            elif event["method"] == "Network.requestWillBeSent":
                address = parameters["request"]["url"]
                # Its own pages are the browser's.
                is_own = address.startswith(("chrome:", "about:", "data:"))
                if not (is_own or address.startswith(url)):
                    found.append(f"elsewhere: {address}")
        return found
