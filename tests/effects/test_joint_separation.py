"""Scores and the tie parameter that grow together: linear programs on rows built one by one."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import chdtri

from pairscore import RankRegression, load
from pairscore.core.links import Logit, Probit
from pairscore.core.ties import TieRule
from pairscore.effects.graph_of_wins import one_apart
from pairscore.effects.separated_maximum import rows_at_maximum
from pairscore.errors import PairscoreError, PairscoreWarning, SeparationWarning
from tests import dense
from tests.estimators.test_hard_data import SIZES, hard

RULES = [("rao-kupper", "logit"), ("rao-kupper", "probit"), ("davidson", "logit")]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        yield


def naive_rows(differences, outcome, ties):
    """What must not fall: of (x, t) for each outcome, from the likelihoods of the two models."""
    rows = []
    for x, y in zip(differences, outcome, strict=True):
        if ties == "rao-kupper" and y == 0:
            rows += [[*x, 1.0], [*-x, 1.0]]
        elif ties == "rao-kupper":
            rows += [[*(y * x), -1.0]]
        elif y == 0:
            rows += [[*(x / 2), 1.0], [*(-x / 2), 1.0]]
        else:
            rows += [[*(y * x), 0.0], [*(y * x / 2), -1.0]]
    return np.array(rows)


def reach(rows):
    """How far each parameter may fall and rise along directions that make no row fall (p x 2)."""
    size = np.abs(rows).max(axis=0)
    rows, p = rows / size, rows.shape[1]
    found = [
        [linprog(s * np.eye(p)[j], A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1)).fun < -1e-7
         for s in (1, -1)]
        for j in range(p)
    ]  # fmt: skip
    return np.array(found)


def few(seed):
    """Few comparisons of few items, about half of them ties: often separated beside t alone."""
    rng = np.random.default_rng(seed)
    n, m, d = 9, int(rng.integers(6, 14)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    eta = 3 * (X[left] - X[right])[:, 0]
    outcome = np.where(np.abs(eta) < rng.uniform(1, 4), 0, np.sign(eta)).astype(int)
    flip = rng.random(m) < 0.1
    outcome = np.where(flip, -outcome, outcome)
    outcome[0], outcome[1] = 0, outcome[1] or 1
    return dense.Data(X, left, right, outcome)


def table(X):
    return {"id": np.arange(len(X)), **{f"x{k}": column for k, column in enumerate(X.T)}}


@pytest.mark.parametrize(("ties", "link"), RULES)
def test_ends_of_outcomes_say_where_none_becomes_less_likely(ties, link):
    rule = TieRule(ties, {"logit": Logit(), "probit": Probit()}[link])
    rng = np.random.default_rng(0)
    outcome = np.repeat([-1.0, 0.0, 1.0], 200)
    eta, t = rng.normal(size=600), rng.random(600)
    steps = rng.normal(size=(600, 2))
    if ties == "rao-kupper":  # whose parameter is not negative
        steps[:, 1] = np.abs(steps[:, 1])
    place, of_eta, of_t = rule.ends(outcome)
    rise = of_eta * steps[place, 0] + of_t * steps[place, 1]
    smallest = np.full(600, np.inf)
    np.minimum.at(smallest, place, rise)
    for row in range(600):
        far = np.array([0.0, 0.1, 4.0, 4.1])[:, None] * steps[row]
        value = [
            rule.derivatives(eta[[row]] + x, outcome[[row]], t[row] + more).value[0]
            for x, more in far
        ]
        changes = np.diff(value)
        if smallest[row] > 1e-3:
            assert changes.min() >= -1e-12
        elif smallest[row] < -1.0:
            assert changes[-1] < 0


@pytest.mark.parametrize("inference", ["model", None])
@pytest.mark.parametrize(("ties", "link"), RULES)
def test_intervals_are_open_where_linear_programs_say(ties, link, inference):
    n_open = n_with_ties = n_closed = 0
    for seed in range(13):
        data = few(seed)
        differences = data.X[data.left] - data.X[data.right]
        opened = reach(naive_rows(differences, data.outcome, ties))
        model = RankRegression(ties=ties, link=link, inference=inference)
        model.fit(table(data.X), data.votes)
        said = [note for note in model.notes_ if "do not say how large" in note]
        names = [*(f"'x{k}'" for k in range(data.X.shape[1])), "'tie parameter'"]
        touched = opened.any(axis=1)
        n_open, n_closed = n_open + touched.any(), n_closed + (not touched.any())
        n_with_ties += touched[-1]
        assert len(said) == touched.any()
        size = differences.std(axis=0).max() * np.abs(model.coef_).max()
        assert max(size, abs(model.effects_.values[-1])) < 25
        if touched.any():
            shown = said[0].split("how large ")[1].split(":")[0]
            assert [name in shown for name in names] == touched.tolist()
            assert ("ties='half'" in said[0]) == touched[-1]
        if inference is None:
            continue
        errors = np.append(model.std_errors_, model.effects_.std_errors)
        np.testing.assert_array_equal(np.isnan(errors), touched)
        held = model.contrast({"tie": 1.0})
        ends = np.vstack([model.confidence_intervals(), [held.low, held.high]])
        np.testing.assert_array_equal(np.isinf(ends), opened)
        assert np.isnan(held.p) == touched[-1]
    assert min(n_open, n_with_ties, n_closed) >= 4


@pytest.mark.parametrize("inference", ["items", "model", None])
@pytest.mark.parametrize(("ties", "link"), RULES)
def test_a_tie_parameter_does_not_run_off_with_a_coefficient_without_a_word(ties, link, inference):
    data = hard("shifted", SIZES[0], seed=7)
    with pytest.warns(SeparationWarning, match="how large 'x0', 'tie parameter' are"):
        model = RankRegression(ties=ties, link=link, inference=inference).fit(
            table(data.X), data.votes
        )
    assert abs(model.coef_[0]) < 5
    assert 0 < model.effects_.values[0] < 5
    if inference is not None:
        assert "or more" in dict(model.summary().facts())[f"ties ({ties})"]


@pytest.mark.parametrize(("ties", "link"), RULES)
def test_an_open_interval_is_at_least_as_wide_as_that_of_the_exact_probability(ties, link):
    """All outcomes are explained: the end is where they have a given probability, or further."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 1))
    left, right = np.array([(i, j) for i in range(12) for j in range(i)]).T
    x = X[left] - X[right]
    outcome = np.where(np.abs(x[:, 0]) < 1, 0, np.sign(x[:, 0])).astype(int)
    data = dense.Data(X, left, right, outcome)
    model = RankRegression(ties=ties, link=link, inference="model").fit(table(X), data.votes)
    rule = TieRule(ties, model.result_.link)
    q = max(-np.log(0.025), 0.5 * chdtri(2, 0.2 * 0.05))

    def value(theta):
        return rule.derivatives(x[:, 0] * theta[0], outcome.astype(float), theta[1]).value.sum()

    held = model.contrast({"tie": 1.0})
    for place, low in ((0, model.confidence_intervals()[0, 0]), (1, held.low)):
        exact = minimize(
            lambda theta, place=place: theta[place],
            [model.coef_[0] * 3, model.effects_.values[0] * 3],
            bounds=[(None, None), (1e-6 if ties == "rao-kupper" else None, None)],
            constraints={"type": "ineq", "fun": lambda theta: value(theta) + q},
        )
        assert exact.success
        assert low <= exact.fun + 1e-4
        assert low > exact.fun - 0.5 * abs(exact.fun) - 0.5
        assert low > 0 or ties == "davidson"


def test_models_beside_what_is_held_say_so_and_are_kept(tmp_path):
    data = few(6)
    votes = data.votes | {"judge": np.arange(len(data.left)) % 3}
    for settings in (
        {"ties": "rao-kupper", "item_effects": True},
        {"ties": "davidson", "side_effect": True},
        {"ties": "rao-kupper", "judge_slopes": True},
    ):
        model = RankRegression(**settings).fit(table(data.X), votes)
        said = " ".join(model.notes_)
        assert "'tie parameter'" in said
        assert "leave them out" not in said
        assert np.abs(model.effects_.values).max() < 10
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.contrast({"tie": 1.0}).high == model.contrast({"tie": 1.0}).high == np.inf


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_a_ridge_of_the_user_leaves_nothing_to_hold(ties):
    data = few(6)
    model = RankRegression(ties=ties, l2=1.0, inference="model").fit(table(data.X), data.votes)
    assert not any("how large" in note for note in model.notes_)
    assert np.isfinite(model.effects_.std_errors).all()


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
@pytest.mark.parametrize(("outcome", "seen"), [(0, "every"), (1, "no")])
def test_one_kind_of_outcome_is_a_sentence(ties, outcome, seen):
    data = few(6)
    data.outcome[:] = outcome
    with pytest.raises(PairscoreError, match=f"but {seen} comparison is a tie; use ties='half'"):
        RankRegression(ties=ties).fit(table(data.X), data.votes)


# -- items without features ----------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_abilities_that_grow_with_the_tie_parameter_are_held(ties):
    votes = {
        "left": list("abc") * 4,
        "right": list("bca") * 4,
        "winner": ["left", "tie", "tie"] * 4,
    }
    settings = {"ties": ties, "item_effects": False}
    with pytest.warns(SeparationWarning, match="abilities and the tie parameter"):
        model = RankRegression(**settings).fit(None, votes)
    assert abs(model.effects_.values[0]) < 6
    assert np.ptp(model.rank()["score"]) < 12
    assert np.isnan(model.effects_.std_errors[0])
    assert "interval unknown" in dict(model.summary().facts())[f"ties ({ties})"]
    more = {name: [*column, *extra] for (name, column), extra in zip(
        votes.items(), (["b"], ["a"], ["left"]), strict=True)}  # fmt: skip
    model = RankRegression(**settings).fit(None, more)
    assert not any("tie parameter" in note for note in model.notes_)


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_a_side_that_grows_with_the_tie_parameter_is_open_beside_abilities(ties):
    """Left won whatever was not a tie: side and t explain all, whatever the abilities are."""
    left, right = np.array([(i, j) for i in range(8) for j in range(i)]).T
    winner = np.where(left - right <= 2, "tie", "left")
    votes = {"left": left, "right": right, "winner": winner}
    with pytest.warns(SeparationWarning, match="how large 'side effect', 'tie parameter' are"):
        model = RankRegression(ties=ties, side_effect=True, l2=0.5).fit(None, votes)
    assert np.isnan(model.effects_.std_errors).all()
    assert np.abs(model.effects_.values).max() < 10
    held = model.contrast({"tie": 1.0})
    assert (held.low, held.high) == (-np.inf, np.inf)
    assert len(model.rank()["score"]) == 8


@pytest.mark.parametrize("seed", range(30))
def test_scores_that_are_one_apart_exist_where_a_linear_program_finds_some(seed):
    rng = np.random.default_rng(seed)
    n, m = 7, int(rng.integers(5, 14))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    tied = rng.random(m) < 0.5
    swap = (left > right) & (rng.random(m) < 0.9)
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    x = np.eye(n)[left] - np.eye(n)[right]
    rows = np.vstack([-x[~tied], x[tied], -x[tied]])
    ends = np.concatenate([-np.ones((~tied).sum()), np.ones(2 * tied.sum())])
    found = linprog(np.zeros(n), A_ub=rows, b_ub=ends, bounds=(None, None))
    expected = found.status == 0
    assert one_apart(n, left[~tied], right[~tied], left[tied], right[tied]) == expected


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_what_looks_at_single_comparisons_again_finds_what_was_held(ties):
    data = few(6)
    fit = RankRegression(ties=ties, inference="model").fit(table(data.X), data.votes).result_
    _, top = rows_at_maximum(fit, fit.comparisons)
    np.testing.assert_allclose(top.theta, np.append(fit.coef, fit.effects.values), atol=1e-3)
