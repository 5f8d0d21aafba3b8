"""A simulated study as files: items, comparisons, and the truth they came from.

It stands here and not with the population in ``theory``, which touches no files.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.votes import Votes
from pairscore.errors import PairscoreError
from pairscore.files.atomic import atomic_write
from pairscore.files.write import fill_table
from pairscore.messages import Setting
from pairscore.records import json_text
from pairscore.theory.population import Population


def simulate_study(
    population: Population,
    n_items: int,
    n_comparisons: int,
    folder: Path,
    *,
    seed: int,
    kind: str = "csv",
    **options: Any,
) -> list[Path]:
    """Draw a study, write it to a folder, and say which files these are.

    They are ``items``, ``comparisons`` (of the suffix ``kind``) and ``truth.json``. ``options`` are
    those of :meth:`Population.draw`. Items are called item1, item2, ...; those beyond ``n_items``
    are compared with none and give `split` its covariance.

    Parameters
    ----------
    population : Population
        The law of items and labels.
    n_items, n_comparisons : int
        N and M.
    folder : Path
        Where the files go.
    seed : int
        The same seed gives the same study.
    kind : {"csv", "parquet", "jsonl"}
        Of the two tables.
    options
        As in :meth:`Population.draw`.
    """
    items, votes = population.draw(
        n_items, n_comparisons, np.random.default_rng([seed, 1]), **options
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(
            f"the folder {str(folder)!r} cannot be created ({error.strerror})",
            "name another folder with " + Setting("folder"),
        ) from None
    names = np.array([f"item{number + 1}" for number in range(len(items))])
    features = {f"x{column + 1}": items[:, column] for column in range(population.n_features)}
    paths = [folder / f"items.{kind}", folder / f"comparisons.{kind}", folder / "truth.json"]
    with ExitStack() as stack:  # none of the files appears before all are written
        temporaries = [
            stack.enter_context(atomic_write(path, what))
            for path, what in zip(paths, ("the items", "the comparisons", "the truth"), strict=True)
        ]
        fill_table(temporaries[0], {"id": names, **features}, paths[0])
        fill_table(temporaries[1], _vote_columns(votes, names), paths[1])
        truth = _truth(population, n_items, n_comparisons, seed)
        temporaries[2].write_text(json_text(truth) + "\n", encoding="utf-8", newline="\n")
    return paths


def _vote_columns(votes: Votes, names: np.ndarray) -> dict[str, np.ndarray]:
    columns = {
        "left": names[votes.left],
        "right": names[votes.right],
        "winner": np.where(votes.outcome > 0, "left", "right"),
    }
    return columns if votes.judge is None else {**columns, "judge": votes.judge}


def _truth(population: Population, n_items: int, n_comparisons: int, seed: int) -> dict[str, Any]:
    names = ["noise", "slope", "c1", "item_effect", "judge_noise", "beta", "mean", "eigenvalues"]
    return {
        "n_items": n_items,
        "n_comparisons": n_comparisons,
        "seed": seed,
        "link": population.link.name,
        "lapse": population.link.lapse,
        **{name: getattr(population, name) for name in names},
    }
