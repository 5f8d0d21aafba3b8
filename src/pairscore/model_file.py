"""Models on disk: one .npz of plain arrays and a JSON header; nothing in it is ever executed."""

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.pairing import Pairing

FORMAT = 1
ARRAYS = ("coef_", "closed_form_coef_", "covariance_", "std_errors_", "undetermined_", "feature_mean_", "feature_sd_", "feature_min_", "feature_max_")
PLAIN = (
    "side_effect_", "side_effect_std_error_", "n_features_in_", "n_items_", "n_comparisons_", "inference_", "guard_", "n_iter_", "notes_",
    "agreement_", "noise_", "tie_share_", "record_",
)  # fmt: skip


def save(model: Any, path: Any) -> None:
    """Write ``model`` to ``path``; a crash or a full disk leaves the old file as it was."""
    header = {
        "pairscore_model": FORMAT,
        "params": {name: _plain(value) for name, value in model.get_params().items()},
        "fitted": {name: _plain(getattr(model, name)) for name in PLAIN},
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "classes": model.classes_.tolist(),
        "pairing": None if model.pairing_ is None else vars(model.pairing_),
    }
    if not isinstance(header["params"]["link"], str):
        header["params"]["link"] = "custom"
    arrays = {name: getattr(model, name) for name in ARRAYS if getattr(model, name) is not None}
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _plain(value: Any) -> Any:
    """NumPy scalars as the Python numbers that JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def restore(kind: type, path: Any, link: Any = None) -> Any:
    """Read a model of class ``kind`` from ``path``."""
    header, arrays = _read(path)
    params = header["params"]
    if params["link"] == "custom" and link is None:
        raise PairscoreError(f"the model in {str(path)!r} has a link function of its own, which no file can hold; pass it again: load(path, link=(f, f')).")
    model = kind(**(params | ({} if link is None else {"link": link})))
    for name in ARRAYS:
        setattr(model, name, arrays.get(name))
    for name, value in header["fitted"].items():
        setattr(model, name, value)
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.classes_ = np.array(header["classes"])
    model.pairing_ = None if header["pairing"] is None else Pairing(**header["pairing"])
    return model


def _read(path: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    name = str(path)
    if not Path(path).is_file():
        raise PairscoreError(f"there is no model file {name!r}; check the path.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError, AttributeError, NotImplementedError) as error:
        raise PairscoreError(f"{name!r} is no complete model file ({error}); it may be cut short or of another kind: save the model again.") from None
    try:
        header = json.loads(arrays.pop("header").tobytes())
        version = header["pairscore_model"]
    except (KeyError, ValueError, TypeError):
        raise PairscoreError(f"{name!r} was not written by pairscore; give a file that RankRegression.save made.") from None
    if version != FORMAT:
        raise PairscoreError(f"{name!r} has model format {version}, and this version of pairscore reads format {FORMAT}; update pairscore or fit again.")
    return header, arrays
