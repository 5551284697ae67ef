"""The suite's picture: a bar for each program and backend on a logarithmic axis, with quartiles; drawn by matplotlib, where it is installed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bcjit.bench.suite.figures import geometric_mean
from bcjit.bench.tables import Cell, Table

__all__ = ["draw", "is_there"]

# Told apart by people who see few colours, too.
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
TICKS: Final = (0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)  # fmt: skip
MOST_TICKS: Final = 9
LEAST_WIDTH: Final = (
    1.25  # the axis goes at least from 1/1.25 to 1.25, so that noise does not look like a result
)
ROW: Final = 0.21  # inches of a bar


def is_there() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(tables: Sequence[Table], facts: Mapping[str, str], file: str | Path) -> None:
    """Draw the speed-ups of the suite's tables.

    Parameters
    ----------
    tables
        What the suite measured; those of single backends are drawn, side by side.
    facts
        The machine, for the line below.
    file
        Where it goes; the ending says the format.
    """
    drawn = [table for table in tables if any("subject" in row for row in table.rows)]
    figure = importlib.import_module("matplotlib.figure").Figure(
        figsize=(3.0 + 4.2 * max(len(drawn), 1), 1.6 + ROW * max(_heights(drawn))),
        layout="constrained",
    )
    panels = figure.subplots(1, max(len(drawn), 1), squeeze=False)[0]
    for place, (axes, table) in enumerate(zip(panels, drawn, strict=False)):
        _panel(axes, table, COLOURS[place % len(COLOURS)], named=place == 0)
    figure.suptitle("Times as fast as plain NumPy", fontsize=12)
    line = "; ".join(f"{name} {value}" for name, value in facts.items())
    figure.supxlabel(line, fontsize=7, color="#555555")
    figure.savefig(file, dpi=110)


def _heights(drawn: Sequence[Table]) -> list[float]:
    return [2.0, *(len(table.rows) + len(_subjects(table)) * 0.6 for table in drawn)]


def _subjects(table: Table) -> list[Cell]:
    return list(dict.fromkeys(row["subject"] for row in table.rows))


def _number(row: Mapping[str, Cell], key: str) -> float:
    """Return a figure of a program; of one that differs from plain Python, which has none, that of no change."""
    cell = row.get(key)
    return cell if isinstance(cell, float) else 1.0


def _panel(axes: Any, table: Table, colour: str, *, named: bool) -> None:
    """Draw one backend's bars, by subject, each longest first."""
    rows: list[Mapping[str, Cell]] = []
    places: list[float] = []
    height = 0.0
    for subject in _subjects(table):
        of_it = [row for row in table.rows if row["subject"] == subject]
        for row in sorted(of_it, key=lambda row: -_number(row, "speedup")):
            rows.append(row)
            places.append(height)
            height += 1.0
        height += 0.6
    speed, low, high = ([_number(row, key) for row in rows] for key in ("speedup", "low", "high"))
    # A bar is from 1, where nothing is gained or lost; slower ones go to the left, and are lighter.
    alphas = [1.0 if value >= 1.0 else 0.45 for value in speed]
    for place, value, alpha in zip(places, speed, alphas, strict=True):
        axes.barh(place, value - 1.0, left=1.0, height=0.72, color=colour, alpha=alpha)
    axes.hlines(places, low, high, color="#222222", linewidth=1.0)
    axes.set_xscale("log")
    axes.axvline(1.0, color="#222222", linewidth=0.8)
    mean = geometric_mean(speed)
    if mean is not None:
        axes.axvline(mean, color=colour, linewidth=1.2, linestyle="--")
        axes.set_title(f"{table.title} (geometric mean {mean:.2f})", fontsize=9)
    left = min([1.0 / LEAST_WIDTH, *(0.93 * value for value in (*low, *speed))])
    right = max([LEAST_WIDTH, *(1.12 * value for value in (*high, *speed))])
    axes.set_xlim(left, right)
    ticks = [tick for tick in TICKS if left <= tick <= right]
    if len(ticks) > MOST_TICKS:
        ticks = [tick for tick in ticks if tick not in {0.8, 0.9, 1.1, 1.25, 1.5}]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylim(height - 0.6, -0.9)
    axes.set_yticks(places, [str(row["case"]) for row in rows] if named else [], fontsize=8)
    axes.tick_params(axis="y", length=0)
    for row, value, far, place in zip(rows, speed, high, places, strict=True):
        equal = "speedup" in row
        axes.annotate(
            f"{value:.2f}" if equal else "DIFFERS",
            (max(value, far, 1.0), place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            color="#444444" if equal else "#d00000",
        )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
