"""Models on disk: one .npz of plain arrays and a JSON header; nothing in it is ever executed.

The header has a checksum of the arrays, and a file that is not what was saved is refused; files of
before have none. Whoever forges a file can make its checksum too: arrays, their entries and the
header must be such as a fit gives, and that is stated in SCHEMA, LIMITS and the annotations of what
the header holds.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from importlib import import_module
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pairscore.errors
from pairscore.core.links import Link, get_link, link_name, with_lapse
from pairscore.data.items import LARGEST_NUMBER
from pairscore.data.recipe import Recipe
from pairscore.effects.item_effects import ITEM_PARTS, RECORDED, ItemEffects
from pairscore.errors import (
    NotAModelError,
    PairscoreError,
    PairscoreWarning,
    SeparatedFeaturesWarning,
    UnbeatenItemsWarning,
)
from pairscore.estimators.settings import DEFAULTS, SETTINGS, Settings, make_settings
from pairscore.files.archive import (
    ANY_SHAPE,
    INTEGER,
    NAMES,
    DamagedFileError,
    Field,
    faults_of,
    has_type,
    is_number,
    read_archive,
    read_json,
)
from pairscore.files.atomic import atomic_write
from pairscore.files.source import KINDS
from pairscore.messages import Action, Message, Setting
from pairscore.model.fit import Fit, kept_types
from pairscore.model.saved_comparisons import (
    CONTEXT,
    DATA,
    GROUPS,
    comparisons_from_arrays,
    comparisons_to_arrays,
)
from pairscore.records import plain

if TYPE_CHECKING:
    from pairscore.estimators.separation import Recession

FORMAT = 1
EFFECTS = "item_effects_"
RECESSION = "recession_"
BESIDE_FIT = (
    *("settings", "feature_names", "comparisons", "item_groups", "item_effects", "recipe"),
    "recession",
)
_K = "items_with_effects"
_P = "pairs"
# so are numbers whose squares are taken
_HELD: Any = {"low": -LARGEST_NUMBER, "high": LARGEST_NUMBER}
_POSITIVE: Any = {"low": 0, "high": LARGEST_NUMBER}
# What each array must be. Of a field of Fit that is not here nothing is known but its kind.
SCHEMA: dict[str, Field] = {
    **dict.fromkeys(("coef_", "closed_form_coef_", "feature_mean_"), Field("d", **_HELD)),
    "std_errors_": Field("d", low=0, nan=True),
    "undetermined_": Field("d", "b"),
    **dict.fromkeys(("feature_min_", "feature_max_"), Field("d", nan=True)),  # of sites: none
    "feature_sd_": Field("d", **_POSITIVE),
    "covariance_": Field("d,d", **_HELD),
    "open_directions_": Field("d,*", **_HELD),
    "effects_covariance_": Field("d+effects,effects", **_HELD),
    "fitted_scores_": Field("2,*", nan=True),
    f"{DATA}values": Field("N,d", **_HELD),
    f"{DATA}ids": Field("N", NAMES, nan=True),
    GROUPS: Field("N", INTEGER, low=0),
    **dict.fromkeys((f"{DATA}left", f"{DATA}right"), Field("M", INTEGER, below="N")),
    f"{DATA}outcome": Field("M", "if", low=-1, high=1),
    **dict.fromkeys((f"{DATA}weight", f"{DATA}count"), Field("M", "iuf", **_POSITIVE)),
    f"{DATA}judge": Field("M", NAMES, nan=True),
    CONTEXT: Field("M", "biuf", **_HELD),
    f"{DATA}covariance_items": Field("*", INTEGER, below="N"),
    f"{DATA}facts": Field("3", INTEGER),
    f"{EFFECTS}keys": Field(_K, "u"),
    f"{EFFECTS}ids": Field(_K, NAMES, nan=True),
    f"{EFFECTS}effect": Field(_K, **_HELD),
    f"{EFFECTS}std_error": Field(_K, low=0, nan=True),
    f"{EFFECTS}share": Field(_K, **_HELD),  # below zero where others' effects say more of an item
    f"{EFFECTS}pair_low": Field(_P, INTEGER, below=_K, rising=True),
    f"{EFFECTS}pair_high": Field(_P, INTEGER, below=_K),
    f"{EFFECTS}pair_weight": Field(_P, **_POSITIVE),
    f"{EFFECTS}quasi_variance": Field(_K, **_HELD, nan=True),
    f"{EFFECTS}along_effects": Field(f"{_K},*", **_HELD),
    f"{EFFECTS}component": Field(_K, INTEGER, low=-1),
    **dict.fromkeys(
        (f"{EFFECTS}certain_winner", f"{EFFECTS}certain_loser"), Field("certain", INTEGER, below=_K)
    ),
    f"{EFFECTS}certain_amount": Field("certain", **_POSITIVE),
    f"{EFFECTS}certain_beside": Field("certain,*", **_HELD),
    f"{RECESSION}directions": Field("parameters,*", **_HELD),
    f"{RECESSION}unit": Field("parameters", **_POSITIVE),
    f"{RECESSION}rows": Field("explained,parameters", **_HELD),
    f"{RECESSION}amount": Field("explained", **_POSITIVE),
    f"{RECESSION}origin": Field("parameters", **_HELD),
}
OTHER = Field(ANY_SHAPE, "biuf", nan=True)
WHOLE_PARTS = ("pairs", "components")
# arrays that are there together or not at all
TOGETHER = (
    tuple(f"{DATA}{name}" for name in ("values", "left", "right", "outcome", "facts")),
    tuple(EFFECTS + name for name in ("keys", "effect", "std_error", "share")),
    *(tuple(EFFECTS + name for name in ITEM_PARTS[part][1].values()) for part in WHOLE_PARTS),
    ("covariance_", "std_errors_"),
    tuple(name for name in SCHEMA if name.startswith(RECESSION)),
)
# limits of single numbers; a share that nothing tells is NaN
LIMITS = {
    **dict.fromkeys(("n_items", "n_comparisons", "n_iter", "n_features_in"), (0, 2**53)),
    "n_groups": (1, 2**53),
    **dict.fromkeys(("agreement", "noise", "tie_share", "guard"), (0, 1)),
    "decided_scale": (0, inf),
}
# how warnings began in files of version 0.1, which do not say of which class they are
KINDS_OF_0_1 = {
    "some direction in the features (or the side) explains every comparison that it touches": (
        SeparatedFeaturesWarning
    ),
    "some items won, or lost, every comparison with the others": UnbeatenItemsWarning,
}
OF_SETTINGS = ("inference_", "l2_", "ties_", "n_features_in_")  # told twice, for older readers


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds: a fit, the parameters of its ``RankRegression``, and its classes."""

    fit: Fit
    params: dict[str, Any]
    classes: np.ndarray


# -- save ------------------------------------------------------------------------------------------


def save_model(model: ModelFile, path: Any, data: bool = False) -> None:
    """Write a model to ``path``, with its comparisons if ``data``.

    A crash or a full disk leaves the old file as it was.
    """
    path = _check_path(path)
    fit = model.fit
    if data and fit.comparisons is None:
        raise PairscoreError(
            "the model has no comparisons to save",
            ["fit it to items and comparisons", "save it without " + Setting("data", True)],
        )
    values = {name: fit.kept(name) for name in kept_types() if name not in BESIDE_FIT}
    values["record"] = fit.full_record
    arrays: dict[str, Any] = {f"{n}_": v for n, v in values.items() if isinstance(v, np.ndarray)}
    if data and fit.comparisons is not None:
        arrays |= comparisons_to_arrays(fit.comparisons)
        arrays |= {} if fit.item_groups is None else {GROUPS: fit.item_groups}
    if fit.item_effects is not None:
        arrays |= {EFFECTS + name: array for name, array in fit.item_effects.to_arrays().items()}
    if fit.recession is not None:
        arrays |= {RECESSION + name: of for name, of in fit.recession.to_arrays().items()}
    header = np.frombuffer(_header(model, values, arrays, path).encode(), dtype=np.uint8)
    with atomic_write(path, "the model") as temporary, temporary.open("wb") as file:
        np.savez(file, header=header, **arrays)


def _header(model: ModelFile, values: dict[str, Any], arrays: dict[str, Any], path: Any) -> str:
    """What is no array, as JSON, and which arrays there must be."""
    fit = model.fit
    params = {name: _scalar(value) for name, value in model.params.items()}
    params.pop("n_jobs", None)  # no fit depends on it
    tables = {
        name: None if values[name] is None else to_json(values[name])
        for name, (_, to_json, _) in TABLES.items()
    }
    scalars = {f"{n}_": _scalar(v) for n, v in values.items() if f"{n}_" not in arrays}
    scalars = {n: v for n, v in scalars.items() if n[:-1] not in (*TABLES, "warnings")}
    texts = {"notes_": fit.notes, "note_kinds_": fit.note_kinds}  # for older readers
    header = {
        "pairscore_model": FORMAT,
        "params": params | ({} if isinstance(params["link"], str) else {"link": "custom"}),
        "link": link_name(fit.link),
        "settings": {n: v for n, v in vars(fit.settings).items() if n != "link"},
        "arrays": list(arrays),
        "checksum": checksum(arrays),
        "fitted": scalars
        | texts
        | {"inference_": fit.inference, "l2_": fit.l2, "ties_": fit.ties}
        | {"n_features_in_": fit.n_features},
        "feature_names": [str(name) for name in fit.features.names or ()],
        "classes": model.classes.tolist(),
        "classes_dtype": model.classes.dtype.str,
        "recipe": fit.recipe,
        "item_effects": None if fit.item_effects is None else fit.item_effects.to_record(),
        "messages": [warning.message.to_record() for warning in fit.warnings],
        **tables,
    }
    try:
        return json.dumps(header)
    except TypeError as error:
        raise PairscoreError(
            f"the model could not be saved as {str(path)!r} ({error}); use plain numbers and text"
            " as parameters and classes."
        ) from error


def checksum(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of names, types, shapes and entries."""
    digest = sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _scalar(value: Any) -> Any:
    """NumPy scalars as the Python numbers that JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def _to_lists(table: Any) -> Any:
    return plain(table, keep_nan=True)


def _from_lists(kind: type, record: dict[str, Any]) -> Any:
    """The dataclass again: lists of names are tuples, all other lists arrays."""
    lists = {name: value for name, value in record.items() if isinstance(value, list)}
    arrays = {n: tuple(v) if n in ("names", "kinds") else np.array(v) for n, v in lists.items()}
    return kind(**record | arrays)


def _from_fields(kind: type, record: dict[str, Any]) -> Any:
    return kind(**record)


# what a header has beside numbers: its class, how it becomes JSON, and how it is made again
TABLES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any, dict[str, Any]], Any]]] = {
    "pairing": ("estimators.random_pairs.Pairing", vars, _from_fields),
    "ridge_curve": (
        "estimators.ridge_choice.RidgeCurve",
        lambda curve: curve.to_record(),
        lambda kind, record: kind.from_record(record),
    ),
    "effects": ("effects.comparison_effects.Effects", _to_lists, _from_lists),
    "judges": ("effects.judges.Judges", _to_lists, _from_lists),
    "item_effects_test": ("effects.item_effects.ItemEffectsTest", vars, _from_fields),
    "new_items": ("estimators.new_items.NewItems", vars, _from_fields),
    "likelihood": (
        "estimators.information_criteria.Likelihood",
        lambda likelihood: likelihood.to_file(),
        _from_fields,
    ),
    "lapse": ("estimators.lapse.LapseRate", vars, _from_fields),
    "wording": ("estimators.settings.Wording", vars, _from_fields),
}


def _class_of_table(name: str) -> Any:
    """Its class, imported for the models that have one."""
    module, _, kind = TABLES[name][0].rpartition(".")
    return getattr(import_module(f"pairscore.{module}"), kind)


EFFECT_KINDS = ("context", "side", "tie")
CLASS = str | int | float | bool
# values of JSON that have no class, by the annotation that they would have
RECORD = {
    "fingerprint": str | None,
    "seed": int | None,
    "command": str | None,
    "versions": dict[str, str],
    "reading": dict[str, Any],
}
# of what is said of judges, context and items, by the names of its entries; others are numbers
ENTRIES: dict[str, Any] = {
    "in_words": str,
    "names": list[str],
    **dict.fromkeys(("number", "n_pairs", "n_judges"), int),
    **dict.fromkeys(("ceiling", "ceiling_high"), float | None),
}
WITH_ENTRIES = ("judge_agreement", "context_of_items", "extreme_items")
READING = {
    **dict.fromkeys(("decimal", "delimiter", "encoding"), str | None),
    **dict.fromkeys(("na", "sheet"), list[str] | str | None),
    **dict.fromkeys(("winner_codes", "vote_columns"), dict[str, str | None] | None),
}
RECIPE = {
    **dict.fromkeys(("features", "squares", "own"), list[str]),
    **dict.fromkeys(("interactions", "flags"), list[list[str]]),
    "categorical": dict[str, list[str]],
    **dict.fromkeys(("means", "curves"), dict[str, list[float]]),
    "reference": dict[str, str],
    "lists": dict[str, int],
    "smooth": dict[str, Any] | None,
    "missing": str,
    "id": str | None,
    "note": str,
}
ITEM_EFFECTS = {name: float for name in RECORDED} | {
    "n_shared": int,
    "interval": tuple[float, float],
    "calibration": dict[str, Any],
}
CALIBRATION = {
    "factor": tuple[float, float, float],
    "n_tested": tuple[float, float, float],
    "shift": list[list[float]],
    "coin_share": float,
}


# -- load ------------------------------------------------------------------------------------------


def load_model(path: Any, link: Any = None) -> ModelFile:
    """Read what :func:`save_model` wrote; a model with its own link needs the link again."""
    if link is not None:
        get_link(link)
    path = _check_path(path)
    header, arrays = _read(path)
    try:
        if set(header["arrays"]) != set(arrays):
            raise _incomplete(path)
        _refuse_damage(header, arrays, path)
        params = header["params"]
        link_of_fit = _link(header, link, path)
        if params["link"] == "custom":
            params = params | {"link": link}
        slips = float((header.get("lapse") or {}).get("rate", 0.0))
        if not 0 <= slips < 0.5:
            raise _damaged(path, "'lapse' is not from 0 to 0.5")
        link_of_fit = with_lapse(get_link(link_of_fit), slips)
        fit = _rebuild(header, arrays, _settings(header, params, link_of_fit, path))
    except PairscoreError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _foreign(path) from error
    return ModelFile(fit, params, _classes(header, path))


def _link(header: dict[str, Any], link: Any, path: Any) -> Any:
    """The link of the fit; ``set_params`` may have changed the setting afterwards."""
    setting = header["params"]["link"]
    name = header.get("link", setting)
    is_custom = "custom" in (setting, name)
    if is_custom and link is None:
        raise PairscoreError(
            f"the model in {str(path)!r} has a link function written in Python, which no file can"
            " hold",
            "pass it again, as " + Setting("link") + " of " + Action("load"),
        )
    if not is_custom and link is not None and get_link(link) != get_link(name):
        raise PairscoreError(
            f"the model in {str(path)!r} was fitted with "
            + Setting("link", name)
            + ", not the one given",
            ["load it without " + Setting("link"), "fit again"],
        )
    return link if name == "custom" else name


def _settings(header: dict[str, Any], params: dict[str, Any], link: Link, path: Any) -> Settings:
    """Those of the fit; a file of before them has only the parameters."""
    record = header.get("settings")
    fitted = header["fitted"]
    if record is None:
        # unchecked: set_params may have changed parameters after the fit
        record = vars(make_settings(DEFAULTS | params | {"link": link})) | {
            name: fitted[f"{name}_"] for name in ("inference", "l2", "ties")
        }
    lists = {name: tuple(record.get(name, ())) for name in ("context", "ridge_weights")}
    settings = Settings(**record | {"link": link} | lists)
    if not has_type(list(settings.ridge_weights), list[float]):
        raise _damaged(path, "'ridge_weights' has a value that no fit has")
    for name, value in vars(settings).items():
        allowed = name not in SETTINGS or SETTINGS[name].allows(value)
        is_flag = name in SETTINGS or name == "ridge_weights" or isinstance(value, bool)
        if not allowed or not is_flag:
            raise _damaged(path, f"{name!r} has a value that no fit has")
    return settings


def _rebuild(header: dict[str, Any], arrays: dict[str, np.ndarray], settings: Settings) -> Fit:
    scalars = {n.removesuffix("_"): v for n, v in header["fitted"].items() if n not in OF_SETTINGS}
    known = kept_types()
    columns: dict[str, Any] = {
        n.removesuffix("_"): v for n, v in arrays.items() if n.removesuffix("_") in known
    }
    tables: dict[str, Any] = {
        n: again(_class_of_table(n), header[n])
        for n, (_, _, again) in TABLES.items()
        if header.get(n) is not None
    }
    scalars["warnings"] = _warnings(header, scalars.pop("notes"), scalars.pop("note_kinds", None))
    names = tuple(header["feature_names"])
    recipe = header.get("recipe")  # models of before had none
    effects = None
    if header.get("item_effects"):
        of_items = {n.removeprefix(EFFECTS): a for n, a in arrays.items() if n.startswith(EFFECTS)}
        effects = ItemEffects.from_file(of_items, header["item_effects"])
    of_recession = {
        n.removeprefix(RECESSION): a for n, a in arrays.items() if n.startswith(RECESSION)
    }
    return Fit.of_kept(
        settings,
        recession=_recession(of_recession) if of_recession else None,
        **scalars,
        **columns,
        **tables,
        feature_names=names or None,
        item_effects=effects,
        comparisons=comparisons_from_arrays(
            arrays, names, recipe, (scalars.get("record") or {}).get("table")
        ),
        item_groups=arrays.get(GROUPS),
        recipe=recipe,
    )


def _recession(arrays: dict[str, np.ndarray]) -> "Recession":
    from pairscore.estimators.separation import Recession

    return Recession(**arrays)


def _warnings(
    header: dict[str, Any], texts: list[str], kinds: list[str] | None
) -> list[PairscoreWarning]:
    """The warnings of a fit; a file of before messages were kept has their texts alone."""
    messages = map(Message.from_record, header.get("messages", texts))
    classes = map(_kind_of_0_1, texts) if kinds is None else map(_kind, kinds)
    return [kind(message) for kind, message in zip(classes, messages, strict=True)]


def _kind(name: str) -> type[PairscoreWarning]:
    """The class of a warning by its name; one of a newer version is a warning as others are."""
    kind = getattr(pairscore.errors, name, PairscoreWarning)
    is_kind = isinstance(kind, type) and issubclass(kind, PairscoreWarning)
    return kind if is_kind else PairscoreWarning


def _kind_of_0_1(text: str) -> type[PairscoreWarning]:
    """The class of a warning in a file of version 0.1, which did not keep it, but one wording."""
    kinds = (kind for begin, kind in KINDS_OF_0_1.items() if text.startswith(begin))
    return next(kinds, PairscoreWarning)


def _check_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise PairscoreError(
            f"the path of a model file is {path!r}; give the file's name as text or as a Path."
        )
    return Path(path)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file that may be anything."""
    try:
        arrays = read_archive(path)
    except OSError as error:
        raise PairscoreError(
            f"the model file {str(path)!r} cannot be read ({error.strerror}); check the path."
        ) from error
    except DamagedFileError as error:
        raise _incomplete(path) from error
    try:
        header = read_json(arrays.pop("header").tobytes())
        version = header["pairscore_model"]
    except (KeyError, TypeError, DamagedFileError) as error:
        raise _foreign(path) from error
    if version != FORMAT:
        raise PairscoreError(
            f"{str(path)!r} has model format {version!r}, and this version of pairscore reads"
            f" format {FORMAT}; update pairscore or fit again."
        )
    return header, arrays


# -- damage ----------------------------------------------------------------------------------------


def _refuse_damage(header: dict[str, Any], arrays: dict[str, np.ndarray], path: Any) -> None:
    """The file must be one that was saved, as far as it can tell."""
    saved = header.get("checksum")
    if saved is not None and saved != checksum(arrays):
        raise _damaged(path, "the numbers in it were changed")
    for fault in chain(_faults_of_header(header), _faults_of_arrays(header, arrays)):
        raise _damaged(path, fault)


def _faults_of_arrays(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Iterable[str]:
    of_fit = tuple(f"{name}_" for name in kept_types())
    known = {name: OTHER for name in arrays if name.startswith(of_fit)} | SCHEMA
    known |= {name: SCHEMA[CONTEXT] for name in arrays if name.startswith(CONTEXT)}
    effects = header.get("effects")
    lengths = {"d": header["fitted"]["n_features_in_"]}
    lengths["effects"] = len(effects["names"]) if effects else 1
    yield from faults_of(arrays, known, lengths)
    for names in TOGETHER:
        missing = [name for name in names if name not in arrays]
        if 0 < len(missing) < len(names):
            yield f"{missing[0]!r} is missing"
    if header.get("item_effects") and f"{EFFECTS}keys" not in arrays:
        yield f"'{EFFECTS}keys' is missing"
    beside = arrays.get(f"{EFFECTS}certain_beside")
    if beside is not None and beside.shape[1] != (len(effects["names"]) if effects else 0):
        yield f"'{EFFECTS}certain_beside' has another number of effects"
    d = lengths["d"]
    if lengths.get("parameters", d) not in (d, d + 1, d + lengths["effects"]):
        yield f"'{RECESSION}unit' has another number of parameters"
    sd = arrays["feature_sd_"]
    if np.any((sd > 0) & (sd * LARGEST_NUMBER < 1)):
        yield "'feature_sd_' has entries that are too small"


def _faults_of_header(header: dict[str, Any]) -> Iterable[str]:
    """What is wrong with it; errors of any kind where it is quite another thing."""
    fitted = {name.removesuffix("_"): value for name, value in header["fitted"].items()}
    hints = kept_types() | {"n_features_in": int, "notes": list[str], "note_kinds": list[str]}
    for name, value in fitted.items():
        hint = hints.get(name, Any)
        low, high = LIMITS.get(name, (-inf, inf))
        # a hint as text is of a part that has a place of its own
        if not has_type(value, type(None) if isinstance(hint, str) else hint):
            yield f"{name!r} is of another kind"
        elif is_number(value) and (value < low or value > high):
            yield f"{name!r} is not from {low:g} to {high:g}"
    yield from _faults_of_fields(fitted["record"], RECORD)
    yield from _faults_of_fields(fitted["record"].get("reading") or {}, READING)
    yield from _faults_of_entries(fitted.get("judge_tastes", {}))
    for name in WITH_ENTRIES:
        for entries in fitted.get(name, {}).values():
            yield from _faults_of_entries(entries)
    for entries in fitted.get("judge_agreement", {}).values():
        yield from _faults_of_agreement(entries)
    for name in TABLES:
        if header.get(name) is not None:
            yield from _faults_of_table(header[name], _class_of_table(name))
    params = header["params"]
    if header.get("item_effects"):
        yield from _faults_of_fields(header["item_effects"], ITEM_EFFECTS)
        yield from (
            f"{name!r} is below zero or missing"
            for name in ("sigma2", "posterior_sigma2")
            if not header["item_effects"].get(name, 0.0) >= 0
        )
        if header["item_effects"].get("calibration") is not None:
            yield from _faults_of_calibration(header["item_effects"]["calibration"], params)
    names = header["feature_names"]
    if not has_type(names, list[str]) or len(names) not in (0, fitted["n_features_in"]):
        yield "the names of features do not fit the rest"
    if header.get("recipe") is not None:
        yield from _faults_of_recipe(header["recipe"], fitted["n_features_in"], tuple(names))
    unknown = set(params) - set(DEFAULTS)
    if unknown:
        raise KeyError(*unknown)
    of_params = dict.fromkeys(params, CLASS | None) | {"context": list[str] | None}
    of_params |= dict.fromkeys(("method", "ties", "missing"), str)
    for of_notes in (fitted.get("note_kinds"), header.get("messages")):
        if of_notes is not None and len(of_notes) != len(fitted["notes"]):
            yield "'notes' and their kinds or messages have different lengths"
    yield from _faults_of_fields(params, of_params)


def _faults_of_fields(record: dict[str, Any], hints: Mapping[str, Any]) -> Iterable[str]:
    for name, hint in hints.items():
        if name in record and not has_type(record[name], hint):
            yield f"{name!r} is of another kind"


def _faults_of_calibration(record: dict[str, Any], params: dict[str, Any]) -> Iterable[str]:
    """Three factors above zero, and as many rows of shifts as wide as context and side."""
    if set(record) != set(CALIBRATION) or not all(
        has_type(record[name], hint) for name, hint in CALIBRATION.items()
    ):
        yield "'calibration' is of another kind"
        return
    width = len(params.get("context") or ()) + bool(params.get("side_effect"))
    if [len(row) for row in record["shift"]] != [width] * 3:
        yield "'shift' of the calibration does not fit the context"
    if not (min(record["factor"]) > 0 and 0 <= record["coin_share"] <= 1):
        yield "'calibration' has values that no fit has"


def _faults_of_table(record: dict[str, Any], kind: Any) -> Iterable[str]:
    """Of a record of a dataclass: types by its annotations, and columns of one length."""
    hints = {f.name: str if isinstance(f.type, str) else f.type for f in fields(kind)}
    yield from _faults_of_fields(record, hints)
    columns = [n for n, hint in hints.items() if hint is np.ndarray or n in ("names", "kinds")]
    if len({len(record[name]) for name in columns if name in record}) > 1:
        yield f"{columns[0]!r} and {columns[1]!r} have different lengths"
    if not set(record.get("kinds", ())) <= set(EFFECT_KINDS):
        yield "'kinds' has one that is not known"


def _faults_of_entries(entries: dict[str, Any]) -> Iterable[str]:
    hints = {name: ENTRIES.get(name, float | bool) for name in entries}
    yield from _faults_of_fields(entries, hints)


def _faults_of_agreement(entries: dict[str, Any]) -> Iterable[str]:
    if not entries.get("in_words"):
        yield "what is said of judges is missing"


def _faults_of_recipe(record: Any, d: int, names: tuple[str, ...]) -> Iterable[str]:
    if not isinstance(record, dict):
        yield "'recipe' is of another kind"
        return
    yield from _faults_of_fields(record, RECIPE)
    if any(not 0 <= n <= d for n in record.get("lists", {}).values()):  # each is d columns at most
        yield "'lists' has more columns than features"
    elif Recipe.from_record(record).names != names:
        yield "its recipe makes other features than it was fitted with"


def _classes(header: dict[str, Any], path: Any) -> np.ndarray:
    """The two outcomes of a comparison, of the type that they had."""
    try:
        classes = header["classes"]
        dtype = np.dtype(header["classes_dtype"])
        longest = 4 * max(len(str(of)) for of in classes)
        is_plain = dtype.kind in "biufUO" and dtype.itemsize <= max(longest, 16)
        if len(classes) == 2 and is_plain and all(has_type(of, CLASS) for of in classes):
            return np.array(classes, dtype=dtype)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise _damaged(path, "the names of outcomes are of another kind")


def _damaged(path: Any, how: str) -> PairscoreError:
    return PairscoreError(
        f"{str(path)!r} is not the model that was saved: {how}; restore the file, or fit again."
    )


def _incomplete(path: Any) -> PairscoreError:
    if Path(path).suffix.lower() in KINDS:
        return NotAModelError(
            f"{str(path)!r} is a table and not a model", "give the file of a model"
        )
    return PairscoreError(
        f"{str(path)!r} is not a complete model file: it is cut short or of another kind",
        ["give another file", "fit again"],
    )


def _foreign(path: Any) -> PairscoreError:
    return PairscoreError(
        f"{str(path)!r} was not written by pairscore",
        "give a file that " + Action("RankRegression.save") + " made",
    )


# -- comparisons -----------------------------------------------------------------------------------
