"""What NumPy functions mean: one entry for each, from which shape, dtype, aliasing, writes and failure follow.

Other layers use `lookup`, `lookup_method`, `lookup_attribute` and `infer`, and `OpDef.expand` through an `Emitter` of
their own. This package must not import graphs, guards or bytecode.
"""

from typing import Final

from bcjit.ops import table, ufuncs
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

# The rows that nearly every function needs; `table` reads the others when they are first looked up.
EAGER: Final = {"ufuncs": ufuncs}
for _name, _module in EAGER.items():
    table.add(_name, _module.table)

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
