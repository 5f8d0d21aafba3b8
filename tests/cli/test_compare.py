"""compare: models by name and settings, and those that cannot be compared."""

import json
from pathlib import Path

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.cli.compare import parse_models
from tests.cli.running import ALONE, run

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


@pytest.mark.usefixtures("files")
def test_models_are_compared():
    command = (
        "compare items.csv votes.csv --model plain: --model 'judges: judge_slopes=yes context=rest'"
    )
    result = run(f"{command} --group topic")
    assert "'judges' has the lowest log-loss on pairs of new items" in result.stdout
    record = json.loads(run(f"{command} --json --folds 3").stdout)
    assert record["models"] == ["plain", "judges"]


@pytest.mark.usefixtures("files")
def test_models_that_cannot_be_compared_are_a_sentence():
    for models, message in (
        ("--model 'a:'", "you gave one. Give --model at least twice"),
        ("--model 'a: method=best' --model b:", "method is 'best'"),
    ):
        assert message in run(f"compare items.csv votes.csv {models}", code=2).stderr


def test_compare_takes_comparisons_alone_and_models_that_ignore_features(games):
    said = run(f"compare games.csv {ALONE}").stdout
    assert "'shrunk'" in said
    assert "pairs of new items" not in said
    assert "Without features nothing is known of new items" in said
    rows = [f"{name},{number}" for number, name in enumerate(games)]
    Path("teams.csv").write_text("\n".join(["id,place", *rows]) + "\n")
    models = "--model 'features:' --model 'abilities: features=no'"
    record = json.loads(run(f"compare teams.csv games.csv {ALONE} {models} --json").stdout)
    assert record["models"] == ["features", "abilities"]
    assert record["counts"]["new-new"]["n_comparisons"] == 0
    assert record["counts"]["train-train"]["n_comparisons"] > 0
    refused = f"compare teams.csv games.csv {ALONE} --model 'a:' --model 'b: features=some'"
    assert "features=some; compare takes features=yes" in run(refused, code=2).stderr


def test_compare_leaves_plain_abilities_out_where_groups_never_met(tmp_path, monkeypatch):
    """It ended in an error: the model 'plain' failed in fold 1 of 5."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names, rows = np.array([list("abcdef"), list("uvwxyz")]), []
    for _ in range(300):
        one, other = rng.choice(6, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(0.5 * (other - one)))
        rows.append(",".join([*rng.choice(names)[[one, other]], "left" if won else "right"]))
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *rows]) + "\n")
    done = run("compare votes.csv")
    assert "2 groups that were never compared" in done.stderr
    assert "only shrunk ones are tested" in done.stderr
    assert "'shrunk' has the log-loss" in done.stdout
    asked = run("compare votes.csv --model 'plain:' --model 'half: l2=1'", code=2)
    assert "the model 'plain' failed" in asked.stderr


def test_models_by_name_and_settings():
    models = parse_models(("plain:", "rich : l2=auto side_effect=yes context=a+b tol=1e-6"))
    rich = {"l2": "auto", "side_effect": True, "context": ["a", "b"], "tol": 1e-6}
    assert models == {"plain": {}, "rich": rich}
    as_options = parse_models(("a: side-effect=yes judge-slopes=no", "b: item-effects=auto"))
    a = {"side_effect": True, "judge_slopes": False}
    assert as_options == {"a": a, "b": {"item_effects": "auto"}}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["a: b"], "is not of the form"),
        (["no colon", "b:"], "is not of the form"),
        ([": l2=1", "b:"], "is not of the form"),
        (["a:"], "compare needs at least two models; you gave one. Give --model at least twice"),
        (["a: l2=1", "a: l2=2", "b:"], "3 models have 2 names"),
        (["a: judge_slope=yes", "b:"], r"settings are 'context', .*Did you mean 'judge_slopes'\?"),
        (["a: inference=model", "b:"], "has a setting 'inference'"),
        (["a: missing=mean-with-flag", "b:"], "use --missing"),
    ],
)
def test_models_that_nobody_can_mean(models, message):
    with pytest.raises(PairscoreError, match=message):
        parse_models(tuple(models))
