"""What is odd about the data is said: one side that always wins, extremes, names in two cases."""

import warnings

import numpy as np
import pytest

from pairscore import Comparisons, PairscoreError, RankRegression, fit_stream, load
from pairscore.errors import PairscoreWarning
from tests.cli.running import run

ONE_SIDED = "it looks like a table of winners and losers"


def study(seed=0, n=30, m=300, prefix="P"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    gap = (X[left] - X[right]) @ [1.0, -1.0]
    won = rng.random(m) < 1 / (1 + np.exp(-gap))
    names = np.array([f"{prefix}{row}" for row in range(n)])
    items = {"id": names, "size": X[:, 0], "mass": X[:, 1]}
    winner = np.where(won, "left", "right")
    return items, {"left": names[left], "right": names[right], "winner": winner}


def winners_left(votes):
    """The same votes with every winner on the left."""
    swap = votes["winner"] == "right"
    left, right = np.where(swap, (votes["right"], votes["left"]), (votes["left"], votes["right"]))
    return {"left": left, "right": right, "winner": np.full(len(left), "left")}


def said(fit, *args, **given):
    """The texts of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*args, **given)
    return [str(one.message) for one in caught if issubclass(one.category, PairscoreWarning)]


def write(folder, items, votes):
    for name, table in (("items.csv", items), ("votes.csv", votes)):
        rows = [
            ",".join(table),
            *(",".join(map(str, r)) for r in zip(*table.values(), strict=True)),
        ]
        (folder / name).write_text("\n".join(rows) + "\n")
    return folder / "items.csv", folder / "votes.csv"


@pytest.mark.parametrize("fit", [RankRegression().fit, fit_stream])
def test_a_side_that_wins_everything_is_said(fit):
    items, votes = study()
    (text,) = [one for one in said(fit, items, winners_left(votes)) if ONE_SIDED in one]
    assert text.startswith("the left item won 300 of 300 decided comparisons")
    assert "winner and loser" in text
    assert not [one for one in said(fit, items, votes) if ONE_SIDED in one]


def test_a_side_that_wins_everything_is_said_of_comparisons_alone():
    texts = said(RankRegression().fit, None, winners_left(study()[1]))
    assert any(ONE_SIDED in text for text in texts)


def test_naming_the_columns_is_what_helps():
    items, votes = study()
    turned = winners_left(votes)
    named = {"winner": turned["left"], "loser": turned["right"]}
    assert not [one for one in said(RankRegression().fit, items, named) if ONE_SIDED in one]
    texts = said(
        RankRegression().fit,
        items,
        {name: turned[name] for name in ("left", "right")},
        winner="left",
        loser="right",
    )
    assert not [one for one in texts if ONE_SIDED in one]


@pytest.mark.parametrize("options", [(), ("--stream",), ("--auto",)])
def test_the_command_says_it_too(options, tmp_path):
    items, votes = study()
    files = write(tmp_path, items, winners_left(votes))
    done = run("fit", *files, *options, "-o", tmp_path / "m.npz")
    assert done.stderr.count(ONE_SIDED) == 1
    assert "--winner and --loser" in done.stderr
    if not options:
        assert any(ONE_SIDED in note for note in load(tmp_path / "m.npz").notes_)


@pytest.mark.parametrize(
    ("won", "lost", "is_said"),
    [
        (19, 0, False),
        (20, 0, True),
        (60, 1, False),
        (199, 1, True),
        (1, 199, True),
        (150, 150, False),
    ],
)
def test_few_comparisons_and_some_losses_are_no_sign(won, lost, is_said):
    """Twenty coins fall on one side once in half a million times; a slip or two are allowed."""
    outcome = np.repeat([1, -1], [won, lost])
    rng = np.random.default_rng(1)
    left = rng.integers(0, 10, won + lost)
    data = Comparisons(rng.normal(size=(10, 2)), left, (left + 1) % 10, outcome)
    texts = [one for one in said(RankRegression(l2=1.0).fit, data) if ONE_SIDED in one]
    assert bool(texts) == is_said
    if is_said:
        side = "left" if won > lost else "right"
        assert texts[0].startswith(f"the {side} item won {max(won, lost)} of {won + lost} ")
        how_many = "nearly all" if won and lost else "them all"
        assert texts[0].endswith(f"if the {side} item did win {how_many}, leave it as it is.")


def test_coins_are_called_one_sided_by_nobody():
    """Of 200 comparisons by coins, 198 fall on one side with a chance below 1e-50."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        left = rng.integers(0, 20, 200)
        data = Comparisons(
            rng.normal(size=(20, 2)), left, (left + 1) % 20, rng.choice([1, -1], 200)
        )
        assert not [one for one in said(RankRegression().fit, data) if ONE_SIDED in one]


# -- items that won or lost everything -------------------------------------------------------------


@pytest.mark.parametrize("fit", [RankRegression(inference=None).fit, fit_stream])
def test_items_that_won_or_lost_everything_are_counted_and_named(fit):
    items, votes = study(m=600)
    names = items["id"]
    for name, is_best in ((names[3], True), (names[4], True), (names[7], False)):
        for side, other in (("left", "right"), ("right", "left")):
            mine = votes[side] == name
            votes["winner"][mine] = side if is_best else other
    votes["winner"][(votes["left"] == names[3]) & (votes["right"] == names[4])] = "left"
    votes["winner"][(votes["left"] == names[4]) & (votes["right"] == names[3])] = "right"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(items, votes)
    # the naive twin
    twin = {"won": [], "lost": []}
    for name in names:
        results = [
            winner == side
            for side in ("left", "right")
            for one, winner in zip(votes[side], votes["winner"], strict=True)
            if one == name
        ]
        if len(results) >= 5 and (all(results) or not any(results)):
            twin["won" if all(results) else "lost"].append(str(name))
    assert {how: one["names"] for how, one in model.extreme_items_.items()} == {
        how: found[:3] for how, found in twin.items() if found
    }
    line = next(line for line in str(model.summary()).splitlines() if "extremes" in line)
    for how, found in twin.items():
        assert (f" {len(found)} {how} everything (" in line) == bool(found)


def test_no_line_where_nobody_is_extreme(tmp_path):
    items, votes = study(n=10, m=900)
    model = RankRegression().fit(items, votes)
    assert model.extreme_items_ == {}
    assert "extremes" not in str(model.summary())
    model.save(tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").extreme_items_ == {}


# -- names that differ only in case ----------------------------------------------------------------


@pytest.mark.parametrize("fit", [RankRegression().fit, fit_stream])
def test_features_and_ids_that_differ_only_in_case_are_one_line_each(fit):
    items, votes = study()
    items = {"id": items["id"].astype(object), "Mass": items["size"], "mass": items["mass"]}
    items["id"][[1, 2]] = "a1", "A1"
    renamed = {"P1": "a1", "P2": "A1"}
    for side in ("left", "right"):
        votes[side] = np.array([renamed.get(name, name) for name in votes[side]], dtype=object)
    texts = [one for one in said(fit, items, votes) if "only in case" in one]
    assert len(texts) == 2
    assert "1 group of features differs only in case ('Mass' and 'mass')" in texts[0]
    assert "1 group of ids differs only in case ('a1' and 'A1')" in texts[1]


@pytest.mark.parametrize("fit", [RankRegression().fit, fit_stream])
def test_votes_in_another_case_get_one_sentence(fit):
    items, votes = study(prefix="P")
    _, other = study(prefix="p")
    with pytest.raises(
        PairscoreError, match="600 entries of the comparisons differ from the ids"
    ) as info:
        fit(items, other)
    assert "only in case ('p" in str(info.value)
    assert "for 'P" in str(info.value)
    assert len(str(info.value).splitlines()) == 1
    fit(items, votes)


@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_the_command_refuses_another_case_in_one_sentence(options, tmp_path):
    files = write(tmp_path, study(prefix="P")[0], study(prefix="p")[1])
    done = run("fit", *files, *options, "-o", tmp_path / "m.npz", code=2)
    assert "differ from the ids of the items only in case" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert not (tmp_path / "m.npz").exists()


def test_other_unknown_ids_are_listed_as_before():
    items, votes = study()
    votes["left"] = np.where(np.arange(300) == 3, "nobody", votes["left"])
    with pytest.raises(PairscoreError, match="unknown item"):
        RankRegression().fit(items, votes)


@pytest.mark.parametrize("ties", ["half", "drop"])
@pytest.mark.parametrize("fit", [RankRegression, None], ids=["memory", "stream"])
def test_weights_do_not_make_an_item_extreme_and_ties_that_are_left_out_unmake_it(fit, ties):
    """a won one comparison of weight 8, b won five of little weight, c tied once beside."""
    beaten = ["d", "e", "f", "g", "h"]
    left = ["a", *["b"] * 5, *["c"] * 6, *beaten]
    right = ["d", *beaten, *beaten, "d", *beaten[1:], "d"]
    winner = ["left"] * 11 + ["tie"] + ["left"] * 5
    weight = [8.0, *[0.1] * 5, *[1.0] * 6, *[1.0] * 5]
    items = {"id": list("abcdefgh"), "x": [0.4, 1.0, 2.0, 0.1, 0.3, 0.2, 0.6, 0.5]}
    votes = {"left": left, "right": right, "winner": winner, "weight": weight}
    settings = {"inference": None, "l2": 1.0, "ties": ties}
    model = fit(**settings).fit(items, votes) if fit else fit_stream(items, votes, **settings)
    assert model.extreme_items_ == {"won": {"number": 1, "names": ["b"]}}
