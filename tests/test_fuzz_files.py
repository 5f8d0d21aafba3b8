"""Damaged and forged copies of the files that pairscore writes: refused in a sentence, or harmless.

Hypothesis chooses the damage, the same in every run; `make studies` tries many more, with limits of
memory and time. What is accepted is used too: forged numbers may give other results, and never
anything but a result or a PairscoreError.
"""

import shutil
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pairscore import Comparisons, PairscoreError, RankRegression, fit_stream, load
from pairscore.streaming import first_pass, stream_job
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.merge import merge_files, merge_sites
from pairscore.streaming.rounds import save_round, site_round
from pairscore.streaming.sites import save_site, site_sums
from tests import forged
from tests.streaming.studies import draw, write
from tests.streaming.test_sites import site

ANYHOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
MODELS = ("plain", "effects", "rich", "abilities", "merged")
SUMS = {"site": "other site", "round": "other round", "likelihood": "other likelihood"}


def some(number):
    """So many examples, the same in every run."""
    return settings(
        max_examples=number, derandomize=True, deadline=None, database=None,
        suppress_health_check=ANYHOW,
    )  # fmt: skip


def tables():
    rng = np.random.default_rng(5)
    n, m = 24, 200
    items = pd.DataFrame({"id": [f"i{k}" for k in range(n)], "mass": rng.normal(size=n)})
    items = items.assign(height=rng.normal(size=n), style=["oil", "ink", "chalk"] * 8)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    lead = items["mass"].to_numpy()[left] - items["mass"].to_numpy()[right] + rng.logistic(size=m)
    winner = np.select([lead > 0.3, lead < -0.3], ["left", "right"], "tie")
    votes = {"left": items["id"].to_numpy()[left], "right": items["id"].to_numpy()[right]}
    votes |= {"winner": winner, "judge": rng.integers(0, 3, m), "rest": rng.normal(size=m)}
    return items, pd.DataFrame(votes)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A good file of each kind, a checkpoint after three parts, and the tables behind them."""
    folder = tmp_path_factory.mktemp("files")
    items, votes = tables()
    plain = items.drop(columns="style")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rich = {"judge_slopes": True, "side_effect": "judges", "context": ["rest"]}
        made = {
            "plain": RankRegression(side_effect=True).fit(plain, votes),
            "effects": RankRegression(item_effects=True).fit(plain, votes),
            "rich": RankRegression(ties="davidson", **rich).fit(
                items, votes, categorical=["style"]
            ),
            "abilities": RankRegression().fit(None, votes),
        }
        for name, model in made.items():
            model.save(folder / name, data=True)
        sums = [site_sums(*site(seed)) for seed in (1, 2)]
        for name, one in zip(("site", "other site"), sums, strict=True):
            save_site(one, folder / name)
        merged = merge_sites(sums)
        merged.save(folder / "merged")
        for kind, at in (("round", merged), ("likelihood", merge_sites(sums, method="mle"))):
            for name, seed in ((kind, 1), (f"other {kind}", 2)):
                save_round(site_round(at, *site(seed)), folder / name)
    return folder


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The files of a fit in parts that ended after three of them, and how it would have ended."""
    folder = tmp_path_factory.mktemp("begun")
    paths = write(folder, *draw(3, m=300), n_files=1, group=50)
    usual = Checkpoint.write

    def ended(self, sums, n_done):
        usual(self, sums, n_done)
        if n_done == 3:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        in_small_parts(patch)
        whole = fit_stream(*paths, memory=1e5)
        patch.setattr(Checkpoint, "write", ended)
        with pytest.raises(KeyboardInterrupt):
            fit_stream(*paths, memory=1e5, checkpoint=folder / "ck")
    assert (folder / "ck").exists()
    return folder, paths, whole.coef_


def in_small_parts(patch):
    patch.setattr(stream_job, "PARTITION_ROWS", 50)
    patch.setattr(first_pass, "PARTS_AT_ONCE", 1)


@cache
def changes(path):
    """Every single change of a file: of arrays, and of its JSON."""
    arrays = forged.read(path)
    return [*forged.of_arrays(arrays)], [*forged.of_texts(arrays)]


def one_change(choose, path):
    arrays, texts = changes(path)
    group = texts if texts and choose(st.booleans()) else arrays
    return group[choose(st.integers(0, len(group) - 1))]


def damaged(choose, content):
    """Some bytes cut off, changed, lost or put in."""
    first = choose(st.integers(0, len(content) - 1))
    last = min(len(content), first + choose(st.integers(1, 40)))
    return choose(
        st.sampled_from(
            [
                content[:first],
                content[:first] + bytes(last - first) + content[last:],
                content[:first] + bytes([content[first] ^ 16]) + content[first + 1 :],
                content[:first] + content[last:],
                content[:last] + content[first:],
            ]
        )
    )


def use_model(path, name):
    """Load a model and do with it what people do."""
    items, votes = tables()
    items = items if name == "rich" else items.drop(columns="style")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = load(path)
        str(model.summary())
        if name == "merged":
            items = site(1)[0]
            return model.rank(items), site_round(model, *site(1))
        if name == "abilities":
            return model.rank(), model.update(votes[:20], repeated="add")
        table = model.items(items)
        context = {"rest": [0.0, 1.0]} if name == "rich" else {}
        pairs = Comparisons.from_pairs(table, ["i0", "i1"], ["i2", "i3"], judge=[0, 1], **context)
        return (
            model.rank(items),
            model.predict_proba(pairs),
            model.update(votes[:20], repeated="add"),
        )


def assert_refused_or_fine(use, *given):
    """Anything but a PairscoreError is raised again, warnings of NumPy as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        said = refusal(use, *given)
    assert said is None or said.endswith((".", "?"))  # did you mean …?


def refusal(use, *given):
    """What it is refused with; None if it is not."""
    try:
        use(*given)
    except PairscoreError as error:
        return str(error)


@pytest.mark.parametrize("name", MODELS)
def test_a_forged_model_is_refused_or_gives_other_numbers(name, files, tmp_path):
    @some(30)
    @given(st.data())
    def check(data):
        what, arrays = one_change(data.draw, files / name)
        forged.write(tmp_path / "x.npz", arrays)
        data.draw(st.just(what))  # to be shown where it fails
        assert_refused_or_fine(use_model, tmp_path / "x.npz", name)

    use_model(files / name, name)
    check()


@pytest.mark.parametrize("name", SUMS)
def test_forged_sums_are_refused_or_give_other_numbers(name, files, tmp_path):
    def merge(path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = merge_files([path, files / SUMS[name]])
        assert np.isfinite(model.coef_).all()

    @some(120)
    @given(st.data())
    def check(data):
        what, arrays = one_change(data.draw, files / name)
        forged.write(tmp_path / "x.npz", arrays)
        data.draw(st.just(what))
        assert_refused_or_fine(merge, tmp_path / "x.npz")

    merge(files / name)
    check()


@pytest.mark.parametrize("name", ["plain", *SUMS])
def test_damaged_bytes_are_refused(name, files, tmp_path):
    """The archive has checksums: what is accepted is the same file."""
    path, good = tmp_path / "x.npz", forged.read(files / name)

    @some(60)
    @given(st.data())
    def check(data):
        path.write_bytes(damaged(data.draw, (files / name).read_bytes()))
        use = load if name == "plain" else lambda path: merge_files([path, files / SUMS[name]])
        if (said := refusal(use, path)) is None:
            again = forged.read(path)
            assert all(np.array_equal(again[n], a) for n, a in good.items() if n != "header")
        else:
            assert said.endswith(".")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check()


def test_a_forged_or_damaged_checkpoint_is_refused_or_gives_other_numbers(begun, tmp_path):
    folder, paths, _ = begun

    @some(40)
    @given(st.data())
    def check(data):
        place = copied(folder, tmp_path)
        if data.draw(st.booleans()):
            what, arrays = one_change(data.draw, folder / "ck")
            forged.write(place / "ck", arrays)
            data.draw(st.just(what))
        else:
            (place / "ck").write_bytes(damaged(data.draw, (folder / "ck").read_bytes()))
        assert_refused_or_fine(go_on, paths, place)

    check()


@pytest.mark.parametrize("forge", [False, True])
def test_a_tile_that_was_changed_is_refused(forge, begun, tmp_path):
    folder, paths, coef = begun
    names = sorted(path.name for path in (folder / "ck.tiles").glob("*.npy"))
    assert len(names) == 3 * 5

    @some(30)
    @given(st.data())
    def check(data):
        place = copied(folder, tmp_path)
        path = place / "ck.tiles" / data.draw(st.sampled_from(names))
        good = path.read_bytes()
        if forge:
            ways = forged.ANY | forged.NUMBERS
            way = data.draw(st.sampled_from(sorted(ways)))
            np.save(path, ways[way](np.load(path)))
        else:
            path.write_bytes(damaged(data.draw, good))
        if path.read_bytes() == good:
            return
        # the header of an array, or the place of its entries, may be written in two ways
        use = lambda: np.testing.assert_array_equal(go_on(paths, place).coef_, coef)  # noqa: E731
        assert "remove the checkpoint" in (refusal(use) or "remove the checkpoint")

    np.testing.assert_array_equal(go_on(paths, copied(folder, tmp_path)).coef_, coef)
    check()


def copied(folder, place):
    """A copy of a checkpoint that may be changed."""
    shutil.rmtree(place / "ck.tiles", ignore_errors=True)
    shutil.copytree(folder / "ck.tiles", place / "ck.tiles")
    shutil.copy(folder / "ck", place / "ck")
    return Path(place)


def go_on(paths, place):
    """Go on from a checkpoint."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        in_small_parts(patch)
        return fit_stream(*paths, memory=1e5, checkpoint=place / "ck")
