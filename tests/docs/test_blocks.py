"""Every block of code and every command of the README and the documentation runs."""

import re

import pytest

from tests.docs.pages import LANGUAGES, PAGES, SERVERS, blocks_of, needs_of
from tests.docs.pages import without_fences as prose_of
from tests.docs.running import run_page


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page, folder, request):
    addresses = {}
    for server in sorted(needs_of(page) - {"spark"}):
        addresses |= request.getfixturevalue(f"docs_{server}")
    run_page(page, addresses)


# -- nothing escapes the test ----------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    for block in blocks_of(page):
        assert block.language in LANGUAGES or block.is_directive, f"{page}, line {block.line}"
        if block.language == "text":
            assert not re.search(r"(?m)^(\$ |>>> |pairscore \w+ )", block.body), (page, block.line)
        if block.language == "console":
            assert block.body.startswith("$ "), (page, block.line)


@pytest.mark.parametrize("page", PAGES)
def test_no_command_hides_in_an_indented_block(page):
    hidden = re.findall(r"(?m)^(?: {4,}|\t)(?:\$ |>>> |pairscore |make |pip ).*$", prose_of(page))
    assert hidden == []


@pytest.mark.parametrize("page", PAGES)
def test_servers_that_a_page_needs_are_known(page):
    assert needs_of(page) <= set(SERVERS)


def test_a_page_that_is_wrong_fails(folder, monkeypatch):
    """The runner itself: code, an output, a command and a status that are not true."""
    page = folder / "page.md"
    monkeypatch.setitem(PAGES, "page.md", page)
    for wrong in (
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nraise ValueError\n```\n",
        "```console\n$ pairscore fit nothing.csv nothing.csv\n```\n",
        "```console\n$ pairscore --version\nanother 9.9\n```\n",
        "```console\n$ make what-is-not-there\n```\n",
        "```console\n$ pip install 'pairscore[nothing]'\n```\n",
        "<!-- exit: 2 -->\n```console\n$ pairscore --version\n```\n",
    ):
        page.write_text(wrong)
        with pytest.raises((AssertionError, ValueError)):
            run_page("page.md")
    page.write_text(
        "```python\n>>> 1 + 1\n2\n```\n```console\n$ pairscore --version\npair...\n```\n"
    )
    run_page("page.md")


def test_servers_of_pages_are_those_that_pages_write(folder, monkeypatch, request):
    """Each server once, with an address that a page may write."""
    page = folder / "page.md"
    monkeypatch.setitem(PAGES, "page.md", page)
    page.write_text(SERVER_PAGE)
    addresses = {}
    for server in ("dask", "object_store", "postgres"):
        addresses |= request.getfixturevalue(f"docs_{server}")
    run_page("page.md", addresses)
    page.write_text(SERVER_PAGE.replace("len(items)\n332", "len(items)\n331"))
    with pytest.raises(AssertionError):
        run_page("page.md", addresses)


SERVER_PAGE = """
<!-- needs: dask -->
```console
$ pairscore fit items.csv comparisons.csv --stream --engine dask://127.0.0.1:8786 -o dask.npz
```
<!-- needs: postgres -->
```python
>>> from pairscore import read_sql
>>> url = "postgresql://reader@127.0.0.1:5432/study"
>>> items = read_sql(url, "SELECT * FROM items")
>>> len(items)
332
>>> votes = read_sql(url, 'SELECT "left", "right", winner FROM comparisons')
>>> len(votes["winner"])
3000
```
```console
$ pairscore fit --db postgresql://reader@127.0.0.1:5432/study \\
    --items 'SELECT id, bmi FROM items' --comparisons 'SELECT * FROM comparisons' -o database.npz
```
<!-- needs: object_store -->
```console
$ pairscore fit s3://hospital/items.parquet 's3://hospital/comparisons/*.parquet' --stream -o s3.npz
```
<!-- needs: spark -->
<!-- exit: 3 -->
```console
$ false
```
```python
from pathlib import Path
assert all(Path(f"{name}.npz").is_file() for name in ("dask", "database", "s3"))
```
"""
