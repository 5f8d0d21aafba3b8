"""All that is wrong with a file, with its physical lines."""

import pickle

import pytest

from pairscore.errors import BadRowsError
from tests.files.test_tables import read_bytes


def test_all_bad_rows_are_kept_and_twenty_shown(tmp_path):
    with pytest.raises(BadRowsError) as caught:
        read_bytes(tmp_path, b"id,x\n" + b"a,1\nb,bad\n" * 30 + b"a,1\n" * 600)
    assert [(row.line, row.column, row.text) for row in caught.value.rows] == [
        (3 + 2 * k, "x", "bad") for k in range(30)
    ]
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("table.csv' has 30 bad rows; correct or remove them:")
    assert (len(lines), lines[-1]) == (22, "  and 10 more")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
