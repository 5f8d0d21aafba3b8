"""Models on disk: one .npz of plain arrays and a JSON header; nothing in it is ever executed.

The header has a checksum of the arrays, and a file that is not what was saved is refused. Files of
before have none; there the shapes must fit and the numbers be finite.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.core.links import Link, get_link, link_name
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.data.tables import Columns
from pairscore.data.votes import PER_ROW
from pairscore.errors import PairscoreError
from pairscore.estimators.diagnostics import ItemEffectsTest, NewItems, Pairing
from pairscore.estimators.inference import Likelihood
from pairscore.estimators.results import OF_PAIRS, Effects, Fit, ItemEffects, Judges
from pairscore.estimators.ridge import RidgeCurve
from pairscore.estimators.settings import DEFAULTS, Settings, Wording, make_settings
from pairscore.files.source import KINDS
from pairscore.files.write import atomic_write, plain

FORMAT = 1
DATA = "data_"  # what the names of the arrays of comparisons begin with
CONTEXT = f"{DATA}context_"
GROUPS = f"{DATA}item_groups"
EFFECTS = "item_effects_"
BESIDE_FIT = ("settings", "feature_names", "comparisons", "item_groups", "item_effects", "recipe")
# the shape of each array: a letter is one length throughout the file (d features, N items, M
# comparisons, K items with effects, P pairs of them), and a star any length
SHAPES = {
    **dict.fromkeys(("coef_", "closed_form_coef_", "std_errors_", "undetermined_"), "d"),
    **dict.fromkeys((f"feature_{what}_" for what in ("mean", "sd", "min", "max")), "d"),
    **{"covariance_": "dd", "open_directions_": "d*", f"{DATA}values": "Nd"},
    "fitted_scores_": "**",
    "effects_covariance_": "**",
    **dict.fromkeys((f"{DATA}ids", GROUPS), "N"),
    **dict.fromkeys((f"{DATA}{name}" for name in PER_ROW), "M"),
    **dict.fromkeys((EFFECTS + of for of in ("keys", "ids", "effect", "std_error", "share")), "K"),
    **dict.fromkeys((EFFECTS + of for of in OF_PAIRS), "P"),
    **{f"{EFFECTS}quasi_variance": "K", f"{EFFECTS}along_effects": "K*"},
}
MAY_BE_NAN = (
    "std_errors_",
    "fitted_scores_",
    f"{DATA}ids",
    f"{DATA}judge",
    GROUPS,
    f"{EFFECTS}ids",
)
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
    path, fit = _check_path(path), model.fit
    if data and fit.comparisons is None:
        raise PairscoreError(
            "the model has no comparisons to save; fit it to items and votes, or save it without"
            " data=True."
        )
    values = {f.name: getattr(fit, f.name) for f in fields(Fit) if f.name not in BESIDE_FIT}
    values["record"] = fit.full_record
    arrays: dict[str, Any] = {f"{n}_": v for n, v in values.items() if isinstance(v, np.ndarray)}
    if data and fit.comparisons is not None:
        arrays |= comparisons_to_arrays(fit.comparisons)
        arrays |= {} if fit.item_groups is None else {GROUPS: fit.item_groups}
    if fit.item_effects is not None:
        arrays |= {EFFECTS + name: array for name, array in fit.item_effects.to_arrays().items()}
    header = np.frombuffer(_header(model, values, arrays, path).encode(), dtype=np.uint8)
    with atomic_write(path, "the model") as temporary, temporary.open("wb") as file:
        np.savez(file, header=header, **arrays)


def _header(model: ModelFile, values: dict[str, Any], arrays: dict[str, Any], path: Any) -> str:
    """What is no array, as JSON, and which arrays there must be."""
    fit, params = model.fit, {name: _scalar(value) for name, value in model.params.items()}
    params.pop("n_jobs", None)  # no fit depends on it
    tables = {
        name: None if (t := getattr(fit, name)) is None else to(t) for name, (to, _) in TABLES
    }
    scalars = {f"{n}_": _scalar(v) for n, v in values.items() if f"{n}_" not in arrays}
    scalars = {name: value for name, value in scalars.items() if name[:-1] not in dict(TABLES)}
    header = {
        "pairscore_model": FORMAT,
        "params": params | ({} if isinstance(params["link"], str) else {"link": "custom"}),
        "link": link_name(fit.link),
        "settings": {n: v for n, v in vars(fit.settings).items() if n != "link"},
        "arrays": list(arrays),
        "checksum": checksum(arrays),
        "fitted": scalars
        | {"inference_": fit.inference, "l2_": fit.l2, "ties_": fit.ties}
        | {"n_features_in_": fit.n_features},
        "feature_names": [str(name) for name in fit.feature_names or ()],
        "classes": model.classes.tolist(),
        "classes_dtype": model.classes.dtype.str,
        "recipe": fit.recipe,
        "item_effects": None if fit.item_effects is None else fit.item_effects.to_record(),
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


def _from_lists(kind: type) -> Callable[[dict[str, Any]], Any]:
    """The dataclass again: lists of names are tuples, all other lists arrays."""

    def rebuild(record: dict[str, Any]) -> Any:
        lists = {name: value for name, value in record.items() if isinstance(value, list)}
        arrays = {n: tuple(v) if n in ("names", "kinds") else np.array(v) for n, v in lists.items()}
        return kind(**record | arrays)

    return rebuild


def _lists(table: Any) -> Any:
    return plain(table, keep_nan=True)


TABLES: tuple[tuple[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]], ...] = (
    ("pairing", (vars, lambda record: Pairing(**record))),
    ("ridge_curve", (RidgeCurve.to_record, RidgeCurve.from_record)),
    ("effects", (_lists, _from_lists(Effects))),
    ("judges", (_lists, _from_lists(Judges))),
    ("item_effects_test", (vars, lambda record: ItemEffectsTest(**record))),
    ("new_items", (vars, lambda record: NewItems(**record))),
    ("likelihood", (Likelihood.to_file, lambda record: Likelihood(**record))),
    ("wording", (vars, lambda record: Wording(**record))),
)


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
        params, link_of_fit = header["params"], _link(header, link, path)
        if params["link"] == "custom":
            params = params | {"link": link}
        fit = _rebuild(header, arrays, _settings(header, params, get_link(link_of_fit)))
        classes = np.array(header["classes"], dtype=header["classes_dtype"])
    except (KeyError, TypeError, AttributeError) as error:
        raise _foreign(path) from error
    return ModelFile(fit, params, classes)


def _link(header: dict[str, Any], link: Any, path: Any) -> Any:
    """The link of the fit; ``set_params`` may have changed the setting afterwards."""
    setting = header["params"]["link"]
    name = header.get("link", setting)
    is_custom = "custom" in (setting, name)
    if is_custom and link is None:
        raise PairscoreError(
            f"the model in {str(path)!r} has a link function written in Python, which no file can"
            f" hold;"
            " pass it again: load(path, link=(f, f'))."
        )
    if not is_custom and link is not None and get_link(link) != get_link(name):
        raise PairscoreError(
            f"the model in {str(path)!r} was fitted with link={name!r}, not the one given;"
            " load it without link=, or fit again."
        )
    return link if name == "custom" else name


def _settings(header: dict[str, Any], params: dict[str, Any], link: Link) -> Settings:
    """Those of the fit; a file of before them has only the parameters."""
    record, fitted = header.get("settings"), header["fitted"]
    if record is None:
        # unchecked: set_params may have changed parameters after the fit
        record = vars(make_settings(DEFAULTS | params | {"link": link})) | {
            name: fitted[f"{name}_"] for name in ("inference", "l2", "ties")
        }
    return Settings(**record | {"link": link, "context": tuple(record["context"])})


def _rebuild(header: dict[str, Any], arrays: dict[str, np.ndarray], settings: Settings) -> Fit:
    scalars = {n.removesuffix("_"): v for n, v in header["fitted"].items() if n not in OF_SETTINGS}
    known = {field.name for field in fields(Fit)}
    columns: dict[str, Any] = {
        n.removesuffix("_"): v for n, v in arrays.items() if n.removesuffix("_") in known
    }
    tables: dict[str, Any] = {
        n: rebuild(header[n]) for n, (_, rebuild) in TABLES if header.get(n) is not None
    }
    names, effects = tuple(header["feature_names"]), None
    recipe = header.get("recipe")  # models of before had none
    if header.get("item_effects"):
        of_items = {n.removeprefix(EFFECTS): a for n, a in arrays.items() if n.startswith(EFFECTS)}
        effects = ItemEffects.from_file(of_items, header["item_effects"])
    return Fit(
        settings,
        **scalars,
        **columns,
        **tables,
        feature_names=names or None,
        item_effects=effects,
        comparisons=comparisons_from_arrays(arrays, names, recipe),
        item_groups=arrays.get(GROUPS),
        recipe=recipe,
    )


def _check_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise PairscoreError(
            f"the path of a model file is {path!r}; give the file's name as text or as a Path."
        )
    return Path(path)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file that may be anything."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PairscoreError(
            f"the model file {str(path)!r} cannot be read ({error.strerror}); check the path."
        ) from error
    try:
        with np.load(BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
    except Exception as error:  # bytes of any kind fail in ways of any kind
        raise _incomplete(path) from error
    try:
        header = json.loads(arrays.pop("header").tobytes())
        version = header["pairscore_model"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _foreign(path) from error
    if version != FORMAT:
        raise PairscoreError(
            f"{str(path)!r} has model format {version!r}, and this version of pairscore reads"
            f" format {FORMAT}; update pairscore or fit again."
        )
    return header, arrays


# -- damage ----------------------------------------------------------------------------------------


def _refuse_damage(header: dict[str, Any], arrays: dict[str, np.ndarray], path: Any) -> None:
    """The arrays must be those that were saved, as far as the file can tell."""
    saved = header.get("checksum")
    if saved is not None and saved != checksum(arrays):
        raise _damaged(path, "the numbers in it were changed")
    lengths: dict[str, int] = {"d": header["fitted"]["n_features_in_"]}
    for name, array in arrays.items():
        shape = "M" if name.startswith(CONTEXT) else SHAPES.get(name)
        if shape is not None and not _fits(array, shape, lengths):
            size = " x ".join(map(str, array.shape)) or "no"
            raise _damaged(path, f"{name!r} has {size} entries, which do not fit the rest")
        if saved is None and shape and name not in MAY_BE_NAN and not _is_finite(array):
            raise _damaged(path, f"{name!r} has entries that are not finite numbers")


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind in "biuf" and bool(np.isfinite(array).all())


def _fits(array: np.ndarray, shape: str, lengths: dict[str, int]) -> bool:
    """Whether an array has such a shape; lengths that were not known are known from now on."""
    return array.ndim == len(shape) and all(
        letter == "*" or lengths.setdefault(letter, size) == size
        for letter, size in zip(shape, array.shape, strict=True)
    )


def _damaged(path: Any, how: str) -> PairscoreError:
    return PairscoreError(
        f"{str(path)!r} is not the model that was saved: {how}; restore the file, or fit again."
    )


def _incomplete(path: Any) -> PairscoreError:
    if Path(path).suffix.lower() in KINDS:
        return PairscoreError(
            f"{str(path)!r} is a table and not a model; give the file of the model."
        )
    return PairscoreError(
        f"{str(path)!r} is not a complete model file: it is cut short or of another kind; save the"
        " model again."
    )


def _foreign(path: Any) -> PairscoreError:
    return PairscoreError(
        f"{str(path)!r} was not written by pairscore; give a file that RankRegression.save made."
    )


# -- comparisons -----------------------------------------------------------------------------------


def comparisons_to_arrays(data: Comparisons) -> dict[str, np.ndarray]:
    """Arrays without objects, named so that they can stand beside a model's own."""
    columns = data.votes.columns()
    if data.covariance_items is not None:
        columns["covariance_items"] = data.covariance_items
    if data.items.ids is not None:
        columns["ids"] = data.items.ids
    arrays = {f"{DATA}{name}": _without_objects(column, name) for name, column in columns.items()}
    arrays |= {f"{CONTEXT}{name}": column for name, column in data.context.items()}
    seed = -1 if data.seed is None else data.seed
    arrays[f"{DATA}facts"] = np.array([data.sides_known, seed, data.items.backend is Columns])
    return arrays | {f"{DATA}values": data.items.values}


def comparisons_from_arrays(
    arrays: dict[str, np.ndarray],
    feature_names: tuple[str, ...],
    recipe: dict[str, Any] | None = None,
) -> Comparisons | None:
    """The comparisons again; None if the model was saved without them."""
    if f"{DATA}values" not in arrays:
        return None
    sides_known, seed, from_file = arrays[f"{DATA}facts"].tolist()
    ids = arrays.get(f"{DATA}ids")
    ids = ids.astype(object) if ids is not None and ids.dtype.kind == "U" else ids
    backend = Columns if from_file else dict
    items = Items(arrays[f"{DATA}values"], feature_names, ids, backend, recipe)
    context = {n.removeprefix(CONTEXT): a for n, a in arrays.items() if n.startswith(CONTEXT)}
    columns = {name: arrays.get(f"{DATA}{name}") for name in (*PER_ROW, "covariance_items")}
    return Comparisons(
        items,
        **columns,
        sides_known=bool(sides_known),
        seed=None if seed < 0 else int(seed),
        context=context,
    )


def _without_objects(column: np.ndarray, name: str) -> np.ndarray:
    """Numbers, or text as text; other objects would run code when they are read."""
    if column.dtype != object:
        return column
    if not all(isinstance(value, str) for value in column.tolist()):
        raise PairscoreError(
            f"the {'id' if name == 'ids' else name} has entries that are neither all text nor all"
            " numbers, so the data cannot be kept in a file; make them text."
        )
    return column.astype(str)
