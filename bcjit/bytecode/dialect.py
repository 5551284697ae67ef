"""What differs between CPython versions: one `Dialect` table for each.

This file, `reading` and `writing` are the only ones in Python that know versions, or which opcodes and layouts they have.
It decodes nothing by itself.
"""

from __future__ import annotations

import opcode as cpython
import sys
from collections.abc import Mapping
from typing import Final

from bcjit.bytecode.instruction import Op
from bcjit.bytecode.operands import (
    COMPARE_MASKS,
    COMPARE_OPERATORS,
    SHARED_CODECS,
    Codec,
    Kind,
    Native,
    UnsupportedPython,
    as_int,
    as_str,
)
from bcjit.bytecode.reading import (
    GROUPS_311,
    GROUPS_312,
    GROUPS_313,
    GROUPS_314,
    READERS_311,
    READERS_312,
    READERS_313,
    READERS_314,
    READERS_315,
    RENAMES_311,
    RENAMES_312,
    RENAMES_313,
    RENAMES_314,
    RENAMES_315,
    GroupReader,
    Reader,
    Rename,
)
from bcjit.bytecode.writing import (
    TO_BOOL_BY_NOT,
    WRITERS_311,
    WRITERS_312,
    WRITERS_313,
    WRITERS_314,
    WRITERS_315,
    Writer,
)
from bcjit.records import dataclass

__all__ = ["SUPPORTED", "Dialect", "UnsupportedPython", "caches_of", "current"]


def _compare(shift: int) -> Codec:
    """From 3.12 on the operator is in the high bits and a mask for specialisation in the lowest four."""
    return Codec(
        lambda _o, n: COMPARE_OPERATORS[n >> shift],
        lambda _o, v: COMPARE_OPERATORS.index(as_str(v)) << shift | COMPARE_MASKS[as_str(v)],
    )


@dataclass(frozen=True, slots=True)
class Dialect:
    """One CPython version's opcodes in terms of ours."""

    version: tuple[int, int]
    renames: Mapping[str, Rename]  # native opcodes that are one of ours
    readers: Mapping[
        str, Reader
    ]  # native opcodes that are several of ours, or whose argument decides
    groups: Mapping[
        tuple[str, ...], GroupReader | None
    ]  # runs that must not be split; None: each read by itself
    writers: Mapping[
        tuple[Op, ...], Writer
    ]  # where the way back is not the reverse of `renames`; longest first
    alone: Mapping[
        Op, tuple[Native, ...]
    ]  # for opcodes that only exist fused with the next, written alone
    codecs: Mapping[Kind, Codec]
    hidden: frozenset[str]  # never seen in co_code, or by us
    backward: frozenset[str]  # jumps whose argument counts backwards
    jumps_back: Mapping[str, str]  # forward jump -> the backward one
    pairs: Mapping[str, tuple[str, str]]  # two slots of four bits -> the two opcodes
    takes_bool: frozenset[
        str
    ]  # before which the bool that COMPARE_OP was asked for is a truth test of its own
    slot_opcodes: frozenset[str]  # whose argument is one slot of the fast locals
    checked_loads: Mapping[str, str]  # load of a local -> the load that tests whether it is bound
    owned_loads: Mapping[
        str, str
    ]  # load of a reference that only the local owns -> one that owns it
    moving_load: tuple[str, ...]  # push a local and unbind it
    for_iter_skips: bool  # an exhausted FOR_ITER goes on behind its END_FOR
    null_first: bool  # the NULL of a call is below the callable
    positions_are_objects: bool  # the position that a handler with lasti finds on the stack

    def write(self, op: Op, arg: object) -> tuple[Native, ...]:
        """One virtual instruction in native form, by itself."""
        if (op,) in self.writers:
            return self.writers[op,]((arg,))
        if op in self.alone:
            return self.alone[op]
        if op not in _ONE_TO_ONE[self.version]:
            raise UnsupportedPython(f"{op.name} has no native form of its own on this Python")
        name, kind = _ONE_TO_ONE[self.version][op]
        return (Native(name, kind, arg),)


def caches_of(name: str) -> int:
    """Number of inline cache units behind a native opcode of the running Python."""
    entries = cpython._inline_cache_entries  # type: ignore[attr-defined]  # noqa: SLF001 - it has no public name
    if isinstance(entries, list):  # up to 3.12, by number
        return as_int(entries[cpython.opmap[name]])
    return as_int(entries.get(name, 0))


_HIDDEN_311: Final = frozenset({"CACHE", "EXTENDED_ARG"})
# RESERVED is unused; the others are in code objects that belong to the interpreter itself
_HIDDEN_312: Final = _HIDDEN_311 | {"RESERVED", "INTERPRETER_EXIT"}
_HIDDEN_313: Final = _HIDDEN_312 | {"ENTER_EXECUTOR", "EXIT_INIT_CHECK"}

_HIDDEN_315: Final = _HIDDEN_313 | {"TRACE_RECORD"}

_BACKWARD: Final = frozenset({"JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
# END_ASYNC_FOR says where its loop is, for sys.monitoring; it does not jump there
_BACKWARD_314: Final = _BACKWARD | {"END_ASYNC_FOR"}
_JUMPS_BACK: Final[Mapping[str, str]] = {"JUMP_FORWARD": "JUMP_BACKWARD"}
_JUMPS_BACK_311: Final[Mapping[str, str]] = {
    **_JUMPS_BACK,
    **{
        f"POP_JUMP_FORWARD_IF_{what}": f"POP_JUMP_BACKWARD_IF_{what}"
        for what in ("TRUE", "FALSE", "NONE", "NOT_NONE")
    },
}


def _slot_opcodes(renames: Mapping[str, Rename]) -> frozenset[str]:
    return frozenset(name for name, (_, kind) in renames.items() if kind in _SLOT_KINDS)


_SLOT_KINDS: Final = frozenset({Kind.LOCAL, Kind.CELL})
_PAIRS_313: Final = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
_TAKES_BOOL_313: Final = frozenset({"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT"})
_PAIRS_314: Final = {
    **_PAIRS_313,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
}
_CHECKED_LOADS_314: Final = {
    "LOAD_FAST": "LOAD_FAST_CHECK",
    "LOAD_FAST_BORROW": "LOAD_FAST_CHECK",
}
_OWNED_LOADS_314: Final = {
    "LOAD_FAST_BORROW": "LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST_LOAD_FAST",
}
_DIALECTS: Final[Mapping[tuple[int, int], Dialect]] = {
    (3, 11): Dialect(
        version=(3, 11),
        renames=RENAMES_311,
        readers=READERS_311,
        groups=GROUPS_311,
        writers=WRITERS_311,
        alone=TO_BOOL_BY_NOT,
        codecs=SHARED_CODECS,
        hidden=_HIDDEN_311,
        backward=_BACKWARD | frozenset(_JUMPS_BACK_311.values()),
        jumps_back=_JUMPS_BACK_311,
        pairs={},
        takes_bool=frozenset(),
        slot_opcodes=_slot_opcodes(RENAMES_311) | {"LOAD_CLASSDEREF"},
        checked_loads={},
        owned_loads={},
        moving_load=("LOAD_FAST", "DELETE_FAST"),
        for_iter_skips=False,
        null_first=True,
        positions_are_objects=True,
    ),
    (3, 12): Dialect(
        version=(3, 12),
        renames=RENAMES_312,
        readers=READERS_312,
        groups=GROUPS_312,
        writers=WRITERS_312,
        alone=TO_BOOL_BY_NOT,
        codecs={**SHARED_CODECS, Kind.COMPARE: _compare(4)},
        hidden=_HIDDEN_312,
        backward=_BACKWARD,
        jumps_back=_JUMPS_BACK,
        pairs={},
        takes_bool=frozenset(),
        slot_opcodes=_slot_opcodes(RENAMES_312),
        checked_loads={"LOAD_FAST": "LOAD_FAST_CHECK"},
        owned_loads={},
        moving_load=("LOAD_FAST_AND_CLEAR",),
        for_iter_skips=True,
        null_first=True,
        positions_are_objects=True,
    ),
    (3, 13): Dialect(
        version=(3, 13),
        renames=RENAMES_313,
        readers=READERS_313,
        groups=GROUPS_313,
        writers=WRITERS_313,
        alone={},
        codecs={**SHARED_CODECS, Kind.COMPARE: _compare(5)},
        hidden=_HIDDEN_313,
        backward=_BACKWARD,
        jumps_back=_JUMPS_BACK,
        pairs=_PAIRS_313,
        takes_bool=_TAKES_BOOL_313,
        slot_opcodes=_slot_opcodes(RENAMES_313) | {"LOAD_FAST"},
        checked_loads={"LOAD_FAST": "LOAD_FAST_CHECK"},
        owned_loads={},
        moving_load=("LOAD_FAST_AND_CLEAR",),
        for_iter_skips=True,
        null_first=False,
        positions_are_objects=True,
    ),
    (3, 14): Dialect(
        version=(3, 14),
        renames=RENAMES_314,
        readers=READERS_314,
        groups=GROUPS_314,
        writers=WRITERS_314,
        alone={},
        codecs={**SHARED_CODECS, Kind.COMPARE: _compare(5)},
        hidden=_HIDDEN_313,
        backward=_BACKWARD_314,
        jumps_back=_JUMPS_BACK,
        pairs=_PAIRS_314,
        takes_bool=_TAKES_BOOL_313,
        slot_opcodes=_slot_opcodes(RENAMES_314) | {"LOAD_FAST", "LOAD_FAST_BORROW"},
        checked_loads=_CHECKED_LOADS_314,
        owned_loads=_OWNED_LOADS_314,
        moving_load=("LOAD_FAST_AND_CLEAR",),
        for_iter_skips=True,
        null_first=False,
        positions_are_objects=False,
    ),
    (3, 15): Dialect(
        version=(3, 15),
        renames=RENAMES_315,
        readers=READERS_315,
        groups=GROUPS_314,
        writers=WRITERS_315,
        alone={},
        codecs={**SHARED_CODECS, Kind.COMPARE: _compare(5)},
        hidden=_HIDDEN_315,
        backward=_BACKWARD_314,
        jumps_back=_JUMPS_BACK,
        pairs=_PAIRS_314,
        takes_bool=_TAKES_BOOL_313,
        slot_opcodes=_slot_opcodes(RENAMES_315) | {"LOAD_FAST", "LOAD_FAST_BORROW"},
        checked_loads=_CHECKED_LOADS_314,
        owned_loads=_OWNED_LOADS_314,
        moving_load=("LOAD_FAST_AND_CLEAR",),
        for_iter_skips=True,
        null_first=False,
        positions_are_objects=False,
    ),
}

# Later names win, so the opcode to write is the last of those that mean the same: see `_renames_reversed`.
_NOT_WRITTEN: Final = frozenset({"JUMP_BACKWARD"}) | frozenset(_JUMPS_BACK_311.values())


def _renames_reversed(dialect: Dialect) -> Mapping[Op, tuple[str, Kind]]:
    return {
        op: (name, kind) for name, (op, kind) in dialect.renames.items() if name not in _NOT_WRITTEN
    }


_ONE_TO_ONE: Final[Mapping[tuple[int, int], Mapping[Op, tuple[str, Kind]]]] = {
    version: _renames_reversed(dialect) for version, dialect in _DIALECTS.items()
}

SUPPORTED: Final = tuple(sorted(_DIALECTS))


def current() -> Dialect:
    """The dialect of the running Python.

    Raises
    ------
    UnsupportedPython
        If there is none for it.
    """
    dialect = _DIALECTS.get(sys.version_info[:2])
    if dialect is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
        running = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise UnsupportedPython(
            f"bytecode of Python {running} is not supported; supported are {known}"
        )
    return dialect
