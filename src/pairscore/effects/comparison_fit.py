"""The fit with context, sides, judges and ties: coefficients and effects with their covariance.

Comparisons that share an item, or a judge, depend on each other; the covariance allows for it.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from pairscore.core.decided import decided_scale
from pairscore.core.outcomes import OutcomeLaw, TieRule
from pairscore.core.sandwich import (
    DyadicSums,
    floored_covariance,
    item_incidence,
    jackknife_inflation,
    less_ties,
    sandwich,
)
from pairscore.core.sums import row_blocks
from pairscore.effects.circumstances import comparison_scores, context_column, judge_names
from pairscore.effects.judges import (
    ENOUGH_INFORMATION,
    LARGEST_SPREAD,
    VotesSeen,
    judge_table,
    spread_of_slopes,
    variance_over_spreads,
)
from pairscore.effects.single_comparisons import (
    BLOCK_NUMBERS,
    Derivatives,
    Optimum,
    Params,
    SingleComparisons,
    climb,
    whole_groups,
)
from pairscore.effects.slope_bias import without_slope_bias
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewJudgesWarning,
    NotConvergedWarning,
    PairscoreError,
    SeparationWarning,
    first_few,
    plural,
)
from pairscore.estimators.fit_data import (
    SEPARATION_L2,
    FitData,
    leverage_whitener,
)
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.results import Effects, Estimate, Judges, Note
from pairscore.estimators.settings import Settings


def single_comparisons_covariance(study: FitData, settings: Settings, top: Optimum) -> np.ndarray:
    """Of (coef, effects, tie): classical, item-robust, or robust to items and judges."""
    contest, params, look, basis = top.contest, top.params, top.look, top.basis
    expected = look.apart - contest.ridge
    if settings.inference == "model":
        classical = sandwich(basis.inverse, expected, None)
        taken = contest.taken_by_ties(params, look)
        if taken is None:
            return classical
        return less_ties(classical, basis.inverse @ taken @ basis.inverse.T)
    inflation = jackknife_inflation(
        study.X - study.item_moments.mean,
        study.tally.exposures,
        leverage_whitener(study, settings),
    )
    meat = comparisons_item_meat(contest, params, look, inflation)
    by_items = sandwich(basis.inverse, expected, meat)
    if settings.inference == "items":
        return by_items
    meat = meat + judge_robust_meat(contest, params, look, inflation > 0)
    both = basis.inverse @ meat @ basis.inverse.T
    return floored_covariance(both, by_items, 1.0)  # sharing judges too only ever adds variance


def comparisons_item_meat(
    contest: SingleComparisons, params: Params, look: Derivatives, inflation: np.ndarray
) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 - sum_p u_p u_p', as for the pairs alone."""
    rows, size = np.arange(len(contest.left)), len(look.gradient)
    add = contest.contributions(params, look)
    sums = DyadicSums.zero(len(contest.X), size)
    for part in whole_groups(contest.pairs[1], block_rows(size)):
        left, right = contest.left[part], contest.right[part]
        sums = sums + DyadicSums.of_rows(left, right, add(rows[part]), inflation)
    return sums.meat(inflation)


def judge_robust_meat(
    contest: SingleComparisons, params: Params, look: Derivatives, counts: np.ndarray
) -> np.ndarray:
    """What comparisons of one judge add to the meat that do not share an item that ``counts`` (N).

    All of a judge's, less those that do: by items that are others for every judge.
    """
    n, size, add = len(contest.X), len(look.gradient), contest.contributions(params, look)
    place = contest.pairs[1].astype(np.int64)
    order = np.lexsort((place, contest.judge))
    judge, together, shared = contest.judge[order], *np.zeros((2, size, size))
    for some in whole_groups(judge, block_rows(size)):
        rows = order[some]
        _, number = np.unique(judge[some], return_inverse=True)
        items = np.concatenate([contest.left[rows], contest.right[rows]])
        codes, code = np.unique(np.tile(number, 2) * n + items, return_inverse=True)
        left, right = code.reshape(2, len(rows))
        inflation = counts[codes % n].astype(float)
        per_judge, sums = np.zeros((number[-1] + 1, size)), DyadicSums.zero(len(codes), size)
        # one judge may have more comparisons than are held at a time
        for part in whole_groups(number * (place.max() + 1) + place[rows], block_rows(size)):
            u = add(rows[part])
            sums = sums + DyadicSums.of_rows(left[part], right[part], u, inflation)
            by_judge = item_incidence(number[part], number[part], len(per_judge))
            per_judge += by_judge @ u
        together += per_judge.T @ per_judge
        shared += sums.meat(inflation)
    few = contest.n_judges / max(contest.n_judges - 1, 1)
    return few * together - shared


def block_rows(size: int) -> int:
    """Comparisons whose contributions to so many equations are held at a time."""
    return BLOCK_NUMBERS // size


FIRST_SPREAD = 0.5
SPREAD_ROUNDS = 6
FEW_JUDGES = 10
# standard error of an effect times the usual size of its column, on the link's scale
ENDLESS = 30.0
CONTRADICTING = 0.99 * LARGEST_SPREAD  # of slopes that would rather be endless
MOST_SIDES = 300  # judges with a side of their own


@dataclass(frozen=True)
class PreparedFit:
    """A contest to be fitted.

    Who judged, the names and kinds of its effects, and the fit of the pairs from which it starts.
    """

    contest: SingleComparisons
    judges: np.ndarray
    effect_names: tuple[str, ...]
    effect_kinds: tuple[str, ...]
    plain: Estimate


def fit_single_comparisons(study: FitData, settings: Settings) -> Estimate:
    """Maximum likelihood of single comparisons, started from that of the pairs."""
    asked = prepare_fit(study, settings)
    contest = (
        with_slopes(asked.contest, asked.plain.coef) if settings.judge_slopes else asked.contest
    )
    top = fit_without_bias(contest, contest.start(asked.plain.coef), settings)
    covariance = (
        single_comparisons_covariance(study, settings, top)
        if settings.inference is not None
        else None
    )
    judges = _judges(top, asked.judges) if settings.judge_slopes else None
    fit = single_comparisons_estimate(study, settings, asked, top, covariance, judges)
    return replace(fit, notes=fit.notes + judge_notes(settings, contest.n_judges, judges))


def prepare_fit(study: FitData, settings: Settings) -> PreparedFit:
    """The comparisons of a study as a contest, with the columns that the settings ask for."""
    names, judge = judges_of(study, settings)
    plain = fit_likelihood(
        replace(study, keep_sides=False), replace(settings, inference=None, side_effect=False)
    )
    ridge = np.diag(settings.l2 * study.item_moments.sd**2)
    if plain.separated is not None:  # a ridge along the directions that are
        held = study.item_moments.sd[:, None] ** 2 * plain.separated
        ridge = ridge + SEPARATION_L2 * held @ held.T
    contest, effect_names, kinds = single_comparisons_of(study, settings, names, judge, ridge)
    return PreparedFit(contest, names, effect_names, kinds, plain)


def single_comparisons_estimate(
    study: FitData,
    settings: Settings,
    asked: PreparedFit,
    top: Optimum,
    covariance: np.ndarray | None,
    judges: Judges | None,
) -> Estimate:
    """What was found, in the terms of a study."""
    contest, params, basis = top.contest, top.params, top.basis
    notes = [*asked.plain.notes, *([] if top.converged else [_not_maximised(settings)])]
    d = len(params.coef)
    values, undetermined = (
        np.append(params.effects, [params.t] * contest.rule.has_parameter),
        basis.undetermined[d:],
    )
    errors = (
        np.full(len(values), np.nan)
        if covariance is None
        else np.where(undetermined, np.nan, np.sqrt(np.diag(covariance)[d:]))
    )
    effects = Effects(asked.effect_names, asked.effect_kinds, values, errors)
    notes += _effect_notes(effects, undetermined, contest.usual_sizes)
    return replace(
        asked.plain,
        coef=params.coef,
        side_effect=effects.of_kind("side").get("left"),
        basis=replace(
            basis,
            transform=basis.transform[:d],
            open_directions=basis.open_directions[:d],
            unit=basis.unit[:d],
        ),
        difference=comparison_scores(study.X @ params.coef, study.comparisons, effects, judges),
        covariance=None if covariance is None else covariance[:d, :d],
        n_iterations=top.steps,
        notes=notes,
        effects=effects,
        judges=judges,
    )


def judges_of(study: FitData, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Names of the judges, and a code for every comparison."""
    judge = study.comparisons.judge
    if judge is None:
        if settings.needs_judges:
            raise PairscoreError(
                "the votes have no column 'judge', which judge_slopes, side_effect='judges' and"
                " inference='items+judges' need; add it."
            )
        return np.empty(0, dtype=object), np.zeros(len(study.comparisons), dtype=int)
    missing = np.flatnonzero(
        [
            value is None or value != value or (isinstance(value, str) and not value.strip())
            for value in judge.tolist()
        ]
    )
    if len(missing) and settings.needs_judges:
        raise PairscoreError(
            f"the judge is missing in {plural(len(missing), 'row')}"
            f" ({first_few(f'row {row}' for row in missing)}); name every judge."
        )
    names, codes = np.unique(
        np.array(judge_names(judge)) if judge.dtype.kind in "fO" else judge, return_inverse=True
    )
    return names, codes


def single_comparisons_of(
    study: FitData, settings: Settings, names: np.ndarray, judge: np.ndarray, ridge: np.ndarray
) -> tuple[SingleComparisons, tuple[str, ...], tuple[str, ...]]:
    """Comparisons sorted by pair, without those of an item with itself, with the columns of their
    effects.
    """
    data, n = study.comparisons, len(study.X)
    low, high = (
        np.minimum(data.left, data.right).astype(np.int64),
        np.maximum(data.left, data.right),
    )
    order = np.argsort(low * n + high, kind="stable")
    order = order[(data.left != data.right)[order] & (study.amount[order] > 0)]
    context = (
        np.column_stack([context_column(data, name)[order] for name in settings.context])
        if settings.context
        else np.empty((len(order), 0))
    )
    sides, side_names = _sides(settings, names, judge[order])
    amount = study.amount[order] / study.weight_unit  # in comparisons, because slopes have a prior
    rule = TieRule(settings.ties, settings.link)
    effect_names = (*settings.context, *side_names, *(["tie"] * rule.has_parameter))
    # a judge who always says left has no finite side; these are held by the prior that separation
    # gets
    side_ridge = SEPARATION_L2 if settings.side_by_judge else 0.0
    effects_ridge = np.concatenate(
        [
            np.zeros(len(settings.context)),
            np.full(len(side_names), side_ridge),
            np.zeros(int(rule.has_parameter)),
        ]
    )
    ridge = block_diag(ridge / study.weight_unit, np.diag(effects_ridge))
    kinds = (
        ("context",) * len(settings.context)
        + ("side",) * len(side_names)
        + ("tie",) * rule.has_parameter
    )
    contest = SingleComparisons(
        study.X,
        study.item_moments.mean,
        data.left[order],
        data.right[order],
        data.outcome[order].astype(float),
        amount,
        context,
        sides,
        judge[order],
        max(len(names), 1),
        rule,
        ridge,
        np.empty(0, dtype=int),
    )
    _refuse_one_kind_of_outcome(contest)
    return contest, effect_names, kinds


def _refuse_one_kind_of_outcome(contest: SingleComparisons) -> None:
    """The parameter of ties needs ties, and other outcomes."""
    tied = np.count_nonzero(contest.outcome == 0)
    if contest.rule.has_parameter and tied in (0, len(contest.outcome)):
        seen = "no comparison is a tie" if tied == 0 else "every comparison is a tie"
        raise PairscoreError(
            f"ties={contest.rule.name!r} estimates how often items tie, and {seen}; use"
            " ties='half'."
        )


def with_slopes(contest: SingleComparisons, coef: np.ndarray) -> SingleComparisons:
    """Slopes for the judges whose votes would tell them to half a unit or better.

    The others are taken for average.
    """
    start = contest.start(coef)
    information = contest.outcome_derivatives(start).eta_eta * contest.delta(start) ** 2
    sloped = np.flatnonzero(
        np.bincount(contest.judge, information, contest.n_judges) >= ENOUGH_INFORMATION
    )
    return (
        replace(contest, sloped=sloped, slope_spread=FIRST_SPREAD) if len(sloped) > 1 else contest
    )


def judge_notes(settings: Settings, n_judges: int, judges: Judges | None) -> list[Note]:
    """Too few judges, or votes, for what was asked of them."""
    notes: list[Note] = []
    if judges is not None and judges.spread == 0:
        why = "too few, or judges who vote against each other leave no common order"
        notes.append(
            (
                FewJudgesWarning,
                (
                    f"fewer than two judges have votes enough for a slope of their own ({why}); all"
                    " are taken for average ones."
                ),
            )
        )
    if judges is not None and judges.spread > CONTRADICTING:
        text = (
            "about as many votes go against the common order as with it, so slopes that average to"
            " 1 have no finite size, and scores are in no unit"
        )
        notes.append(
            (
                SeparationWarning,
                (
                    f"{text}; leave out the judges who vote against the others, or turn their votes"
                    " round."
                ),
            )
        )
    if settings.inference == "items+judges" and n_judges < FEW_JUDGES:
        notes.append(
            (
                FewJudgesWarning,
                (
                    f"with {plural(n_judges, 'judge')} intervals that allow for shared judges are"
                    " rough; read them with care."
                ),
            )
        )
    return notes


def _not_maximised(settings: Settings) -> Note:
    text = (
        f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')}; raise"
        " max_iter, add a ridge (l2), or drop an effect."
    )
    return NotConvergedWarning, text


def _effect_notes(effects: Effects, undetermined: np.ndarray, unit: np.ndarray) -> list[Note]:
    """Effects that the comparisons leave open, and those that they push to infinity."""
    names = np.array(effects.names, dtype=object)
    notes: list[Note] = []
    if undetermined.any():
        text = (
            "not determined by the comparisons, because constant or a combination of others:"
            f" {first_few(map(repr, names[undetermined]))}"
        )
        notes.append(
            (
                CollinearFeaturesWarning,
                f"{plural(int(undetermined.sum()), 'effect')} {text}; intervals are unknown.",
            )
        )
    endless = np.nan_to_num(effects.std_errors * unit) > ENDLESS
    if endless.any():
        shown = first_few(map(repr, names[endless]))
        notes.append(
            (
                SeparationWarning,
                (
                    "some effects explain every comparison that they touch and have no finite"
                    f" size: {shown}; leave them out."
                ),
            )
        )
    return notes


def _sides(
    settings: Settings, names: np.ndarray, judge: np.ndarray
) -> tuple[sparse.csr_array, list[str]]:
    """One column for the advantage of the left side, or one for each judge."""
    if not settings.side_effect:
        return sparse.csr_array((len(judge), 0)), []
    if not settings.side_by_judge:
        return sparse.csr_array(np.ones((len(judge), 1))), ["left"]
    if len(names) > MOST_SIDES:
        raise PairscoreError(
            f"side_effect='judges' is for up to {MOST_SIDES} judges, and there are {len(names)};"
            " use side_effect=True."
        )
    entries = np.ones(len(judge)), (np.arange(len(judge)), judge)
    sides = sparse.csr_array(entries, shape=(len(judge), len(names)))
    return sides, [f"left, {name}" for name in names.tolist()]


def fit_without_bias(contest: SingleComparisons, params: Params, settings: Settings) -> Optimum:
    """The maximum, less what the noise of slopes adds to it."""
    top = fit_with_spread(contest, params, settings)
    if not top.converged or not len(top.params.slopes):
        return top
    params, look = without_slope_bias(top.contest, top.params, top.look, top.basis)
    return top._replace(params=params, look=look, basis=top.contest.basis(look))


def fit_with_spread(contest: SingleComparisons, params: Params, settings: Settings) -> Optimum:
    """The maximum; where judges have slopes, with the spread that the slopes themselves show."""
    total = 0
    for _ in range(SPREAD_ROUNDS):
        top = climb(contest, params, settings.max_iter, settings.tol)
        total += top.steps
        if contest.slope_spread is None or not len(params.slopes):
            break
        params, spread = (
            top.params,
            spread_of_slopes(*slopes_of_votes(contest, top.params, top.look)),
        )
        if abs(np.log(spread / contest.slope_spread)) < 0.01:
            break
        contest = replace(contest, slope_spread=spread)
    return top._replace(contest=contest, steps=total)


def slopes_of_votes(
    contest: SingleComparisons, params: Params, look: Derivatives
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes as votes alone would have them, without their prior, and their variances."""
    precision = 1 / contest.slope_spread**2  # type: ignore[operator]
    information = np.maximum(look.slope_information - precision, 1e-9)
    return (
        params.slopes - (look.slope_gradient - precision * (params.slopes - 1)) / information,
        1 / information,
    )


def _judges(top: Optimum, names: np.ndarray) -> Judges:
    """Slopes with the uncertainty of all else, as an average judge's votes go.

    A judge without a slope is an average one, as far as judges differ.
    """
    contest, params, look, basis = top.contest, top.params, top.look, top.basis
    spread = float(contest.slope_spread or 0.0)
    slope, error = (
        np.ones(contest.n_judges),
        np.full(contest.n_judges, spread if spread else np.nan),
    )
    if len(params.slopes):
        own = variance_over_spreads(*slopes_of_votes(contest, params, look))
        slope[contest.sloped] = params.slopes
        for slopes in row_blocks(len(own)):
            own[slopes] += np.sum((look.through(slopes) @ basis.transform) ** 2, axis=1)
        error[contest.sloped] = np.sqrt(own)
    number = np.bincount(contest.judge, contest.amount, contest.n_judges)
    votes = VotesSeen(decided_law(contest, params), contest.delta(params), contest.amount)
    return judge_table(names, number, slope, error, spread, votes)


def decided_law(contest: SingleComparisons, params: Params) -> OutcomeLaw:
    """How comparisons end, with the scale of those that are decided; effects averaged over."""
    law = OutcomeLaw(contest.rule, params.t)
    sd = np.sqrt(contest.effect_variance) * np.abs(contest.sharpness(params))
    scale = decided_scale(law, contest.predictor(params), sd, contest.outcome, contest.amount)
    return replace(law, scale=scale)
