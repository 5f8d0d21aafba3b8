"""How a file writes numbers: the decimal sign, the one of thousands, words for missing ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pairscore.errors import NO_NUMBER, PairscoreError
from pairscore.files.sql import sql_text
from pairscore.messages import Setting

NUMERIC_SHARE = 0.9  # with so many numbers among its cells a column is meant to be numeric
# NaN is a number that is missing by itself
MISSING = (
    r"\s*(NA|na|N/A|n/a|#N/A|NULL|null|None|-|--|---|[–—]|[.]|[.]{3}|…|[?]"
    r"|[kK][.] ?A[.]|[kK]A|keine Angaben?|n[.] ?[abdrv][.]|N[.] ?[ADR][.]|ND|N/D|n/d"
    r"|non renseigné|s[.]o[.]|不明|欠損|欠測|無回答"
    r"|#NV|#N/D|#VALUE!|#WERT!|#VALEUR!|#DIV/0!|#REF!|#BEZUG!)?\s*"
)
# without blanks at both ends, of which Python, unlike DuckDB, would look at every pair
IS_MISSING = re.compile(MISSING.removeprefix(r"\s*").removesuffix(r"\s*"))
SPACES = " \t\n\r\f\v"  # around a cell
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")
DECIMAL = re.compile(r"[+-]?[0-9]*\.[0-9]*([eE][+-]?[0-9]+)?")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")  # or a decimal number


@dataclass(frozen=True)
class Signs:
    """How the numbers of a file are written: the ``decimal`` sign, and the one of ``thousands``."""

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """Of a number with these signs; groups of thousands are complete."""
        mark = f"[{self.decimal}]"
        plain = f"([0-9]+({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
        groups = f"|[1-9][0-9]{{0,2}}([{self.thousands}][0-9]{{3}})+({mark}[0-9]*)?"
        return rf"\s*[+-]?({plain}{groups if self.thousands else ''})\s*"

    @property
    def in_words(self) -> str:
        """What is unusual about them."""
        if self.decimal == ".":
            return "commas between thousands (1,234 is 1234)"
        return "decimal commas (3,14 is 3.14)" + (
            " and points between thousands (1.234 is 1234)" if self.thousands else ""
        )

    def with_point(self, cell: str) -> str:
        """A cell as Python writes numbers; what is no number with these signs is none there."""
        if self == POINT or not re.search("[.,]", cell):
            return cell
        if not re.fullmatch(self.pattern, cell, re.ASCII):
            return NO_NUMBER
        return cell.replace(self.thousands, "").replace(self.decimal, ".")

    def sql(self, cell: str) -> str:
        """:meth:`with_point` in SQL, with NULL for what is no number."""
        if self == POINT:
            return cell
        pattern, thousands, decimal = map(sql_text, (self.pattern, self.thousands, self.decimal))
        number = f"replace(replace({cell}, {thousands}, ''), {decimal}, '.')"
        return (
            f"CASE WHEN regexp_full_match({cell}, {pattern}) THEN {number}"
            f" WHEN NOT regexp_matches({cell}, '[.,]') THEN {cell} END"
        )


POINT = Signs()
NAMED_SIGNS = {".": Signs(".", ","), ",": Signs(",", ".")}
ANY_NUMBER = "|".join(signs.pattern for signs in NAMED_SIGNS.values())


def named_signs(decimal: str) -> Signs:
    """The signs where the decimal one is named: the other one may stand between thousands."""
    if decimal not in NAMED_SIGNS:
        raise PairscoreError(
            Setting("decimal") + f" is {decimal!r}", "use ',' or '.', or leave it out"
        )
    return NAMED_SIGNS[decimal]


def kept_signs(columns: Mapping[str, list[str]], kept: str) -> Signs:
    """The signs of a file after others that had the decimal sign ``kept``.

    It has the other one if some number can only be read with that, and none only with ``kept``.
    """
    kinds = {_readings(cell) for cells in columns.values() for cell in _numbers(cells)}
    other = "." if kept == "," else ","
    return named_signs(other if other in kinds and kept not in kinds else kept)


def find_signs(columns: Mapping[str, list[str]], shown: str) -> Signs:
    """How numbers are written, from cells of the columns by name; only those of numbers count.

    A file has one decimal sign. It is the comma if some number can only be read so (``3,14`` or
    ``1.234,5``) and none can only be read with a decimal point; otherwise it is the point. The
    other sign stands between thousands, where some number can only be read so; a comma does so
    also beside decimal points. ``1,234`` is 1.234 or 1234, and is refused where nothing else in the
    file says which.
    """
    suspects = (name for name, cells in columns.items() if any("," in cell for cell in cells))
    if not any(_numbers(columns[name]) for name in suspects):
        return POINT  # commas in text
    numbers = {name: _numbers(cells) for name, cells in columns.items()}
    kinds = {(_readings(cell), "." in cell) for cells in numbers.values() for cell in cells}
    comma, point = (any(readings == sign for readings, _ in kinds) for sign in ",.")
    if comma:
        return POINT if point else Signs(",", "." if (",", True) in kinds else "")
    if not point:
        name, cell = next(
            (name, cell.strip()) for name in numbers for cell in numbers[name] if "," in cell
        )
        raise PairscoreError(
            f"{shown!r} has numbers such as {cell!r} in the column {name!r}, which may be"
            f" {cell.replace(',', '.')} or {cell.replace(',', '')}",
            ["name the decimal sign with " + Setting("decimal"), "leave the column out"],
        )
    return Signs(".", ",")


def refuse_unclear_points(columns: Mapping[str, list[str]], shown: str) -> None:
    """Refuse 1.291 next to 950 where no other number of a file says that points are decimal ones.

    Where semicolons stand between cells, points often stand between thousands.
    """
    cells = [cell.strip() for column in columns.values() for cell in column if "." in cell]
    if any(DECIMAL.fullmatch(cell) and not THOUSANDS.fullmatch(cell) for cell in cells):
        return
    for name, column in columns.items():
        numbers = [cell.strip() for cell in column if NUMBER.fullmatch(cell.strip())]
        points = [number for number in numbers if THOUSANDS.fullmatch(number)]
        whole = [number for number in numbers if number.lstrip("+-").isdigit()]
        if len(points) < 2 or len(points) + len(whole) < len(numbers):
            continue
        if any(abs(int(number)) >= 100 for number in whole):
            raise PairscoreError(
                f"{shown!r} has numbers such as {points[0]!r} in the column {name!r}, which may be"
                f" {points[0]} or {points[0].replace('.', '')}",
                ["name the decimal sign with " + Setting("decimal"), "leave the column out"],
            )


def _numbers(cells: list[str]) -> list[str]:
    """The cells that are numbers with some signs; none where a column is not meant to be numeric.

    Cells without points and commas are left out.
    """
    filled = [cell for cell in cells if not says_missing(cell)]
    numbers = [cell for cell in filled if re.fullmatch(ANY_NUMBER, cell, re.ASCII)]
    if len(numbers) < NUMERIC_SHARE * len(filled):
        return []
    return [cell for cell in numbers if "," in cell or "." in cell]


def _readings(cell: str) -> str:
    """The decimal signs with which a cell is a number."""
    return "".join(sign for sign in ",." if re.fullmatch(NAMED_SIGNS[sign].pattern, cell, re.ASCII))


def decimal_sign_of(cell: str) -> str | None:
    """The decimal sign with which a cell is a number; None where it is none, or one with both."""
    readings = _readings(cell.strip())
    return readings if len(readings) == 1 else None


def says_missing(cell: str) -> bool:
    """Whether a cell of a column of numbers says that there is none."""
    return IS_MISSING.fullmatch(cell.strip(SPACES)) is not None
