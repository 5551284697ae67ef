"""Tables of figures: as aligned text, by rich in a terminal where it is installed, as plain data for JSON, and as Markdown for pages."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["Cell", "Column", "Table", "data", "machine", "markdown", "read", "show", "verdict"]

Cell = str | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds: its key in the data, its title, and the digits behind the point."""

    key: str
    title: str
    digits: int = 0


@dataclass(slots=True)
class Table:
    """Rows by key of column; text that is longer than a figure is put below the table.

    What went wrong, so that the run is a failure, is told in `failures`; `about` says what the table is of, for those who look for it in data.
    """

    title: str
    columns: tuple[Column, ...]
    rows: list[Mapping[str, Cell]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    failures: list[str] = field(default_factory=list)
    about: Mapping[str, str] = field(default_factory=dict)


def verdict(measured: float, at_most: float | None) -> Cell:
    """Say whether a figure is within its target; nothing where nothing was promised."""
    return None if at_most is None else "met" if measured <= at_most else "missed"


# With both at a large number glibc keeps memory that was freed, and large temporaries have no page faults.
HEAP: Final = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")


def machine() -> dict[str, str]:
    """Return what the figures depend on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                model = value.strip()
                break
    return {
        "cpu": model,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "heap": "memory kept" if all(map(os.environ.get, HEAP)) else "default",
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
    }


def data(tables: Sequence[Table]) -> list[dict[str, object]]:
    """Return tables as plain data."""
    return [
        {
            "title": table.title,
            "about": dict(table.about),
            "columns": [[c.key, c.title, c.digits] for c in table.columns],
            "rows": [dict(row) for row in table.rows],
            "notes": list(table.notes),
            "failures": list(table.failures),
        }
        for table in tables
    ]


def read(written: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return the tables that `data` made plain; the way through JSON and back changes nothing."""
    return [
        Table(
            one["title"],
            tuple(Column(*column) for column in one["columns"]),
            list(one["rows"]),
            tuple(one["notes"]),
            list(one["failures"]),
            one["about"],
        )
        for one in written
    ]


WIDE: Final = 16  # characters of a cell; longer text becomes a footnote


def _texts(table: Table) -> tuple[list[list[str]], list[str]]:
    """Return the cells as text, and the footnotes."""
    footnotes: list[str] = []
    rows = []
    for row in table.rows:
        cells = []
        for place, column in enumerate(table.columns):
            cell = row.get(column.key)
            if cell is None:
                cells.append("")
            elif not isinstance(cell, str):
                cells.append(f"{cell:,.{column.digits}f}")
            elif place and len(cell) > WIDE:
                if cell not in footnotes:
                    footnotes.append(cell)
                word = cell.partition(":")[0]
                cells.append(f"{word} [{footnotes.index(cell) + 1}]")
            else:
                cells.append(cell)
        rows.append(cells)
    return rows, [f"[{i}] {text}" for i, text in enumerate(footnotes, 1)]


def _plain(table: Table, rows: list[list[str]]) -> None:
    titles = [column.title for column in table.columns]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    for line in (titles, ["-" * width for width in widths], *rows):
        first, *rest = (
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join((first, *rest)).rstrip())


def _rich(table: Table, rows: list[list[str]]) -> None:
    box = importlib.import_module("rich.box")
    drawn = importlib.import_module("rich.table").Table(box=box.SIMPLE_HEAD, pad_edge=False)
    text = importlib.import_module("rich.text").Text
    for i, column in enumerate(table.columns):
        drawn.add_column(column.title, justify="right" if i else "left")
    styles = {"met": "green", "missed": "bold red"}
    for row in rows:
        drawn.add_row(*(text(cell, style=styles.get(cell, "")) for cell in row))
    importlib.import_module("rich.console").Console().print(drawn)


def markdown(table: Table) -> str:
    """Return a table as Markdown, its long texts and notes below it."""
    rows, footnotes = _texts(table)
    lines = [
        " | ".join(column.title for column in table.columns),
        " | ".join(["---"] + ["--:"] * (len(table.columns) - 1)),
        *(" | ".join(cell.replace("|", "\\|") for cell in cells) for cells in rows),
    ]
    below = [f"{text}  " for text in (*footnotes, *table.notes)]
    return "\n".join([*(f"| {line} |" for line in lines), "", *below]).rstrip() + "\n"


def show(table: Table) -> None:
    """Print a table."""
    rows, footnotes = _texts(table)
    print(f"\n{table.title}\n")
    if sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
        _rich(table, rows)
    else:
        _plain(table, rows)
    for note in (*footnotes, *table.notes):
        print(note)
