"""Tables on disk: read with every fault at once, written whole.

Start with ``tables``: ``read_table`` and ``write_table``. ``read_study`` reads the items and
comparisons of a command.

Imports: errors, data.
"""

from importlib import import_module
from typing import Any

_HOME = {"read_table": "tables", "write_table": "write", "atomic_write": "write"}

__all__ = ["atomic_write", "read_table", "write_table"]


def __getattr__(name: str) -> Any:
    """Documented names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore.files' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.files.{_HOME[name]}"), name)
