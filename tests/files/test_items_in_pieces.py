"""Items of a file, piece by piece."""

import duckdb
import numpy as np

from pairscore.data.recipe import Recipe
from pairscore.files.items_in_pieces import ItemPieces
from pairscore.files.tables import PIECE_ROWS, stored_table


def test_a_file_comes_in_pieces_with_its_ids_typed_as_a_whole(tmp_path):
    n = 2 * PIECE_ROWS + 17
    path = tmp_path / "long.csv"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT range AS id, range % 7 AS x, CASE WHEN range % 2 = 0 THEN 'u' ELSE 'v'"
            f" END AS k FROM range({n})) TO '{path}'"
        )
    recipe = Recipe(("x",), {"k": ("u", "v")})
    with stored_table(path, identifiers=("id", "k"), memory="200MB") as table:
        pieces = ItemPieces(table, recipe)
        sizes = [len(values) for values in pieces()]
        assert sizes == [PIECE_ROWS, PIECE_ROWS, 17]
        assert pieces.ids.dtype.kind == "i"
        np.testing.assert_array_equal(pieces.ids, np.arange(n))
        values = np.concatenate(list(pieces()))
    np.testing.assert_array_equal(
        values, np.column_stack([np.arange(n) % 7, np.arange(n) % 2 == 0, np.arange(n) % 2 == 1])
    )
    path.write_text(path.read_text() + "last,1,u\n")  # one word makes all ids text
    with stored_table(path, identifiers=("id", "k")) as table:
        first = next(iter(table.pieces(["id"])))
        assert first["id"][0] == "0"
