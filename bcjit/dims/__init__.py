"""Symbolic sizes: canonical integer expressions, relations between them, and what is known; runs no user code.

``Symbol`` names an unknown integer, ``Expr`` is an integer polynomial over symbols and the four functions floor
division, modulo, minimum and maximum, and a ``Dim`` is an ``int`` or an ``Expr``: whatever is constant collapses to
``int``. ``Relation`` compares two dims. ``ShapeEnv`` answers relations and records, as facts, those answers that
depend on the hints; the facts are what must be guarded.

This package must not know where a symbol comes from (that is a source, one layer up) nor what an array is.
"""

from bcjit.dims.algebra import (
    Atom,
    Dim,
    DimLike,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Monomial,
    Symbol,
    SymbolKind,
    add,
    evaluate,
    floor_divide,
    is_dim,
    maximum,
    minimum,
    modulo,
    multiply,
    negative,
    product,
    substitute,
    subtract,
    symbols,
    text,
)
from bcjit.dims.code import source
from bcjit.dims.env import Mark, ShapeEnv, ShapeMismatch, Undecidable
from bcjit.dims.relation import Relation, RelationOp

__all__ = [
    "Atom",
    "Dim",
    "DimLike",
    "Expr",
    "FloorDiv",
    "Mark",
    "Max",
    "Min",
    "Mod",
    "Monomial",
    "Relation",
    "RelationOp",
    "ShapeEnv",
    "ShapeMismatch",
    "Symbol",
    "SymbolKind",
    "Undecidable",
    "add",
    "evaluate",
    "floor_divide",
    "is_dim",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "negative",
    "product",
    "source",
    "substitute",
    "subtract",
    "symbols",
    "text",
]
