"""Geometric means of the suite's speed-ups: through each backend and peer, by kind of program, and over sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from bcjit.bench.suite.measuring import MISSING, Figures, Measured
from bcjit.bench.suite.program import Program
from bcjit.bench.tables import Cell, Column, Table

__all__ = ["KINDS", "by_kind", "by_size", "by_way", "geometric_mean"]

Found = Sequence[Measured[Program]]
KINDS: Final[dict[str, Callable[[Program], bool]]] = {
    "all": lambda _program: True,
    "on arrays": lambda program: not program.by_element,
    "by element": lambda program: program.by_element,
}
WAYS: Final = (
    Column("case", "through"),
    Column("right", "right"),
    Column("of", "of"),
    *(Column(kind, kind, 2) for kind in KINDS),
    Column("least", "least", 2),
    Column("first_ms", "first call, median", 1),
    Column("first_most_ms", "most", 1),
)
NOTES: Final = (
    "Geometric means of speed-ups over plain NumPy; a program that is not run, or not right, counts as 1.",
)


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean of some numbers, None of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def _figures(one: Measured[Program], key: str) -> Figures:
    return (one.backends | one.peers)[key]


def _mean(found: Found, key: str) -> Cell:
    figures = [_figures(one, key) for one in found]
    if figures and all(one.problem == MISSING for one in figures):
        return MISSING
    return geometric_mean(1.0 if one.problem else one.speedup for one in figures)


def by_way(size: str, found: Found, names: Mapping[str, str]) -> Table:
    """Return a table with a row for each backend and peer.

    Parameters
    ----------
    size, found
        The size, and the programs measured at it.
    names
        Titles of backends and peers by their keys.
    """
    about = {"what": "means", "size": size}
    table = Table(f"Geometric means, {size}", WAYS, notes=NOTES, about=about)
    for key, title in names.items():
        figures = [_figures(one, key) for one in found]
        if all(one.problem == MISSING for one in figures):
            table.rows.append({"case": title, "right": MISSING})
            continue
        right = [one for one in figures if not one.problem]
        row: dict[str, Cell] = {"case": title, "right": float(len(right)), "of": float(len(found))}
        row |= {
            kind: _mean([one for one in found if belongs(one.program)], key)
            for kind, belongs in KINDS.items()
        }
        firsts = sorted(ms for one in right if isinstance(ms := one.facts.get("first_ms"), float))
        if firsts:
            row["least"] = min(one.speedup for one in right)
            row |= {"first_ms": firsts[len(firsts) // 2], "first_most_ms": firsts[-1]}
        table.rows.append(row)
    return table


def _columns(title: str, names: Mapping[str, str]) -> tuple[Column, ...]:
    counts = (Column("case", title), Column("of", "programs"))
    return (*counts, *(Column(key, name, 2) for key, name in names.items()))


def by_kind(size: str, found: Found, names: Mapping[str, str]) -> Table:
    """Return a table with a row for each kind of program and each subject; parameters as for `by_way`."""
    subjects = dict.fromkeys(one.program.subject for one in found)
    groups = {
        kind: [one for one in found if belongs(one.program)] for kind, belongs in KINDS.items()
    } | {subject: [one for one in found if one.program.subject == subject] for subject in subjects}
    return _grouped(
        f"Geometric means by kind of program, {size}", "kind", groups, names, {"size": size}
    )


def by_size(every: Found, names: Mapping[str, str]) -> Table:
    """Return a table with a row for each size and one for all; parameters as for `by_way`."""
    sizes = dict.fromkeys(one.size for one in every)
    groups = {size: [one for one in every if one.size == size] for size in sizes}
    return _grouped("Geometric means by size", "size", groups | {"all": every}, names, {})


def _grouped(
    title: str,
    of: str,
    groups: Mapping[str, Found],
    names: Mapping[str, str],
    about: Mapping[str, str],
) -> Table:
    table = Table(title, _columns(of, names), notes=NOTES, about={"what": f"by {of}", **about})
    for name, found in groups.items():
        if found:
            cells = {key: _mean(found, key) for key in names}
            table.rows.append({"case": name, "of": float(len(found)), **cells})
    return table
