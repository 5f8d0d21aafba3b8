"""Settings of a model, from options and from texts."""

import json

import numpy as np
import pytest

from pairscore import PairscoreError, load
from pairscore.cli.model_options import number_or_word, parse_models
from tests.cli.running import (
    fit_frames,
    run,
)

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


SETTINGS = {
    "--method paired": {"method": "paired"},
    "--link probit": {"link": "probit"},
    "--l2 2.5": {"l2": 2.5},
    "--method pooled --shrinkage 0.3": {"method": "pooled", "shrinkage": 0.3},
    "--method paired --shrinkage oas": {"method": "paired", "shrinkage": "oas"},
    "--side-effect": {"side_effect": True},
    "--item-effects": {"item_effects": True},
    "--item-effects auto": {"item_effects": "auto"},
    "--inference model": {"inference": "model"},
    "--inference none": {"inference": None},
}


@pytest.mark.parametrize("options", SETTINGS)
def test_every_setting_reaches_the_model(study, options):
    folder, items, votes = study
    settings = SETTINGS[options]
    run(f"fit items.csv votes.csv {options} -o m.npz")
    model = load(folder / "m.npz")
    assert {key: model.get_params()[key] for key in settings} == settings
    expected = fit_frames(items, votes, **settings)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.side_effect_ == expected.side_effect_
    if settings.get("inference", "items") is None:
        assert model.covariance_ is None
        result = run("rank m.npz items.csv --json")
        assert {row["low"] for row in json.loads(result.stdout)["ranking"]} == {None}
    else:
        np.testing.assert_array_equal(model.std_errors_, expected.std_errors_)


def test_item_effects_alone_do_not_take_a_file_for_their_value(study):
    for options, expected in {"--item-effects": True, "--item-effects auto": "auto"}.items():
        run(f"fit {options} items.csv votes.csv -o m.npz")
        assert load(study[0] / "m.npz").item_effects == expected
    command = "fit items.csv votes.csv -o m.npz"
    assert "'yes', 'auto'" in run(f"{command} --item-effects=x", code=2).output
    said = run(f"{command} --method paired --item-effects auto", code=2).output
    assert "--item-effects auto adds effects" in said


def test_a_text_is_a_number_or_a_word():
    assert [number_or_word(text) for text in ("2.5", "1e-3", "auto", "", None)] == [
        *(2.5, 0.001, "auto", "", None)
    ]


def test_models_by_name_and_settings():
    models = parse_models(("plain:", "rich : l2=auto side_effect=yes context=a+b tol=1e-6"))
    rich = {"l2": "auto", "side_effect": True, "context": ["a", "b"], "tol": 1e-6}
    assert models == {"plain": {}, "rich": rich}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["a: b"], "is not of the form"),
        (["no colon", "b:"], "is not of the form"),
        ([": l2=1", "b:"], "is not of the form"),
        (["a:"], "compare needs at least two models, and 1 model is given; give --model at least"),
        (["a: l2=1", "a: l2=2", "b:"], "3 models have 2 names"),
        (["a: judge_slope=yes", "b:"], r"settings are 'context', .*Did you mean 'judge_slopes'\?"),
        (["a: inference=model", "b:"], "has a setting 'inference'"),
        (["a: missing=mean-with-flag", "b:"], "use --missing"),
    ],
)
def test_models_that_nobody_can_mean(models, message):
    with pytest.raises(PairscoreError, match=message):
        parse_models(tuple(models))
