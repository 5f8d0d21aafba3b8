"""Addresses without their passwords."""

import pytest

from pairscore.passwords import without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:geheim@host:5432/db", "postgresql://ann@host:5432/db"),
        ("postgresql://ann:ge:he@im/x@host/db", "postgresql://ann@host/db"),
        ("postgresql://:geheim@host/db", "postgresql://@host/db"),
        ("--db=postgresql+psycopg://ann:geheim@host", "--db=postgresql+psycopg://ann@host"),
        (
            "postgresql://host/db?user=a&password=geheim&x=1",
            "postgresql://host/db?user=a&password=…&x=1",
        ),
        ("postgresql://ann@host:5432/db", "postgresql://ann@host:5432/db"),
        ("sqlite:///study.db", "sqlite:///study.db"),
        ("s3://KEY:geheim@bucket/votes", "s3://KEY@bucket/votes"),
        ("--db=postgresql://ann:ge heim@host", "--db=postgresql://ann@host"),
        ("see http://ann:geheim@host/x", "see http://ann@host/x"),
        ("abfs://c@account/votes?sas=geheim", "abfs://c@account/votes?sas=…"),
        ("https://host/x.csv#access_token=geheim", "https://host/x.csv#access_token=…"),
        ("there is no file 'ann:geheim@host:/x.csv'", "there is no file 'ann@host:/x.csv'"),
        ("ann:ge/h@im@host:/x.csv", "ann@host:/x.csv"),
        (r"C:\Users/ann@home/x.csv", r"C:\Users/ann@home/x.csv"),
        ("SELECT 'a://b' AS a, x::int FROM t -- @", "SELECT 'a://b' AS a, x::int FROM t -- @"),
    ],
)
def test_an_address_is_shown_without_its_password(address, shown):
    assert without_password(address) == shown
    assert without_password(shown) == shown
