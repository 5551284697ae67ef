"""Names of the nodes of one graph: unique, valid in Python, undone like the graph; it knows no nodes."""

from __future__ import annotations

import keyword
import unicodedata
from typing import Final

__all__ = ["Names"]

# Generated code calls these two by name; __debug__ cannot be assigned.
_TAKEN_NAMES: Final = frozenset({"min", "max", "__debug__"})


class Names:
    """Gives out names: ``add``, ``add_1``, ``add_2``. A name is not given twice unless it was undone."""

    __slots__ = ("_log", "_suffixes", "_taken")

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._suffixes: dict[str, int] = {}
        # (name, base, suffix of the base before, None if it is new): what truncate takes back.
        self._log: list[tuple[str, str, int | None]] = []

    def new(self, wanted: str) -> str:
        """Return `wanted`, or a name near it if it is taken or no valid name."""
        base = _identifier(wanted)
        before = self._suffixes.get(base)
        suffix = before or 0
        name = base if not suffix else f"{base}_{suffix}"
        while name in self._taken:
            suffix += 1
            name = f"{base}_{suffix}"
        self._taken.add(name)
        self._suffixes[base] = suffix
        self._log.append((name, base, before))
        return name

    def mark(self) -> int:
        """Return the number of names given out."""
        return len(self._log)

    def truncate(self, mark: int) -> None:
        """Take back the names given out since `mark`."""
        while len(self._log) > mark:
            name, base, suffix = self._log.pop()
            self._taken.discard(name)
            if suffix is None:
                del self._suffixes[base]
            else:
                self._suffixes[base] = suffix


def _identifier(wanted: str) -> str:
    """Return `wanted` if the parser would read it as this same plain name, else something near it."""
    # The parser normalises identifiers (PEP 3131), so two spellings could meet in one variable.
    plain = unicodedata.is_normalized("NFKC", wanted) and wanted.isidentifier()
    if not plain:
        wanted = "".join(char if char.isascii() and char.isalnum() else "_" for char in wanted)
        wanted = wanted.strip("_") or "value"
        wanted = f"v_{wanted}" if wanted[0].isdigit() else wanted
    return f"{wanted}_" if keyword.iskeyword(wanted) or wanted in _TAKEN_NAMES else wanted
