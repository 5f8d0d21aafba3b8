"""Small studies in files, and their fits in memory and in parts."""

import warnings

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from pairscore import RankRegression, fit_stream
from pairscore.streaming import first_pass, stream_job


def draw(seed=0, n=120, d=3, m=1500, ties=0.1, weights=True, text=False):
    """Items of which a third are never compared, with effects of items and of the side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 3, d) + 5
    scores = X @ np.linspace(1, -0.5, d) + 0.4 * rng.normal(size=n)
    compared = 2 * n // 3
    left = rng.integers(0, compared, m)
    right = (left + rng.integers(1, compared, m)) % compared
    won = rng.random(m) < 1 / (1 + np.exp(-(scores[left] - scores[right] + 0.3)))
    outcome = np.where(rng.random(m) < ties, 0, np.where(won, 1, -1))
    ids = np.array([f"item {row}" for row in range(n)]) if text else 7 + 3 * np.arange(n)
    votes = {
        "left": ids[left],
        "right": ids[right],
        "winner": np.array(["right", "tie", "left"])[outcome + 1],
    }
    if weights:
        votes["weight"] = rng.choice([0.5, 1.0, 2.0], m)
        votes["count"] = rng.integers(1, 4, m)
    items = {"id": ids} | {f"x{column}": X[:, column] for column in range(d)}
    return pa.table(items), pa.table(votes)


def rare_feature(seed=11, m=1500, ties=0.1):
    """A study whose last feature few items have, which win against any item without it.

    Those with it are compared with each other too, so that only one direction is separated.
    """
    items, votes = draw(seed, m=m, ties=ties)
    rng = np.random.default_rng(seed)
    has = (rng.random(len(items)) < 0.15).astype(float)
    left, right = ((votes[side].to_numpy() - 7) // 3 for side in ("left", "right"))
    ahead, winner = has[left] - has[right], votes["winner"].to_numpy(zero_copy_only=False).copy()
    winner[ahead > 0], winner[ahead < 0] = "left", "right"
    return items.append_column("rare", [has]), votes.set_column(2, "winner", [winner])


def write(folder, items, votes, n_files=3, kind="parquet", group=200):
    """Write both tables; returns the name of the item file and a pattern of the others."""
    folder.mkdir(exist_ok=True)
    rows = -(-len(votes) // n_files)
    for number in range(n_files):
        part, path = votes.slice(number * rows, rows), str(folder / f"votes{number}.{kind}")
        if kind == "parquet":
            parquet.write_table(part, path, row_group_size=group)
        else:
            csv.write_csv(part, path)
    path = str(folder / f"items.{kind}")
    parquet.write_table(items, path) if kind == "parquet" else csv.write_csv(items, path)
    return path, str(folder / f"votes*.{kind}")


def in_parts(monkeypatch, sample=300, partition_rows=300):
    """Samples and partitions so small that a few hundred comparisons are many."""
    monkeypatch.setattr(first_pass, "SAMPLE", sample)
    monkeypatch.setattr(stream_job, "PARTITION_ROWS", partition_rows)


def fit_both(items, votes, files, settings, **stream):
    """The fit in memory, as exact as it can be, and the one in parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = RankRegression(**settings, tol=1e-14).fit(items, votes)
        parts = fit_stream(*files, **settings, **({"memory": 1e5} | stream))
    return whole, parts


def assert_same_fit(parts, whole, rtol=1e-9):
    """Coefficients to nine digits, standard errors to five, and all else that a model keeps."""
    scale = np.abs(whole.coef_).max()
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=rtol, atol=rtol * scale)
    for name in ("std_errors_", "covariance_"):
        ours, theirs = getattr(parts, name), getattr(whole, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(
                ours, theirs, rtol=1e-5, atol=1e-5 * np.nanmax(np.abs(theirs))
            )
    names = ("agreement_", "noise_", "tie_share_", "decided_scale_", "guard_", "n_comparisons_")
    for name in (*names, "n_items_", "feature_mean_", "feature_sd_", "feature_min_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-6)
    if whole.side_effect_ is not None:
        np.testing.assert_allclose(parts.side_effect_, whole.side_effect_, rtol=rtol, atol=rtol)
    if whole.side_effect_std_error_ is not None:
        errors = parts.side_effect_std_error_, whole.side_effect_std_error_
        np.testing.assert_allclose(*errors, rtol=1e-5)
    np.testing.assert_allclose(parts.fitted_scores_, whole.fitted_scores_, rtol=1e-5)
    ours, theirs = parts.likelihood_, whole.likelihood_
    assert ours.reason == theirs.reason
    if theirs.value is not None:
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-9)
    if whole.pairing_ is not None:
        values = [list(vars(model.pairing_).values()) for model in (parts, whole)]
        np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-9)
