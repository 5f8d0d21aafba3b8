"""The encoding of a text file: by its byte order mark, or by what its bytes can be."""

import pytest

from pairscore.files.encoding import OLDER, as_utf8, marked_encoding, older_encoding
from pairscore.files.source import Kept, OpenFile
from pairscore.files.tables import stored_table
from tests.files.test_titles_and_totals import read_said

TEXTS = {
    "cp932": "品名,値\n商品いち,1\n商品に,2\n",
    "cp1250": "miasto,liczba\nŁódź,1\nŻywiec,2\nPaweł,3\nwąż,4\n",
    "cp1251": "город,число\nМосква,1\nСанкт-Петербург,2\nа,3\n",
    "cp1252": "Größe,Prix en £\nMüller,m³\n¿Qué?,£5\nélève,Ångström\nÎle,cañón\n",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_polish_russian_japanese_and_western_names_are_no_gibberish(encoding):
    content = TEXTS[encoding].encode(encoding)
    assert older_encoding(content, "x.csv") == encoding
    assert encoding in OLDER[encoding]


def test_a_byte_order_mark_tells_the_encoding():
    assert marked_encoding("a,b".encode("utf-16")) == "utf-16"
    assert marked_encoding("a,b,c".encode("utf-16-le")) == "utf-16-le"
    assert marked_encoding(b"a,b") is None


def test_an_encoding_that_was_guessed_is_said(tmp_path):
    said = []
    path = tmp_path / "miasta.csv"
    path.write_bytes("id,x\nŁódź,1\nżółw,2\n".encode("cp1250"))
    with stored_table(path, say=said.append) as table:
        assert table.read()["id"].tolist() == ["Łódź", "żółw"]
    (note,) = said
    assert "is not UTF-8, and was read as Central European (cp1250)" in str(note)
    with stored_table(path, encoding="cp1250", say=said.append):
        assert len(said) == 1


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("品名,値\n商品いち,1\n商品に,2\n", "cp932"),
        ("Größe,Müller\nä,ö\nStraße,grün\n", "cp1252"),
        ("élève,note\nÉlodie,1\nl’âge,2\n", "cp1252"),
    ],
)
def test_older_encodings_are_told_apart(text, encoding, tmp_path):
    table, _ = read_said(tmp_path, text.encode(encoding))
    assert [*table] == text.split("\n")[0].split(",")


def test_the_encoding_of_earlier_files_gives_way_to_what_a_file_shows(tmp_path):
    path = tmp_path / "table.csv"
    for content, expected in (
        ("größe", "größe".encode()),  # UTF-8, whatever the fit had
        ("größe", "größe".encode("utf-16")),
        ("gr÷ße", "größe".encode("latin-1").replace(b"\xf6", b"\xf7")),
    ):
        path.write_bytes(expected)
        said = []
        with (
            path.open("rb") as file,
            as_utf8(OpenFile(path, file), Kept("latin-1"), "table.csv", said.append) as text,
        ):
            assert text.path.read_text("utf-8") == content
        assert said == []
