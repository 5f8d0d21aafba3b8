"""What pages of the documentation find: tables of the demo, and servers (see ``pages.py``).

A fixture ``docs_<server>`` returns the addresses that pages write, with those to use instead.
"""

import csv

import polars as pl
import pytest

from tests.docs.running import enter_folder
from tests.object_store import REGION
from tests.postgres import url

TABLES = ("items", "comparisons", "new_items")
READER, READERS_PASSWORD = "reader", "secret"
BUCKET, N_PARTS = "hospital", 3


@pytest.fixture
def folder(demo_folder, tmp_path, monkeypatch):
    """A fresh folder with the tables of the demo and the examples of the project."""
    return enter_folder(tmp_path, demo_folder, monkeypatch)


@pytest.fixture
def docs_dask(dask_cluster):
    """A Dask cluster with two workers."""
    dask_cluster.processes()
    return {"127.0.0.1:8786": dask_cluster.address.removeprefix("tcp://")}


@pytest.fixture(scope="session")
def postgres_study(postgres, demo_folder):
    """The port of a server with a database ``study`` and somebody who may read it."""
    import psycopg

    with psycopg.connect(url(postgres), autocommit=True) as connection:
        connection.execute("CREATE DATABASE study")
        connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{READERS_PASSWORD}'")
    with psycopg.connect(url(postgres, database="study")) as connection:
        for name in TABLES:
            with (demo_folder / f"{name}.csv").open(newline="") as file:
                columns, *rows = csv.reader(file)
            kind = "text" if name == "comparisons" else "double precision"
            columns = [f'"{column}" {"text" if column == "id" else kind}' for column in columns]
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            values = ", ".join(["%s"] * len(columns))
            with connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {name} VALUES ({values})", rows)
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}")
    return postgres


@pytest.fixture
def docs_postgres(postgres_study, monkeypatch):
    """A PostgreSQL server with the tables of the demo."""
    monkeypatch.setenv("PGPASSWORD", READERS_PASSWORD)
    return {"127.0.0.1:5432": f"127.0.0.1:{postgres_study}"}


@pytest.fixture(scope="session")
def study_bucket(object_store, demo_folder, tmp_path_factory):
    """An S3 server with a bucket of the tables of the demo; each file is put there once."""
    object_store.put(BUCKET)
    files = tmp_path_factory.mktemp("bucket")
    for name in TABLES:
        object_store.put(f"{BUCKET}/{name}.csv", (demo_folder / f"{name}.csv").read_bytes())
    tables = {"items": pl.read_csv(demo_folder / "items.csv")}
    comparisons = pl.read_csv(demo_folder / "comparisons.csv")
    length = -(-len(comparisons) // N_PARTS)
    for part in range(N_PARTS):
        tables[f"comparisons/part-{part + 1}"] = comparisons.slice(part * length, length)
    for name, table in tables.items():
        path = files / "table.parquet"
        table.write_parquet(path)
        object_store.put(f"{BUCKET}/{name}.parquet", path.read_bytes())
    return object_store


@pytest.fixture
def docs_object_store(study_bucket, monkeypatch):
    """The same, for the environment of a page."""
    study_bucket.use(monkeypatch)
    monkeypatch.setenv("AWS_REGION", REGION)
    return {"127.0.0.1:9000": study_bucket.endpoint}
