"""The command ``compare``: which model predicts unseen comparisons best."""

from pathlib import Path
from typing import Any

import click

from pairscore.cli.databases import tables_of
from pairscore.cli.help import command, examples
from pairscore.cli.inputs import is_alone, read_alone, read_files, second_table, study_tables
from pairscore.cli.options import (
    FILE_OPTIONS,
    ITEM_OPTIONS,
    VOTE_OPTIONS,
    file_argument,
    file_arguments,
    json_flag,
    number_or_word,
    option,
    options,
    processes_option,
)
from pairscore.cli.printing import (
    collect_warnings,
    echo,
    show_json,
    show_note,
    show_unused_columns,
    show_warnings,
)
from pairscore.cli.progress import stage
from pairscore.cli.words import in_options
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import PairscoreError


@command()
@file_argument("items")
@file_arguments("comparisons", required=False)
@option(
    "--model",
    "models",
    multiple=True,
    metavar="'NAME: SETTINGS'",
    help="A model by a name and settings such as 'ridge: l2=auto'; give several.",
)
@option("--folds", type=click.IntRange(min=2), default=5, help="Number of folds of items.")
@option(
    "--group",
    metavar="NAME",
    help="Column of ITEMS: items of one group (topic, patient) are held out together.",
)
@processes_option("Number of fits to run in parallel.  [default: 1]")
@options(ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@json_flag("Print everything as JSON.")
@examples(
    "compare items.csv votes.csv",
    "compare items.csv votes.csv --model 'features:' --model 'abilities: features=no'",
    "compare items.csv votes.csv --model 'plain:' --model 'judges: l2=auto judge-slopes=yes'"
    " --group topic",
)
def compare(
    items: Path,
    comparisons: tuple[Path, ...],
    models: tuple[str, ...],
    folds: int,
    n_jobs: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare models on comparisons that they have not seen: of known items, of known with new,
    and of new items.

    Settings are those of fit, as name=value: method, link, l2, side-effect, judge-slopes, context
    (a+b), ties, item-effects; and features=no, which ignores the features and gives every item its
    own ability. Without --model, plain maximum likelihood is compared with a ridge chosen from the
    data. One file alone has comparisons: abilities as they are and shrunk are compared. Abilities
    are tested on known items only.
    """
    from pairscore.data.splitters import ItemKFold
    from pairscore.estimators.table_data import TableData
    from pairscore.evaluation.compare import compare as compare_models

    first, others, given = study_tables(items, comparisons, given)
    with tables_of(first, others, given) as (table, *votes), stage("Reading"):
        alone = is_alone(table, tuple(votes), given)
        other = "shrunk: item-effects=yes" if alone else "ridge: l2=auto"
        settings = parse_models(models or ("plain:", other))
        context = sorted({name for one in settings.values() for name in one.get("context") or ()})
        if alone:
            study = read_alone(table, context, given)
        else:
            study = read_files(table, second_table(table, tuple(votes)), context, given)
    show_unused_columns(study)
    candidates = {name: candidate(**one) for name, one in settings.items()}
    data = study.comparisons
    if alone and not models and (n_groups := TableData(data, False).n_groups) > 1:
        del candidates["plain"]
        show_note(
            f"the items fall into {n_groups} groups that were never compared with each other, so"
            " that plain abilities have no common scale; only shrunk ones are tested."
        )
    data = data if study.groups is None else data.with_item_groups(study.groups)
    with stage("Fitting every model in every fold") as show, collect_warnings() as texts:
        cv = ItemKFold(folds)
        result = compare_models(candidates, data, cv=cv, n_jobs=n_jobs, progress=show)
    show_warnings(texts)
    if as_json:
        show_json(result.to_record())
    else:
        echo(result.text(in_options))


def candidate(features: bool = True, **settings: Any) -> Any:
    """A model to compare, which may ignore the features."""
    from pairscore.evaluation.compare import WithoutFeatures
    from pairscore.model.regression import RankRegression

    model = RankRegression(**settings, inference=None)
    return model if features else WithoutFeatures(model)


def parse_models(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Settings of models by name, from texts such as ``ridge: l2=auto side-effect=yes``."""
    models = dict(_parse_model(text) for text in texts)
    if 1 < len(models) < len(texts):
        raise PairscoreError(
            f"{plural(len(texts), 'model')} have {plural(len(models), 'name')}; give each --model"
            " a different name."
        )
    if len(models) < 2:
        raise PairscoreError(
            f"compare needs at least two models; you gave {'one' if models else 'none'}. Give"
            " --model at least twice, or leave it out."
        )
    for name, settings in models.items():
        _refuse_other_settings(name, settings)
    return models


def _parse_model(text: str) -> tuple[str, dict[str, Any]]:
    name, colon, rest = text.partition(":")
    pairs = [word.partition("=") for word in rest.split()]
    pairs = [(key.replace("-", "_"), sign, value) for key, sign, value in pairs]  # as options are
    if not colon or not name.strip() or not all(sign and value for _, sign, value in pairs):
        raise PairscoreError(
            f"--model {text!r} is not of the form 'NAME: setting=value setting=value'; write for"
            " example 'ridge: l2=auto'."
        )
    return name.strip(), {key: _parse_setting(key, value) for key, _, value in pairs}


def _refuse_other_settings(name: str, settings: dict[str, Any]) -> None:
    from pairscore.estimators.settings import DEFAULTS

    known = sorted({*DEFAULTS, "features"} - {"inference", "missing", "n_jobs"})
    for key in settings:
        if key == "missing":
            raise PairscoreError(
                f"the model {name!r} has a setting 'missing'; all models are compared on the"
                " same items: use --missing."
            )
        if key not in known:
            raise PairscoreError(
                f"the model {name!r} has a setting {key!r}; settings are"
                f" {first_few(map(repr, known), 20)}.{did_you_mean(key, known)}"
            )
    if settings.get("features", True) not in (True, False):
        raise PairscoreError(
            f"the model {name!r} has features={settings['features']}; compare takes features=yes,"
            " or features=no to ignore them."
        )


def _parse_setting(key: str, text: str) -> Any:
    """A setting from its text; the model says which names and words it knows."""
    words = {"yes": True, "true": True, "no": False, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    return text.split("+") if key == "context" else number_or_word(text)
