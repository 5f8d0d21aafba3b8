"""Many simulated studies are fitted, and what was found is set against the truth.

The tests run a few of them, ``make studies`` many.
"""

import numpy as np
from sklearn.base import clone

from pairscore import RankRegression
from pairscore.core.passes import net_pass
from pairscore.effects.item_covariance import posterior_covariance
from tests.effects.rows import make_rows
from tests.effects.simulators import BETA, EFFECTS, context_votes, draw, full_votes

ITEM_VARIANCE = 0.64  # of full_votes and context_votes
ALL_EFFECTS = {
    "context": ["rest"],
    "side_effect": True,
    "ties": "rao-kupper",
    "judge_slopes": True,
}


def scores_of_estimates(model, effects):
    """z-scores of the coefficients and of the effects (context, side, tie) of a fitted model."""
    gap = np.concatenate([model.coef_ - BETA, model.effects_.values - effects])
    return gap / np.concatenate([model.std_errors_, model.effects_.std_errors])


def holds(model, sigma2):
    """Whether the interval of the item variance holds the true one."""
    low, high = model.item_effects_.interval
    return low <= sigma2 <= high


def all_effects(seeds, **size):
    """Slopes of judges, ties, context, side and item effects, fitted together.

    Returns z-scores of coefficients and effects, those without item effects, estimates of
    sigma^2, whether their intervals hold the truth, z-scores of the slopes, and how the slopes'
    gaps to 1 are shrunk.
    """
    found = {name: [] for name in ("z", "rival", "sigma2", "held", "slopes", "shrunk")}
    for seed in seeds:
        X, votes, slopes = full_votes(seed, "rao-kupper", **size)
        model = RankRegression(item_effects=True, **ALL_EFFECTS).fit(X, votes)
        plain = RankRegression(**ALL_EFFECTS).fit(X, votes)
        found["z"].append(scores_of_estimates(model, [0.4, 0.2, 0.5]))
        found["rival"].append(scores_of_estimates(plain, [0.4, 0.2, 0.5]))
        found["sigma2"].append(model.item_effects_.sigma2)
        found["held"].append(holds(model, ITEM_VARIANCE))
        found["slopes"].append((model.judges_.slope - slopes) / model.judges_.std_error)
        found["shrunk"].append(np.polyfit(slopes - 1, model.judges_.slope - 1, 1)[0])
    return {name: np.array(values) for name, values in found.items()}


def context_and_items(seeds, **size):
    """Context, side and item effects: z-scores, those without item effects, and sigma^2."""
    found = {name: [] for name in ("z", "rival", "sigma2", "held")}
    for seed in seeds:
        X, votes = context_votes(seed, **size)
        settings = {"context": ["rest"], "side_effect": True}
        model = RankRegression(item_effects=True, **settings).fit(X, votes)
        plain = RankRegression(**settings).fit(X, votes)
        found["z"].append(scores_of_estimates(model, [0.4, 0.3]))
        found["rival"].append(scores_of_estimates(plain, [0.4, 0.3]))
        found["sigma2"].append(model.item_effects_.sigma2)
        found["held"].append(holds(model, ITEM_VARIANCE))
    return {name: np.array(values) for name, values in found.items()}


def opposed_judges(seeds, **size):
    """The same votes twice, the second time with those of two judges of six turned round.

    Returns the ratio of both item variances in one unit, the first variance, whether the second
    interval is finite, and the judges with a negative slope. Slopes average to one in both fits,
    so their scores are in different units.
    """
    ratio, variance, finite, negative = [], [], [], []
    for seed in seeds:
        X, votes, _ = full_votes(seed, spread=0.0, n=80, n_judges=6, **size)
        swapped = np.where(votes["winner"] == "left", "right", "left")
        turned = votes | {"winner": np.where(votes["judge"] >= 4, swapped, votes["winner"])}
        one, other = (
            RankRegression(item_effects=True, judge_slopes=True, inference=None).fit(X, these)
            for these in (votes, turned)
        )
        unit = one.coef_[0] / other.coef_[0]
        ratio.append(other.item_effects_.sigma2 * unit**2 / one.item_effects_.sigma2)
        variance.append(one.item_effects_.sigma2)
        finite.append(np.isfinite(other.item_effects_.interval[1]))
        negative.append(np.flatnonzero(other.judges_.slope < 0).tolist())
    return np.array(ratio), np.array(variance), np.array(finite), negative


def item_effects_alone(n_fits, seed=7):
    """Item effects of variance 1 beside three features, with 200 known and 200 new items.

    Returns errors of sigma^2 and of the coefficients (with and without item effects), whether
    their intervals hold, and the shares of known and of new items whose intervals hold.
    """
    rng = np.random.default_rng(seed)
    found = {name: [] for name in ("sigma2", "coef", "rival", "held", "known", "new")}
    for _ in range(n_fits):
        X, beta, score, data = draw(rng, n_items=200, n_comparisons=1200, n_new=200)
        model, plain = clone(EFFECTS).fit(data), RankRegression(inference=None).fit(data)
        ranking = np.sort(model.rank(X), order="id")
        inside = (ranking["low"] <= score) & (score <= ranking["high"])
        error = model.coef_ - beta
        found["sigma2"].append(model.item_effects_.sigma2 - 1)
        found["coef"].append(error.mean())
        found["rival"].append((plain.coef_ - beta).mean())
        found["held"].append([holds(model, 1), abs(error[0]) < 1.96 * model.std_errors_[0]])
        found["known"].append(inside[:200].mean())
        found["new"].append(inside[200:].mean())
    return {name: np.array(values) for name, values in found.items()}


def laplace_variance(data, beta):
    """The rival: sigma^2 as the mean square of the effects at the mode plus their posterior
    variance, again and again.
    """
    rows, sigma2 = make_rows(data.items.values, data.left, data.right, data.outcome), 1.0
    effect = np.zeros(len(rows.X))
    for _ in range(60):
        eta = rows.predictor(beta) + effect[rows.left] - effect[rows.right]
        s = rows.counted(rows.rule.derivatives(eta, rows.outcome, 0.0))
        covariance = posterior_covariance(rows.pairs, rows.pair_information(s), sigma2)
        net = net_pass(rows.left, rows.right, s.delta, len(rows.X))
        effect = effect + covariance.times(net - effect / sigma2)
        sigma2 = float(np.mean(effect**2 + covariance.diagonal))
    return sigma2


def variances_from_few_comparisons(n_fits, n_items, seed=8):
    """Errors of sigma^2 = 2.25 where an item has four comparisons: ours, and Laplace's."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_fits):
        _, beta, _, data = draw(rng, n_items=n_items, n_comparisons=2 * n_items, sd=1.5)
        ours = clone(EFFECTS).fit(data).item_effects_.sigma2
        found.append([ours - 2.25, laplace_variance(data, beta) - 2.25])
    return np.array(found)


def thin_studies(seeds, n, m):
    """Studies that say little: large item effects, four judges of twelve who toss a coin, and
    once hardly any comparison that is not a tie.

    Yields features, votes and the tie rule to fit with.
    """
    for seed in seeds:
        rng = np.random.default_rng([60, seed])
        X, votes, _ = full_votes(seed, "rao-kupper", n=n, m=m, sigma=2.5)
        coins = (votes["judge"] < 4) & (votes["winner"] != "tie")
        votes["winner"] = np.where(coins, rng.choice(["left", "right"], m), votes["winner"])
        decided = np.where(rng.random(m) < 0.5, "left", "right")
        nearly = votes | {"winner": np.where(np.arange(m) < 5, decided, "tie")}
        yield from ((X, votes, "half"), (X, votes, "rao-kupper"), (X, nearly, "rao-kupper"))


def assert_ends_in_a_model(X, votes, **settings):
    """Item effects and judges' slopes are finite, however little the votes say."""
    model = RankRegression(item_effects=True, judge_slopes=True, **settings).fit(X, votes)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.judges_.slope))
    assert np.isfinite(model.item_effects_.sigma2)
