"""Workbooks made tag by tag and record by record, so that they can lie about themselves."""

import io
import struct
from collections.abc import Iterable
from zipfile import ZIP_DEFLATED, ZipFile

OFFICE = "http://schemas.openxmlformats.org"
RELATIONS = f"{OFFICE}/officeDocument/2006/relationships"
PACKAGE = f"{OFFICE}/package/2006/relationships"
MAIN = f"{OFFICE}/spreadsheetml/2006/main"
OASIS = "urn:oasis:names:tc:opendocument:xmlns"


def archive(parts: dict[str, str]) -> bytes:
    """A ZIP file of texts by name."""
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=9) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return out.getvalue()


def xlsx(rows: str, texts: str = "", **more: str) -> bytes:
    """An .xlsx file with the tags of the rows of its sheet, and of the texts that cells name."""
    relation = f'<Relationship Id="r1" Type="{RELATIONS}/{{}}" Target="{{}}"/>'
    relations = f'<Relationships xmlns="{PACKAGE}">{{}}</Relationships>'
    shared = relation.replace("r1", "r2").format("sharedStrings", "sharedStrings.xml")
    return archive(
        {
            "_rels/.rels": relations.format(relation.format("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations.format(
                relation.format("worksheet", "worksheets/sheet1.xml") + shared
            ),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>'
            "</worksheet>",
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{texts}</sst>',
            **more,
        }
    )


def xlsx_rows(*rows: Iterable[object], first: int = 1) -> str:
    """Tags of rows of an .xlsx sheet, from column A on."""
    return "".join(
        f'<row r="{number}">'
        + "".join(xlsx_cell(f"{chr(65 + place)}{number}", cell) for place, cell in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, first)
    )


def xlsx_cell(at: str, value: object) -> str:
    """A cell of an .xlsx sheet: a number, or text."""
    if isinstance(value, str):
        return f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{at}"><v>{value}</v></c>'


def ods(rows: str) -> bytes:
    """An .ods file with the tags of the rows of its sheet."""
    spaces = " ".join(f'xmlns:{name}="{OASIS}:{name}:1.0"' for name in ("office", "table", "text"))
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="{OASIS}:manifest:1.0"/>',
            "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        }
    )


def ods_row(*cells: object, times: int = 1) -> str:
    """A row of an .ods sheet; a cell is a value, or tags."""
    return (
        f'<table:table-row table:number-rows-repeated="{times}">'
        + "".join(map(ods_cell, cells))
        + "</table:table-row>"
    )


def ods_cell(value: object, times: int = 1) -> str:
    """A cell of an .ods sheet: a number, text, or None where it is empty."""
    if isinstance(value, str) and value.startswith("<"):
        return value
    repeated = f'table:number-columns-repeated="{times}"'
    if value is None:
        return f"<table:table-cell {repeated}/>"
    kind = (
        'office:value-type="string"'
        if isinstance(value, str)
        else f'office:value-type="float" office:value="{value}"'
    )
    return f"<table:table-cell {kind} {repeated}><text:p>{value}</text:p></table:table-cell>"


def xls(cells: dict[tuple[int, int], object], texts: list[str] | None = None) -> bytes:
    """An .xls file with cells by row and column: numbers, texts, or (n,) for the text number n."""
    begin, end = _record(0x0809, struct.pack("<HHHHII", 0x600, 0x5, 0, 0, 0, 0)), _record(0x000A)
    shared = b"".join(
        struct.pack("<HB", len(text), 0) + text.encode("latin-1") for text in texts or []
    )
    sst = _record(0x00FC, struct.pack("<II", len(texts or []), len(texts or [])) + shared)
    code = _record(0x0042, struct.pack("<H", 1200))
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    sheet += b"".join(_xls_cell(row, column, cell) for (row, column), cell in cells.items()) + end
    bound = _record(0x0085, struct.pack("<IBBBB", 0, 0, 0, 1, 0) + b"S")
    place = len(begin + code + bound + sst + end)
    bound = _record(0x0085, struct.pack("<IBBBB", place, 0, 0, 1, 0) + b"S")
    return compound_file(begin + code + bound + sst + end + sheet)


def _record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _xls_cell(row: int, column: int, value: object) -> bytes:
    at = struct.pack("<HHH", row, column, 0)
    if isinstance(value, str):
        return _record(0x0204, at + struct.pack("<HB", len(value), 0) + value.encode("latin-1"))
    if isinstance(value, tuple):
        return _record(0x00FD, at + struct.pack("<I", value[0]))
    return _record(0x0203, at + struct.pack("<d", value))


def compound_file(stream: bytes) -> bytes:
    """A compound file of 512-byte sectors with one stream called Workbook, large enough."""
    stream = stream.ljust(4096, b"\0")
    n_data = -(-len(stream) // 512)
    n_tables = 1
    while n_tables * 128 < n_data + 1 + n_tables:
        n_tables += 1
    free, end, of_table = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    table = [*range(1, n_data), end, end, *[of_table] * n_tables]
    table += [free] * (n_tables * 128 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIII", 0, n_tables, n_data, 0, 4096, end, 0, end, 0)
    tables = [n_data + 1 + place for place in range(n_tables)]
    header += struct.pack("<109I", *(tables + [free] * (109 - n_tables)))
    entries = _entry("Root Entry", 5, 1, end, 0) + _entry("Workbook", 2, free, 0, len(stream))
    content = stream.ljust(n_data * 512, b"\0") + entries.ljust(512, b"\0")
    return header + content + struct.pack(f"<{len(table)}I", *table)


def _entry(name: str, kind: int, child: int, first: int, length: int) -> bytes:
    text = (name + "\0").encode("utf-16-le")
    free = 0xFFFFFFFF
    return (
        text.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(text), kind, 1, free, free, child)
        + bytes(36)
        + struct.pack("<III", first, length, 0)
    )
