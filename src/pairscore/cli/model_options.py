"""What a model is asked for: by options of ``fit``, or by a text such as ``ridge: l2=auto``.

Also the files that it is fitted to.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import INFERENCES, METHODS, NO_INFERENCE, SCALES, TIE_RULES, USES
from pairscore.cli.options import (
    LINK_OPTION,
    LIST_NAMES,
    SELF_PAIRS_OPTION,
    flag,
    item_settings,
    option,
    output_path,
    vote_settings,
    word,
)
from pairscore.cli.words import (
    SectionedCommand,
    echo,
    folded,
    section,
    show_json,
    show_note,
    terminal_width,
)
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import ColumnFoundWarning, EmptyColumnsError, PairscoreError, PairscoreWarning

if TYPE_CHECKING:
    from pairscore.files.study import StudyInput
    from pairscore.model.file import ModelFile

MODEL_OPTIONS = section(
    "Model",
    word("--method", METHODS, "Maximum likelihood, or one of three closed forms.", "mle"),
    LINK_OPTION,
    option(
        "--l2",
        default="0",
        help="Ridge on standardised coefficients, against the sum of log-losses; auto: best for new"
        " items; auto-known: best for new comparisons of known items.",
    ),
    option(
        "--group",
        metavar="NAME",
        help="Column of ITEMS: items of one group (topic, patient) are held out together by --l2"
        " auto.",
    ),
    option(
        "--shrinkage",
        help="Shrinkage of the covariance in a closed form: 0 to 1, ledoit-wolf or oas.",
    ),
    flag("--side-effect", help="Estimate the advantage of the left side (home, shown first)."),
    flag("--side-by-judge", help="Estimate the advantage of the left side for each judge."),
    option(
        "--item-effects",
        type=click.Choice(["yes", "auto"]),
        metavar="[auto]",
        help="Give every item an effect beyond its features; new items have none and wider"
        " intervals. auto: only if a test shows that items differ beyond their features.",
    ),
    flag(
        "--judge-slopes",
        help="Estimate how sharply each judge distinguishes items; finds careless judges and those"
        " who answer the wrong way round.",
    ),
    option(
        "--context",
        multiple=True,
        metavar="A,B",
        help="Numeric columns of COMPARISONS that describe a comparison, as the value for left"
        " minus that for right.",
    ),
    word(
        "--ties",
        TIE_RULES,
        "A tie is half a win for each side, is left out (drop), or has a probability (davidson,"
        " rao-kupper).",
        "half",
    ),
    word(
        "--inference",
        (*INFERENCES, NO_INFERENCE),
        "Intervals that allow for other items (items), or for other items and other judges;"
        " classical ones (model); or none. auto: for other judges too where ten or more are named.",
        "auto",
    ),
    SELF_PAIRS_OPTION,
    option(
        "--reference",
        multiple=True,
        metavar="X=LEVEL",
        help="Level of a category that the others are shown against, as COLUMN=LEVEL; makes"
        " the column a category.  [default: the average of all levels]",
    ),
)

SCALE_OPTION = word(
    "--scale",
    SCALES,
    "Scale of the scores. link: 0 is the average compared item; 0-100: from the lowest to the"
    " highest compared item; elo: 1500 is the average compared item (logit only); wins: wins of 100"
    " decided comparisons with the compared items.",
    "link",
)
WORDING_OPTIONS = section(
    "Words of the summary and the report",
    option("--title", help="Title of the study."),
    option("--top", metavar="TEXT", help="What the highest scores mean, such as 'most severe'."),
    option("--bottom", metavar="TEXT", help="What the lowest scores mean, such as 'least severe'."),
)


AUTO_OPTIONS = section(
    "The model, chosen for you",
    flag(
        "--auto",
        help="Choose side, ties, ridge, item effects and judges by held-out comparisons. Text"
        " columns of few levels become categories, and missing values are filled in.",
    ),
    option(
        "--for",
        "use",
        type=click.Choice(USES),
        help="What --auto chooses for: known items, or new ones.  [default: known, unless some of"
        " ITEMS are in no comparison]",
    ),
)


class FitCommand(SectionedCommand):
    """A command whose ``--item-effects`` may stand alone, before a file too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_value("--item-effects", "auto", args))


def with_value(name: str, word: str, args: list[str]) -> list[str]:
    """Arguments in which the option has a value: the word, if that is next, else ``yes``."""
    end = args.index("--") if "--" in args else len(args)
    joined: list[str] = []
    for number, arg in enumerate(args[:end]):
        follows = number > 0 and args[number - 1] == name
        if arg == name:
            given = args[number + 1 : number + 2] == [word]
            joined.append(f"{name}={word if given else 'yes'}")
        elif not (follows and arg == word):
            joined.append(arg)
    return joined + args[end:]


def number_or_word(text: str | None) -> float | str | None:
    """A number where the text is one; the library says which words a setting may be."""
    try:
        return float(text or "")
    except ValueError:
        return text


def model_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of ``RankRegression``, from MODEL_OPTIONS."""
    from pairscore.cli.options import split_names

    names, effects = ("method", "link", "judge_slopes", "ties"), given["item_effects"]
    return {name: given[name] for name in names} | {
        "item_effects": effects if effects == "auto" else effects == "yes",
        "l2": number_or_word(given["l2"]),
        "shrinkage": number_or_word(given["shrinkage"]),
        "side_effect": "judges" if given["side_by_judge"] else given["side_effect"],
        "context": split_names(given["context"]) or None,
        "inference": None if given["inference"] == NO_INFERENCE else given["inference"],
    }


def wording_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Title, top and bottom, from WORDING_OPTIONS; None for what is not given."""
    return {name: given[name] for name in ("title", "top", "bottom")}


def settings_given(params: dict[str, Any]) -> dict[str, Any]:
    """The settings that are not their defaults: those that --auto takes as they are."""
    from pairscore.estimators.settings import DEFAULTS

    return {name: value for name, value in params.items() if value != DEFAULTS[name]}


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


# -- what a model is fitted to ---------------------------------------------------------------------


def read_files(
    items: Path, comparisons: tuple[Path, ...], context: Any, given: dict[str, Any]
) -> "StudyInput":
    """Items and comparisons, as ITEM_OPTIONS, VOTE_OPTIONS and FILE_OPTIONS say.

    ``context`` has names of numeric columns of the comparisons.
    """
    from pairscore.files.study import read_study
    from pairscore.files.tables import once

    columns, auto = item_settings(given) | {"reference": parse_reference(given)}, given.get("auto")
    columns["categorical"] = list(dict.fromkeys([*columns["categorical"], *columns["reference"]]))
    if auto and columns["missing"] == "refuse":
        columns |= {"missing": "mean-with-flag"}
    settings = vote_settings(given) | {"group": given["group"], "context": context}
    settings["say"] = say = once(show_note)

    def read(**more: Sequence[str]) -> "StudyInput":
        columns.update({key: [*columns.get(key, ()), *names] for key, names in more.items()})
        return read_study(items, comparisons, columns=columns, **settings)

    if not auto:
        return read()
    try:
        study = read()
    except EmptyColumnsError as error:
        say(f"left out, because they have no value at all: {', '.join(map(repr, error.names))}.")
        study = read(exclude=error.names)
    texts = study.left_out
    if texts:
        study = read(categorical=texts)
    constant = constant_columns(study, given)
    if categories := [name for name in texts if name not in constant]:
        say(f"text columns that become categories: {', '.join(map(repr, categories))}.")
    if constant:
        blanks = [(name, blank_cells(study, name)) for name in constant]
        if alike := [repr(name) for name, blank in blanks if not blank]:
            say(f"left out, because all items have the same: {', '.join(alike)}.")
        for name, blank in blanks:
            if blank:
                say(
                    f"left out, because it has one value and is blank for {blank} of"
                    f" {plural(len(study.items), 'item')}: {name!r}; if blank means something,"
                    " write it in the cells."
                )
        columns["categorical"] = [n for n in columns["categorical"] if n not in constant]
        study = read(exclude=constant)
    return study


def read_alone(
    votes: Path, context: Any, given: dict[str, Any], kept: dict[str, Any] | None = None
) -> "StudyInput":
    """Comparisons without a table of items; ``kept`` is how those of a fit were read."""
    from pairscore.data.recipe import Recipe
    from pairscore.files.study import StudyInput, read_new_votes
    from pairscore.files.tables import once

    asked = [name for name in ("group", "reference", "id", *LIST_NAMES) if given.get(name)]
    if asked:
        raise PairscoreError(
            f"--{asked[0]} needs a table of items, and {str(votes)!r} was given alone, which is"
            " taken for the comparisons; give the items first."
        )
    settings = vote_settings(given, kept) | {"say": once(show_note)}
    data = read_new_votes(votes, None, context, **settings)
    named = {role: name for role, name in settings["vote_columns"].items() if name}
    return StudyInput(data.items, Recipe(), [], [], votes=data.votes, vote_columns=named)


def constant_columns(study: "StudyInput", given: dict[str, Any]) -> list[str]:
    """Columns that nobody asked for and that say nothing about any item; none if all are such."""
    import numpy as np

    settings = item_settings(given)
    products = [part for product in settings["interactions"] for part in product.split(":")]
    asked = {name for lists in LIST_NAMES for name in settings[lists]} | {*products, settings["id"]}
    alike = np.ptp(study.items.values, axis=0) == 0
    found = [name for name, block in study.recipe.blocks.items() if alike[block].all()]
    return [] if alike.all() else [name for name in found if name not in asked]


def blank_cells(study: "StudyInput", name: str) -> int:
    """How many items have no value in a column whose gaps are flagged."""
    recipe = study.recipe
    flags = [number for number, group in enumerate(recipe.flag_groups) if name in group]
    if recipe.missing != "mean-with-flag" or not flags:
        return 0
    n_values = len(recipe.features) + sum(map(len, recipe.categorical.values()))
    return int(study.items.values[:, n_values + flags[0]].sum())


def parse_reference(given: dict[str, Any]) -> dict[str, str]:
    """By category its reference level, from texts such as ``grape=merlot,site=north``."""
    from pairscore.cli.options import split_names

    parts = [part.partition("=") for part in split_names(given.get("reference", ()))]
    for name, _, level in parts:
        if not name.strip() or not level.strip():
            raise PairscoreError(
                f"--reference {name!r} does not name a level; write for example"
                f" --reference {name.strip() or 'grape'}=LEVEL."
            )
    return {name.strip(): level.strip() for name, _, level in parts}


def reading_record(given: dict[str, Any], study: Any) -> dict[str, Any]:
    """What a model keeps of how its files were read, so that nobody has to say it again."""
    settings = vote_settings(given) | {"vote_columns": study.vote_columns}
    settings |= {"sheet": study.sheets, "vote_sheets": study.vote_sheets}
    names = ("decimal", "na", "sheet", "vote_sheets", "delimiter", "winner_codes", "vote_columns")
    kept = {name: settings[name] for name in names if settings.get(name)}
    return {"reading": kept} if kept else {}


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect what the library warns of, and ignore what others do; columns found are notes."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PairscoreWarning)
        yield texts
    for warning in caught:
        if issubclass(warning.category, ColumnFoundWarning):
            show_note(str(warning.message))
        else:
            texts.append(str(warning.message))


# -- a model that was fitted -------------------------------------------------------------------


def write_model(
    model: "ModelFile",
    output: Path,
    as_json: bool,
    keep_data: bool,
    also: dict[str, Any] | None = None,
) -> None:
    """Write a model and print its summary; to the error stream if the output is the model's."""
    from pairscore.model.file import save_model
    from pairscore.model.summary import Summary

    summary, is_piped = Summary(model.fit), str(output) == "-"
    with output_path(output, "model.npz") as path:
        save_model(model, path, keep_data)
    if as_json:
        show_json(summary.to_record() | (also or {}), err=is_piped)
    else:
        width = 0 if is_piped else terminal_width()
        text = summary.text(notes=False, see_all="--json", width=width)
        echo(folded(text, width), err=is_piped)
