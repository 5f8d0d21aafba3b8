"""The site of the documentation in a browser: every page, on a desk and on a phone, offline.

``make studies`` builds the site and looks at it. Nothing may scroll sideways, be fetched from
elsewhere, be missing, or be reported on the console; formulas are drawn and the search finds words.
"""

import functools
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.report.browser import needs_browser, open_browser

pytestmark = needs_browser
ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (1280, 390)
FORMULA = "span.math, div.math"
# pictures that did not load, and what sticks out of the window (what scrolls by itself may)
LOOK = """() => {
    const found = [];
    for (const image of document.images)
        if (!image.complete || image.naturalWidth === 0) found.push(`no picture: ${image.src}`);
    const page = document.scrollingElement;
    if (page.scrollWidth > page.clientWidth)
        found.push(`scrolls sideways: ${page.scrollWidth} > ${page.clientWidth}`);
    for (const formula of document.querySelectorAll('span.math, div.math'))
        if (!formula.querySelector('mjx-container svg'))
            found.push(`not drawn: ${formula.textContent}`);
    for (const formula of document.querySelectorAll('[data-mjx-error]'))
        found.push(`formula: ${formula.dataset.mjxError}`);
    return found;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*words, "docs", str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served."""
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


def open_window(browser, width):
    """A window that reaches this machine only, and a list of what goes wrong in it."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    wrong = []

    def reach(route):
        if route.request.url.startswith(("http://127.0.0.1:", "data:")):
            route.continue_()
        else:
            wrong.append(f"leaves the machine: {route.request.url}")
            route.abort()

    context.route("**/*", reach)
    page = context.new_page()
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on(
        "response",
        lambda answer: wrong.append(f"missing: {answer.url}") if answer.status >= 400 else None,
    )
    return page, wrong


def faults(page, wrong, address):
    """What a reader of a page would stumble over."""
    wrong.clear()
    page.goto(address, wait_until="load")
    if page.locator(FORMULA).count():
        page.evaluate("() => MathJax.startup.promise")
    return [*wrong, *page.evaluate(LOOK)]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_can_be_read(site, address, browser, width):
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert len(pages) > 40
    page, wrong = open_window(browser, width)
    found = {name: faults(page, wrong, f"{address}/{name}") for name in pages}
    assert {name: what for name, what in found.items() if what} == {}


def test_some_formulas_are_drawn(site, address, browser):
    page, wrong = open_window(browser, 1280)
    assert faults(page, wrong, f"{address}/explanation/theory.html") == []
    assert page.locator("mjx-container svg").count() > 20


def test_the_search_finds_a_word(site, address, browser):
    page, wrong = open_window(browser, 1280)
    page.goto(f"{address}/search.html?q=sandwich")
    page.wait_for_selector("ul.search li a")
    names = page.locator("ul.search li a").all_inner_texts()
    assert any("interval" in name.lower() or "Glossary" in name for name in names), names
    assert wrong == []


FAULTY = {
    "<div style='width: 3000px'>wide</div>": "scrolls sideways",
    "<img src='nothing.png'>": "missing",
    "<img src='data:image/png;base64,AAAA'>": "no picture",
    "<script>console.log('said')</script>": "console: said",
    "<script>nothing()</script>": "error: nothing is not defined",
    "<script src='https://example.org/x.js'></script>": "leaves the machine",
    "<script>MathJax = {startup: {promise: 0}}</script><span class='math'>x</span>": "not drawn",
}


@pytest.mark.parametrize(("body", "what"), FAULTY.items())
def test_a_fault_is_seen(body, what, site, address, browser):
    path = site / f"faulty{abs(hash(body))}.htm"
    path.write_text(f"<!doctype html><title>x</title><link rel='icon' href='data:,'>{body}")
    page, wrong = open_window(browser, 390)
    found = faults(page, wrong, f"{address}/{path.name}")
    assert any(what in one for one in found), found
