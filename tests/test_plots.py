"""Plots: what is on the axes are the numbers of the model."""

import subprocess
import sys
from itertools import permutations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from pairscore import Comparisons, PairscoreError, Population, RankRegression, plan, plots
from pairscore.planning.text import plan_curves

mpl.use("Agg")
REACH = norm.ppf(0.975)
NAMES = ["bmi", "age", "$cost$"]


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    mpl.pyplot.close("all")


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 4, 0.2]
    left, judge = rng.integers(0, 60, 1500), rng.integers(0, 6, 1500)
    right = (left + rng.integers(1, 60, 1500)) % 60
    eta = np.linspace(0.5, 1.5, 6)[judge] * ((X[left] - X[right]) @ [0.8, -0.1, 2.0])
    won = rng.random(1500) < 1 / (1 + np.exp(-eta))
    ids = np.array([f"item {number}" for number in range(60)])
    items = pd.DataFrame(X, columns=NAMES).assign(id=ids)
    winner = np.where(rng.random(1500) < 0.1, "tie", np.where(won, "left", "right"))
    votes = {"left": ids[left], "right": ids[right], "winner": winner, "judge": judge}
    return items, pd.DataFrame(votes)


@pytest.fixture(scope="module")
def model(study):
    return RankRegression(l2="auto").fit(*study)


@pytest.fixture(scope="module")
def abilities(study):
    return RankRegression(side_effect=True).fit(None, study[1])


def drawn_rows(ax):
    """Label, value, low end and high end of each row of intervals, from the top."""
    points, _, (bars,) = ax.containers[0].lines
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert ax.yaxis_inverted()
    np.testing.assert_array_equal(points.get_ydata(), np.arange(len(labels)))
    return labels, points.get_xdata(), ends[:, 0], ends[:, 1]


# -- rows with intervals ---------------------------------------------------------------------------


@pytest.mark.parametrize("per_sd", [True, False])
def test_coefficients_have_a_row_for_each_feature_with_its_interval(model, per_sd):
    ax = plots.coefficients(model, per_sd=per_sd)
    labels, value, low, high = drawn_rows(ax)
    unit = model.feature_sd_ if per_sd else 1.0
    assert labels == NAMES
    np.testing.assert_allclose(value, model.coef_ * unit)
    np.testing.assert_allclose(low, model.confidence_intervals()[:, 0] * unit)
    np.testing.assert_allclose(high, model.confidence_intervals()[:, 1] * unit)
    assert "95 % interval" in ax.get_xlabel()
    ax.figure.canvas.draw()  # a name with dollars is no formula


def test_many_coefficients_are_those_that_the_summary_shows():
    rng = np.random.default_rng(1)
    X, left = rng.normal(size=(200, 50)), rng.integers(0, 200, 3000)
    right = (left + rng.integers(1, 200, 3000)) % 200
    won = rng.random(3000) < 1 / (1 + np.exp(-(X[left] - X[right]) @ np.linspace(0, 1, 50)))
    votes = np.column_stack([np.where(won, left, right), np.where(won, right, left)])
    model = RankRegression().fit(X, votes)
    labels, *_ = drawn_rows(plots.coefficients(model))
    order = np.argsort(-np.abs(model.z_values_))[:20]
    assert labels == [f"x{number}" for number in order]
    assert plots.coefficients(model).get_title() == "Coefficients: 20 of 50 features"


@pytest.mark.parametrize("most", [60, 10])
def test_a_ranking_has_the_rows_of_rank(model, study, most):
    ax = plots.ranking(model, most=most, level=0.9)
    labels, value, low, high = drawn_rows(ax)
    table = model.rank(study[0], level=0.9)
    rows = np.arange(60) if most == 60 else np.r_[:5, 55:60]
    assert labels == table["id"].iloc[rows].tolist()
    for drawn, name in ((value, "score"), (low, "low"), (high, "high")):
        np.testing.assert_allclose(drawn, table[name].iloc[rows])
    title = "60 items" if most == 60 else "5 highest and 5 lowest of 60 items"
    assert ax.get_title() == f"Ranking: {title}"
    assert ax.get_xlabel() == "Score (90 % interval)"


def test_a_ranking_without_features_and_of_new_items(model, abilities):
    labels, value, *_ = drawn_rows(plots.ranking(abilities, scale="elo", most=60))
    table = abilities.rank(scale="elo")
    assert labels == table["id"].tolist()
    np.testing.assert_allclose(value, table["score"])
    new = pd.DataFrame(np.eye(3), columns=NAMES)
    np.testing.assert_allclose(drawn_rows(plots.ranking(model, new))[1], model.rank(new)["score"])


def test_without_intervals_there_are_points_only(study):
    model = RankRegression(inference=None).fit(*study)
    points, _, (bars,) = plots.coefficients(model).containers[0].lines
    np.testing.assert_allclose(points.get_xdata(), model.coef_ * model.feature_sd_)
    assert not any(np.isfinite(segment).any() for segment in bars.get_segments())


def test_judges_have_their_slopes_with_intervals_sharpest_first(study):
    model = RankRegression(judge_slopes=True).fit(*study)
    labels, value, low, high = drawn_rows(plots.judges(model))
    order = np.argsort(-model.judges_.slope)
    half = REACH * model.judges_.std_error[order]
    assert labels == [str(name) for name in model.judges_.name[order]]
    np.testing.assert_allclose(value, model.judges_.slope[order])
    np.testing.assert_allclose([low, high], [value - half, value + half])


# -- predicted and observed ------------------------------------------------------------------------


@pytest.mark.parametrize("given", [False, True])
def test_calibration_shows_the_share_of_favourites_that_won_by_a_plain_count(model, study, given):
    data = Comparisons.from_frames(*study)[0][:700] if given else model.comparisons_
    ax = plots.calibration(model, data if given else None)
    points, _, (bars,) = ax.containers[0].lines
    p = model.predict_proba(data)[:, 1]
    favourite, won = np.maximum(p, 1 - p), (p >= 0.5) == (data.outcome > 0)
    place = np.minimum((20 * (favourite - 0.5)).astype(int), 9)
    counted = [
        (favourite[inside].mean(), won[inside].mean())
        for number in range(10)
        if (inside := (place == number) & (data.outcome != 0)).any()
    ]
    np.testing.assert_allclose(np.column_stack(points.get_data()), counted)
    for (_, share), segment in zip(counted, bars.get_segments(), strict=True):
        assert segment[0, 1] <= share <= segment[1, 1]
    assert ("optimistic" in ax.get_title()) != given


def test_the_win_matrix_has_predicted_chances_and_counted_wins(abilities, study):
    ax = plots.win_matrix(abilities, most=4)
    names = abilities.rank()["id"][:4].tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    assert [label.get_text() for label in ax.get_xticklabels()] == names
    shown = ax.images[0].get_array()
    votes, texts = study[1], {text.get_position(): text.get_text() for text in ax.texts}
    winners = np.where(votes["winner"] == "left", votes["left"], votes["right"])
    losers = np.where(votes["winner"] == "left", votes["right"], votes["left"])
    decided = votes["winner"] != "tie"
    for row, column in permutations(range(4), 2):
        one, other = names[row], names[column]
        pairs = [Comparisons.from_pairs(None, [a], [b]) for a, b in ((one, other), (other, one))]
        chances = [abilities.predict_proba(pair)[0, 1] for pair in pairs]
        assert shown[row, column] == pytest.approx((chances[0] + 1 - chances[1]) / 2)
        won = np.sum(decided & (winners == one) & (losers == other))
        lost = np.sum(decided & (winners == other) & (losers == one))
        seen = f"\n{won}/{won + lost}" if won + lost else ""
        assert texts[column, row] == f"{100 * shown[row, column]:.0f} %{seen}"
    assert np.ma.getmaskarray(shown).diagonal().all()


# -- curves ----------------------------------------------------------------------------------------


def test_the_ridge_path_is_the_curve_with_the_chosen_ridge(model):
    ax = plots.ridge_path(model)
    curve, chosen = ax.lines
    np.testing.assert_array_equal(curve.get_xdata(), model.ridge_curve_.l2)
    np.testing.assert_array_equal(curve.get_ydata(), model.ridge_curve_.loss)
    assert set(chosen.get_xdata()) == {model.l2_}
    assert ax.get_xscale() == "log"


def test_a_plan_is_drawn_as_on_the_command_line():
    study = plan(n_features=5, noise=0.2, misordered=0.1)
    ax = plots.plan(study)
    rows = [row for row in plan_curves(study) if row["n_items"] == study.n_items]
    (curve,) = [line for line in ax.lines if line.get_label() == f"{study.n_items:,} items"]
    np.testing.assert_allclose(curve.get_xdata(), [row["n_comparisons"] for row in rows])
    np.testing.assert_allclose(curve.get_ydata(), [100 * row["error"] for row in rows])
    assert ax.get_xlabel() == "Number of comparisons M (log scale)"


# -- axes and refusals -----------------------------------------------------------------------------


def test_a_plot_is_drawn_on_the_axes_that_are_given(model):
    figure, panels = mpl.pyplot.subplots(1, 3)
    drawn = [
        plot(model, ax=panel)
        for plot, panel in zip(
            (plots.coefficients, plots.ranking, plots.calibration), panels, strict=True
        )
    ]
    assert drawn == list(panels)
    assert mpl.pyplot.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    ("plot", "words"),
    [
        (plots.coefficients, "no features, and so no coefficients to draw; use plots.ranking"),
        (plots.judges, "no slopes of judges; fit it with judge_slopes=True"),
        (plots.ridge_path, "no held-out log-loss of ridges; fit it with l2='auto'"),
    ],
)
def test_what_a_model_does_not_have_is_said_in_a_sentence(abilities, plot, words):
    before = mpl.pyplot.get_fignums()
    with pytest.raises(PairscoreError, match=words):
        plot(abilities)
    assert mpl.pyplot.get_fignums() == before


def test_a_model_without_its_comparisons_needs_them(model, study, tmp_path):
    model.save(tmp_path / "model.npz")
    loaded = RankRegression.load(tmp_path / "model.npz")
    for plot in (plots.ranking, plots.calibration, plots.win_matrix):
        with pytest.raises(PairscoreError, match="not in the model, which comes from a file"):
            plot(loaded)
    assert len(drawn_rows(plots.ranking(loaded, study[0], most=60))[0]) == 60
    data = Comparisons.from_frames(*study)[0]
    assert plots.win_matrix(loaded, study[0], comparisons=data, most=3).images
    new = pd.DataFrame(np.eye(3), columns=NAMES).assign(id=["p", "q", "r"])
    with pytest.raises(PairscoreError, match="fewer than two of the highest items were compared"):
        plots.win_matrix(model, new)


@pytest.mark.parametrize(
    "plot", [plots.ranking, plots.coefficients, plots.win_matrix, plots.judges]
)
def test_a_model_that_was_not_fitted_is_refused(plot):
    with pytest.raises(NotFittedError):
        plot(RankRegression())


def test_comparisons_that_are_all_ties_have_no_win_rates(model, study):
    data = Comparisons.from_frames(study[0], study[1].assign(winner="tie"))[0]
    with pytest.raises(PairscoreError, match="every comparison is a tie"):
        plots.calibration(model, data)


def test_matplotlib_is_not_loaded_before_something_is_drawn():
    code = "import sys; from pairscore import plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# -- methods ---------------------------------------------------------------------------------------


def test_pictures_are_methods_of_the_model_too(model, abilities, study):
    for one, name in ((model, "coefficients"), (model, "ranking"), (model, "calibration")):
        ax = getattr(one.plot, name)()
        assert ax.get_title() == getattr(plots, name)(one).get_title()
    panel = mpl.pyplot.subplots()[1]
    assert abilities.plot.ranking(most=10, ax=panel) is panel
    assert drawn_rows(panel)[0] == drawn_rows(plots.ranking(abilities, most=10))[0]
    assert model.plot.win_matrix(study[0], most=3).get_ylabel() == "Item"
    assert model.plot.ridge_path().get_xscale() == "log"
    assert model.plot.ranking.__doc__ == plots.ranking.__doc__
    assert {name for name in dir(model.plot)} <= {name for name in dir(plots)}
    with pytest.raises(PairscoreError, match="judge_slopes=True"):
        model.plot.judges()
    with pytest.raises(AttributeError, match="no picture 'scores' of a model; use coefficients"):
        model.plot.scores()
    with pytest.raises(NotFittedError):
        RankRegression().plot.ranking()


def test_a_plan_draws_itself():
    study = plan(n_features=5, noise=0.2, angle=0.2)
    assert study.plot().get_ylabel() == plots.plan(study).get_ylabel()
    panel = mpl.pyplot.subplots()[1]
    assert study.plot(ax=panel) is panel


def test_what_cannot_be_drawn_is_refused_in_a_sentence():
    items, votes = Population(n_features=2, rng=0).draw(60, 400, rng=1, second_half=False)
    model = RankRegression().fit(items, votes)
    with pytest.raises(PairscoreError, match="returns, and this is RankRegression"):
        plots.plan(model)
    with pytest.raises(PairscoreError, match="ax is 'x'; give one Axes"):
        plots.ranking(model, ax="x")
    for draw in (plots.ranking, plots.coefficients, plots.judges, plots.calibration):
        with pytest.raises(PairscoreError, match="this is str; of a pipeline"):
            draw("m")


@pytest.mark.parametrize(
    "name", ["a rather long item name number {} of the study", "{}" + 30 * "x", "m{}"]
)
def test_long_names_leave_room_for_the_panel_and_its_title(name):
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    items.insert(0, "id", [name.format(row) for row in range(600)])
    votes = rng.permuted(np.tile(items["id"].to_numpy(), (900, 1)), axis=1)[:, :2]
    votes = pd.DataFrame(votes, columns=["winner", "loser"])
    ax = plots.ranking(RankRegression().fit(items, votes))
    figure = ax.figure
    figure.canvas.draw()
    title = ax.title.get_window_extent()
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.x1
    assert ax.get_window_extent().width > 0.6 * figure.bbox.width
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len({*labels}) == 40


def label_faults(ax):
    """Pairs of labels of rows, one below the other, that lie over each other."""
    ax.figure.canvas.draw()
    labels = [label for label in ax.get_yticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    return [
        (one.get_text(), other.get_text())
        for one, other, a, b in zip(labels, labels[1:], boxes, boxes[1:], strict=False)
        if a.y0 < b.y1 - 1
    ]


@pytest.mark.parametrize("size", [(6.4, 4.8), (4, 3), (3, 2)])
def test_labels_of_rows_do_not_lie_over_each_other_on_a_small_panel(model, judged_by_many, size):
    for draw in (plots.ranking, plots.judges):
        _, ax = mpl.pyplot.subplots(figsize=size, layout="constrained")
        draw(model if draw is plots.ranking else judged_by_many, ax=ax)
        points, _, _ = ax.containers[0].lines
        assert len(points.get_ydata()) == 40
        assert len(ax.get_yticklabels()) >= 5
        assert label_faults(ax) == []


@pytest.fixture(scope="module")
def judged_by_many(study):
    items, votes = study
    rng = np.random.default_rng(1)
    names = np.array([f"judge {number:02d}" for number in range(60)])
    return RankRegression(judge_slopes=True).fit(
        items, votes.assign(judge=names[rng.integers(0, 60, len(votes))])
    )


def test_of_many_judges_both_ends_are_drawn(judged_by_many):
    ax = plots.judges(judged_by_many, most=10)
    labels, slope, *_ = drawn_rows(ax)
    columns = judged_by_many.judges_.to_columns()
    assert labels == [*columns["name"][:5], *columns["name"][-5:]]
    np.testing.assert_allclose(slope, [*columns["slope"][:5], *columns["slope"][-5:]])
    assert ax.get_title() == "Judges: 5 sharpest and 5 least sharp of 60"
    assert ax.figure.get_size_inches()[1] < 5
