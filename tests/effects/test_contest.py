"""Context, judges and ties in the likelihood of single comparisons."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2, norm
from scipy.stats import t as student

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression, compare, load
from pairscore.core.links import get_link
from pairscore.core.outcomes import TieRule
from pairscore.effects.comparison_fit import (
    comparisons_item_meat,
    fit_with_spread,
    fit_without_bias,
    judge_robust_meat,
    judges_of,
    single_comparisons_of,
    with_slopes,
)
from pairscore.effects.judges import (
    LARGEST_SPREAD,
    SMALLEST_SPREAD,
    spread_of_slopes,
    variance_over_spreads,
)
from pairscore.effects.single_comparisons import climb
from pairscore.effects.slope_bias import laplace_gradient, laplace_term, without_slope_bias
from pairscore.errors import CollinearFeaturesWarning, FewItemsWarning, SeparationWarning
from pairscore.estimators.fit_data import FitData
from pairscore.files.tables import read_table
from tests.estimators.test_outside_results import DATA

BETA = np.array([1.0, -0.5, 0.7])


def make_votes(
    rng, n=80, m=1500, context=0.4, side=0.2, slopes=None, tie=None, rule="rao-kupper", mean=3.0
):
    """Items, votes and the truth."""
    X = rng.normal(size=(n, 3)) + mean
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    slopes = np.ones(6) if slopes is None else slopes
    judge = rng.integers(0, len(slopes), m)
    rest = rng.normal(size=m)
    eta = slopes[judge] * ((X[left] - X[right]) @ BETA + context * rest) + side
    loss, _, win = TieRule("half" if tie is None else rule, get_link("logit")).probabilities(
        eta, tie or 0.0
    )
    chance = rng.random(m)
    outcome = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    names = np.array([f"judge {number}" for number in judge], dtype=object)
    return X, {
        "left": left,
        "right": right,
        "winner": outcome,
        "judge": names,
        "rest": rest,
        "number": judge,
    }


def columns_of(X, votes, model):
    """Every difference formed, with context and side, and the outcomes."""
    data, outcome = Comparisons.from_frames(X, votes)
    parts = [X[data.left] - X[data.right]] + [votes[name][:, None] for name in model.context or []]
    parts += [np.ones((len(outcome), 1))] if model.side_effect is True else []
    return np.hstack(parts), outcome


@pytest.mark.parametrize(
    "settings",
    [
        {"context": ["rest"]},
        {"context": ["rest"], "side_effect": True, "link": "probit"},
        {"ties": "rao-kupper", "context": ["rest"], "side_effect": True},
        {"ties": "davidson", "side_effect": True},
        {"ties": "rao-kupper", "link": "probit", "l2": 3.0},
    ],
)
def test_the_maximum_is_that_of_a_general_optimiser(settings):
    X, votes = make_votes(np.random.default_rng(0), tie=0.5)
    model = RankRegression(**settings).fit(X, votes)
    D, outcome = columns_of(X, votes, model)
    rule = TieRule(model.ties, model.link_)

    def loss(params):
        t = params[-1]
        eta = D @ params[:-1]
        probabilities = np.column_stack(rule.probabilities(eta, t))
        if model.ties == "half":
            return -(
                0.5 * (1 + outcome) @ model.link_.log_cdf(eta)
                + 0.5 * (1 - outcome) @ model.link_.log_cdf(-eta)
            )
        penalty = 0.5 * model.l2_ * np.sum((model.feature_sd_ * params[:3]) ** 2)
        return (
            -np.log(
                np.maximum(probabilities[np.arange(len(outcome)), outcome.astype(int) + 1], 1e-300)
            ).sum()
            + penalty
        )

    start = np.append(np.zeros(D.shape[1]), 0.5)
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000})
    expected = best.x if model.ties != "half" else best.x[:-1]
    np.testing.assert_allclose(np.append(model.coef_, model.effects_.values), expected, atol=3e-5)


def test_rao_and_kupper_with_a_side_is_an_ordered_logit():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, votes = make_votes(np.random.default_rng(1), tie=0.5)
    model = RankRegression(
        ties="rao-kupper", side_effect=True, context=["rest"], inference="model"
    ).fit(X, votes)
    D, outcome = columns_of(X, votes, model)
    witness = OrderedModel(outcome, D[:, :-1], distr="logit").fit(method="bfgs", disp=0, gtol=1e-8)
    low, high = witness.model.transform_threshold_params(witness.params[-2:])[1:3]
    np.testing.assert_allclose(
        np.append(model.coef_, model.effects_.of_kind("context")["rest"]),
        witness.params[:4],
        atol=1e-5,
    )
    assert model.tie_parameter_ == pytest.approx((high - low) / 2, abs=1e-5)
    assert model.side_effect_ == pytest.approx(-(high + low) / 2, abs=1e-5)
    # observed, not expected, information
    np.testing.assert_allclose(
        np.append(model.std_errors_, model.effects_.std_errors[0]), witness.bse[:4], rtol=2e-3
    )


@pytest.mark.parametrize("folder", ["baseball", "heaviness"])
@pytest.mark.parametrize("inference", ["model", "items"])
@pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
def test_home_as_context_is_the_known_side_effect(folder, inference):
    items, votes = (
        read_table(DATA / folder / "items.csv"),
        dict(read_table(DATA / folder / "votes.csv")),
    )
    known = RankRegression(side_effect=True, inference=inference).fit(items, votes)
    model = RankRegression(context=["home"], inference=inference).fit(
        items, votes | {"home": np.ones(len(votes["left"]))}
    )
    np.testing.assert_allclose(model.coef_, known.coef_, atol=1e-7)
    np.testing.assert_allclose(model.std_errors_, known.std_errors_, atol=1e-7)
    assert model.effects_.values[0] == pytest.approx(known.side_effect_, abs=1e-7)
    assert model.effects_.std_errors[0] == pytest.approx(known.side_effect_std_error_, abs=1e-7)
    # R
    printed = {"baseball": (0.3022607, 0.1309436), "heaviness": (-0.2901403, 0.0863118)}[folder]
    assert model.effects_.values[0] == pytest.approx(printed[0], abs=1e-6)
    if inference == "model":
        assert model.effects_.std_errors[0] == pytest.approx(printed[1], abs=2e-6)


def fitted_contest(X, votes, **given):
    settings = RankRegression(**given)._settings()
    study = FitData(
        Comparisons.from_frames(X, votes, context=settings.context)[0], keep_sides=False
    )
    names, judge = judges_of(study, settings)
    contest, _, _ = single_comparisons_of(
        study, settings, names, judge, settings.l2 * study.item_moments.sd**2
    )
    contest = with_slopes(contest, BETA) if settings.judge_slopes else contest
    contest, params, look, _, _, converged = fit_with_spread(
        contest, contest.start(np.zeros(X.shape[1])), settings
    )
    assert converged
    return study, contest, params, look


@pytest.mark.parametrize("slopes", [False, True])
def test_meats_are_sums_over_comparisons_that_share_an_item_or_a_judge(slopes):
    X, votes = make_votes(np.random.default_rng(2), n=15, m=120, tie=0.4)
    study, contest, params, look = fitted_contest(
        X, votes, context=["rest"], ties="davidson", judge_slopes=slopes, side_effect=True, l2=0.5
    )
    blocks = list(contest.contributions(params, look)(np.arange(len(contest.left))))
    u = np.vstack([part for _, part in blocks])
    m = len(u)
    ends = [{int(contest.left[row]), int(contest.right[row])} for row in range(m)]
    items = np.array([[bool(ends[one] & ends[two]) for two in range(m)] for one in range(m)])
    judges = contest.judge[:, None] == contest.judge[None]
    k, settings = study.tally.exposures, RankRegression(l2=0.5)._settings()
    z = X - k @ X / k.sum()
    # holds an item back from pulling the fit towards itself
    ridge = 0.5 * (k @ z**2 / k.sum()) / (4 * 0.25**2)
    inverse = np.linalg.inv(z.T @ (k[:, None] * z) + np.diag(ridge))
    inflation = 1 / (1 - k * (1 / k.sum() + np.einsum("ij,jk,ik->i", z, inverse, z)))
    t = np.array(
        [inflation[item] * u[[item in pair for pair in ends]].sum(axis=0) for item in range(len(X))]
    )
    both = np.array([[ends[one] == ends[two] for two in range(m)] for one in range(m)])
    np.testing.assert_allclose(
        comparisons_item_meat(study, settings, contest, params, look),
        t.T @ t - u.T @ both @ u,
        rtol=1e-8,
        atol=1e-8,
    )
    few = contest.n_judges / (contest.n_judges - 1)
    # with every comparison that shares an item counted once: sum over pairs of rows, two shared
    # items counted twice but for the pair's own
    shared = judges & items
    np.testing.assert_allclose(
        judge_robust_meat(contest, params, look),
        u.T @ (few * judges - shared) @ u,
        rtol=1e-8,
        atol=1e-8,
    )


def test_contributions_sum_to_nothing_at_the_maximum_and_come_in_any_blocks(monkeypatch):
    X, votes = make_votes(np.random.default_rng(3), tie=0.4, slopes=np.array([0.3, 1.0, 1.7]))
    _, contest, params, look = fitted_contest(
        X, votes, context=["rest"], ties="rao-kupper", judge_slopes=True, l2=2.0
    )
    rows = np.arange(len(contest.left))
    whole = np.vstack([u for _, u in contest.contributions(params, look)(rows)])
    monkeypatch.setattr("pairscore.effects.single_comparisons.BLOCK_NUMBERS", 40)
    pieces = list(contest.contributions(params, look)(rows))
    assert len(pieces) > 50
    np.testing.assert_array_equal(np.vstack([u for _, u in pieces]), whole)
    slope_pull = look.through @ ((params.slopes - 1) / contest.slope_spread**2)
    np.testing.assert_allclose(whole.sum(axis=0) + slope_pull, 0, atol=1e-3)


def test_spread_of_slopes_is_found():
    rng = np.random.default_rng(4)
    variance = rng.uniform(0.01, 0.2, 4000)
    slope = 1 + 0.6 * rng.normal(size=4000) + np.sqrt(variance) * rng.normal(size=4000)
    # of the spread, by the delta method
    error = 0.6 * np.sqrt(np.mean((0.36 + variance) ** 2) * 2 / 4000) / (2 * 0.36)
    assert spread_of_slopes(slope, variance) == pytest.approx(0.6, abs=5 * error)
    assert spread_of_slopes(1 + np.sqrt(variance) * rng.normal(size=4000) * 0.5, variance) < 0.05


def test_slopes_that_average_to_one_have_a_degree_of_freedom_less():
    slope = np.array([0.4, 0.9, 1.1, 1.6])
    assert spread_of_slopes(slope, np.full(4, 1e-6)) == pytest.approx(slope.std(ddof=1), rel=1e-3)


def test_variance_of_slopes_averages_over_spreads():
    slope, variance = np.array([0.8, 0.9, 1.3]), np.array([0.04, 0.02, 0.05])
    spreads, gap = np.geomspace(SMALLEST_SPREAD, LARGEST_SPREAD, 100), np.linspace(-1.5, 1.5, 201)
    first, second = np.meshgrid(gap, gap, indexing="ij")
    gaps = np.stack([first, second, -first - second])
    data = np.exp(
        -0.5 * np.sum((gaps - (slope - 1)[:, None, None]) ** 2 / variance[:, None, None], axis=0)
    )
    # naive: every slope on a grid
    chance = sum(
        data * np.exp(-0.5 * np.sum(gaps**2, axis=0) / spread**2) / spread**2 * spread
        for spread in spreads
    )
    chance /= chance.sum()
    mean = np.sum(gaps * chance, axis=(1, 2))
    expected = np.sum(gaps**2 * chance, axis=(1, 2)) - mean**2
    np.testing.assert_allclose(variance_over_spreads(slope, variance), expected, rtol=0.01)
    own = 1 / (1 / variance + 1 / spread_of_slopes(slope, variance) ** 2)
    assert np.all(own - own**2 / own.sum() < 0.8 * expected)  # the rival: one spread taken for true


# -- the bias of slopes that are fitted too ----------------------------------------------------------


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_gradient_of_the_laplace_term(ties):
    X, votes = make_votes(np.random.default_rng(24), n=30, m=400, tie=0.4)
    votes["judge"][:3] = "passing by"  # without a slope
    _, contest, params, look = fitted_contest(
        X, votes, context=["rest"], ties=ties, judge_slopes=True, side_effect=True
    )
    n_rest, n_slopes = len(look.gradient), len(params.slopes)

    def term(number, length):
        step = np.eye(n_rest + n_slopes)[number]
        return laplace_term(contest.look(params.moved(step[:n_rest], step[n_rest:], length)))

    expected = [
        (term(number, 1e-5) - term(number, -1e-5)) / 2e-5 for number in range(n_rest + n_slopes)
    ]
    np.testing.assert_allclose(
        np.concatenate(laplace_gradient(contest, params, look)), expected, rtol=1e-5, atol=1e-6
    )
    _, vectors = np.linalg.eigh(np.full((n_slopes, n_slopes), 1.0))
    kept = vectors[:, :-1]  # slopes that keep their average
    log_det = np.linalg.slogdet(kept.T @ np.diag(look.slope_information) @ kept)[1]
    assert laplace_term(look) == pytest.approx(0.5 * (log_det + np.log(n_slopes)))


def integrated_loss(contest, flat, spread, reach=3.0, size=161):
    """Minus the log of the likelihood summed over the slopes of three judges, whose gaps to 1 add
    to nothing, on a grid.
    """
    gap = np.linspace(-reach, reach, size)
    D, d = contest.X[contest.left] - contest.X[contest.right], contest.X.shape[1]
    delta = D @ flat[:d]
    values = np.empty((3, size))
    for judge in range(3):
        rows = contest.judge == judge
        eta = (1 + gap)[:, None] * delta[rows]
        found = contest.rule.derivatives(
            eta.ravel(), np.tile(contest.outcome[rows], size), flat[d]
        ).value
        values[judge] = found.reshape(size, -1).sum(axis=1) - 0.5 * (gap / spread) ** 2
    # the place on the grid of what is left for it
    third = size // 2 * 3 - np.add.outer(np.arange(size), np.arange(size))
    inside = (third >= 0) & (third < size)
    total = np.add.outer(values[0], values[1]) + np.where(
        inside, values[2][np.clip(third, 0, size - 1)], -np.inf
    )
    return -(total.max() + np.log(np.exp(total - total.max()).sum()))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_the_estimate_is_nearly_that_of_the_integral_over_slopes(ties):
    X, votes = make_votes(
        np.random.default_rng(25),
        n=30,
        m=240,
        context=0.0,
        side=0.0,
        tie=0.4,
        slopes=np.array([0.6, 1.0, 1.4]),
        rule=ties,
    )
    _, contest, params, _ = fitted_contest(X, votes, ties=ties, judge_slopes=True)
    contest = replace(contest, slope_spread=0.5)
    _, params, look, basis, _, _ = climb(contest, params, 100, 1e-12)
    corrected, _ = without_slope_bias(contest, params, look, basis)
    joint = contest.flat(params)
    best = minimize(
        lambda flat: integrated_loss(contest, flat, 0.5),
        joint,
        method="BFGS",
        options={"gtol": 1e-4},
    ).x
    away, rival = (
        np.sqrt((flat - best) @ look.apart @ (flat - best))
        for flat in (contest.flat(corrected), joint)
    )
    assert away < 0.5 * rival  # the joint maximum must lose
    assert rival > 0.02


def with_slopes_known(contest, slopes):
    """Maximum likelihood of the rest."""
    params = replace(contest.start(BETA), slopes=slopes[contest.sloped])
    for _ in range(10):
        look = contest.look(params)
        params = params.moved(
            -np.linalg.solve(look.information, look.gradient), 0 * params.slopes, 1.0
        )
    return params.coef


def test_slopes_that_are_fitted_do_not_lengthen_scores():
    """Against slopes known, in the same studies: many judges, who differ much.

    The joint maximum must fail.
    """
    n_studies, found = 30, []
    for seed in range(n_studies):
        rng = np.random.default_rng([26, seed])
        true = 1 + 0.8 * rng.normal(size=75)
        true /= true.mean()
        X, votes = make_votes(rng, m=3000, slopes=true)
        settings = RankRegression(context=["rest"], side_effect=True, judge_slopes=True)._settings()
        votes["judge"] = votes["number"]
        _, contest, params, _ = fitted_contest(
            X, votes, context=["rest"], side_effect=True, judge_slopes=True
        )
        corrected = fit_without_bias(contest, params, settings)[1]
        known = with_slopes_known(contest, true)
        found.append(
            [(coef - known) @ BETA / (BETA @ BETA) for coef in (corrected.coef, params.coef)]
        )
    z = np.mean(found, axis=0) / (np.std(found, axis=0, ddof=1) / np.sqrt(n_studies))
    limit = student.isf(1e-5, n_studies - 1)
    assert abs(z[0]) < limit
    assert z[1] > limit


def opposed_votes(share, m):
    """Two judges, the second of whom says the opposite of what the first would."""
    rng = np.random.default_rng(27)
    X, votes = make_votes(rng, n=60, m=m, context=0.0, side=0.0)
    second = rng.random(m) > share
    turned = np.where(votes["winner"] == "left", "right", "left")
    return X, votes | {
        "judge": second.astype(int),
        "winner": np.where(second, turned, votes["winner"]),
    }


@pytest.mark.filterwarnings("ignore::pairscore.errors.NotConvergedWarning")
def test_judges_who_contradict_each_other_are_told():
    with pytest.warns(
        SeparationWarning, match="about as many votes go against the common order as with it"
    ):
        model = RankRegression(judge_slopes=True).fit(*opposed_votes(0.7, 2000))
    assert model.judges_.inverted.tolist() == [False, True]
    with pytest.warns(
        FewItemsWarning, match="judges who vote against each other leave no common order"
    ):
        RankRegression(judge_slopes=True).fit(*opposed_votes(0.5, 200))


def test_spammers_and_inverted_judges_are_named():
    slopes = np.array([1.0, 1.2, 0.9, 0.0, -1.0, 1.1, 0.8, 1.0])
    X, votes = make_votes(np.random.default_rng(5), m=8000, slopes=slopes)
    model = RankRegression(judge_slopes=True).fit(X, votes)
    table = model.judges_
    assert table.name[table.inverted].tolist() == ["judge 4"]
    assert table.name[table.spammers].tolist() == ["judge 3"]
    assert (
        "1 judge votes against the others: 'judge 4'; 1 judge votes like a coin: 'judge 3'"
        in str(model.summary())
    )
    assert np.all(table.noise_low <= table.noise)
    assert np.all(table.noise <= table.noise_high)
    assert table.noise[4] > 0.5
    columns = table.to_columns()
    assert columns["slope"] == sorted(columns["slope"], reverse=True)


def test_alike_judges_are_shrunk_together():
    X, votes = make_votes(np.random.default_rng(6), m=3000)
    model, plain = (
        RankRegression(judge_slopes=True).fit(X, votes),
        RankRegression(context=None).fit(X, votes),
    )
    assert np.abs(model.judges_.slope - 1).max() < 0.25
    assert np.abs(model.coef_ - plain.coef_).max() < 0.1


# -- truth recovered ---------------------------------------------------------------------------------

N_STUDIES = 60
Z = norm.isf(1e-5)


@pytest.fixture(scope="module")
def studies():
    """Estimates and errors of (context, side, tie, slopes) over many studies, with the true slopes."""
    found = {"effects": [], "errors": [], "slope": [], "slope_error": [], "true": []}
    for seed in range(N_STUDIES):
        rng = np.random.default_rng([7, seed])
        true = 1 + 0.4 * rng.normal(size=12)
        true /= true.mean()  # slopes are told relative to the average judge at hand
        X, votes = make_votes(rng, m=2400, slopes=true, tie=0.5)
        model = RankRegression(
            context=["rest"], ties="rao-kupper", judge_slopes=True, side_effect=True
        ).fit(X, votes)
        found["effects"].append(model.effects_.values)
        found["errors"].append(model.effects_.std_errors)
        place = np.array([int(name.split()[1]) for name in model.judges_.name])
        found["slope"].append(model.judges_.slope)
        found["slope_error"].append(model.judges_.std_error)
        found["true"].append(true[place])
    return {name: np.array(values) for name, values in found.items()}


def squares_of_fair_scores(number):
    """Between which limits z-scores add up, squared, if intervals cover 93 to 97 %.

    A count of the few that are not covered says less.
    """
    least, most = (norm.ppf(0.975) / norm.ppf((1 + covered) / 2) for covered in (0.97, 0.93))
    return chi2.ppf(1e-5, number) * least**2, chi2.isf(1e-5, number) * most**2


def test_effects_are_unbiased_and_covered(studies):
    truth = np.array([0.4, 0.2, 0.5])
    off = (studies["effects"] - truth) / studies["errors"]
    # maximum likelihood itself is a little too long
    assert np.all(np.abs(off.mean(axis=0)) < Z / np.sqrt(N_STUDIES) + 0.05)
    squares, (low, high) = np.sum(off**2, axis=0), squares_of_fair_scores(N_STUDIES)
    # python -m benchmarks.recovery says it more closely
    assert np.all((low < squares) & (squares < high))
    low, high = squares_of_fair_scores(off.size)
    assert 2**2 * squares.sum() > high  # intervals half as wide must fail,
    assert squares.sum() / 2**2 < low  # and twice as wide


def test_slopes_are_covered(studies):
    off = (studies["slope"] - studies["true"]) / studies["slope_error"]
    covered = np.mean(np.abs(off) < 1.96, axis=1)  # slopes of one study share the scale
    spread = covered.std(ddof=1) / np.sqrt(N_STUDIES)
    assert 0.93 - Z * spread < covered.mean() < 0.97 + Z * spread
    # all judges taken to be alike
    rival = np.abs(1 - studies["true"]) < 1.96 * studies["slope_error"]
    assert rival.mean() < 0.8


# -- the rest of the model ---------------------------------------------------------------------------


def test_everything_is_saved_and_predicted(tmp_path):
    X, votes = make_votes(np.random.default_rng(8), tie=0.4, slopes=np.array([0.5, 1.0, 1.5]))
    model = RankRegression(
        context=["rest"], ties="davidson", judge_slopes=True, side_effect="judges"
    ).fit(X, votes)
    model.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    for method in ("decision_function", "predict_proba", "predict_ties"):
        assert np.array_equal(getattr(model, method)(data), getattr(again, method)(data))
    assert str(again.summary()) == str(model.summary())
    assert again.judges_.to_columns() == model.judges_.to_columns()
    slope = dict(zip(model.judges_.name.tolist(), model.judges_.slope.tolist(), strict=True))
    side = model.effects_.of_kind("side")
    scores = X @ model.coef_
    row = 5
    who = votes["judge"][row]
    expected = (
        slope[who]
        * (
            scores[data.left[row]]
            - scores[data.right[row]]
            + model.effects_.values[0] * votes["rest"][row]
        )
        + side[f"left, {who}"]
    )
    assert model.decision_function(data)[row] == pytest.approx(expected)
    eta = model.decision_function(data)
    # of decided comparisons, whatever the ties
    np.testing.assert_allclose(model.predict_proba(data)[:, 1], expit(eta))
    stranger, _ = Comparisons.from_frames(
        X, votes | {"judge": np.array(["new"] * len(eta), dtype=object)}, context=["rest"]
    )
    plain = (
        scores[data.left]
        - scores[data.right]
        + model.effects_.values[0] * votes["rest"]
        + np.mean(list(side.values()))
    )
    np.testing.assert_allclose(model.decision_function(stranger), plain)


def test_slices_and_folds_keep_context_and_judges():
    from sklearn.model_selection import cross_val_score

    X, votes = make_votes(np.random.default_rng(9))
    data, y = Comparisons.from_frames(X, votes, context=["rest"])
    part = data[10:20]
    assert np.array_equal(part.context["rest"], votes["rest"][10:20])
    with_context = cross_val_score(
        RankRegression(context=["rest"], inference=None),
        data,
        y,
        cv=ItemKFold(4),
        scoring="neg_log_loss",
    ).mean()
    without = cross_val_score(
        RankRegression(inference=None), data, y, cv=ItemKFold(4), scoring="neg_log_loss"
    ).mean()
    assert with_context > without


def test_robust_to_judges_is_wider_where_judges_have_tastes():
    rng = np.random.default_rng(10)
    n, m, n_judges = 200, 3000, 15
    X = rng.normal(size=(n, 3))
    taste = BETA + rng.normal(size=(n_judges, 3))
    left, judge = rng.integers(0, n, m), rng.integers(0, n_judges, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit(np.einsum("md,md->m", X[left] - X[right], taste[judge]))
    votes = {"left": left, "right": right, "winner": np.where(won, left, right), "judge": judge}
    items, both = (
        RankRegression(inference=kind).fit(X, votes).std_errors_
        for kind in ("items", "items+judges")
    )
    assert np.all(both > 1.5 * items)
    # every vote a judge of its own
    again = RankRegression(inference="items+judges").fit(X, votes | {"judge": np.arange(m)})
    np.testing.assert_allclose(again.std_errors_, items, rtol=0.02)


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({"context": ["speed"]}, {}, "no column 'speed' for the context"),
        ({"context": ["judge"]}, {}, "the context 'judge' is not numeric"),
        ({"context": "rest"}, {}, "a list of column names"),
        ({"context": ["rest"], "method": "paired"}, {}, "use method='mle'"),
        ({"judge_slopes": True}, {"judge": None}, "no column 'judge'"),
        ({"ties": "davidson", "link": "probit"}, {}, "belongs to the logit link"),
        ({"ties": "often"}, {}, "ties is 'often'"),
        ({"side_effect": "left"}, {}, "side_effect is 'left'"),
        ({"inference": "judges"}, {}, "inference is 'judges'"),
    ],
)
def test_what_cannot_be_meant(settings, change, message):
    X, votes = make_votes(np.random.default_rng(11), n=20, m=100)
    votes = {name: column for name, column in (votes | change).items() if column is not None}
    with pytest.raises(PairscoreError, match=message):
        RankRegression(**settings).fit(X, votes)


def test_missing_context_and_missing_judges_are_named():
    X, votes = make_votes(np.random.default_rng(12), n=20, m=100)
    gap = votes["rest"].copy()
    gap[[3, 7]] = np.nan
    with pytest.raises(
        PairscoreError, match="the context 'rest' is missing or infinite in 2 rows: row 3"
    ):
        RankRegression(context=["rest"]).fit(X, votes | {"rest": gap})
    judge = votes["judge"].copy()
    judge[4] = None
    with pytest.raises(PairscoreError, match="the judge is missing in 1 row"):
        RankRegression(judge_slopes=True).fit(X, votes | {"judge": judge})
    model = RankRegression(context=["rest"]).fit(X, votes)
    with pytest.raises(PairscoreError, match="lack the context 'rest'"):
        model.predict_proba(Comparisons.from_frames(X, votes)[0])
    with pytest.raises(PairscoreError, match="gives ties no probability"):
        model.predict_ties(Comparisons.from_frames(X, votes, context=["rest"])[0])


def test_a_judge_who_always_says_left_has_a_finite_side():
    X, votes = make_votes(np.random.default_rng(13), m=600)
    votes["winner"] = np.where(votes["number"] == 2, "left", votes["winner"])
    model = RankRegression(side_effect="judges").fit(X, votes)
    side = model.effects_.of_kind("side")
    assert 3 < side["left, judge 2"] < 10
    assert np.isfinite(model.effects_.std_errors).all()
    with pytest.raises(PairscoreError, match="for up to 300 judges, and there are 600"):
        RankRegression(side_effect="judges").fit(X, votes | {"judge": np.arange(600)})


# -- judges of whom little is known ------------------------------------------------------------------


@pytest.mark.parametrize("votes_each", [1, 2, 3, 5])
def test_judges_with_few_votes_are_average_ones(votes_each):
    X, votes = make_votes(np.random.default_rng(14), m=1200)
    votes["judge"] = np.arange(1200) // votes_each
    plain = RankRegression(side_effect=True).fit(X, votes)
    with pytest.warns(FewItemsWarning, match="all are taken for average ones"):
        model = RankRegression(side_effect=True, judge_slopes=True).fit(X, votes)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert np.all(model.judges_.slope == 1)
    assert not model.judges_.spammers.any()


def test_a_newcomer_and_a_judge_without_weight_change_nothing():
    X, votes = make_votes(
        np.random.default_rng(15), m=3000, slopes=np.array([1.2, 1.0, 0.8, 1.0, 0.0, -1.0])
    )
    model = RankRegression(judge_slopes=True).fit(X, votes)
    renamed = votes["judge"].copy()
    renamed[3] = "newcomer"
    again = RankRegression(judge_slopes=True).fit(X, votes | {"judge": renamed})
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=0.02)
    np.testing.assert_allclose(again.std_errors_, model.std_errors_, rtol=0.05)
    assert again.judges_.name[again.judges_.inverted].tolist() == ["judge 5"]
    weight = (votes["number"] != 3).astype(float)
    without = {name: column[weight > 0] for name, column in votes.items()}
    one, other = (
        RankRegression(judge_slopes=True).fit(X, votes | {"weight": weight}),
        RankRegression(judge_slopes=True).fit(X, without),
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(one.std_errors_, other.std_errors_, rtol=1e-6)


@pytest.mark.parametrize("n_judges", [1, 2, 3, 12])
@pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
def test_sharing_judges_too_never_narrows(n_judges):
    X, votes = make_votes(np.random.default_rng(16), m=2000)
    votes["judge"] = np.random.default_rng(17).integers(0, n_judges, 2000)
    items, both = (
        RankRegression(inference=kind).fit(X, votes) for kind in ("items", "items+judges")
    )
    assert np.all(np.linalg.eigvalsh(both.covariance_ - items.covariance_) > -1e-12)


def test_few_judges_are_told():
    X, votes = make_votes(np.random.default_rng(18))
    with pytest.warns(
        FewItemsWarning, match="with 6 judges intervals that allow for shared judges are rough"
    ):
        RankRegression(inference="items+judges").fit(X, votes)


def test_weights_of_any_unit_and_numbers_of_any_type():
    X, votes = make_votes(np.random.default_rng(19), m=3000, slopes=np.array([1.5, 1.0, 0.2]))
    model = RankRegression(judge_slopes=True).fit(X, votes | {"judge": votes["number"]})
    light = RankRegression(judge_slopes=True).fit(
        X, votes | {"judge": votes["number"], "weight": np.full(3000, 1.0)}
    )
    np.testing.assert_allclose(light.judges_.slope, model.judges_.slope, rtol=1e-6)
    whole, _ = Comparisons.from_frames(X, votes | {"judge": votes["number"]})
    floats, _ = Comparisons.from_frames(X, votes | {"judge": votes["number"].astype(float)})
    np.testing.assert_array_equal(model.decision_function(whole), model.decision_function(floats))
    closest = np.abs((X[votes["left"]] - X[votes["right"]]) @ BETA) < 0.5
    counted = votes | {"count": np.where(closest, 20, 1)}
    expanded = {name: np.repeat(column, counted["count"]) for name, column in votes.items()}
    one, other = (
        RankRegression(judge_slopes=True).fit(X, table).judges_ for table in (counted, expanded)
    )
    np.testing.assert_allclose(one.noise, other.noise, atol=0.02)  # each by some of the comparisons


@pytest.mark.parametrize("rule", ["davidson", "rao-kupper"])
def test_the_parameter_of_ties_needs_ties_and_winners(rule):
    X, votes = make_votes(np.random.default_rng(20))
    with pytest.raises(PairscoreError, match="no comparison is a tie; use ties='half'"):
        RankRegression(ties=rule).fit(X, votes)
    with pytest.raises(PairscoreError, match="every comparison is a tie"):
        RankRegression(ties=rule).fit(X, votes | {"winner": np.full(len(votes["left"]), "tie")})


def test_effects_that_are_open_or_endless_are_named():
    X, votes = make_votes(np.random.default_rng(21), m=400)
    with pytest.warns(
        CollinearFeaturesWarning, match="1 effect not determined by the comparisons.*'zero'"
    ):
        RankRegression(context=["zero"]).fit(X, votes | {"zero": np.zeros(400)})
    sure = np.where(votes["winner"] == "left", 1.0, -1.0)
    with pytest.warns(SeparationWarning, match="have no finite size: 'sure'"):
        RankRegression(context=["sure"], max_iter=30).fit(X, votes | {"sure": sure})


def test_context_must_be_in_the_comparisons():
    X, votes = make_votes(np.random.default_rng(22))
    with pytest.raises(PairscoreError, match="lack the context 'rest'"):
        RankRegression(context=["rest"]).fit(Comparisons.from_frames(X, votes)[0])


def test_models_with_ties_are_compared_by_what_they_say_of_all_comparisons():
    X, votes = make_votes(np.random.default_rng(23), m=2500, tie=0.6, rule="davidson", side=0.0)
    found = compare(
        {
            "half": RankRegression(context=["rest"]),
            "davidson": RankRegression(context=["rest"], ties="davidson"),
        },
        X,
        votes,
    )
    scores = found.to_record()["scores"]
    losses = {
        row["model"]: row["value"]
        for row in scores
        if (row["kind"], row["measure"]) == ("train-train", "log_loss")
    }
    assert abs(losses["davidson"] - losses["half"]) < 0.005


def test_slopes_have_no_unit_of_weight():
    X, votes = make_votes(
        np.random.default_rng(30), n=40, m=600, slopes=np.array([1.6, 1.0, 0.8, 0.6])
    )
    plain = RankRegression(judge_slopes=True, side_effect=True).fit(X, votes)
    for unit in (1000.0, 1e-3):
        model = RankRegression(judge_slopes=True, side_effect=True).fit(
            X, votes | {"weight": np.full(600, unit)}
        )
        np.testing.assert_allclose(model.judges_.slope, plain.judges_.slope, rtol=1e-5)
        np.testing.assert_allclose(model.judges_.std_error, plain.judges_.std_error, rtol=1e-4)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5)
        np.testing.assert_allclose(model.std_errors_, plain.std_errors_, rtol=1e-3)


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
@pytest.mark.parametrize("item_effects", [False, True])
def test_the_difference_of_two_items_and_a_prediction_agree(ties, item_effects):
    X, votes = make_votes(
        np.random.default_rng(31), n=60, m=900, tie=0.8, rule="davidson" if ties == "half" else ties
    )
    model = RankRegression(ties=ties, item_effects=item_effects).fit(X, votes)
    asked = Comparisons(X, np.array([3]), np.array([8]), np.array([1]))
    assert model.difference(X[[3]], X[[8]]).probability == pytest.approx(
        model.predict_proba(asked)[0, 1], abs=1e-9
    )
    if ties == "rao-kupper":  # the link alone leaves the ties out of account
        assert model.difference(X[[3]], X[[8]]).probability_high != pytest.approx(
            float(expit(model.difference(X[[3]], X[[8]]).high)), abs=1e-3
        )


def test_the_noise_of_judges_is_the_share_of_decided_votes_against_the_true_order():
    rng = np.random.default_rng(32)
    X, slopes = rng.normal(size=(100, 3)), np.array([1.5, 0.5, 1.0])
    left, judge = rng.integers(0, 100, 12_000), rng.integers(0, 3, 12_000)
    right = (left + rng.integers(1, 100, 12_000)) % 100
    delta = (X[left] - X[right]) @ BETA
    loss, _, win = TieRule("rao-kupper", get_link("logit")).probabilities(
        slopes[judge] * delta, 1.5
    )
    chance = rng.random(12_000)
    winner = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    model = RankRegression(ties="rao-kupper", judge_slopes=True).fit(
        X, {"left": left, "right": right, "winner": winner, "judge": judge}
    )
    for number in range(3):
        mine = (judge == number) & (winner != "tie")
        share = np.mean((winner[mine] == "left") != (delta[mine] > 0))
        error = np.sqrt(share * (1 - share) / mine.sum())
        assert abs(model.judges_.noise[number] - share) < 4.5 * error + 0.01
    # as if nobody could say tie
    assert model.judges_.noise[2] < np.mean(expit(-np.abs(delta))) - 0.05


def test_a_judge_without_a_name_is_missing():
    X, votes = make_votes(np.random.default_rng(33), n=20, m=60)
    names = np.array([f"judge {number}" for number in votes["judge"]], dtype=object)
    names[7] = " "
    with pytest.raises(PairscoreError, match="the judge is missing in 1 row"):
        RankRegression(judge_slopes=True).fit(X, votes | {"judge": names})


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("context", [[], ["rest"]])
def test_errors_beside_a_ridge_allow_for_as_many_features_as_items(context):
    """A ridge that holds 45 coefficients of noise near zero leaves the side nearly as sure as
    without them; 30 studies, on the safe side by at most two.
    """
    found, errors = [], []
    for seed in range(30):
        rng = np.random.default_rng([34, seed])
        X, left = rng.normal(size=(50, 45)), rng.integers(0, 50, 600)
        right = (left + rng.integers(1, 50, 600)) % 50
        votes = {
            "left": left,
            "right": right,
            "winner": np.where(rng.random(600) < expit(0.3), "left", "right"),
            "rest": rng.normal(size=600),
        }
        model = RankRegression(l2=1000.0, side_effect=True, context=context).fit(X, votes)
        found.append(model.side_effect_)
        errors.append(
            model.side_effect_std_error_ if not context else model.effects_.std_errors[-1]
        )
    assert 0.75 < np.mean(errors) / np.std(found) < 2  # six times without the ridge in the leverage


@pytest.mark.parametrize(
    ("votes_change", "scale", "message"),
    [
        ({"weight": np.full(60, 1e200)}, 1.0, "weights go from"),
        ({"weight": np.full(60, 1e-300)}, 1.0, "weights go from"),
        ({}, 1e200, "so large that the sum of their squares overflows"),
    ],
)
@pytest.mark.parametrize(
    "settings",
    [{}, {"l2": "auto"}, {"judge_slopes": True}, {"item_effects": True}, {"method": "pooled"}],
)
def test_numbers_that_cannot_be_squared_are_refused_in_a_sentence(
    votes_change, scale, message, settings
):
    X, votes = make_votes(np.random.default_rng(35), n=20, m=60)
    with pytest.raises(PairscoreError, match=message):
        RankRegression(**settings).fit(X * [scale, 1.0, 1.0], votes | votes_change)


def test_a_context_that_cannot_be_squared_is_named():
    X, votes = make_votes(np.random.default_rng(36), n=20, m=60)
    with pytest.raises(
        PairscoreError, match=r"values beyond 1e\+150 cannot be computed with: 'rest'"
    ):
        RankRegression(context=["rest"]).fit(X, votes | {"rest": 1e200 * votes["rest"]})
