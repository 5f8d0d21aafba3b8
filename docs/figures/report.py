"""A picture of the top of a report, as a browser shows it.

    python docs/figures/report.py docs/figures/report.png

Makes docs/figures/report.png, which docs/howto/report.md shows, from the report of the demo. Needs
Chromium or Chrome, and Playwright (both are there after ``make test``).
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright
from tests.report.browser import BROWSER

from pairscore.cli.demo_story import run_demo


def main(path):
    """Write the report of the demo, open it and keep its first screen."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = run_demo(lambda text: None, folder=Path(folder)).report
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1290}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.screenshot(path=path)
        browser.close()
    Image.open(path).quantize(48).save(path, optimize=True)  # a small file, by its few colours


if __name__ == "__main__":
    main(*sys.argv[1:])
