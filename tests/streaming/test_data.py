"""The first pass with its checkpoint."""

import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.streaming import data as stream_data
from pairscore.streaming.passes import TallyTask
from tests.streaming.studies import draw, in_parts, write


def test_a_fit_that_was_ended_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    monkeypatch.setattr(stream_data, "PARTS_AT_ONCE", 1)
    items, votes = draw()
    files, checkpoint = write(tmp_path, items, votes), tmp_path / "checkpoint.npz"
    whole = fit_stream(*files, memory=1e5)
    usual, done = TallyTask.__call__, []

    def ended(self, part):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(part.number)
        return usual(self, part)

    monkeypatch.setattr(TallyTask, "__call__", ended)
    with pytest.raises(KeyboardInterrupt):
        fit_stream(*files, memory=1e5, checkpoint=checkpoint)
    assert checkpoint.exists()
    seen = []
    monkeypatch.setattr(
        TallyTask, "__call__", lambda self, part: seen.append(part.number) or usual(self, part)
    )
    again = fit_stream(*files, memory=1e5, checkpoint=checkpoint)
    assert min(seen) == 3
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.covariance_, whole.covariance_)
    assert sorted(path.name for path in tmp_path.iterdir() if "checkpoint" in path.name) == []


@pytest.mark.parametrize(
    ("votes", "asked", "sentence"),
    [
        ({"winner": ["tie", "tie"]}, {"ties": "drop"}, "every comparison is a tie"),
        ({"winner": ["left", "tie"], "weight": [0.0, 0.0]}, {}, "nothing to learn from"),
        ({"winner": ["left", "tie"], "weight": [1e200, 1.0]}, {}, "too far apart"),
    ],
)
def test_comparisons_that_say_nothing_are_refused(votes, asked, sentence):
    items = pa.table({"id": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    votes = pa.table({"left": [1, 2], "right": [2, 3]} | votes)
    with pytest.raises(PairscoreError, match=sentence):
        fit_stream(items, votes, **asked)


def test_settings_that_are_not_columns_are_refused():
    with pytest.raises(PairscoreError, match="there is no setting 'speed'"):
        fit_stream([[1.0], [2.0]], {"left": [0], "right": [1], "winner": ["left"]}, speed=3)


def test_covariance_items_may_be_named(tmp_path):
    items, votes = draw(9)
    rows = np.arange(90, 120)
    model = fit_stream(items, votes, method="split", covariance_items=rows)
    from pairscore import RankRegression

    ids = np.array(items["id"].to_pylist())[rows]
    whole = RankRegression("split").fit(items, votes, covariance_items=ids)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-5)


KILLED = """
import os, signal, sys
from pairscore import fit_stream
from pairscore.streaming import data
from pairscore.streaming.passes import TallyTask
data.PARTS_AT_ONCE, data.PARTITION_ROWS, data.SAMPLE = 1, 500, 300
usual, done = TallyTask.__call__, []
def mortal(self, part):
    result = usual(self, part)
    done.append(part)
    if len(done) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
if sys.argv[4] == "kill":
    TallyTask.__call__ = mortal
fit_stream(*sys.argv[1:3], memory=1e5, checkpoint=sys.argv[3]).save(sys.argv[5])
"""


def test_a_fit_that_is_killed_again_and_again_gives_the_same(tmp_path):
    files, results = write(tmp_path, *draw(10)), []
    for how in ("never", "kill"):
        model, checkpoint = str(tmp_path / f"{how}.npz"), str(tmp_path / f"{how}.checkpoint")
        command = [sys.executable, "-c", KILLED, *files, checkpoint, how, model]
        codes = []
        while 0 not in codes:
            codes.append(subprocess.run(command, timeout=300, check=False).returncode)
            assert len(codes) < 20
        assert set(codes[:-1]) <= {-signal.SIGKILL}
        assert len(codes) == (1 if how == "never" else 3)
        with np.load(model) as file:
            results.append(
                {name: file[name] for name in file.files if file[name].dtype.kind == "f"}
            )
    for name, array in results[0].items():
        np.testing.assert_array_equal(array, results[1][name])


def test_every_task_can_go_to_another_process_and_sums_come_back(monkeypatch):
    import pickle

    from pairscore.parts.engines import LocalEngine

    class Pickling:
        """An engine whose tasks, parts and sums travel as bytes, as on a cluster."""

        is_local = True

        def total(self, task, parts, done=None):
            def far(part):
                seen.add(type(task).__name__)
                there, what = pickle.loads(pickle.dumps((task, part)))
                return pickle.loads(pickle.dumps(there(what)))

            return LocalEngine(1).total(far, parts, done)

    in_parts(monkeypatch)
    items, votes = draw(11)
    seen = set()
    for method in ("pooled", "split", "paired", "mle"):
        for link in ("logit", "probit"):
            asked = {"method": method, "link": link, "side_effect": True, "memory": 1e5}
            ours = fit_stream(items, votes, engine=Pickling(), **asked)
            theirs = fit_stream(items, votes, n_jobs=1, **asked)
            np.testing.assert_array_equal(ours.coef_, theirs.coef_)
            np.testing.assert_array_equal(ours.covariance_, theirs.covariance_)
    assert seen == {"TallyTask", "ScoreTask", "CountTask", "PairTask"}
