"""Sums of sites add, and say nothing about any one item."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore import PairscoreError, RankRegression
from pairscore.errors import OneSidedWarning
from pairscore.streaming.merge import merge_files, merge_rounds, merge_sites
from pairscore.streaming.rounds import Point, point_of, save_round, site_round
from pairscore.streaming.scale_sums import SCALES, at_scale
from pairscore.streaming.site_files import read_sums_file
from pairscore.streaming.sites import SiteSums, save_site, site_sums
from pairscore.streaming.stream_data import StreamData
from tests import forged
from tests.streaming.studies import draw


def site(seed, **kind):
    """A site whose items have names that no other site has."""
    items, votes = draw(seed, text=True, **kind)
    names = {name: pa.array([f"{seed} {x}" for x in items["id"].to_pylist()]) for name in ["id"]}
    items = items.set_column(0, "id", names["id"])
    for place, name in enumerate(("left", "right")):
        column = pa.array([f"{seed} {x}" for x in votes[name].to_pylist()])
        votes = votes.set_column(place, name, column)
    return items, votes


def together(sites):
    """All items and all comparisons."""
    return tuple(pa.concat_tables(tables) for tables in zip(*sites, strict=True))


@settings(max_examples=8, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(45, 90), st.integers(200, 600)), min_size=1, max_size=4),
    method=st.sampled_from(["pooled", "split", "paired"]),
    seed=st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore")
def test_any_number_of_sites_gives_the_fit_of_all_data(sizes, method, seed):
    sites = [site(seed + k, n=n, m=m) for k, (n, m) in enumerate(sizes)]
    whole = RankRegression(method, inference=None).fit(*together(sites))
    merged = merge_sites([site_sums(*one) for one in sites], method=method)
    np.testing.assert_allclose(merged.closed_form_coef_, whole.closed_form_coef_, rtol=1e-9)
    assert (merged.n_items_, merged.n_comparisons_) == (whole.n_items_, whole.n_comparisons_)


def test_the_same_site_twice_is_refused():
    sums = site_sums(*site(1))
    with pytest.raises(PairscoreError, match="counted twice"):
        merge_sites([sums, site_sums(*site(2)), sums])


def test_a_site_of_three_items_is_refused_unless_it_is_allowed():
    items = pa.table({"id": [1, 2, 3], "x": [1.0, 2.0, 5.0]})
    votes = pa.table({"left": [1, 2, 3], "right": [2, 3, 1], "winner": ["left", "tie", "right"]})
    with pytest.raises(PairscoreError, match=r"3 compared items.*fewer than 20"):
        site_sums(items, votes)
    assert site_sums(items, votes, allow_small=True).numbers.n_items == 3


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ({"link": "probit"}, r"link \('logit' and 'probit'\)"),
        ({"ties": "drop"}, "ties"),
        ({"exclude": ["x1"]}, r"features \(only the first has 'x1'\)"),
    ],
)
def test_sums_that_do_not_go_together_are_refused_in_a_sentence(kind, word, tmp_path):
    from pyarrow import parquet

    items, votes = site(3)
    parquet.write_table(items, tmp_path / "items.parquet")
    other = site_sums(str(tmp_path / "items.parquet"), votes, **kind)
    with pytest.raises(PairscoreError, match=f"differ in their {word}"):
        merge_sites([site_sums(*site(1)), other])


def test_files_of_sums_hold_them_and_no_item(tmp_path):
    items, votes = site(4)
    sums = site_sums(items, votes)
    save_site(sums, tmp_path / "site.npz")
    kind, meta, arrays = read_sums_file(tmp_path / "site.npz")
    again = SiteSums.of_record(meta | {"arrays": arrays})
    assert kind == "site"
    np.testing.assert_array_equal(again.compared.scatter, sums.compared.scatter)
    assert again.terms == sums.terms
    d = len(sums.label_sum)
    assert max(array.size for array in arrays.values()) <= (d + 1) ** 2
    text = (tmp_path / "site.npz").read_bytes()
    assert not any(name.encode() in text for name in items["id"].to_pylist())


def test_files_that_are_no_sums_or_of_another_version_are_refused(tmp_path, monkeypatch):
    (tmp_path / "no.npz").write_text("nothing")
    with pytest.raises(PairscoreError, match="not a complete file of sums"):
        read_sums_file(tmp_path / "no.npz")
    with pytest.raises(PairscoreError, match="there is no file"):
        read_sums_file(tmp_path / "none.npz")
    save_site(site_sums(*site(1)), tmp_path / "site.npz")
    monkeypatch.setattr("pairscore.streaming.site_files.VERSION", 3)
    with pytest.raises(PairscoreError, match="sums of version 2"):
        read_sums_file(tmp_path / "site.npz")


DAMAGES = {
    "cut in half": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:300] + bytes([content[300] ^ 1]) + content[301:],
    "nothing": lambda content: b"",
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_sums_are_one_sentence(how, tmp_path):
    path = tmp_path / "site.npz"
    save_site(site_sums(*site(1)), path)
    path.write_bytes(DAMAGES[how](path.read_bytes()))
    with pytest.raises(PairscoreError, match=r"is not a complete file of sums: .*; give files"):
        merge_files([path])


FORGED = {
    "compared_scatter": (np.nan, "'compared_scatter' has entries that are not finite"),
    "label_sum": (np.inf, "'label_sum' has entries that are not finite"),
    "compared_total": (-1.0, "'compared_total' has entries that are not from 0"),
    "numbers_n_items": (-1.0, "'numbers_n_items' has entries that are not from 0"),
    "numbers_tied": (1e9, "its numbers of comparisons contradict each other"),
}


@pytest.mark.parametrize("name", FORGED)
def test_sums_that_no_site_has_are_one_sentence(name, tmp_path):
    path, (entry, reason) = tmp_path / "site.npz", FORGED[name]
    save_site(site_sums(*site(1)), path)
    arrays = forged.read(path)
    changed = arrays[name].copy()
    changed.reshape(-1)[-1:] = entry
    forged.write(path, arrays | {name: changed})
    with pytest.raises(PairscoreError, match=f"site.npz' is not a complete file of sums: {reason}"):
        merge_files([path])


def test_sums_from_which_no_model_follows_are_one_sentence(tmp_path):
    """Each number may be one, and all together none of any data."""
    path = tmp_path / "site.npz"
    save_site(site_sums(*site(1)), path)
    arrays = forged.read(path)
    forged.write(path, arrays | {"label_sum": np.full(3, 1.7e308)})
    for method in ("pooled", "split", "paired", "mle"):
        with pytest.raises(PairscoreError, match="no model follows from these sums"):
            merge_files([path], method=method)


def test_a_site_where_one_side_won_all_is_told():
    items, votes = draw()
    votes = votes.set_column(2, "winner", [["left"] * len(votes)])
    with pytest.warns(OneSidedWarning, match="it looks like a table of winners and losers"):
        site_sums(items, votes)


# -- rounds: sums of a site at a model of merged sums ------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_a_spline_gives_the_slope_of_a_likelihood_to_nine_digits_and_the_scale_to_ten():
    differences = np.linspace(-12, 12, 50)

    def slope(u):
        return float(np.sum(differences / (1 + np.exp(0.7 * np.exp(u) * differences))))

    values = np.array([slope(u) for u in SCALES])
    for u in np.linspace(SCALES[0], SCALES[-1], 37):
        assert at_scale(values, SCALES, u) == pytest.approx(slope(u), rel=1e-8)
    assert at_scale(values, SCALES, SCALES[3]) == pytest.approx(values[3], rel=1e-14)


@pytest.mark.filterwarnings("ignore")
def test_a_point_survives_a_file_with_all_its_digits():
    model = merge_sites([site_sums(*site(1))], method="mle")
    point = point_of(model)
    again = Point.of_record(point.to_record())
    assert again.digest == point.digest
    np.testing.assert_array_equal(again.total.compared.scatter, point.total.compared.scatter)
    assert again.theta == point.theta


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pooled", "split", "paired", "mle"])
def test_a_round_goes_through_comparisons_once_along_the_score_and_once_by_pairs(
    method, monkeypatch
):
    stages = []
    for name in ("run", "sum_pairs"):
        usual = getattr(StreamData, name)

        def counted(self, *given, usual=usual, name=name):
            stages.append(name)
            return usual(self, *given)

        monkeypatch.setattr(StreamData, name, counted)
    model = merge_sites([site_sums(*site(1))], method=method)
    stages.clear()
    site_round(model, *site(1))
    assert sorted(stages) == ["run", "sum_pairs"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pooled", "mle"])
def test_the_file_of_a_round_is_as_large_for_any_number_of_comparisons(method, tmp_path):
    """The distribution of differences stays at the site."""
    shapes = []
    for m in (200, 2000):
        one = site(1, m=m)
        model = merge_sites([site_sums(*one)], method=method)
        save_round(site_round(model, *one), tmp_path / "round.npz")
        shapes.append(
            {name: of.shape for name, of in read_sums_file(tmp_path / "round.npz")[2].items()}
        )
    assert shapes[0] == shapes[1]
    assert max(shape[0] for shape in shapes[0].values() if shape) == len(SCALES)


@pytest.mark.filterwarnings("ignore")
def test_rounds_are_refused_at_other_models_and_with_other_data():
    one, other = site(1), site(2)
    model = merge_sites([site_sums(*one)])
    with pytest.raises(PairscoreError, match="not among those of the model"):
        site_round(model, *other)
    with pytest.raises(PairscoreError, match="not made by merging"):
        site_round(RankRegression().fit(*one), *one)
    second = merge_sites([site_sums(*one)], method="paired")
    with pytest.raises(PairscoreError, match="different models"):
        site_round(model, *one) + site_round(second, *one)


def sites_with_columns(n_sites, seed):
    """Items of several sites; one item has a column of its own, and a category has two items."""
    rng = np.random.default_rng(seed)
    size = 60
    for number in range(n_sites):
        X = rng.normal(size=(size, 4))
        X[:, 2:] = 0.0
        if number == 0:
            X[5, 2] = 1.0
        if number in (0, n_sites - 1):  # alone at its site, and perhaps not among all
            X[7 + number, 3] = 1.0
        score = X @ [1.0, 0.5, 0.5, -0.5] + 0.8 * rng.normal(size=size)
        left = rng.integers(0, size, 1500)
        right = (left + rng.integers(1, size, 1500)) % size
        won = rng.random(1500) < 1 / (1 + np.exp(score[right] - score[left]))
        names = np.array([f"{number}-{item}" for item in range(size)])
        items = {"id": names} | {name: X[:, k] for k, name in enumerate("abcd")}
        winner = np.where(won, "left", "right")
        yield items, {"left": names[left], "right": names[right], "winner": winner}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
@pytest.mark.parametrize(("n_sites", "seed"), [(1, 5), (2, 3), (3, 4)])
def test_an_item_with_a_column_of_its_own_has_the_error_of_one_fit(n_sites, seed, method):
    sites = list(sites_with_columns(n_sites, seed))
    items, votes = (
        {name: np.concatenate([site[kind][name] for site in sites]) for name in sites[0][kind]}
        for kind in (0, 1)
    )
    whole = RankRegression(method).fit(items, votes)
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    for _ in range(7 if method == "mle" else 1):
        model = merge_rounds([site_round(model, *site) for site in sites])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)


def strong_sites(strength, ties, n_sites=2):
    """Sites whose score is strong, or which know mostly ties."""
    for number in range(n_sites):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(60, 2))
        left = rng.integers(0, 40, 900)
        right = (left + rng.integers(1, 40, 900)) % 40
        ahead = strength * (X[left] - X[right]) @ [1.0, -0.5]
        won = rng.random(900) < 1 / (1 + np.exp(-np.clip(ahead, -500, 500)))
        winner = np.where(rng.random(900) < ties, "tie", np.where(won, "left", "right"))
        names = np.array([f"{number}-{item}" for item in range(60)])
        items = {"id": names, "a": X[:, 0], "b": X[:, 1]}
        yield items, {"left": names[left], "right": names[right], "winner": winner}


def all_of(sites):
    return tuple(
        {name: np.concatenate([site[kind][name] for site in sites]) for name in sites[0][kind]}
        for kind in (0, 1)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pooled", "split", "paired"])
def test_a_scale_far_from_the_first_guess_takes_another_round(method):
    sites = list(strong_sites(15.0, 0.0))
    whole = RankRegression(method).fit(*all_of(sites))
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    model = merge_rounds([site_round(model, *site) for site in sites])
    assert model.std_errors_ is None
    assert "RoundNeededWarning" in model.note_kinds_
    for _ in range(2):  # once it is there, it stays
        model = merge_rounds([site_round(model, *site) for site in sites])
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
        np.testing.assert_allclose(model.noise_, whole.noise_, rtol=1e-6)
        assert "RoundNeededWarning" not in model.note_kinds_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_comparisons_that_mostly_tied_have_the_scale_of_decided_ones(method):
    sites = list(strong_sites(1.0, 0.7))
    whole = RankRegression(method).fit(*all_of(sites))
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    for _ in range(5 if method == "mle" else 1):
        model = merge_rounds([site_round(model, *site) for site in sites])
    assert whole.decided_scale_ > 3
    for name in ("agreement_", "noise_", "decided_scale_"):
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_sites_that_only_know_ties_have_a_score_of_nothing(method):
    sites = list(strong_sites(1.0, 1.1))
    model = merge_sites([site_sums(*site) for site in sites], method=method)
    model = merge_rounds([site_round(model, *site) for site in sites])
    whole = RankRegression(method).fit(*all_of(sites))
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])
    np.testing.assert_array_equal(model.std_errors_, whole.std_errors_)
    assert np.isnan(model.agreement_)
    assert model.noise_ == whole.noise_ == 0.5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_comparisons_that_the_score_explains_have_no_intervals(method):
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    left = rng.integers(0, 40, 300)
    right = (left + rng.integers(1, 40, 300)) % 40
    votes = {"left": left, "right": right, "winner": np.where(x[left] > x[right], "left", "right")}
    items = {"id": np.arange(40), "x": x}
    model = merge_sites([site_sums(items, votes)], method=method)
    model = merge_rounds([site_round(model, items, votes)])
    assert model.std_errors_ is None
    assert "SeparationWarning" in model.note_kinds_
    held = merge_sites([site_sums(items, votes)], method=method, l2=1.0)
    for _ in range(9 if method == "mle" else 3):
        held = merge_rounds([site_round(held, items, votes)])
    whole = RankRegression(method, l2=1.0).fit(items, votes)
    np.testing.assert_allclose(held.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(held.std_errors_, whole.std_errors_, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [1e3, 1e-3])
def test_the_unit_of_weights_does_not_matter_at_sites(unit):
    sites = [site(seed) for seed in (1, 2)]
    scaled = []
    for items, votes in sites:
        column = votes.column_names.index("weight")
        weight = unit * votes["weight"].to_numpy()
        scaled.append((items, votes.set_column(column, "weight", [weight])))
    whole = RankRegression("pooled", l2=2.0).fit(*together(sites))
    model = merge_sites([site_sums(*one) for one in scaled], l2=2.0)
    model = merge_rounds([site_round(model, *one) for one in scaled])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
    np.testing.assert_allclose(model.decided_scale_, whole.decided_scale_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_likelihood_in_rounds_reaches_features_that_hardly_differ_within_pairs():
    """A coefficient of hundreds of standard deviations is no long step, if no score moves far."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2))
    X[1::2, 0] = X[::2, 0] + 1e-3 * rng.normal(size=30)
    left = rng.integers(0, 60, 900)
    right = left ^ 1
    won = rng.random(900) < 1 / (1 + np.exp((X[right] - X[left]) @ [300.0, 1.0]))
    items = {"id": np.arange(60), "a": X[:, 0], "b": X[:, 1]}
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    whole = RankRegression(tol=1e-15).fit(items, votes)
    assert whole.coef_[0] > 100
    model = merge_sites([site_sums(items, votes)], method="mle")
    for _ in range(6):
        model = merge_rounds([site_round(model, items, votes)])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)
