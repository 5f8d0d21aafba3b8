"""A study file (TOML): tables, columns, codes, file format and words of a study, said once.

title = "Severity"
top = "most severe"

[tables]
items = "patients.csv"
comparisons = ["anna.csv", "ben.csv"]

[columns]
id = "patient"
winner = "worse"

[codes]
L = "left"
R = "right"

[format]
decimal = ","
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairscore.choices import MISSING_RULES
from pairscore.display import did_you_mean, first_few
from pairscore.errors import PairscoreError

SUFFIX = ".toml"
TOP = ""  # the keys before the first section
WORDS = ("title", "top", "bottom", "question")
COLUMNS = ("id", "left", "right", "winner", "loser", "judge", "weight", "count", "group")
COLUMN_LISTS = ("context", "features", "exclude", "categorical", "square", "curves", "interact")
# settings of the library that have another name than the key
SETTINGS = {
    "square": "squares",
    "interact": "interactions",
    "sheets": "sheet",
    "database": "db",
}
SECTIONS: dict[str, tuple[str, ...]] = {
    TOP: WORDS,
    "tables": ("items", "comparisons", "sheets", "database", "items_query", "comparisons_query"),
    "columns": (*COLUMNS, *COLUMN_LISTS, "reference", "missing"),
    "codes": (),  # any: the entries of the winner column
    "format": ("delimiter", "encoding", "decimal", "na"),
}
LISTS = {"comparisons", "sheets", "na", *COLUMN_LISTS}
CHOICES = {"missing": MISSING_RULES, "decimal": (",", ".")}


@dataclass(frozen=True)
class StudyFile:
    """What a study file says.

    ``items`` is a file or address, or None; ``comparisons`` are several. ``settings`` are the
    others, by the names of the options of ``pairscore fit``.
    """

    path: Path
    items: Path | None
    comparisons: tuple[Path, ...]
    settings: dict[str, Any] = field(default_factory=dict)


def is_study_file(path: Any) -> bool:
    """Whether a file is a study file, by its suffix."""
    return isinstance(path, Path) and path.suffix.lower() == SUFFIX


def read_study_file(path: Path) -> StudyFile:
    """Read a study file; its files are relative to its folder.

    Unknown sections and keys, and values of another kind, are refused.
    """
    said = {
        section: _checked_section(path, section, keys)
        for section, keys in _sections(path, _parse(path)).items()
    }
    tables = said.get("tables", {})
    items, comparisons = tables.pop("items", None), tables.pop("comparisons", [])
    if "database" in tables:
        tables["database"] = _database_beside(path, tables["database"])
    settings: dict[str, Any] = {"winner_codes": said.pop("codes")} if said.get("codes") else {}
    for keys in said.values():
        settings |= {SETTINGS.get(key, key): value for key, value in keys.items()}
    return StudyFile(
        path=path,
        items=None if items is None else _beside(path, items),
        comparisons=tuple(_beside(path, name) for name in comparisons),
        settings=settings,
    )


def _parse(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise PairscoreError(f"there is no file {str(path)!r}; check the path.") from None
    except OSError as error:
        raise PairscoreError(f"{str(path)!r} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise PairscoreError(f"{str(path)!r} is not text in UTF-8; save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise PairscoreError(
            f"{str(path)!r} is not a study file: {error}. Write texts in quotes, such as"
            ' title = "Severity", and file names with \\ in single ones.'
        ) from None


def _sections(path: Path, content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The keys of each section; those before the first one are in the section TOP."""
    known = [name for name in SECTIONS if name != TOP]
    sections = {name: value for name, value in content.items() if name in known}
    for name, value in sections.items():
        if not isinstance(value, dict):
            raise PairscoreError(
                f"{str(path)!r} has {name} = {value!r}; {name} is a section: write [{name}], and"
                " its keys below."
            )
    others = {name: value for name, value in content.items() if name not in known}
    for name, value in others.items():
        if isinstance(value, dict):
            raise PairscoreError(
                f"{str(path)!r} has a section [{name}]; sections are {first_few(known, 9)}."
                f"{did_you_mean(name, known)}"
            )
    return {TOP: others, **sections}


def _checked_section(path: Path, section: str, keys: dict[str, Any]) -> dict[str, Any]:
    if section == "codes":
        return {key: _text(path, key, value) for key, value in keys.items()}
    for key in keys:
        if key not in SECTIONS[section]:
            _refuse_key(path, section, key)
    return {key: _checked(path, key, value) for key, value in keys.items()}


def _refuse_key(path: Path, section: str, key: str) -> None:
    """Say where a key belongs, or which one may be meant."""
    where = f"[{section}]" if section else "its beginning, before the first section"
    for other, known in SECTIONS.items():
        if key in known:
            right = f"below [{other}]" if other else "at the beginning, before the first section"
            raise PairscoreError(f"{str(path)!r} has {key!r} in {where}; write it {right}.")
    known = SECTIONS[section]
    raise PairscoreError(
        f"{str(path)!r} has a key {key!r} in {where}; keys there are {first_few(known, 20)}."
        f"{did_you_mean(key, known)}"
    )


def _checked(path: Path, key: str, value: Any) -> Any:
    """The value of a key, if it is of the right kind."""
    if key == "reference":
        return _levels(path, value)
    if key in LISTS:
        texts = value if isinstance(value, list) else [value]
        return [_text(path, key, text, "a text or a list of texts") for text in texts]
    text = _text(path, key, value)
    if key in CHOICES and text not in CHOICES[key]:
        raise PairscoreError(
            f"{str(path)!r} has {key} = {text!r}; use one of"
            f" {first_few(map(repr, CHOICES[key]), 9)}.{did_you_mean(text, CHOICES[key])}"
        )
    return text


def _text(path: Path, key: str, value: Any, kind: str = "a text") -> str:
    if isinstance(value, str):
        return value
    shown_key = key if re.fullmatch(r"[\w-]+", key) else repr(key)
    raise PairscoreError(
        f'{str(path)!r} has {shown_key} = {value!r}; give {kind}, in quotes: {shown_key} = "...".'
    )


def _levels(path: Path, value: Any) -> dict[str, str]:
    """The reference levels of categories."""
    if isinstance(value, dict):
        return {name: _text(path, name, level) for name, level in value.items()}
    raise PairscoreError(
        f"{str(path)!r} has reference = {value!r}; give a level for each category, such as"
        ' reference = {grape = "merlot"}.'
    )


def _beside(path: Path, name: str) -> Path:
    """A file that the study file names, relative to its folder; an address as it is."""
    return Path(name) if _is_address(name) else path.parent / name


def _is_address(name: str) -> bool:
    return re.match(r"[a-z][a-z0-9+]+://", name) is not None


def _database_beside(path: Path, address: str) -> str:
    """The address of a database; a file of SQLite relative to the folder of the study file."""
    scheme, mark, file = address.partition(":///")
    if scheme != "sqlite" or not mark or file.startswith(("/", ":")):
        return address
    return f"{scheme}{mark}{(path.parent / file).resolve()}"
