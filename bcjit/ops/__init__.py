"""What NumPy functions mean: one entry for each, from which shape, dtype, aliasing, writes and failure follow.

Other layers use `lookup`, `lookup_method`, `lookup_attribute` and `infer`, and `OpDef.expand` through an `Emitter` of
their own. This package must not import graphs, guards or bytecode.
"""

from typing import Final

from bcjit.ops import (
    axes,
    bits,
    compound,
    contraction,
    conversion,
    copies,
    creation,
    differences,
    einsum,
    elementwise,
    fft,
    grids,
    histograms,
    index_tools,
    index_tricks,
    indexing,
    joining,
    library,
    linalg,
    linalg_norms,
    metadata,
    movement,
    nan_functions,
    padding,
    placing,
    polynomials,
    products,
    quantiles,
    reductions,
    searching,
    selection,
    sequences,
    sets,
    splitting,
    weighted,
    windows,
)
from bcjit.ops.emitter import Emitter, Value
from bcjit.ops.infer import Inferred, infer
from bcjit.ops.meta_emitter import MetaEmitter
from bcjit.ops.named_tuples import NAMED_TUPLES
from bcjit.ops.opdef import (
    Fact,
    MustKnow,
    NotConstant,
    OpDef,
    OpFailure,
    Sample,
    Spelling,
    Unsupported,
    WouldRaise,
)
from bcjit.ops.table import all_ops, lookup, lookup_attribute, lookup_method

# Importing them fills the table.
OP_MODULES: Final = (
    axes,
    bits,
    compound,
    contraction,
    conversion,
    copies,
    creation,
    differences,
    einsum,
    elementwise,
    fft,
    grids,
    index_tools,
    histograms,
    index_tricks,
    indexing,
    joining,
    library,
    linalg,
    linalg_norms,
    metadata,
    movement,
    nan_functions,
    padding,
    placing,
    polynomials,
    products,
    quantiles,
    reductions,
    searching,
    selection,
    sequences,
    sets,
    splitting,
    weighted,
    windows,
)

__all__ = [
    "NAMED_TUPLES",
    "Emitter",
    "Fact",
    "Inferred",
    "MetaEmitter",
    "MustKnow",
    "NotConstant",
    "OpDef",
    "OpFailure",
    "Sample",
    "Spelling",
    "Unsupported",
    "Value",
    "WouldRaise",
    "all_ops",
    "infer",
    "lookup",
    "lookup_attribute",
    "lookup_method",
]
