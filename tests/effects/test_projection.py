"""Context that belongs partly to the items."""

import numpy as np

from pairscore.effects.projection import project_on_items
from tests.effects.rows import make_rows, random_pairs


def incidence(rows):
    B = np.zeros((len(rows.left), len(rows.X)))
    B[np.arange(len(B)), rows.left] = 1
    B[np.arange(len(B)), rows.right] -= 1
    return B


def test_the_projection_is_that_of_least_squares_net_of_the_features():
    rng = np.random.default_rng(0)
    left, right = random_pairs(rng, 15, 80)
    rows = make_rows(
        rng.normal(size=(15, 2)),
        left,
        right,
        np.ones(80),
        context=rng.normal(size=(80, 1)),
        side=True,
    )
    columns, B = np.hstack([rows.context, rows.sides.toarray()]), incidence(rows)
    found = project_on_items(rows, columns)
    p = np.linalg.pinv(B) @ columns
    rest = columns - B @ p
    np.testing.assert_allclose(
        found.rest, np.sum(rest**2, axis=0) / np.sum(columns**2, axis=0), atol=1e-6
    )
    k = np.abs(B).sum(axis=0)
    design = np.column_stack([np.ones(15), rows.X])
    fitted = np.linalg.solve(design.T @ (k[:, None] * design), design.T @ (k[:, None] * p))
    np.testing.assert_allclose(found.values, p - design @ fitted, atol=1e-3)


def test_a_property_of_the_items_leaves_nothing():
    rng = np.random.default_rng(1)
    left, right = random_pairs(rng, 20, 100)
    length = rng.normal(size=20)
    rows = make_rows(
        rng.normal(size=(20, 2)),
        left,
        right,
        np.ones(100),
        context=(length[left] - length[right])[:, None],
    )
    assert project_on_items(rows, rows.context).rest[0] < 1e-6


def test_disjoint_pairs_leave_nothing():
    rng = np.random.default_rng(2)
    left = np.arange(0, 40, 2)
    rows = make_rows(
        rng.normal(size=(40, 1)), left, left + 1, np.ones(20), context=rng.normal(size=(20, 1))
    )
    assert project_on_items(rows, rows.context).rest[0] < 1e-6
