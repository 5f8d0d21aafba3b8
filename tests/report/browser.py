"""A browser that looks at pages as people do: Chromium or Chrome, driven by Playwright."""

import shutil
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
# make test installs a browser where it may; somebody without root can still test all else, and
# reads what was not looked at
needs_browser = pytest.mark.skipif(
    BROWSER is None,
    reason=(
        "no Chromium or Chrome, and make test could not install one here (it needs root and"
        " apt-get): the page was not looked at"
    ),
)
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
AXE_RULES = "axe.run({resultTypes: ['violations'], elementRef: false})"


@contextmanager
def open_browser():
    """The browser, until the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def open_page(browser, path, width, scheme="light"):
    """A page in a window of some width, and a list that fills with what goes wrong in it.

    What the console says, errors of scripts, and whatever is fetched beside the page itself.
    """
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page, wrong, address = context.new_page(), [], Path(path).resolve().as_uri()
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: (
            None if request.url in (address, "data:,") else wrong.append(f"fetched: {request.url}")
        ),
    )
    page.goto(address)
    try:
        yield page, wrong
    finally:
        context.close()


@cache
def script(name):
    """A script that looks at pages: of this folder, or ``axe``."""
    if name == "axe":
        return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    return Path(__file__).with_name(name).read_text()


def faults_of(browser, path, views=VIEWS):
    """Whatever a reader of a page would stumble over, at some widths, in light and dark."""
    found = []
    for width, scheme in views:
        with open_page(browser, path, width, scheme) as (page, wrong):
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            wrong += page.evaluate(script("faults.js"))
            page.evaluate(script("axe"))
            wrong += [
                f"axe {rule['id']}: {node['html'][:200]}"
                for rule in page.evaluate(AXE_RULES)["violations"]
                for node in rule["nodes"][:3]
            ]
        found += [f"{width} px, {scheme}: {fault}" for fault in wrong]
    return found
