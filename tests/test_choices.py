"""The words of settings are those that the library and the command line take."""

from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

from pairscore import ItemKFold, PairscoreError, RankRegression, auto_fit, choices, fit_stream, load
from pairscore.cli import main
from pairscore.core.links import get_link
from pairscore.data.comparisons import Comparisons
from pairscore.data.recipe import make_recipe
from pairscore.data.tables import Columns
from pairscore.estimators.settings import SETTINGS as OF_MODELS
from pairscore.files.source import table_kind
from pairscore.streaming.merge import merge_sites
from pairscore.streaming.sites import site_sums
from tests.data.conftest import study
from tests.test_package import heavy_modules_after

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")


def test_the_words_load_nothing_and_neither_does_help():
    assert heavy_modules_after("import pairscore.choices") == "loaded: []"
    assert heavy_modules_after("import pairscore.cli; pairscore.cli.main") == "loaded: []"


SETTINGS = [
    *(("method", method) for method in choices.METHODS),
    *(("link", link) for link in choices.LINKS),
    *(("ties", rule) for rule in choices.TIE_RULES),
    *(("inference", inference) for inference in (*choices.INFERENCES, "none")),
    *(("missing", rule) for rule in choices.MISSING_RULES),
]


def votes_with_judges_and_ties():
    X, pairs = study(n_votes=400)
    columns = {"left": pairs[:, 0], "right": pairs[:, 1], "judge": np.arange(len(pairs)) % 4}
    winner = np.where(np.arange(len(pairs)) % 5 == 0, "tie", "left")
    return X, pd.DataFrame({**columns, "winner": winner})


@pytest.mark.parametrize(("setting", "word"), SETTINGS)
def test_a_model_takes_every_word(setting, word):
    model = RankRegression(**{setting: word}).fit(*votes_with_judges_and_ties())
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("word", choices.SHRINKAGES)
def test_a_closed_form_takes_every_shrinkage(word):
    assert np.isfinite(RankRegression("pooled", shrinkage=word).fit(*study()).coef_).all()


@pytest.mark.parametrize("setting", ["method", "link", "ties", "inference", "missing", "shrinkage"])
def test_a_model_takes_no_other_word(setting):
    with pytest.raises(PairscoreError, match="'guess'"):
        RankRegression(**{setting: "guess"}).fit(*study())


@pytest.mark.parametrize("word", choices.MISSING_RULES)
def test_a_recipe_takes_every_rule_for_missing_values(word):
    table = Columns({"id": ["a", "b"], "mass": [1.0, None]})
    assert make_recipe(table, missing=word)[0].missing == word


def test_the_other_words():
    X, votes = study()
    for word in choices.SELF_PAIRS:
        assert len(Comparisons.from_frames(X, votes, self_pairs=word)[0]) == len(votes)
    for word in choices.TEST_PAIRS:
        folds = ItemKFold(3, test=word).split(Comparisons.from_frames(X, votes)[0])
        assert len(list(folds)) == 3
    assert [get_link(word).name for word in choices.LINKS] == list(choices.LINKS)
    assert [table_kind(Path(f"items.{kind}")) for kind in choices.FILE_KINDS] == list(
        choices.FILE_KINDS
    )


# -- the same words in the shell and in Python -----------------------------------------------------


def words_of(command, name):
    """What the shell takes for an option of a command."""
    (option,) = [one for one in main.commands[command].params if one.name == name]
    assert isinstance(option.type, click.Choice)
    return list(option.type.choices)


def words_of_commands():
    """Every option of words, but for decimal signs, and where Python says True and False."""
    return {
        (command, option.name): list(option.type.choices)
        for command in main.commands
        for option in main.commands[command].params
        if isinstance(option.type, click.Choice)
        and option.name not in ("decimal", "item_effects", "side_effect")
    }


def judged_study():
    X, votes = votes_with_judges_and_ties()
    return X, votes[votes["winner"] != "tie"].reset_index(drop=True)


def in_python(command, name, word):
    """Give the word to what the command calls in Python."""
    X, votes = judged_study()
    if command == "merge":
        return merge_sites([site_sums(X, votes)], **{name: word})
    if command == "stats":
        return site_sums(X, votes, **{name: word})
    if name == "use":
        return auto_fit(X, votes, use=word, side_effect=False, l2=0.0, item_effects=False)
    if name == "scale":
        return RankRegression().fit(X, votes).rank(X, scale=word)
    if name == "unknown":
        return RankRegression().fit(X, votes).rank(X, unknown=word)
    if name == "repeated":
        return RankRegression().fit(X, votes[:150]).update(votes[150:], repeated=word)
    if name == "kind":
        return table_kind(Path(f"items.{word}"))
    return RankRegression(**{name: word}).fit(*votes_with_judges_and_ties())


@pytest.mark.parametrize(
    ("command", "name", "word"),
    [(*where, word) for where, words in words_of_commands().items() for word in words],
)
def test_python_takes_every_word_of_the_shell(command, name, word):
    assert in_python(command, name, word) is not None


def test_a_stream_takes_the_shells_word_for_no_intervals():
    X, votes = judged_study()
    assert fit_stream(X, votes, inference="none").std_errors_ is None


@pytest.mark.parametrize("name", ["method", "link", "ties", "inference", "missing"])
def test_the_shell_takes_every_word_of_python(name):
    known = [word for words in words_of_commands().values() for word in words]
    taken = [word for word in {*known, "guess"} if OF_MODELS[name].allows(word)]
    taken = list(choices.LINKS) if name == "link" else taken  # any link is said by get_link
    assert sorted(words_of("fit", name)) == sorted(taken)


def test_no_intervals_under_either_name():
    X, votes = judged_study()
    for word in (None, "none"):
        model = RankRegression(inference=word).fit(X, votes)
        assert model.std_errors_ is None
        assert model.inference_ is None


def test_items_with_missing_values_are_dropped_as_the_shell_does(tmp_path):
    """The same coefficients as those of a table without these items and their votes."""
    X, votes = judged_study()
    items = pd.DataFrame(X, columns=[f"x{column}" for column in range(X.shape[1])])
    items.insert(0, "id", [f"i{row}" for row in range(len(items))])
    for side in ("left", "right"):
        votes[side] = items["id"].to_numpy()[votes[side]]
    gappy = items.copy()
    gappy.loc[[1, 4], "x0"] = np.nan
    model = RankRegression(missing="drop-items").fit(gappy, votes)
    whole = items.drop(index=[1, 4])
    known = votes["left"].isin(whole["id"]) & votes["right"].isin(whole["id"])
    twin = RankRegression().fit(whole, votes[known])
    np.testing.assert_allclose(model.coef_, twin.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.std_errors_, twin.std_errors_, rtol=1e-12)
    assert model.n_items_ == twin.n_items_
    assert "2 items dropped" in str(model.summary())
    with pytest.warns(match="2 items of .* with missing values left out"):
        ranking = model.rank(gappy)
    assert list(ranking["id"]) == list(twin.rank(whole)["id"])
    gappy.to_csv(tmp_path / "items.csv", index=False)
    votes.to_csv(tmp_path / "votes.csv", index=False)
    files = [str(tmp_path / name) for name in ("items.csv", "votes.csv", "model.npz")]
    main(["fit", *files[:2], "--missing", "drop-items", "-o", files[2]], standalone_mode=False)
    np.testing.assert_allclose(load(files[2]).coef_, model.coef_, rtol=1e-10)


def test_groups_and_covariance_items_are_those_of_the_items_that_are_left():
    X, votes = judged_study()
    X = X.copy()
    X[2, 0] = np.nan
    groups = [row // 2 for row in range(len(X))]
    named = {"item_groups": groups, "covariance_items": np.arange(len(X)) % 2 == 0}
    data, _ = Comparisons.from_frames(X, votes, missing="drop-items", **named)
    left = np.delete(np.arange(len(X)), 2)
    assert data.items.ids.tolist() == left.tolist()
    assert left[data.covariance_items].tolist() == [row for row in left if row % 2 == 0]
    same = np.array(groups)[left]
    for a, b in zip(*np.triu_indices(len(left), 1), strict=True):
        if data.compared[a] and data.compared[b]:
            assert (data.item_groups[a] == data.item_groups[b]) == (same[a] == same[b])
