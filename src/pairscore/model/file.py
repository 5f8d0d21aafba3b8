"""The comparisons that a model was fitted to, as plain arrays.

What it takes to add votes to a model that comes from a file. Models on disk: one .npz of plain
arrays and a JSON header; nothing in it is ever executed.
"""

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.core.links import get_link, link_name
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.data.tables import Columns
from pairscore.data.votes import PER_ROW
from pairscore.errors import PairscoreError
from pairscore.estimators.pairing import Pairing
from pairscore.estimators.results import Effects, ItemEffects, Judges
from pairscore.estimators.ridge import RidgeCurve
from pairscore.files.write import atomic_write

PREFIX = "data_"
CONTEXT = f"{PREFIX}context_"


def to_arrays(data: Comparisons) -> dict[str, np.ndarray]:
    """Arrays without objects, named so that they can stand beside a model's own."""
    arrays = {
        f"{PREFIX}{name}": _plain_column(column, name)
        for name in (*PER_ROW, "covariance_items")
        if (column := getattr(data, name)) is not None
    }
    arrays |= {f"{CONTEXT}{name}": column for name, column in data.context.items()}
    arrays[f"{PREFIX}values"] = data.items.values
    if data.items.ids is not None:
        arrays[f"{PREFIX}ids"] = _plain_column(data.items.ids, "id")
    arrays[f"{PREFIX}facts"] = np.array(
        [data.sides_known, -1 if data.seed is None else data.seed, data.items.backend is Columns]
    )
    return arrays


def from_arrays(
    arrays: dict[str, np.ndarray], feature_names: tuple[str, ...]
) -> Comparisons | None:
    """The comparisons again; None if the model was saved without them."""
    if f"{PREFIX}values" not in arrays:
        return None
    sides_known, seed, from_file = arrays[f"{PREFIX}facts"].tolist()
    ids = arrays.get(f"{PREFIX}ids")
    items = Items(
        arrays[f"{PREFIX}values"],
        feature_names,
        ids if ids is None or ids.dtype.kind != "U" else ids.astype(object),
        Columns if from_file else dict,
    )
    columns: dict[str, Any] = {
        name: arrays.get(f"{PREFIX}{name}") for name in (*PER_ROW, "covariance_items")
    }
    context = {
        name.removeprefix(CONTEXT): column
        for name, column in arrays.items()
        if name.startswith(CONTEXT)
    }
    return Comparisons(
        items,
        **columns,
        sides_known=bool(sides_known),
        seed=None if seed < 0 else int(seed),
        context=context,
    )


def _plain_column(column: np.ndarray, name: str) -> np.ndarray:
    """Numbers, or text as text.

    Other objects cannot be kept without running code when they are read.
    """
    if column.dtype != object:
        return column
    if not all(isinstance(value, str) for value in column.tolist()):
        raise PairscoreError(
            f"the {name} has entries that are neither all text nor all numbers, so the data cannot"
            " be kept in a file; make them text."
        )
    return column.astype(str)


def joined(data: Comparisons, more: Comparisons) -> Comparisons:
    """The comparisons of both, which speak of one item table."""
    columns: dict[str, Any] = {}
    for name in PER_ROW:
        one, other = getattr(data, name), getattr(more, name)
        if (one is None) != (other is None):
            if name == "judge":
                raise PairscoreError(
                    "only some of the votes say who judged; give a judge for all votes, or for"
                    " none."
                )
            one, other = (
                np.ones(len(part)) if column is None else column
                for part, column in ((data, one), (more, other))
            )
        columns[name] = None if one is None else np.concatenate([one, other])
    if set(data.context) != set(more.context):
        raise PairscoreError(
            f"the new votes have the context {sorted(more.context)} and the old ones"
            f" {sorted(data.context)}; give the same columns."
        )
    context = {
        name: np.concatenate([column, more.context[name]]) for name, column in data.context.items()
    }
    sides_known = data.sides_known and more.sides_known
    return Comparisons(
        more.items,
        **columns,
        sides_known=sides_known,
        seed=data.seed,
        covariance_items=data.covariance_items,
        context=context,
    )


FORMAT = 1
GROUPS = "data_item_groups"
EFFECTS = "item_effects_"  # what the names of their arrays begin with
ARRAYS = (
    "coef_",
    "undetermined_",
    "open_directions_",
    "feature_mean_",
    "feature_sd_",
    "feature_min_",
    "feature_max_",
)
OPTIONAL_ARRAYS = ("closed_form_coef_", "covariance_", "std_errors_")
PLAIN = (
    "side_effect_", "side_effect_std_error_", "n_features_in_", "n_items_", "n_comparisons_", "inference_", "guard_", "n_iter_", "notes_",
    "agreement_", "noise_", "tie_share_", "record_", "l2_", "ties_",
)  # fmt: skip


def save(model: Any, path: Any, data: bool = False) -> None:
    """Write ``model`` to ``path``, with its comparisons if asked.

    A crash or a full disk leaves the old file as it was.
    """
    path = _checked_path(path)
    arrays = {
        name: array
        for name in ARRAYS + OPTIONAL_ARRAYS
        if (array := getattr(model, name)) is not None
    }
    arrays |= to_arrays(model.comparisons_) if data else {}
    arrays |= {GROUPS: model.item_groups_} if data and model.item_groups_ is not None else {}
    arrays |= (
        {}
        if model.item_effects_ is None
        else {EFFECTS + name: array for name, array in model.item_effects_.to_arrays().items()}
    )
    header = np.frombuffer(_header(model, list(arrays), path).encode(), dtype=np.uint8)
    with atomic_write(path, "the model") as temporary, temporary.open("wb") as file:
        np.savez(file, header=header, **arrays)


def _header(model: Any, arrays: list[str], path: Any) -> str:
    """What is no array, as JSON, and which arrays there must be."""
    params = {name: _plain(value) for name, value in model.get_params().items()}
    header = {
        "pairscore_model": FORMAT,
        "params": params | ({} if isinstance(params["link"], str) else {"link": "custom"}),
        "link": link_name(model.link_),
        "arrays": arrays,
        "fitted": {name: _plain(getattr(model, name)) for name in PLAIN},
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "classes": model.classes_.tolist(),
        "classes_dtype": model.classes_.dtype.str,
        "pairing": None if model.pairing_ is None else vars(model.pairing_),
        "recipe": getattr(model, "recipe_", None),
        "item_effects": None if model.item_effects_ is None else model.item_effects_.to_record(),
        "ridge_curve": None if model.ridge_curve_ is None else model.ridge_curve_.to_record(),
        "effects": None if model.effects_ is None else _listed(model.effects_),
        "judges": None if model.judges_ is None else _listed(model.judges_),
    }
    try:
        return json.dumps(header)
    except TypeError as error:
        raise PairscoreError(
            f"the model could not be saved as {str(path)!r} ({error}); use plain numbers and text"
            " as parameters and classes."
        ) from error


def _listed(table: Any) -> dict[str, Any]:
    """A table of arrays as plain lists."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(table).items()
    }


def _from_lists(kind: type, record: dict[str, Any] | None) -> Any:
    """The table again: lists of names are tuples, all other lists arrays."""
    if record is None:
        return None
    tuples = ("names", "kinds")
    return kind(
        **{
            name: (
                (tuple(value) if name in tuples else np.array(value))
                if isinstance(value, list)
                else value
            )
            for name, value in record.items()
        }
    )


def _plain(value: Any) -> Any:
    """NumPy scalars as the Python numbers that JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def restore(kind: type, path: Any, link: Any = None) -> Any:
    """Read a model of class ``kind`` from ``path``."""
    if link is not None:
        get_link(link)
    path = _checked_path(path)
    header, arrays = _read(path)
    try:
        return _rebuilt(kind, header, arrays, link, path)
    except (KeyError, TypeError, AttributeError) as error:
        raise _foreign(path) from error


def _rebuilt(
    kind: type, header: dict[str, Any], arrays: dict[str, np.ndarray], link: Any, path: Any
) -> Any:
    if set(header["arrays"]) != set(arrays):
        raise _incomplete(path)
    params = header["params"]
    # set_params may have changed the setting after the fit
    fitted_link = header.get("link", params["link"])
    own = "custom" in (params["link"], fitted_link)
    if own and link is None:
        raise PairscoreError(
            f"the model in {str(path)!r} has a link function of its own, which no file can hold;"
            " pass it again: load(path, link=(f, f'))."
        )
    if not own and link is not None and get_link(link) != get_link(fitted_link):
        raise PairscoreError(
            f"the model in {str(path)!r} was fitted with link={fitted_link!r}, not the one given;"
            " load it without link=, or fit again."
        )
    model = kind(**params | ({"link": link} if params["link"] == "custom" else {}))
    model.link_ = get_link(link if fitted_link == "custom" else fitted_link)
    fitted = (
        {name: arrays[name] for name in ARRAYS}
        | {name: arrays.get(name) for name in OPTIONAL_ARRAYS}
        | {name: header["fitted"][name] for name in PLAIN}
    )
    for attribute, value in fitted.items():
        setattr(model, attribute, value)
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.classes_ = np.array(header["classes"], dtype=header["classes_dtype"])
    model.item_groups_ = arrays.get(GROUPS)
    model.comparisons_ = from_arrays(arrays, tuple(header["feature_names"]))
    model.pairing_ = None if header["pairing"] is None else Pairing(**header["pairing"])
    model.recipe_ = header.get("recipe")  # models of before had none
    of_items = {
        name.removeprefix(EFFECTS): array
        for name, array in arrays.items()
        if name.startswith(EFFECTS)
    }
    model.item_effects_ = (
        ItemEffects.from_file(of_items, header["item_effects"])
        if header.get("item_effects")
        else None
    )
    model.ridge_curve_ = (
        None if header["ridge_curve"] is None else RidgeCurve.from_record(header["ridge_curve"])
    )
    model.effects_, model.judges_ = (
        _from_lists(Effects, header["effects"]),
        _from_lists(Judges, header["judges"]),
    )
    return model


def _checked_path(path: Any) -> Path:
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
            arrays = {key: file[key] for key in file.files}
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


def _incomplete(path: Any) -> PairscoreError:
    return PairscoreError(
        f"{str(path)!r} is no complete model file: it is cut short or of another kind; save the"
        " model again."
    )


def _foreign(path: Any) -> PairscoreError:
    return PairscoreError(
        f"{str(path)!r} was not written by pairscore; give a file that RankRegression.save made."
    )
