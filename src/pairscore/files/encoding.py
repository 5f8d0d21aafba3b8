"""The encoding of a text file: by its byte order mark, or by what its bytes can be."""

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain

from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.files.source import CHUNK, MAX_LINE, Kept, OpenFile
from pairscore.messages import Piece, Setting

# what is guessed, in words
OLDER = {
    "cp932": "Shift-JIS (cp932)",
    "cp1250": "Central European (cp1250)",
    "cp1251": "Cyrillic (cp1251)",
    "cp1252": "Western European (cp1252)",
    "latin-1": "Western European (latin-1)",
}
WITHIN_WORDS = r"[^\W\d_][£¥¹³¿¯][^\W\d_]|[£¯][a-zß-ÿ]"  # ³ of m³ is at the end of one


def marked_encoding(head: bytes) -> str | None:
    """The encoding of a byte order mark, or UTF-16 where every second byte is zero.

    ``head`` is the beginning of a file.
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    for name, zeros, letters in (
        ("utf-16-le", head[1::2], head[::2]),
        ("utf-16-be", head[::2], head[1::2]),
    ):
        if len(head) > 3 and zeros.count(0) > 0.4 * len(head) / 2 and not letters.count(0):
            return name
    return None


def older_encoding(content: bytes, shown: str) -> str:
    """Bytes beyond ASCII that are nowhere UTF-8 are Japanese, or letters of old Windows or Latin-1.

    Of these, Cyrillic letters make whole words, which Western ones do not; and Western signs such
    as £ and ³ inside of words are letters of Central Europe. A mixture is a damaged file.
    """
    if _is_shift_jis(content):
        return "cp932"
    try:
        content.decode("utf-8", "surrogateescape").encode("ascii", "surrogateescape")
    except UnicodeEncodeError:
        sound = content.decode("utf-8", "replace").partition("\ufffd")[0]
        line = sound.count("\n" if "\n" in sound else "\r") + 1
        raise PairscoreError(
            f"{shown!r} is UTF-8 except for some bytes (the first in line {line}); repair it, or"
            " name its encoding."
        ) from None
    beyond, words = re.findall(rb"[\x80-\xff]", content), re.findall(rb"[\xc0-\xff]{3,}", content)
    if sum(map(len, words)) > len(beyond) / 2:
        return "cp1251"
    if re.search(WITHIN_WORDS, content.decode("cp1252", "replace")):
        return "cp1250"
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _is_shift_jis(content: bytes) -> bool:
    """Whether most letters beyond ASCII are then in Japanese words, and few are UTF-8 by chance.

    European letters, read so, give single Japanese signs between Latin ones.
    """
    n_utf8 = sum(ord(sign) > 127 for sign in content.decode("utf-8", "ignore"))
    try:
        text = content.decode("cp932")
    except UnicodeDecodeError:
        return False
    words = re.findall("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]{2,}", text)
    n_words = sum(map(len, words))
    n_beyond = sum(ord(sign) > 127 for sign in text)
    return n_words > n_beyond / 2 and n_utf8 < n_beyond / 4


@contextmanager
def as_utf8(
    opened: OpenFile, encoding: str | None, shown: str, say: Callable[[Piece], None]
) -> Iterator[OpenFile]:
    """Yield the file itself if it is UTF-8, or a temporary copy of it that is.

    The encoding is the named one, else that of the byte order mark, else UTF-8 if all bytes are,
    else that of earlier files (``Kept``), else one that is guessed (:func:`older_encoding`), which
    is said.
    """
    refuse_no_encoding(encoding)
    named = None if isinstance(encoding, Kept) else encoding
    actual = named or marked_encoding(opened.head(4096)) or "utf-8"
    if re.sub("[-_]", "", actual.lower()) in ("utf8", "utf8sig"):
        try:
            for _ in _decode(opened, "utf-8", shown):
                pass
            is_utf8 = True
        except UnicodeError:
            if named:
                raise _not_text(named, shown) from None
            is_utf8 = False
            actual = encoding or older_encoding(opened.from_begin().read(), shown)
            if not encoding:
                say(
                    f"{shown!r} is not UTF-8, and was read as {OLDER[actual]}; if names look wrong,"
                    " name the encoding with " + Setting("encoding")
                )
        if is_utf8:
            yield opened
            return
    with scratch_folder() as folder:
        copy = folder / "utf8"
        try:
            with copy.open("w", encoding="utf-8", newline="") as file:
                file.writelines(_decode(opened, actual, shown))
        except UnicodeError:
            raise _not_text(actual, shown) from None
        with copy.open("rb") as text:
            yield OpenFile(copy, text)


def refuse_no_encoding(named: str | None) -> None:
    """Refuse a word that names no encoding."""
    try:
        "".encode(named or "utf-8")
    except (LookupError, ValueError):
        raise PairscoreError(
            f"{named!r} is not a text encoding; use one such as 'utf-8', 'latin-1' or 'utf-16'."
        ) from None


def _not_text(encoding: str, shown: str) -> PairscoreError:
    return PairscoreError(f"{shown!r} is not text in {encoding!r}; name the encoding that it has.")


def _decode(opened: OpenFile, encoding: str, shown: str) -> Iterator[str]:
    """The text of a file piece by piece, without its byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    unbroken, begun = 0, 0
    for chunk in chain(opened.pieces(), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        if "\0" in text:
            line = _line_of(opened, begun, encoding) + text[: text.index("\0")].count("\n")
            raise PairscoreError(
                f"{shown!r} has NUL bytes (the first in line {line}): it is damaged or not a"
                f" text file; export it again."
            )
        unbroken = 0 if "\n" in text or "\r" in text else unbroken + 1
        # DuckDB rejects longer lines, and loses sight of much longer ones
        if unbroken == MAX_LINE // CHUNK - 1:
            raise PairscoreError(
                f"line {_line_of(opened, begun, encoding)} of {shown!r} is longer than"
                f" {unbroken} million characters; it is damaged or not a table."
            )
        yield text if begun else text.removeprefix("\ufeff")
        begun += len(chunk)


def _line_of(opened: OpenFile, position: int, encoding: str) -> int:
    """The line (from 1) at a position in bytes; to count lines takes longer than to read them."""
    return 1 + opened.head(position).decode(encoding, errors="ignore").count("\n")
