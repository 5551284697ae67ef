"""What must hold for compiled code to be right: where values are found, what is expected of them, and the check.

``Source`` and ``Guard`` are plain data. ``fetch``, ``holds`` and ``first_failing`` are the reference evaluator,
``compile_guards`` builds the C tree that does the same. This package runs no user code, emits no bytecode, and does
not know what a graph is.
"""

from bcjit.guards.compile import compile_guards, specification
from bcjit.guards.evaluate import (
    Roots,
    Unavailable,
    fetch,
    first_failing,
    holds,
    lookup_in_mro,
    own_dict,
)
from bcjit.guards.guard import DEAD, Guard, GuardKind, Identity, SymbolicRelation, relation_guard
from bcjit.guards.hints import hint
from bcjit.guards.order import ordered
from bcjit.guards.sentence import Failure, describe, failure, named, sentence
from bcjit.guards.source import MEMBERS, Source, SourceKind, is_constant_key, is_exactly

__all__ = [
    "DEAD",
    "MEMBERS",
    "Failure",
    "Guard",
    "GuardKind",
    "Identity",
    "Roots",
    "Source",
    "SourceKind",
    "SymbolicRelation",
    "Unavailable",
    "compile_guards",
    "describe",
    "failure",
    "fetch",
    "first_failing",
    "hint",
    "holds",
    "is_constant_key",
    "is_exactly",
    "lookup_in_mro",
    "named",
    "ordered",
    "own_dict",
    "relation_guard",
    "sentence",
    "specification",
]
