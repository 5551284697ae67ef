"""The suite's picture: for each size a panel, for each program a bar of each backend on a logarithmic axis, with quartiles; drawn by matplotlib, where it is installed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bcjit.bench.suite.means import geometric_mean
from bcjit.bench.tables import Cell, Table

__all__ = ["draw", "is_there"]

# Told apart by people who see few colours, too.
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
TICKS: Final = (0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)  # fmt: skip
MOST_TICKS: Final = 9
LEAST_WIDTH: Final = (
    1.25  # the axis goes at least from 1/1.25 to 1.25, so that noise does not look like a result
)
ROW: Final = 0.21  # inches of a program, and of each bar but the first
BAR: Final = 0.1


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
    sizes: dict[str, list[Table]] = {}
    for table in tables:
        if table.about.get("what") == "details":
            sizes.setdefault(table.about["size"], []).append(table)
    several = max(map(len, sizes.values()), default=1)
    row = ROW + BAR * (several - 1)
    figure = importlib.import_module("matplotlib.figure").Figure(
        figsize=(
            3.0 + 4.2 * max(len(sizes), 1),
            1.8 + row * max(map(_height, sizes.values()), default=2.0),
        ),
        layout="constrained",
    )
    panels = figure.subplots(1, max(len(sizes), 1), squeeze=False)[0]
    for place, (axes, (size, drawn)) in enumerate(zip(panels, sizes.items(), strict=False)):
        _panel(axes, size, drawn, named=place == 0)
    figure.suptitle("Times as fast as plain NumPy", fontsize=12)
    line = "; ".join(f"{name} {value}" for name, value in facts.items())
    figure.supxlabel(line, fontsize=7, color="#555555")
    figure.savefig(file, dpi=110)


GAP: Final = 0.6  # rows between subjects


def _places(rows: Sequence[Mapping[str, Cell]]) -> list[float]:
    """Return where each program stands, in rows: in the order of the table, with gaps between subjects."""
    places, height = [], 0.0
    before = rows[0]["subject"] if rows else None
    for row in rows:
        if row["subject"] != before:
            before = row["subject"]
            height += GAP
        places.append(height)
        height += 1.0
    return places


def _height(drawn: Sequence[Table]) -> float:
    return max((_places(table.rows)[-1] + 1.0 for table in drawn if table.rows), default=2.0)


def _number(row: Mapping[str, Cell], key: str) -> float:
    """Return a figure of a program; of one that differs from plain Python, which has none, that of no change."""
    cell = row.get(key)
    return cell if isinstance(cell, float) else 1.0


def _panel(axes: Any, size: str, drawn: Sequence[Table], *, named: bool) -> None:
    """Draw the bars of one size: of each program those of all backends, below each other, in the order of the command line."""
    rows = drawn[0].rows
    places = _places(rows)
    thick = 0.78 / len(drawn)
    far = [1.0]
    for one, table in enumerate(drawn):
        colour = COLOURS[one % len(COLOURS)]
        at = [place - 0.39 + (one + 0.5) * thick for place in places]
        far += _bars(axes, table, at, thick * 0.92, colour)
    axes.set_xscale("log")
    axes.axvline(1.0, color="#222222", linewidth=0.8)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False}
    axes.legend(title=size, ncols=2, fontsize=7, title_fontsize=9, **above)
    left = min(1.0 / LEAST_WIDTH, 0.93 * min(far))
    right = max(LEAST_WIDTH, 1.12 * max(far))
    axes.set_xlim(left, right)
    ticks = [tick for tick in TICKS if left <= tick <= right]
    if len(ticks) > MOST_TICKS:
        ticks = [tick for tick in ticks if tick not in {0.8, 0.9, 1.1, 1.25, 1.5}]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylim(_height(drawn) - 0.2, -0.9)
    axes.set_yticks(places, [str(row["case"]) for row in rows] if named else [], fontsize=8)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _bars(
    axes: Any, table: Table, at: Sequence[float], thick: float, colour: str
) -> tuple[float, ...]:
    """Draw one backend's bars, and return how far they go; a bar is from 1, where nothing is gained or lost."""
    speed, low, high = (
        [_number(row, key) for row in table.rows] for key in ("speedup", "low", "high")
    )
    mean = geometric_mean(speed)
    label = table.about["backend"] + (f" (geometric mean {mean:.2f})" if mean else "")
    widths = [value - 1.0 for value in speed]
    axes.barh(at, widths, left=1.0, height=thick, color=colour, label=label)
    axes.hlines(at, low, high, color="#222222", linewidth=0.8)
    if mean is not None:
        axes.axvline(mean, color=colour, linewidth=1.2, linestyle="--")
    for row, value, end, place in zip(table.rows, speed, high, at, strict=True):
        equal = "speedup" in row
        axes.annotate(
            f"{value:.2f}" if equal else "DIFFERS",
            (max(value, end, 1.0), place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=5.5 if thick < 0.5 else 6.5,
            color="#444444" if equal else "#d00000",
        )
    return (*speed, *low, *high)
