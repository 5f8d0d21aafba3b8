"""Random studies under misleading names, codes and ids: what is read is the truth, or it is asked.

A wrong guess would turn a ranking upside down. A reader that guesses, as people would, fails here.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from pairscore import Comparisons
from pairscore.data.items import read_items
from pairscore.errors import PairscoreError
from pairscore.files.partitions import TablePartition
from pairscore.files.study import read_study
from pairscore.files.write import write_table
from pairscore.streaming.batches import BatchLayout, BatchReader
from pairscore.streaming.fit_stream import fit_stream
from pairscore.streaming.stream_job import ids_only

IDS = (
    *(["1", "2", "3", "4"], ["0", "1", "2", "3"], ["A", "B", "C", "D"], ["1", "2"], ["B", "A"]),
    *(["left", "right", "tie", "P4"], ["Left", "b", "c", "d"], ["P1", "P2", "P3", "P4"]),
    *(["links", "rechts", "x", "y"], ["home", "away", "none", "both"], ["a", "b", "c"]),
)
SIDES = (
    *(("left", "right"), ("Left", "Right"), ("right", "left"), ("model_a", "model_b")),
    *(("links", "rechts"), ("rechts", "links"), ("A", "B"), ("B", "A"), ("home", "away")),
    *(("1", "2"), ("first", "second"), ("winner A", "loser B"), ("loser 1", "winner 2")),
)
TOLD = ("preferred", "not preferred", "Verlierer", "Sieger", "worse", "better", "lost", "Winner ID")
CODES = (("1", "2"), ("2", "1"), ("A", "B"), ("0", "1"), ("L", "R"), ("left", "right"), ("-1", "1"))
TIES = ("tie", "Tie", "0", "C", "=", "gleich")
SEEDS = range(400)
SEEDS_OF_FILES = range(60)  # which take longer to read


@dataclass(frozen=True)
class Study:
    """A table of comparisons, what it means, and what its owner would answer."""

    ids: list[str]
    votes: dict[str, list[str]]
    outcomes: list[tuple[str, str, str | None]]  # the two items, and the winner
    names: dict[str, str]
    codes: dict[str, str]

    def is_true(self, votes, items):
        """Whether comparisons that were read say what the study means."""
        names = [str(name) for name in items.names]
        read = [
            ({names[a], names[b]}, None if y == 0 else names[a if y > 0 else b])
            for a, b, y in zip(votes.left, votes.right, votes.outcome, strict=True)
        ]
        return read == [({a, b}, won) for a, b, won in self.outcomes]


def draw(seed):
    """A study of a few comparisons, whose names, codes and ids mislead as far as they can."""
    rng = np.random.default_rng(seed)

    def one_of(options):
        return options[rng.integers(len(options))]

    ids, m = one_of(IDS), int(rng.integers(1, 12))
    sides = SIDES[0] if rng.random() < 0.3 else one_of(SIDES)
    a = rng.integers(0, len(ids), m)
    b = (a + rng.integers(1, len(ids), m)) % len(ids)
    first = rng.random(m) < 0.5
    tied = rng.random(m) < one_of((0.0, 0.2))
    tells_loser = rng.random() < 0.4
    named = first != tells_loser  # whether the entry is about the first side
    way = one_of(("id", "column", "code"))
    # columns that are called left and right are meant by these words
    codes = one_of(CODES)
    by_name = {side.casefold(): place for place, side in enumerate(sides)}
    if {code.casefold() for code in codes} == {*by_name}:
        codes = tuple(sorted(codes, key=lambda code: by_name[code.casefold()]))
    words = sides if way == "column" else codes
    tie = one_of([word for word in TIES if way != "code" or word not in codes])
    entries = [
        tie if t else (ids[x if n else y] if way == "id" else words[0 if n else 1])
        for x, y, n, t in zip(a, b, named, tied, strict=True)
    ]
    exactly = "loser" if tells_loser else "winner"
    told = one_of((exactly, exactly.title())) if rng.random() < 0.5 else one_of(TOLD)
    columns = {sides[0]: [ids[x] for x in a], sides[1]: [ids[y] for y in b], told: entries}
    if rng.random() < 0.3:
        columns["before"] = [ids[x] for x in rng.integers(0, len(ids), m)]
    if rng.random() < 0.3:
        columns["rank"] = [str(x) for x in rng.integers(1, 3, m)]
    order = rng.permutation(list(columns)).tolist()
    outcomes = [
        (ids[x], ids[y], None if t else ids[x if f else y])
        for x, y, f, t in zip(a, b, first, tied, strict=True)
    ]
    left, right = sides if [side.casefold() for side in sides] != ["right", "left"] else sides[::-1]
    names = {"left": left, "right": right, "loser" if tells_loser else "winner": told}
    side_of = {sides[0]: "left" if left == sides[0] else "right"}
    side_of[sides[1]] = "right" if side_of[sides[0]] == "left" else "left"
    meaning = (
        dict.fromkeys(entries, "id")
        if way == "id"
        else {word: side_of[side] for word, side in zip(words, sides, strict=True)}
    )
    meaning[tie] = "tie"
    study = Study(ids, {name: columns[name] for name in order}, outcomes, names, meaning)
    return study if not (way == "id" and tie in ids) else draw(seed + 10_000)


def of_files(study, folder, **given):
    write_table({"id": study.ids, "x": np.arange(float(len(study.ids)))}, folder / "items.csv")
    write_table(study.votes, folder / "votes.csv")
    read = read_study(folder / "items.csv", folder / "votes.csv", say=lambda text: None, **given)
    return read.votes, read.items


def of_frames(study, folder, vote_columns=None, winner_codes=None):
    items = {"id": study.ids, "x": np.arange(float(len(study.ids)))}
    names = dict(vote_columns or {})
    X, _ = Comparisons.from_frames(items, study.votes, winner_codes=winner_codes, **names)
    return X.votes, X.items


def of_stream(study, folder):
    items = read_items(pa.table({"id": study.ids, "x": np.arange(float(len(study.ids)))}))
    part = TablePartition(pa.table(study.votes), "votes.parquet")
    layout = BatchLayout.of_names(part.column_names(), {})
    reader = BatchReader(ids_only(items), layout)
    reader.refuse_possible_codes([part])
    (batch,) = reader.batches(part)
    return batch, items


def as_people_guess(study, folder):
    """The rival: the first column is left, a name tells who won, and 1 and A mean left."""
    sides = [name for name in study.votes if name in (study.names["left"], study.names["right"])]
    told = study.names.get("winner") or study.names["loser"]
    codes = {"1": 1, "A": 1, "L": 1, "left": 1, "2": -1, "B": -1, "R": -1, "right": -1}
    codes |= {sides[0]: 1, sides[1]: -1} | dict.fromkeys(TIES, 0)
    row = {id: number for number, id in enumerate(study.ids)}
    left, right = ([row[id] for id in study.votes[name]] for name in sides)
    outcome = []
    of_rows = (study.votes[name] for name in (told, *sides))
    for entry, a, b in zip(*of_rows, strict=True):
        side = {a: 1, b: -1}.get(entry, codes.get(entry))
        if side is None:
            raise PairscoreError("no known word")
        outcome.append(-side if told.casefold() in ("loser", "verlierer", "lost") else side)
    items = read_items({"id": study.ids, "x": np.arange(float(len(study.ids)))})
    return SimpleNamespace(left=left, right=right, outcome=outcome), items


def readings(reader, folder, seeds=SEEDS):
    """How many studies are read without an answer; and those that are read wrongly."""
    n_read, wrong = 0, []
    for seed in seeds:
        study = draw(seed)
        try:
            votes, items = reader(study, folder)
        except PairscoreError:
            continue
        n_read += 1
        if not study.is_true(votes, items):
            wrong.append(seed)
    return n_read, wrong


@pytest.mark.parametrize("reader", [of_files, of_frames, of_stream])
def test_what_is_read_without_an_answer_is_the_truth(reader, tmp_path):
    seeds = SEEDS_OF_FILES if reader is of_files else SEEDS
    n_read, wrong = readings(reader, tmp_path, seeds)
    assert wrong == []
    assert n_read >= len(seeds) / 20


def test_a_reader_that_guesses_turns_rankings_upside_down(tmp_path):
    n_read, wrong = readings(as_people_guess, tmp_path)
    assert len(wrong) > n_read / 5


@pytest.mark.parametrize("reader", [of_files, of_frames])
def test_what_is_answered_is_read(reader, tmp_path):
    for seed in SEEDS_OF_FILES if reader is of_files else SEEDS:
        study = draw(seed)
        votes, items = reader(study, tmp_path, vote_columns=study.names, winner_codes=study.codes)
        assert study.is_true(votes, items), seed


# -- the same names, written in another way --------------------------------------------------------


def three_ways(items, votes, folder):
    """A study with tables of text as files in memory, as dataframes, and as a stream."""
    for name, table in (("items", items), ("votes", votes)):
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    paths = str(folder / "items.csv"), str(folder / "votes.csv")
    return {
        "files": lambda: read_study(*paths, say=lambda text: None).votes,
        "frames": lambda: Comparisons.from_frames(items, votes)[0].votes,
        "stream": lambda: fit_stream(*paths, method="pooled"),
    }


def numbered_study(n=12, first=0):
    """Items without ids, and comparisons that count them from ``first``."""
    rng = np.random.default_rng(5)
    left = rng.integers(0, n, 200)
    right = (left + rng.integers(1, n, 200)) % n
    items = {"x": (rng.normal(size=n) + 0.5).tolist(), "y": (rng.normal(size=n) + 0.5).tolist()}
    winner = np.where(rng.random(200) < 0.5, "left", "right").tolist()
    votes = {"left": (left + first).tolist(), "right": (right + first).tolist(), "winner": winner}
    return items, votes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["files", "frames", "stream"])
def test_items_counted_from_1_are_refused(way, tmp_path):
    three_ways(*numbered_study(), tmp_path)[way]()
    with pytest.raises(PairscoreError, match="the numbers there run from 1 to 12"):
        three_ways(*numbered_study(first=1), tmp_path)[way]()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["files", "frames", "stream"])
@pytest.mark.parametrize("column", ["id", "code"])
@pytest.mark.parametrize("of_items", [True, False])
def test_ids_that_differ_in_zeros_in_front_are_asked_about(way, column, of_items, tmp_path):
    """As row numbers, 7 would be another item than 007."""
    items, votes = numbered_study()
    order = np.random.default_rng(6).permutation(12).tolist()
    exact = [f"{number:03d}" for number in order]
    sides = {side: [f"{number:03d}" for number in votes[side]] for side in ("left", "right")}
    alike = three_ways({column: exact} | items, votes | sides, tmp_path)[way]
    assert alike() is not None
    ids = {column: exact if of_items else order}
    with pytest.raises(PairscoreError, match="zeros in front"):
        three_ways(ids | items, votes if of_items else votes | sides, tmp_path)[way]()
