"""Sums of sites add, and say nothing about any one item."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore import PairscoreError, RankRegression
from pairscore.errors import OneSidedWarning
from pairscore.streaming.merge import merge_files, merge_sites
from pairscore.streaming.sites import SiteSums, read_sums, save_site, site_sums
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
    kind, meta, arrays = read_sums(tmp_path / "site.npz")
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
        read_sums(tmp_path / "no.npz")
    with pytest.raises(PairscoreError, match="there is no file"):
        read_sums(tmp_path / "none.npz")
    save_site(site_sums(*site(1)), tmp_path / "site.npz")
    monkeypatch.setattr("pairscore.streaming.sites.VERSION", 3)
    with pytest.raises(PairscoreError, match="sums of version 2"):
        read_sums(tmp_path / "site.npz")


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
