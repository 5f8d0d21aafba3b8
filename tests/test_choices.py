"""The words of settings are those that the library and the command line take."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairscore import ItemKFold, PairscoreError, RankRegression, choices
from pairscore.core.links import get_link
from pairscore.data.comparisons import Comparisons
from pairscore.data.feature_options import make_recipe
from pairscore.data.tables import Columns
from pairscore.files.tables import table_kind
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
    *(("inference", inference) for inference in choices.INFERENCES),
    *(("missing", rule) for rule in ("refuse", *choices.FILLING_RULES)),
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
