"""The result of a comparison: sentences, tables, columns, records."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairscore import (
    PairscoreError,
    compare,
)
from pairscore.evaluation.compare import KINDS, Counts, ModelComparison
from pairscore.evaluation.measures import MEASURES, Score
from tests.evaluation.twins import (
    QUICK,
    Fixed,
    study,
)


def made_up(value, error, gap_error, kind="new-new", measure="log_loss", n_new=512):
    """A result with known numbers in one place."""
    models = tuple(["ridge", "plain", "forest"][: len(value)])
    shape = (len(KINDS), len(MEASURES), len(models))
    values, errors, gap_errors = (
        np.full(shape, 0.5),
        np.full(shape, 0.01),
        np.full((*shape, len(models)), 0.02),
    )
    place = list(KINDS).index(kind), list(MEASURES).index(measure)
    values[place], errors[place], gap_errors[place] = value, error, gap_error
    counts = {
        "train-train": Counts(1000, 900, 80, (500, 500)),
        "train-new": Counts(1, 1, 2, (0, 1)),
        "new-new": Counts(n_new, 300, 80, (256, 256)),
    }
    return ModelComparison(models, counts, values, errors, gap_errors, "items", ())


@pytest.mark.parametrize(
    ("result", "where", "sentence"),
    [
        (
            made_up([0.512, 0.533], [0.011, 0.012], 0.006),
            (),
            (
                "'ridge' has the lowest log-loss on pairs of new items (0.512 ± 0.011), 0.0210 ±"
                " 0.0060 below 'plain'."
            ),
        ),
        (
            made_up([0.533, 0.512], [0.011, 0.012], 0.011),
            (),
            (
                "'plain' has the lowest log-loss on pairs of new items (0.512 ± 0.012), 0.021 ±"
                " 0.011 below 'ridge', which may be chance."
            ),
        ),
        (
            made_up([0.7, 0.75, 0.8], 0.01, 0.02, "train-new", "accuracy"),
            ("train-new", "accuracy"),
            (
                "'forest' has the highest accuracy on pairs of a known and a new item (0.800 ±"
                " 0.010), 0.050 ± 0.020 above 'plain'."
            ),
        ),
        (
            made_up([1.3, 0.95, np.inf], 0.01, 0.02, "train-train", "calibration_slope"),
            ("train-train", "calibration_slope"),
            (
                "'plain' has the calibration slope closest to 1 on unseen comparisons of known"
                " items (0.950 ± 0.010), 0.350 ± 0.020 below 'ridge'."
            ),
        ),
        (
            made_up([1.3, 0.95], [0.2, 0.2], 0.02, "train-train", "calibration_slope"),
            ("train-train", "calibration_slope"),
            (
                "'plain' has the calibration slope closest to 1 on unseen comparisons of known"
                " items (0.950 ± 0.200), 0.350 ± 0.020 below 'ridge', which may be chance."
            ),
        ),
        (
            made_up([0.5, np.nan, 0.5], 0.01, 0.02, "new-new", "misordered"),
            ("new-new", "misordered"),
            (
                "'forest' has the lowest share of misordered pairs on pairs of new items (0.500 ±"
                " 0.010), the same as 'ridge'."
            ),
        ),
        (
            made_up([0.5], 0.01, 0.0),
            (),
            "'ridge' has the log-loss 0.500 ± 0.010 on pairs of new items.",
        ),
    ],
)
def test_a_sentence_says_who_is_best_and_by_how_much(result, where, sentence):
    assert result.sentence(*where) == sentence
    assert result.best(*where) == sentence.split("'")[1]


def test_the_slope_nearest_one_is_the_best_and_not_the_largest():
    assert (
        made_up([1.3, 0.95, 0.2], 0.01, 0.02, "new-new", "calibration_slope").best(
            measure="calibration_slope"
        )
        == "plain"
    )


def test_a_score_shows_two_digits_of_its_error():
    assert [str(Score(0.5, error)) for error in (0.2, 0.011, 0.0004, 0.0, 1e-17, np.nan)] == [
        "0.500 ± 0.200",
        "0.500 ± 0.011",
        "0.50000 ± 0.00040",
        "0.500 ± 0.000",
        "0.500 ± 0.000",
        "0.500 ± unknown",
    ]


def test_the_table_has_a_line_for_each_model_under_each_kind():
    text = str(made_up([0.512, 0.533], [0.011, 0.012], 0.006))
    assert text.splitlines()[12:] == [
        "  new-new, pairs of new items: 512 comparisons, 300 pairs, 80 items",
        (
            "                 accuracy       log-loss          slope   calib. error     misordered "
            " log-loss - ridge"
        ),
        "     ridge  0.500 ± 0.010  0.512 ± 0.011  0.500 ± 0.010  0.500 ± 0.010  0.500 ± 0.010",
        (
            "     plain  0.500 ± 0.010  0.533 ± 0.012  0.500 ± 0.010  0.500 ± 0.010  0.500 ± 0.010 "
            "  0.0210 ± 0.0060"
        ),
        "",
        (
            "'ridge' has the lowest log-loss on pairs of new items (0.512 ± 0.011), 0.0210 ± 0.0060"
            " below 'plain'."
        ),
    ]
    assert (
        "  train-new, pairs of a known and a new item: 1 comparison, 1 pair, 2 items, none in 1 of"
        " 2 folds" in text
    )
    assert repr(made_up([0.5], 0.01, 0.0)) == str(made_up([0.5], 0.01, 0.0))


def test_every_line_of_a_real_table_ends_at_the_same_column():
    lines = str(
        compare({"plain": QUICK, "a model with a long name": Fixed()}, *study())
    ).splitlines()
    last = [line for line in lines if line.startswith("     a model")]
    heads = [line for line in lines if line.rstrip().endswith("log-loss - plain")]
    assert len(last) == len(heads) == 3
    assert all(len(one) == len(two) for one, two in zip(last, heads, strict=True))


def test_columns_frames_and_records_hold_the_same_numbers():
    found = compare({"plain": QUICK, "fixed": Fixed()}, *study())
    columns = found.to_columns()
    assert {len(column) for column in columns.values()} == {3 * 2 * 5}
    for kind, model, measure, value, error, gap, gap_error, n_comparisons in zip(
        *columns.values(), strict=True
    ):
        assert found.score(model, kind, measure) == Score(value, error)
        assert found.difference(model, "plain", kind, measure) == Score(gap, gap_error)
        assert n_comparisons == found.counts[kind].n_comparisons
    pd.testing.assert_frame_equal(found.to_frame(), pd.DataFrame(columns))
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    record = json.loads(json.dumps(found.to_record(), allow_nan=False))
    assert record["scores"] == [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    assert record["in_words"] == found.in_words
    assert record["models"] == ["plain", "fixed"]
    assert (
        sum(record["counts"]["new-new"]["rows_of_folds"])
        == record["counts"]["new-new"]["n_comparisons"]
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: made_up([0.5], 0.1, 0.0).best("old-old"),
            "kind is 'old-old'; use 'train-train', 'train-new' or 'new-new'.",
        ),
        (
            lambda: made_up([0.5], 0.1, 0.0).best(measure="auc"),
            (
                "measure is 'auc'; use 'accuracy', 'log_loss', 'calibration_slope',"
                " 'calibration_error' or 'misordered'."
            ),
        ),
        (
            lambda: made_up([0.5, 0.6], 0.1, 0.0).score("lasso"),
            "no model is called 'lasso'; the models are 'ridge', 'plain'.",
        ),
    ],
)
def test_what_was_not_compared_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(PairscoreError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_notebook_shows_a_row_for_each_model_and_kind_that_was_tested():
    result = replace(
        made_up([0.512, 0.533], [0.011, 0.012], 0.006, n_new=0), notes=("a <note> of a fit",)
    )
    page = result._repr_html_()
    assert "<h4>2 models on comparisons that were not in the fit; ± one standard error" in page
    rows = [line for line in page.split("<tr>") if line.startswith("<td>")]
    assert len(rows) == 2 * 2  # no pair of new items was tested
    scores = [result.score("ridge", "train-train", measure) for measure in MEASURES]
    cells = [KINDS["train-train"], "ridge", *scores]
    assert rows[0].startswith("".join(f"<td>{cell}</td>" for cell in cells))
    assert "No pairs of new items could be tested." in page
    assert "<b>Warning:</b> a &lt;note&gt; of a fit" in page
