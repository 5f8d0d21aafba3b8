"""`pairscore update` and `pairscore compare`: more votes for a model, and models side by side."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pairscore.cli.fit import comparisons_of, finish, said_warnings, say_warnings
from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    ITEM_OPTIONS,
    VOTE_OPTIONS,
    bad_rows_beside,
    checked_output,
    input_path,
    item_settings,
    options,
    say_what_is_left_out,
    stage,
    vote_settings,
)
from pairscore.errors import PairscoreError, did_you_mean, first_few, plural


@click.command()
@click.argument("model", type=FILE)
@click.argument("comparisons", type=FILE)
@click.option(
    "--items",
    "items",
    type=FILE,
    help="File with new items, with the columns of the fit and ids of their own.",
)
@click.option("--self-pairs", is_flag=True, help="Keep comparisons of an item with itself.")
@options(VOTE_OPTIONS, FILE_OPTIONS)
@click.option(
    "-o",
    "--output",
    type=FILE,
    required=True,
    help="Model file to write; it may be MODEL (-: standard output).",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print coefficients, errors and the like as JSON."
)
def update(
    model: Path,
    comparisons: Path,
    items: Path | None,
    self_pairs: bool,
    output: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Add COMPARISONS to those that MODEL was fitted to, and fit to all of them.

    MODEL must have been written with --keep-data. The result is that of a fit to everything.

    \b
    Examples: pairscore update model.npz monday.csv -o model.npz
              pairscore update model.npz tuesday.csv --items new_items.csv -o tuesday.npz
    """
    checked_output(output, comparisons, *([items] if items else []))
    from pairscore.estimators.settings import check_settings
    from pairscore.files.read_study import read_new_items, read_new_votes
    from pairscore.model.file import load_model
    from pairscore.model.fit import update_fit

    with input_path(model) as path:
        file = load_model(path)
    before = file.fit.comparisons
    if before is None:
        raise PairscoreError(
            f"{str(model)!r} was written without its comparisons; fit again with --keep-data."
        )
    reading = {"delimiter": given["delimiter"], "encoding": given["encoding"]}
    settings = check_settings(**file.params)
    with bad_rows_beside(output), stage("Reading"):
        more = None if items is None else read_new_items(items, file.fit, **reading)
        known = before.items if more is None else before.items.with_new_items(more)
        votes = read_new_votes(
            comparisons,
            known,
            settings.context,
            vote_settings(given),
            self_pairs="keep" if self_pairs else "error",
            **reading,
        )
    with stage("Fitting"):
        fit, notes = update_fit(file.fit, settings, votes, more)
    say_warnings(notes)
    finish(replace(fit, recipe=file.fit.recipe), file.params, output, as_json, keep_data=True)


@click.command()
@click.argument("items", type=FILE)
@click.argument("comparisons", type=FILE)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="'NAME: SETTINGS'",
    help="A model by a name and settings such as 'ridge: l2=auto'; give several.",
)
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Folds of items."
)
@click.option(
    "--group",
    metavar="NAME",
    help="Column of ITEMS: items of one group (topic, patient) are held out together.",
)
@options(ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def compare(
    items: Path,
    comparisons: Path,
    models: tuple[str, ...],
    folds: int,
    group: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare models on comparisons that they have not seen.

    Of known items, of known with new, and of new items.

    Settings are those of fit, as name=value: method, link, l2, side_effect, judge_slopes, context
    (a+b), ties, item_effects. Without --model, plain maximum likelihood meets the ridge chosen from
    the data.

    \b
    Examples: pairscore compare items.csv votes.csv
              pairscore compare items.csv votes.csv --model 'plain:' --model 'judges: l2=auto
              judge_slopes=yes' --group topic
    """
    from pairscore.data.splitters import ItemKFold
    from pairscore.evaluation.compare import compare as compare_models
    from pairscore.files.read_study import read_study
    from pairscore.model.regression import RankRegression

    named = [_named_model(text) for text in models or ("plain:", "ridge: l2=auto")]
    settings = dict(named)
    if 1 < len(settings) < len(named):
        raise PairscoreError(
            f"{plural(len(named), 'model')} have {plural(len(settings), 'name')}; give each --model"
            " a name of its own."
        )
    if len(settings) < 2:
        raise PairscoreError(
            f"to compare takes two models of different names, and {len(settings)} was given; give"
            " --model twice."
        )
    _refuse_other_settings(settings, RankRegression().get_params())
    context = sorted({name for one in settings.values() for name in one.get("context") or ()})
    with stage("Reading"):
        study = read_study(
            items, comparisons, columns=item_settings(given), vote_columns=vote_settings(given), context=context, group=group,
            delimiter=given["delimiter"], encoding=given["encoding"],
        )  # fmt: skip
    say_what_is_left_out(study.left_out, study.nested)
    X = comparisons_of(study)
    candidates = {name: RankRegression(**one, inference=None) for name, one in settings.items()}
    with stage("Fitting every model in every fold"), said_warnings():
        result = compare_models(candidates, X, cv=ItemKFold(folds, item_groups=study.groups))
    click.echo(
        json.dumps(result.to_record(), indent=2, allow_nan=False) if as_json else str(result)
    )


def _named_model(text: str) -> tuple[str, dict[str, Any]]:
    """``ridge: l2=auto side_effect=yes`` as a name and settings."""
    name, colon, rest = text.partition(":")
    pairs = [word.partition("=") for word in rest.split()]
    if not colon or not name.strip() or not all(sign and value for _, sign, value in pairs):
        raise PairscoreError(
            f"--model {text!r} is not of the form 'NAME: setting=value setting=value'; write for"
            " example 'ridge: l2=auto'."
        )
    return name.strip(), {key: _value(key, value) for key, _, value in pairs}


def _refuse_other_settings(settings: dict[str, dict[str, Any]], known: dict[str, Any]) -> None:
    for name, one in settings.items():
        for key in one:
            if key == "missing":
                raise PairscoreError(
                    f"the model {name!r} has a setting 'missing'; all models are compared on the"
                    " same items: use --missing."
                )
            if key not in known or key == "inference":
                choices = [setting for setting in known if setting not in ("inference", "missing")]
                raise PairscoreError(
                    f"the model {name!r} has a setting {key!r}; settings are"
                    f" {first_few(map(repr, choices), 20)}.{did_you_mean(key, choices)}"
                )


def _value(key: str, value: str) -> Any:
    """A setting from its text; the model says which names and words it knows."""
    words = {"yes": True, "true": True, "no": False, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    if key == "context":
        return value.split("+")
    try:
        return float(value)
    except ValueError:
        return value
