"""stats and merge: sites come to the fit of all data."""

import numpy as np

from pairscore import load
from tests.cli.running import run
from tests.streaming.studies import write


def test_sites_come_to_the_fit_of_all_data_by_files(tmp_path):
    import pyarrow as pa
    from pyarrow import csv

    from tests.streaming.test_sites import site, together

    sites = [site(seed) for seed in (1, 2)]
    for number, (items, votes) in enumerate(sites):
        write(tmp_path / f"site{number}", items, votes, n_files=1, kind="csv")
    for name, table in zip(("items", "votes"), together(sites), strict=True):
        csv.write_csv(pa.table(table), tmp_path / f"{name}.csv")
    data = [f"{tmp_path}/site{n}/items.csv {tmp_path}/site{n}/votes0.csv" for n in (0, 1)]
    for number, files in enumerate(data):
        shown = run(f"stats {files} -o {tmp_path}/s{number}.npz").output
        assert "80 compared items" in shown
    merged = run(f"merge {tmp_path}/s0.npz {tmp_path}/s1.npz -o {tmp_path}/merged.npz")
    assert "--at" in merged.output
    assert "not known yet" in merged.output
    for number, files in enumerate(data):
        run(f"stats {files} --at {tmp_path}/merged.npz --json -o {tmp_path}/r{number}.npz")
    run(f"merge {tmp_path}/r0.npz {tmp_path}/r1.npz -o {tmp_path}/final.npz --json")
    run(f"fit {tmp_path}/items.csv {tmp_path}/votes.csv --method pooled -o {tmp_path}/whole.npz")
    final, whole = load(tmp_path / "final.npz"), load(tmp_path / "whole.npz")
    np.testing.assert_allclose(final.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(final.std_errors_, whole.std_errors_, rtol=1e-5)
    twice = run(f"merge {tmp_path}/s0.npz {tmp_path}/s0.npz", code=2)
    assert f"'{tmp_path}/s0.npz' has the data of '{tmp_path}/s0.npz' again" in twice.output
