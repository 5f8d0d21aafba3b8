"""What a command writes: models and tables, and where they may not go."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from pairscore.cli.printing import echo, folded, show_json, terminal_width
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.model.file import ModelFile

# names of documents and pictures
OTHER_KINDS = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".png", ".jpg", ".jpeg", ".svg")


def refuse_output(output: Path | None, *inputs: Path, is_table: bool = False) -> None:
    """Refuse an output that cannot be written, before a long computation and not after.

    There must be a folder for it, it may not be one of the ``inputs``, and with ``is_table`` it
    must be a table of a known kind. None and ``-`` (standard output) are always possible.
    """
    if output is None or str(output) == "-":
        return
    if is_table:
        from pairscore.files.write import refuse_workbook

        refuse_workbook(output)
    try:
        has_folder, is_folder = output.parent.is_dir(), output.is_dir()
    except OSError as error:  # such as a name of 300 letters
        raise PairscoreError(
            f"there can be no file {shorten_name(str(output))!r} ({error.strerror}); choose another"
            " name with -o."
        ) from None
    if not has_folder:
        raise PairscoreError(
            f"there is no folder {str(output.parent)!r} to write {output.name!r} to; make it first."
        )
    if is_folder:
        raise PairscoreError(f"{str(output)!r} is a folder; name a file.")
    target = os.path.realpath(output)  # where links go round in circles, resolve() fails
    if any(target == os.path.realpath(path) for path in inputs if str(path) != "-"):
        raise PairscoreError(
            f"{str(output)!r} is an input of this command and would be overwritten; choose another"
            " name with -o."
        )


def shorten_name(name: str) -> str:
    """A name in a sentence: its beginning and end if it is very long."""
    return name if len(name) <= 80 else f"{name[:50]}…{name[-20:]}"


def refuse_other_kind(output: Path) -> None:
    """Refuse to write a model under the name of a page or a table."""
    from pairscore.files.source import KINDS

    suffix = output.suffix.lower()
    if suffix in (".html", ".htm"):
        raise PairscoreError(
            f"-o names the file of the model, and {str(output)!r} is the name of a page; write the"
            f" page with --report {shlex.quote(str(output))}, and the model to a file such as"
            " model.npz."
        )
    if suffix in OTHER_KINDS:
        raise PairscoreError(
            f"-o names the file of the model, and {str(output)!r} is the name of a document or a"
            " picture; choose a name such as model.npz. pairscore report writes a page."
        )
    if suffix in KINDS:
        raise PairscoreError(
            f"-o names the file of the model, and {str(output)!r} is the name of a table; choose a"
            " name such as model.npz. pairscore rank writes the ranking."
        )


@contextmanager
def output_path(path: Path, name: str) -> Iterator[Path]:
    """The file itself; for ``-``, one that goes to standard output when it is written."""
    if str(path) != "-":
        yield path
        return
    from pairscore.files.atomic import scratch_folder

    with scratch_folder() as folder:
        yield folder / name
        with (folder / name).open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def write_model(
    model: "ModelFile",
    output: Path,
    as_json: bool,
    keep_data: bool,
    also: dict[str, Any] | None = None,
) -> None:
    """Write a model and print its summary; to the error stream if the output is the model's."""
    from pairscore.model.file import save_model
    from pairscore.model.summary import Summary

    summary, is_piped = Summary(model.fit), str(output) == "-"
    with output_path(output, "model.npz") as path:
        save_model(model, path, keep_data)
    if as_json:
        show_json(summary.to_record() | (also or {}), err=is_piped)
    else:
        width = 0 if is_piped else terminal_width()
        text = summary.text(notes=False, see_all="--json", width=width)
        echo(folded(text, width), err=is_piped)


def show_written(output: Path, as_json: bool, ranks: str | None = None) -> None:
    """Print where the result is, unless it or JSON is on standard output.

    A model ``ranks`` the items of a file; none, where it knows them.
    """
    if str(output) != "-" and not as_json:
        model = quote(str(output))
        echo(
            f"Wrote {output}."
            if ranks is None
            else f"Wrote {output}. Next: pairscore rank {model}{ranks and f' {ranks}'}."
        )
