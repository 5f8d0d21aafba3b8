"""Model files: the same model bit for bit, never pickle, a clear sentence for other files."""

import errno
import io
import json
import os
import pickle
from copy import deepcopy
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pairscore
from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.core.links import get_link
from pairscore.errors import FewItemsWarning, PairscoreWarning, SeparatedFeaturesWarning
from pairscore.messages import Setting
from pairscore.model import file as files_of_models
from pairscore.model.fit import kept_types
from tests import forged
from tests.evaluation.bradley_terry import draw_study
from tests.golden.record import HERE, OLD_MODELS
from tests.model.test_fit import tables
from tests.model.test_update import assert_same
from tests.tie_cells import draw_outcomes, draw_pairs

METHODS = ("split", "pooled", "paired", "mle")


def cauchit(x):
    return 0.5 + np.arctan(x) / np.pi


def cauchit_slope(x):
    return 1 / (np.pi * (1 + x * x))


@cache
def study():
    """Sixty compared items, thirty others, and votes with sides, ties and counts."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3)) + 5.0
    left = rng.integers(0, 60, 500)
    right = (left + rng.integers(1, 60, 500)) % 60
    lead = (X[left] - X[right]) @ [1.0, -0.5, 0.1] + 0.3 + rng.logistic(size=500)
    winner = np.select([lead > 0.2, lead < -0.2], ["left", "right"], "tie")
    votes = pd.DataFrame(
        {"left": left, "right": right, "winner": winner, "count": rng.integers(1, 3, 500)}
    )
    items = pd.DataFrame(X, columns=["a", "b", "a feature with a long name, and an ä"])
    return items, votes


def fitted(**options):
    return RankRegression(**options).fit(*study())


def fitted_to_differences(labels, columns=None):
    items, votes = study()
    values = items.to_numpy()
    differences = values[votes["left"]] - values[votes["right"]]
    if columns:
        differences = pd.DataFrame(differences, columns=columns)
    return RankRegression(side_effect=True).fit(
        differences, np.asarray(labels)[(votes["winner"] == "left").to_numpy().astype(int)]
    )


def fitted_with_a_repeated_feature():
    items, votes = study()
    with pytest.warns(pairscore.PairscoreWarning):
        return RankRegression("paired").fit(items.assign(again=items["a"]), votes)


MODELS = {
    **{
        f"{method} {link}": lambda method=method, link=link: fitted(method=method, link=link)
        for method in METHODS
        for link in ("logit", "probit")
    },
    **{
        f"{method} with a side effect": lambda method=method: fitted(
            method=method, side_effect=True
        )
        for method in METHODS
    },
    **{
        f"{method} without intervals": lambda method=method: fitted(method=method, inference=None)
        for method in METHODS
    },
    "classical intervals and a ridge": lambda: fitted(inference="model", l2=np.float64(0.1)),
    "shrinkage": lambda: fitted(method="paired", shrinkage="oas"),
    "unknown intervals and a warning": fitted_with_a_repeated_feature,
    "differences": lambda: fitted_to_differences([-1, 1]),
    "differences with names": lambda: fitted_to_differences([0, 1], ["a", "b", "c"]),
    "differences with text classes": lambda: fitted_to_differences(["lost", "won"]),
    "differences with object classes": lambda: fitted_to_differences(
        np.array(["lost", "won"], dtype=object)
    ),
    "differences with small integer classes": lambda: fitted_to_differences(
        np.array([0, 1], dtype=np.int8)
    ),
    "differences with true and false": lambda: fitted_to_differences([False, True]),
    "slips": lambda: fitted(lapse="auto"),
    "slips that are given": lambda: fitted(lapse=0.1, link="probit"),
    "a link of one's own": lambda: fitted(link=(cauchit, cauchit_slope)),
}
model_of = cache(lambda name: MODELS[name]())


def bits(value):
    """A value so that equal means equal to the last bit, NaN included."""
    if isinstance(value, np.ndarray):
        return (
            value.dtype,
            value.shape,
            value.tolist() if value.dtype == object else value.tobytes(),
        )
    return value.hex() if isinstance(value, float) else value


def contents(model):
    """Everything that a model holds, but its comparisons."""
    held = vars(model) | {name: model.result_.kept(name) for name in kept_types()}
    held["record"] = model.record_
    return {
        key: bits(value) for key, value in held.items() if key not in ("result_", "comparisons")
    }


def saved(model, path):
    model.save(path)
    return path


def arrays_of(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: bits(file[name]) for name in file.files}


@pytest.fixture
def model_file(tmp_path):
    return saved(model_of("mle logit"), tmp_path / "model.npz")


# -- there and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_bit_for_bit(name, tmp_path):
    model = model_of(name)
    link = model.link if isinstance(model.link, tuple) else None
    back = load(saved(model, tmp_path / "model.npz"), link)
    assert back.comparisons_ is None  # they travel if asked: test_update
    assert contents(back) == contents(model)
    assert back.get_params() == model.get_params()
    assert arrays_of(saved(back, tmp_path / "again.npz")) == arrays_of(tmp_path / "model.npz")


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_says_the_same_to_the_last_bit(name, tmp_path):
    model = model_of(name)
    back = load(
        saved(model, tmp_path / "model.npz"), model.link if isinstance(model.link, tuple) else None
    )
    new = np.random.default_rng(4).normal(size=(40, model.n_features_in_)) + 5.0
    votes = np.column_stack([np.arange(20), np.arange(20, 40)])
    new_frame = pd.DataFrame(
        new, columns=getattr(model, "feature_names_in_", range(model.n_features_in_))
    )
    X = new_frame if model.n_items_ is None else Comparisons.from_frames(new, votes)[0]
    assert str(back.summary()) == str(model.summary())
    assert bits(back.decision_function(X)) == bits(model.decision_function(X))
    assert bits(back.predict_proba(X)) == bits(model.predict_proba(X))
    assert bits(back.predict(X)) == bits(model.predict(X))
    assert bits(back.rank(new)) == bits(model.rank(new))
    assert repr(back.difference(new[0], new[1])) == repr(model.difference(new[0], new[1]))


def test_a_path_is_a_text_or_a_path_and_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = model_of("mle logit")
    model.save("model")
    model.save(tmp_path / "model.npz")
    assert sorted(os.listdir()) == ["model", "model.npz"]
    assert (
        bits(load("model").coef_)
        == bits(RankRegression.load(tmp_path / "model.npz").coef_)
        == bits(model.coef_)
    )


def test_a_loaded_model_can_be_cloned_and_fitted_again(model_file):
    back = load(model_file)
    assert bits(clone(back).fit(*study()).coef_) == bits(model_of("mle logit").coef_)


def test_the_file_is_as_readable_as_any_other(tmp_path, model_file):
    (tmp_path / "other").write_bytes(b"")
    assert model_file.stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("path", [None, 3, 3.5, [], b"model.npz", io.BytesIO(), "model\0.npz"])
def test_what_is_no_path_is_refused(path):
    for use in (load, model_of("mle logit").save):
        with pytest.raises(PairscoreError) as caught:
            use(path)
        assert (
            str(caught.value)
            == f"the path of a model file is {path!r}; give the file's name as text or as a Path."
        )


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        RankRegression().save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_link_of_ones_own_must_be_given_again(tmp_path):
    path = saved(model_of("a link of one's own"), tmp_path / "model.npz")
    with pytest.raises(PairscoreError) as caught:
        load(path)
    assert (
        str(caught.value)
        == f"the model in {str(path)!r} has a link function written in Python, which no file can"
        f" hold;"
        " pass it again, as link of load."
    )
    with pytest.raises(PairscoreError, match="link is 'cauchit'"):
        load(path, link="cauchit")
    assert load(path, link=(cauchit, cauchit_slope)).link == (cauchit, cauchit_slope)


@pytest.mark.parametrize(
    ("fit_link", "later"),
    [
        ("logit", "probit"),
        ("probit", "logit"),
        ("logit", (cauchit, cauchit_slope)),
        ((cauchit, cauchit_slope), "logit"),
    ],
)
def test_the_link_of_the_fit_counts_whatever_is_set_later(fit_link, later, tmp_path):
    model, changed = (fitted(link=fit_link) for _ in range(2))
    changed.set_params(link=later)
    X, _ = Comparisons.from_frames(*study())
    a, b = study()[0][:1], study()[0][1:2]
    own = next((link for link in (fit_link, later) if isinstance(link, tuple)), None)
    back = load(saved(changed, tmp_path / "model.npz"), own)
    assert back.get_params() == changed.get_params()
    assert back.link_ == changed.link_ == model.link_ == get_link(fit_link)
    for one in (changed, back):
        assert bits(one.predict_proba(X)) == bits(model.predict_proba(X))
        assert one.difference(a, b) == model.difference(a, b)
        assert str(one.summary()) == str(model.summary())
    # the setting counts from the next fit on
    assert bits(changed.fit(*study()).predict_proba(X)) != bits(model.predict_proba(X))


def test_a_file_from_before_the_fitted_link_was_kept_has_the_link_of_its_setting(tmp_path):
    path = saved(model_of("mle probit"), tmp_path / "model.npz")
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    del header["link"]
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    assert load(path).link_ == get_link("probit")


def test_another_link_than_that_of_the_fit_is_refused(model_file):
    with pytest.raises(
        PairscoreError,
        match=(
            r"was fitted with link='logit', not the one given; load it without link, or fit"
            r" again\.$"
        ),
    ):
        load(model_file, link="probit")
    assert load(model_file, link="logit").link == "logit"


def test_a_fitted_model_pickles_with_its_link():
    for name in ("mle logit", "mle probit", "a link of one's own"):
        assert pickle.loads(pickle.dumps(model_of(name))).link_ == model_of(name).link_


# -- nothing in it is executed ---------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_file_holds_plain_arrays_only(name, tmp_path):
    with np.load(saved(model_of(name), tmp_path / "model.npz"), allow_pickle=False) as file:
        assert {file[key].dtype.kind for key in file.files} <= {"f", "b", "u"}
        assert json.loads(file["header"].tobytes())["pairscore_model"] == 1


class Trap:
    """Makes a file if it is ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_trap_in_a_file_does_not_go_off(tmp_path):
    trap, path = Trap(tmp_path / "sprung"), tmp_path / "model.npz"
    np.savez(path, header=np.array([trap], dtype=object))
    assert_refused(path, "cut short or of another kind")
    path.write_bytes(pickle.dumps(trap))
    assert_refused(path, "cut short or of another kind")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


# -- files that are no models ----------------------------------------------------------------------


def assert_refused(path, reason):
    """One sentence that names the file, the reason, and after a semicolon what to do."""
    with pytest.raises(PairscoreError) as caught:
        load(path)
    sentence = str(caught.value)
    assert repr(str(path)) in sentence
    assert reason in sentence
    rest = sentence.replace(repr(str(path)), "")
    assert rest.endswith(".")
    assert "; " in rest
    assert ". " not in rest
    assert "\n" not in rest


def test_a_file_cut_short_anywhere_is_refused(model_file):
    content = model_file.read_bytes()
    for length in range(len(content)):
        model_file.write_bytes(content[:length])
        assert_refused(model_file, "cut short or of another kind")


def test_a_damaged_byte_is_noticed_or_harmless(model_file):
    content = model_file.read_bytes()
    truth = contents(load(model_file))
    noticed = 0
    places = range(0, len(content), 3)
    for place in places:
        model_file.write_bytes(
            content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        )
        try:
            assert contents(load(model_file)) == truth, place
        except PairscoreError:
            noticed += 1
    assert noticed > 0.8 * len(places)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def with_header(text, **arrays):
    return npz(header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def npy():
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    return buffer.getvalue()


NO_ARCHIVE = {
    "nothing": b"",
    "text": b"id,score\n1,2\n",
    "a picture": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
    "an archive's first bytes": b"PK\x03\x04",
    "a single array": npy(),
    "zeros": bytes(5000),
}
NOT_OURS = {
    "no header": npz(coef_=np.ones(3)),
    "a header of another program": with_header('{"format": "other"}'),
    "a list as header": with_header("[1, 2]"),
    "a number as header": with_header("7"),
    "text as header": with_header("hello"),
    "bytes as header": npz(header=np.full(9, 255, dtype=np.uint8)),
    "a bottomless header": with_header("[" * 100_000),
    "our mark alone": with_header('{"pairscore_model": 1}'),
    "our mark and wrong kinds": with_header('{"pairscore_model": 1, "arrays": 3, "params": []}'),
    "settings unknown to us": with_header(
        '{"pairscore_model": 1, "arrays": [], "params": {"link": "logit", "speed": 3}}'
    ),
}


@pytest.mark.parametrize("kind", NO_ARCHIVE)
def test_a_file_of_another_kind_is_refused(kind, tmp_path):
    (tmp_path / "model.npz").write_bytes(NO_ARCHIVE[kind])
    assert_refused(
        tmp_path / "model.npz",
        "is not a complete model file: it is cut short or of another kind; give another file,"
        " or fit again",
    )


@pytest.mark.parametrize("kind", NOT_OURS)
def test_an_archive_of_another_program_is_refused(kind, tmp_path):
    (tmp_path / "model.npz").write_bytes(NOT_OURS[kind])
    assert_refused(
        tmp_path / "model.npz",
        "was not written by pairscore; give a file that RankRegression.save made",
    )


@pytest.mark.parametrize("lost", ["coef_", "covariance_"])
def test_a_model_that_lost_an_array_is_refused(lost, model_file):
    with np.load(model_file) as file:
        arrays = {name: file[name] for name in file.files if name != lost}
    model_file.write_bytes(npz(**arrays))
    assert_refused(model_file, "is not a complete model file")


def rewritten(path, without_checksum, **changes):
    """The file with other arrays; files of before have no checksum."""
    with np.load(path) as file:
        arrays = dict(file) | changes
    header = json.loads(arrays.pop("header").tobytes())
    assert set(changes) <= set(header["arrays"])
    if without_checksum:
        header.pop("checksum", None)
    path.write_bytes(with_header(json.dumps(header), **arrays))
    return path


def with_nan(array):
    return np.where(np.arange(array.size).reshape(array.shape) == 1, np.nan, array)


DAMAGES = {
    "coefficients that are NaN": {"coef_": with_nan},
    "coefficients of another length": {"coef_": lambda coef: coef[:2]},
    "an infinite mean": {"feature_mean_": lambda mean: mean + np.inf},
    "half a covariance": {"covariance_": lambda covariance: covariance[:2]},
    "a covariance in one line": {"covariance_": np.ravel},
    "a missing covariance": {"covariance_": with_nan},
    "text": {"coef_": lambda coef: coef.astype(str)},
    "all of another length": dict.fromkeys(
        ["coef_", "feature_mean_", "std_errors_"], lambda array: array[:2]
    ),
    "comparisons of another number": {"data_left": lambda left: left[:-1]},
    "features of other items": {"data_values": lambda values: values[:, :2]},
}


@pytest.mark.parametrize("without_checksum", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_with_damaged_arrays_does_not_load_without_a_word(
    damage, without_checksum, tmp_path
):
    path = tmp_path / "model.npz"
    model_of("mle logit").save(path, data=True)
    with np.load(path) as file:
        changes = {name: change(file[name]) for name, change in DAMAGES[damage].items()}
    assert_refused(rewritten(path, without_checksum, **changes), "is not the model that was saved")


def test_a_number_that_was_changed_is_noticed(model_file):
    coef = model_of("mle logit").coef_ * [1, 1, 1 + 1e-15]
    assert_refused(
        rewritten(model_file, False, coef_=coef),
        "the numbers in it were changed; restore the file, or fit again",
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_file_of_before_without_a_checksum_loads(name, tmp_path):
    path = rewritten(saved(model_of(name), tmp_path / "model.npz"), True)
    link = (cauchit, cauchit_slope) if name == "a link of one's own" else None
    assert contents(load(path, link=link)) == contents(model_of(name))


def test_a_newer_format_asks_for_a_newer_pairscore(model_file):
    with np.load(model_file) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes()) | {"pairscore_model": 2}
    model_file.write_bytes(with_header(json.dumps(header), **arrays))
    assert_refused(
        model_file,
        "has model format 2, and this version of pairscore reads format 1; update pairscore or fit"
        " again",
    )


def test_no_file_and_a_directory_are_refused(tmp_path):
    assert_refused(
        tmp_path / "none.npz", "cannot be read (No such file or directory); check the path"
    )
    assert_refused(tmp_path, "cannot be read (Is a directory); check the path")


# -- a save that fails -----------------------------------------------------------------------------


def full_disk(file, **arrays):
    file.write(b"half a mod")
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupted(file, **arrays):
    file.write(b"half a mod")
    raise KeyboardInterrupt


def test_a_full_disk_leaves_the_old_file_and_nothing_else(model_file, monkeypatch):
    before = model_file.read_bytes()
    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(PairscoreError) as caught:
        model_of("mle probit").save(model_file)
    assert (
        str(caught.value)
        == f"the model could not be saved as {str(model_file)!r} (No space left on device); choose"
        " a place that can be written to."
    )
    assert model_file.read_bytes() == before
    assert list(model_file.parent.iterdir()) == [model_file]


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(model_file, monkeypatch):
    before = model_file.read_bytes()
    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model_of("mle probit").save(model_file)
    assert model_file.read_bytes() == before
    assert list(model_file.parent.iterdir()) == [model_file]


def test_a_setting_that_no_file_can_hold_leaves_the_old_file_and_nothing_else(model_file):
    before = model_file.read_bytes()
    with pytest.raises(
        PairscoreError,
        match=(
            r"Fraction is not JSON serializable\); use plain numbers and text as parameters and"
            r" classes\.$"
        ),
    ):
        fitted().set_params(l2=Fraction(1, 2)).save(model_file)
    assert model_file.read_bytes() == before
    assert list(model_file.parent.iterdir()) == [model_file]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("no/such/model.npz", "No such file or directory"),
        ("model.npz/inside", "Not a directory"),
        ("", "Is a directory|Device or resource busy"),
    ],
)
def test_a_place_that_cannot_be_written_is_named_with_the_reason(place, reason, model_file):
    target = model_file.parent / place
    with pytest.raises(
        PairscoreError,
        match=(
            rf"could not be saved as '{target}' \(({reason})\); choose a place that can be written"
            r" to\.$"
        ),
    ):
        model_of("mle logit").save(target)
    assert list(model_file.parent.iterdir()) == [model_file]
    assert not list(model_file.parent.parent.glob(".pairscore-*"))


def test_saving_over_a_model_replaces_it(model_file):
    model_of("mle probit").save(model_file)
    assert load(model_file).link == "probit"
    assert list(model_file.parent.iterdir()) == [model_file]


def test_the_data_travel_in_the_file_if_asked(tmp_path):
    items, votes = tables(tie=0.3)
    settings = {"context": ["rest"], "ties": "davidson"}
    model = RankRegression(**settings).fit(items, votes[:1000])
    model.save(tmp_path / "with.npz", data=True)
    model.save(tmp_path / "without.npz")
    again = load(tmp_path / "with.npz")
    again.update(votes[1000:])
    assert_same(again, RankRegression(**settings).fit(items, votes))
    with pytest.raises(PairscoreError, match="save it with data=True"):
        load(tmp_path / "without.npz").update(votes[1000:])
    assert (tmp_path / "without.npz").stat().st_size < (tmp_path / "with.npz").stat().st_size / 3


def test_odd_ids_are_not_kept_in_a_file(tmp_path):
    items, votes = tables(n=30, m=200)
    mixed = items.assign(
        id=[("a", number) if number == 0 else name for number, name in enumerate(items["id"])]
    )
    data = Comparisons.from_frames(mixed, votes[~votes.isin(["item 0"]).any(axis=1)])[0]
    model = RankRegression(inference="model").fit(data)
    with pytest.raises(PairscoreError, match="neither all text nor all numbers"):
        model.save(tmp_path / "m.npz", data=True)
    assert not (tmp_path / "m.npz").exists()


def test_a_file_of_before_loads_whatever_was_set_after_the_fit(tmp_path):
    """Older headers have parameters only, which ``set_params`` may have changed to anything."""
    path = saved(model_of("mle logit"), tmp_path / "model.npz")
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "header"}
        header = json.loads(file["header"].tobytes())
    settings = header.pop("settings")
    header["params"] |= {"shrinkage": 0.5, "l2": -1}
    path.write_bytes(npz(header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays))
    back = load(path)
    assert (back.shrinkage, back.l2) == (0.5, -1)
    assert (back.l2_, back.result_.settings.method) == (settings["l2"], settings["method"])
    assert back.coef_.tobytes() == model_of("mle logit").coef_.tobytes()


@pytest.mark.parametrize("name", OLD_MODELS)
def test_a_model_saved_before_the_scale_of_decided_comparisons_has_the_scale_one(name):
    assert load(HERE / name).decided_scale_ == 1.0


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_the_scale_of_decided_comparisons_is_in_the_file(ties, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    left, right = draw_pairs(rng, 0, 60, 900)
    data = Comparisons(X, left, right, draw_outcomes(rng, X[left, 0] - X[right, 0], "at random"))
    model = RankRegression(ties=ties).fit(data)
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.decided_scale_ == model.decided_scale_ > 1.05
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))


def test_the_log_likelihood_goes_through_a_file_and_older_files_have_none(tmp_path):
    items, votes = draw_study(1)
    model = RankRegression().fit(items, votes)
    model.save(tmp_path / "model.npz", data=True)
    again = load(tmp_path / "model.npz")
    assert again.likelihood_ == model.likelihood_
    assert (again.loglik_, again.bic_) == (model.loglik_, model.bic_)
    np.testing.assert_array_equal(
        again.confidence_intervals(method="profile"), model.confidence_intervals(method="profile")
    )
    model.save(tmp_path / "alone.npz")
    with pytest.raises(PairscoreError, match="data=True"):
        load(tmp_path / "alone.npz").confidence_intervals(method="profile")
    for name in OLD_MODELS:
        with pytest.raises(PairscoreError, match="saved before log-likelihoods were kept"):
            load(HERE / name).loglik_  # noqa: B018


# -- warnings --------------------------------------------------------------------------------------


def warned_model():
    """A model with warnings that name settings."""
    items, votes = draw_study(1)
    model = RankRegression().fit(items, votes)
    remedy = ["set " + Setting("l2", 0.5), "drop " + Setting("categorical", ["a", "b"])]
    told = [SeparatedFeaturesWarning("'x' is large", remedy), FewItemsWarning("few items")]
    model.result_ = model.result_.with_kept(warnings=told)
    return model


def test_warnings_go_through_a_file_with_their_class_and_settings(tmp_path):
    model = warned_model()
    model.save(tmp_path / "m.npz")
    back = load(tmp_path / "m.npz")
    assert back.warnings_ == model.warnings_
    assert next(back.warnings_[0].message.settings()) == Setting("l2", 0.5)
    assert back.notes_ == [
        "'x' is large; set l2=0.5, or drop categorical=['a', 'b'].",
        "few items.",
    ]
    assert back.note_kinds_ == ["SeparatedFeaturesWarning", "FewItemsWarning"]


def test_texts_of_older_files_are_messages_without_settings(tmp_path):
    warned_model().save(tmp_path / "m.npz")
    arrays = forged.read(tmp_path / "m.npz")
    separated = "some direction in the features (or the side) explains every comparison that it"
    fitted_values = arrays["header"]["fitted"]
    del arrays["header"]["messages"]
    fitted_values["notes_"] = [f"{separated} touches; set l2.", "other"]
    fitted_values["note_kinds_"] = ["OfAnotherVersionWarning", "BadRow"]
    forged.write(tmp_path / "unknown.npz", arrays)
    back = load(tmp_path / "unknown.npz")
    assert {type(one) for one in back.warnings_} == {PairscoreWarning}
    assert back.notes_ == [f"{separated} touches; set l2.", "other."]
    del fitted_values["note_kinds_"]  # as version 0.1 had it
    forged.write(tmp_path / "first.npz", arrays)
    kinds = ["SeparatedFeaturesWarning", "PairscoreWarning"]
    assert load(tmp_path / "first.npz").note_kinds_ == kinds


# -- the kind of table -----------------------------------------------------------------------------


def named_study(n=12, m=150):
    rng = np.random.default_rng(3)
    names = [f"m{row}" for row in range(n)]
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp((right - left) / 4))
    items = {"id": names, "size": rng.normal(size=n)}
    votes = {
        "left": [names[row] for row in left],
        "right": [names[row] for row in right],
        "winner": ["left" if one else "right" for one in won],
    }
    return items, votes


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict"])
@pytest.mark.parametrize(("features", "data"), [(False, False), (False, True), (True, True)])
def test_a_ranking_is_of_the_kind_that_the_fitted_model_gave(kind, features, data, tmp_path):
    make = dict if kind == "dict" else partial(nw_frame, kind)
    items, votes = map(make, named_study())
    model = RankRegression().fit(items if features else None, votes)
    model.save(tmp_path / "model.npz", data=data)
    again = load(tmp_path / "model.npz")
    before, after = model.rank(), again.rank()
    assert type(after) is type(before)
    assert list(after["id"]) == list(before["id"])
    again.save(tmp_path / "again.npz", data=data)  # and what is saved again knows it too
    assert type(load(tmp_path / "again.npz").rank()) is type(before)


def nw_frame(kind, columns):
    return nw.from_dict(columns, backend=kind).to_native()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_without_the_library_of_the_table_a_ranking_is_a_dict(tmp_path, monkeypatch):
    votes = pd.DataFrame(named_study()[1])
    RankRegression().fit(None, votes).save(tmp_path / "model.npz")
    monkeypatch.setattr("pairscore.data.tables.find_spec", lambda name: None)
    assert isinstance(load(tmp_path / "model.npz").rank(), dict)


@pytest.mark.parametrize("name", OLD_MODELS)
def test_a_model_of_before_has_a_summary(name):
    """Of effects of comparisons it has the errors, and not what they share with coefficients."""
    assert "feature" in str(load(HERE / name).summary())


# -- forged files, with a checksum that fits -------------------------------------------------------

LAST = {  # by array: what its last entry becomes, and what is said of it
    "data_left": (60_000, "not from 0 to 89"),
    "data_right": (-1, "not from 0 to 89"),
    "data_outcome": (2, "not from -1 to 1"),
    "data_count": (-3, "not from 0 to"),
    "data_values": (np.inf, "not finite numbers"),
    "item_effects_pair_low": (10**6, "not from 0 to 89"),
    "item_effects_pair_high": (10**6, "not from 0 to 89"),
    "item_effects_pair_weight": (-1.0, "not from 0 to"),
    "item_effects_effect": (np.nan, "not finite numbers"),
    "coef_": (1e300, "not from -1e+100 to 1e+100"),
}
ENTRIES = {  # by place in the header: what it becomes, and what is said of it
    ("fitted", "n_items_"): (-4, "'n_items' is not from 0 to"),
    ("fitted", "agreement_"): ("high", "'agreement' is of another kind"),
    ("fitted", "pairing_"): (5, "'pairing' is of another kind"),
    ("fitted", "ridge_curve_"): ({"l2": [1.0]}, "'ridge_curve' is of another kind"),
    ("fitted", "record_", "reading"): ({"na": 5}, "'na' is of another kind"),
    ("settings", "ties"): ("coin", "'ties' has a value that no fit has"),
    ("settings", "side_effect"): (3, "'side_effect' has a value that no fit has"),
    ("item_effects", "sigma2"): (-1.0, "'sigma2' is below zero"),
    ("item_effects", "interval"): ([1.0], "'interval' is of another kind"),
    ("item_effects", "calibration"): ({"factor": [1.0]}, "'calibration' is of another kind"),
    ("item_effects", "calibration", "factor"): ([1.0, -1.0, 1.0], "values that no fit has"),
    ("item_effects", "calibration", "shift"): ([[], [1.0], []], "does not fit the context"),
    ("feature_names",): (["a"], "the names of features do not fit"),
    ("classes_dtype",): ("<U900000000", "the names of outcomes are of another kind"),
    ("likelihood", "data"): (5, "'data' is of another kind"),
}


@cache
def forgeable():
    """A file with all kinds of arrays, as :func:`tests.forged.read` has it."""
    with TemporaryDirectory() as folder:
        fitted(item_effects=True).save(Path(folder) / "m.npz", data=True)
        return forged.read(Path(folder) / "m.npz")


@pytest.mark.parametrize("name", LAST)
def test_an_entry_that_no_fit_has_is_refused_whatever_the_checksum(name, tmp_path):
    arrays, (entry, reason) = forgeable(), LAST[name]
    changed = arrays[name].copy()
    changed.reshape(-1)[-1] = entry
    assert_refused(forged.write(tmp_path / "m.npz", arrays | {name: changed}), reason)


@pytest.mark.parametrize("place", ENTRIES)
def test_a_value_that_no_fit_has_is_refused_whatever_the_checksum(place, tmp_path):
    entry, reason = ENTRIES[place]
    header = deepcopy(forgeable()["header"])
    inner = header
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = entry
    path = forged.write(tmp_path / "m.npz", forgeable() | {"header": header})
    assert_refused(path, reason)


def test_every_array_of_a_model_file_is_in_the_schema(tmp_path):
    """Of others nothing would be checked but their kind."""
    names = {name for name in forgeable() if name != "header"}
    for model in (model_of("mle with a side effect"), model_of("paired logit"), fit_of_judges()):
        model.save(tmp_path / "m.npz", data=True)
        names |= {name for name in forged.read(tmp_path / "m.npz") if name != "header"}
    context = {name for name in names if name.startswith(files_of_models.CONTEXT)}
    assert context
    assert names - context <= set(files_of_models.SCHEMA)


def fit_of_judges():
    items, votes = study()
    votes = votes.assign(judge=np.arange(len(votes)) % 4, rest=np.linspace(-1, 1, len(votes)))
    return RankRegression(judge_slopes=True, context=["rest"], ties="davidson").fit(items, votes)


@pytest.mark.parametrize(
    "judge",
    [["ann", None, "ben"], ["ann", float("nan"), "ben"], ["ann", "", "ben"], [1, None, 2]],
    ids=str,
)
def test_comparisons_of_which_some_have_no_judge_are_kept_and_read_again(judge, tmp_path):
    rng = np.random.default_rng(5)
    ids, left = np.array([f"i{k}" for k in range(8)]), rng.integers(0, 8, 60)
    right = (left + rng.integers(1, 8, 60)) % 8
    votes = {"left": ids[left], "right": ids[right], "winner": rng.choice(["left", "right"], 60)}
    votes["judge"] = np.array(judge * 20, dtype=object)
    items = {"id": ids, "x": rng.normal(size=8)}
    model = RankRegression(inference="model").fit(items, votes)
    model.save(tmp_path / "model.npz", data=True)
    again = load(tmp_path / "model.npz")
    assert again.judge_tastes_ == model.judge_tastes_
    blank, known = np.arange(60) % 3 == 1, np.arange(60) % 3 != 1
    assert again.comparisons_.judge[known].tolist() == model.comparisons_.judge[known].tolist()
    assert all(name is None or name != name for name in again.comparisons_.judge[blank].tolist())
