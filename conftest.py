"""Servers that are there for the tests of one run, and the tables that the demo leaves."""

import pytest

# names under which people look for modules of other rooms: pytest finds these where they are
collect_ignore = ["src/pairscore/plots.py", "src/pairscore/scorers.py"]


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory):
    """A Dask cluster; ``processes()`` starts its two workers."""
    from tests.dask_cluster import server

    with server(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres():
    """The port of a PostgreSQL server that is there for the tests of this run."""
    from tests.postgres import server

    with server() as port:
        yield port


@pytest.fixture(scope="session")
def object_store():
    """An S3 server that is there for the tests of this run."""
    from tests.object_store import server

    with server() as store:
        yield store


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory):
    """What ``pairscore demo`` leaves behind."""
    from pairscore.cli.demo_story import run_demo

    folder = tmp_path_factory.mktemp("demo")
    run_demo(lambda text: None, folder=folder)
    return folder
