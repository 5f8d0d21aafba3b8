"""What the examples in the README find on disk: patients as items, simulated votes."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _files_of_the_readme(request, tmp_path, monkeypatch):
    if getattr(request.node, "name", "") != "README.md":
        return
    import pandas as pd

    from pairscore.cli.demo import diabetes_patients, simulate_grades

    monkeypatch.chdir(tmp_path)
    patients, progression = diabetes_patients()
    table = pd.DataFrame(patients.values, columns=list(patients.feature_names))
    table.insert(0, "id", patients.ids)
    worse, milder = simulate_grades(
        progression, np.arange(len(table) - 50), np.random.default_rng(0)
    ).T
    left_is_worse = np.random.default_rng(1).random(len(worse)) < 0.5
    names = table["id"].to_numpy()
    left, right = (
        names[np.where(left_is_worse, worse, milder)],
        names[np.where(left_is_worse, milder, worse)],
    )
    votes = pd.DataFrame(
        {"left": left, "right": right, "winner": np.where(left_is_worse, "left", "right")}
    )
    votes.loc[::20, "winner"] = "tie"
    table[:-50].to_csv("items.csv", index=False)
    table[-50:].to_csv("new_items.csv", index=False)
    votes.to_csv("comparisons.csv", index=False)


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
