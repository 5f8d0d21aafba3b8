"""A model in a service: the page about it is run, and many threads use one model at once."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import pytest

from pairscore import Comparisons, PairscoreError, RankRegression, load

PAGE = Path(__file__).resolve().parents[1] / "docs" / "howto" / "service.md"
N_THREADS = 8
pytestmark = pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")


def study(n=60, m=500, seed=0):
    rng = np.random.default_rng(seed)
    items = pd.DataFrame(rng.normal(size=(n, 2)), columns=["mass", "size"])
    items.insert(0, "id", [f"item {row}" for row in range(n)])
    score = items["mass"] - 0.5 * items["size"] + 0.7 * rng.normal(size=n)
    left, right = rng.integers(0, n, m), rng.integers(0, n, m)
    left, right = left[left != right], right[left != right]
    gap = score.to_numpy()[left] - score.to_numpy()[right] + rng.logistic(size=len(left))
    winner = np.where(np.abs(gap) < 0.3, "tie", np.where(gap > 0, "left", "right"))
    names = items["id"].to_numpy()
    return items, pd.DataFrame(
        {
            "left": names[left],
            "right": names[right],
            "winner": winner,
            "judge": rng.integers(0, 4, len(left)),
        }
    )


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path, monkeypatch):
    """The application of the page, with a model of its two features."""
    from starlette import testclient as testing  # a requirement of the tests

    RankRegression().fit(*study()).save(tmp_path / "model.npz")
    (source,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
        if "Starlette(" in block
    ]
    (tmp_path / "app.py").write_text(source, encoding="utf-8")
    monkeypatch.setenv("PAIRSCORE_MODEL", str(tmp_path / "model.npz"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "app", raising=False)
    import app

    yield testing.TestClient(app.app)
    del sys.modules["app"]


def test_the_service_of_the_page_scores_ranks_and_compares(client):
    model = RankRegression().fit(*study())
    a, b = {"mass": 1.2, "size": 3.0}, {"size": -1.0, "mass": 0.4}
    said = client.post("/score", json=a)
    assert said.json() == {"score": model.decision_function([[1.2, 3.0]])[0]}
    table = {"id": ["a", "b"], "mass": [1.2, 0.4], "size": [3.0, -1.0]}
    ranking = client.post("/rank", json=table).json()
    assert ranking["id"] == ["b", "a"]
    assert ranking["low"] == model.rank(table)["low"].tolist()
    difference = client.post("/difference", json={"a": a, "b": b}).json()
    assert difference == vars(model.difference([1.2, 3.0], [0.4, -1.0]))


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        ({"mass": 1.2}, "size"),
        ({"mass": 1.2, "size": "large"}, "not numeric: 'size'"),
        ({"mass": 1.2, "size": None}, "size"),
        ([1, [2]], "no JSON object"),
    ],
)
def test_what_the_service_cannot_score_is_answered_in_a_sentence(client, item, sentence):
    said = client.post("/score", json=item)
    assert said.status_code == 400
    assert sentence in said.json()["error"]


def test_requests_that_are_no_json_or_lack_an_item_are_answered_with_400(client):
    a = {"mass": 1.2, "size": 3.0}
    for path, content in (
        ("/score", b'{"mass": 1.2,'),
        ("/rank", b""),
        ("/score", b"\xff\xfe"),
        ("/difference", b'{"a": {"mass": 1.2, "size": 3.0}}'),
        ("/difference", b"[1, 2]"),
    ):
        said = client.post(path, content=content)
        assert said.status_code == 400
        assert "the request is no JSON" in said.json()["error"]
    said = client.post("/difference", json={"a": a, "b": "item 3"})
    assert said.status_code == 400  # a model from a file has no table of items


def test_the_score_of_the_service_and_its_ranking_differ_by_a_constant(client):
    items = study()[0]
    scores = [client.post("/score", json=one).json()["score"] for one in items.to_dict("records")]
    table = client.post("/rank", json=items.to_dict("list")).json()
    ranked = dict(zip(table["id"], table["score"], strict=True))
    gaps = np.array(scores) - [ranked[name] for name in items["id"]]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_a_service_scores_one_item_with_an_embedding(tmp_path):
    items, votes = study()
    table = {"id": items["id"], "e": items[["mass", "size"]].to_numpy()}
    RankRegression().fit(table, votes).save(tmp_path / "model.npz")
    model, one = load(tmp_path / "model.npz"), {"id": "new", "e": [1.2, 3.0]}
    assert model.decision_function(one) == model.decision_function([[1.2, 3.0]])
    assert model.rank(one)["id"].tolist() == ["new"]


def test_one_item_of_comparisons_alone_is_scored_from_a_dict(tmp_path):
    RankRegression(l2=1.0).fit(None, study()[1]).save(tmp_path / "model.npz")
    model = load(tmp_path / "model.npz")
    expected = model.decision_function(["item 3"])
    np.testing.assert_array_equal(model.decision_function({"id": "item 3"}), expected)
    with pytest.raises(PairscoreError, match="there is no item 'nobody' in the fit"):
        model.rank({"id": "nobody"})


# -- threads ---------------------------------------------------------------------------------------


def answers(model, items):
    """Everything that a service asks of a model, as bytes."""
    new = items.iloc[:5].assign(id=[f"new {row}" for row in range(5)], mass=2.0)
    both = pd.concat([items, new], ignore_index=True)
    one, two = both.iloc[3].to_dict(), new.iloc[1].to_dict()
    rng = np.random.default_rng(7)
    left, right = rng.integers(0, 30, 40), rng.integers(30, 60, 40)
    pairs = Comparisons.from_pairs(both, both["id"][left], both["id"][right], judge=left % 4)
    found = [
        model.decision_function(both),
        model.decision_function(both[["mass", "size"]].to_numpy()),
        model.decision_function(one),
        *(column.to_numpy() for _, column in model.rank(both, scale="wins").items()),
        np.array([*vars(model.difference(one, two)).values()]),
        model.predict_proba(pairs),
        *model.chances(pairs).values(),
        model.worth(both)["worth"].to_numpy(),
    ]
    return [column.astype(str).tolist() if column.dtype == object else column for column in found]


@pytest.mark.parametrize(
    "settings",
    [{}, {"item_effects": True}, {"ties": "davidson", "side_effect": True, "judge_slopes": True}],
    ids=repr,
)
def test_many_threads_with_one_model_have_the_answers_of_one(tmp_path, settings):
    items, votes = study()
    RankRegression(**settings).fit(items, votes).save(tmp_path / "model.npz")
    expected = answers(load(tmp_path / "model.npz"), items)
    model, start = load(tmp_path / "model.npz"), Barrier(N_THREADS)  # nothing is cached yet

    def ask(_):
        start.wait(timeout=60)
        return [answers(model, items) for _ in range(3)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        for said in pool.map(ask, range(N_THREADS)):
            for one in said:
                for mine, alone in zip(one, expected, strict=True):
                    np.testing.assert_array_equal(mine, alone)
