"""What differs between CPython versions: one `Dialect` table for each.

The only Python file that knows versions, or which opcodes and layouts they have. It decodes nothing by itself.
It follows ``Python/bytecodes.c`` (3.12, 3.13) and ``Python/ceval.c`` (3.11).
"""

from __future__ import annotations

import opcode as cpython
import sys
from collections.abc import Callable, Mapping
from typing import Final

from bcjit.bytecode.instruction import Op
from bcjit.bytecode.operands import (
    COMPARE_MASKS,
    COMPARE_OPERATORS,
    INTRINSICS_1,
    SHARED_CODECS,
    Codec,
    Kind,
    Label,
    Native,
    Operands,
    as_int,
    as_str,
    as_tuple,
)
from bcjit.errors import BcjitError
from bcjit.records import dataclass

Pieces = tuple[tuple[Op, object], ...]


class UnsupportedPython(BcjitError):
    """Raised where this Python, or bytecode that its compiler does not make, cannot be decoded."""


def _compare(shift: int) -> Codec:
    """3.12 and 3.13 keep the operator in the high bits and a mask for specialisation in the lowest four."""
    return Codec(
        lambda _o, n: COMPARE_OPERATORS[n >> shift],
        lambda _o, v: COMPARE_OPERATORS.index(as_str(v)) << shift | COMPARE_MASKS[as_str(v)],
    )


Rename = tuple[Op, Kind]
Reader = Callable[[Operands, int], Pieces]
GroupReader = Callable[[Operands, tuple[int, ...]], Pieces]
Writer = Callable[[tuple[object, ...]], tuple[Native, ...]]


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
    moving_load: tuple[str, ...]  # push a local and unbind it
    for_iter_skips: bool  # an exhausted FOR_ITER goes on behind its END_FOR
    null_first: bool  # the NULL of a call is below the callable

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


def takes_argument(name: str) -> bool:
    """Whether a native opcode of the running Python has an argument."""
    number = cpython.opmap[name]
    if hasattr(cpython, "hasarg"):  # from 3.12 on
        return number in cpython.hasarg
    return number >= cpython.HAVE_ARGUMENT


_COMMON: Final[Mapping[str, Rename]] = {
    **{
        op.name: (op, Kind.NONE)
        for op in (
            *(Op.NOP, Op.POP_TOP, Op.PUSH_NULL, Op.LOAD_ASSERTION_ERROR, Op.LOAD_BUILD_CLASS),
            *(Op.UNARY_NEGATIVE, Op.UNARY_INVERT, Op.BINARY_SUBSCR, Op.STORE_SUBSCR),
            *(Op.DELETE_SUBSCR, Op.GET_ITER, Op.GET_LEN, Op.RETURN_VALUE, Op.PUSH_EXC_INFO),
            *(Op.POP_EXCEPT, Op.CHECK_EXC_MATCH, Op.CHECK_EG_MATCH, Op.BEFORE_WITH),
            *(Op.WITH_EXCEPT_START, Op.MATCH_KEYS, Op.MATCH_MAPPING, Op.MATCH_SEQUENCE),
            *(Op.SETUP_ANNOTATIONS, Op.RETURN_GENERATOR, Op.GET_YIELD_FROM_ITER, Op.GET_AITER),
            *(Op.GET_ANEXT, Op.BEFORE_ASYNC_WITH, Op.END_ASYNC_FOR),
        )
    },
    **{
        op.name: (op, Kind.INT)
        for op in (
            *(Op.COPY, Op.SWAP, Op.COPY_FREE_VARS, Op.BUILD_TUPLE, Op.BUILD_LIST, Op.BUILD_SET),
            *(Op.BUILD_MAP, Op.BUILD_CONST_KEY_MAP, Op.BUILD_STRING, Op.BUILD_SLICE),
            *(Op.LIST_APPEND, Op.SET_ADD, Op.MAP_ADD, Op.LIST_EXTEND, Op.SET_UPDATE),
            *(Op.DICT_UPDATE, Op.DICT_MERGE, Op.UNPACK_SEQUENCE, Op.CALL, Op.RESUME),
            *(Op.RAISE_VARARGS, Op.RERAISE, Op.MATCH_CLASS, Op.GET_AWAITABLE),
        )
    },
    **{op.name: (op, Kind.BOOL) for op in (Op.IS_OP, Op.CONTAINS_OP)},
    **{
        op.name: (op, Kind.NAME)
        for op in (
            *(Op.STORE_GLOBAL, Op.DELETE_GLOBAL, Op.LOAD_NAME, Op.STORE_NAME, Op.DELETE_NAME),
            *(Op.STORE_ATTR, Op.DELETE_ATTR, Op.IMPORT_NAME, Op.IMPORT_FROM),
        )
    },
    **{op.name: (op, Kind.LOCAL) for op in (Op.STORE_FAST, Op.DELETE_FAST)},
    **{
        op.name: (op, Kind.CELL)
        for op in (Op.LOAD_DEREF, Op.STORE_DEREF, Op.DELETE_DEREF, Op.MAKE_CELL)
    },
    **{op.name: (op, Kind.LABEL) for op in (Op.FOR_ITER, Op.SEND)},
    "JUMP_FORWARD": (Op.JUMP, Kind.LABEL),
    "JUMP_BACKWARD": (Op.JUMP, Kind.LABEL),
    "JUMP_BACKWARD_NO_INTERRUPT": (Op.JUMP_NO_INTERRUPT, Kind.LABEL),
    "LOAD_CONST": (Op.LOAD_CONST, Kind.CONST),
    "BINARY_OP": (Op.BINARY_OP, Kind.BINARY),
    "UNPACK_EX": (Op.UNPACK_EX, Kind.UNPACK_EX),
    "CALL_FUNCTION_EX": (Op.CALL_FUNCTION_EX, Kind.BOOL),
}

_RENAMES_311: Final[Mapping[str, Rename]] = {
    **_COMMON,
    "COMPARE_OP": (Op.COMPARE_OP, Kind.COMPARE),
    "LOAD_FAST": (Op.LOAD_FAST, Kind.LOCAL),
    "LOAD_CLOSURE": (Op.LOAD_CLOSURE, Kind.CELL),
    "LOAD_ATTR": (Op.LOAD_ATTR, Kind.NAME),
    "UNARY_POSITIVE": (Op.UNARY_POSITIVE, Kind.NONE),
    "LIST_TO_TUPLE": (Op.LIST_TO_TUPLE, Kind.NONE),
    "FORMAT_VALUE": (Op.FORMAT_VALUE, Kind.FORMAT),
    "MAKE_FUNCTION": (Op.MAKE_FUNCTION, Kind.ATTRIBUTES),
    "YIELD_VALUE": (Op.YIELD_VALUE, Kind.INT),
    "JUMP_IF_TRUE_OR_POP": (Op.JUMP_IF_TRUE_OR_POP, Kind.LABEL),
    "JUMP_IF_FALSE_OR_POP": (Op.JUMP_IF_FALSE_OR_POP, Kind.LABEL),
    "SEND": (Op.SEND_POP, Kind.LABEL),
    **{
        f"POP_JUMP_{direction}_IF_{what}": (Op[f"POP_JUMP_IF_{what}"], Kind.LABEL)
        for direction in ("FORWARD", "BACKWARD")
        for what in ("NONE", "NOT_NONE")
    },
}

_RENAMES_312: Final[Mapping[str, Rename]] = {
    **_COMMON,
    "COMPARE_OP": (Op.COMPARE_OP, Kind.COMPARE),
    "LOAD_FAST": (Op.LOAD_FAST, Kind.LOCAL),
    "LOAD_FAST_CHECK": (Op.LOAD_FAST, Kind.LOCAL),
    "LOAD_FAST_AND_CLEAR": (Op.LOAD_FAST_AND_CLEAR, Kind.LOCAL),
    "LOAD_CLOSURE": (Op.LOAD_CLOSURE, Kind.CELL),
    "LOAD_LOCALS": (Op.LOAD_LOCALS, Kind.NONE),
    "LOAD_FROM_DICT_OR_DEREF": (Op.LOAD_FROM_DICT_OR_DEREF, Kind.CELL),
    "LOAD_FROM_DICT_OR_GLOBALS": (Op.LOAD_FROM_DICT_OR_GLOBALS, Kind.NAME),
    "FORMAT_VALUE": (Op.FORMAT_VALUE, Kind.FORMAT),
    "MAKE_FUNCTION": (Op.MAKE_FUNCTION, Kind.ATTRIBUTES),
    "YIELD_VALUE": (Op.YIELD_VALUE, Kind.INT),
    "POP_JUMP_IF_NONE": (Op.POP_JUMP_IF_NONE, Kind.LABEL),
    "POP_JUMP_IF_NOT_NONE": (Op.POP_JUMP_IF_NOT_NONE, Kind.LABEL),
    "END_FOR": (Op.END_FOR, Kind.NONE),
    "END_SEND": (Op.END_SEND, Kind.NONE),
    "CLEANUP_THROW": (Op.CLEANUP_THROW, Kind.NONE),
    "CALL_INTRINSIC_2": (Op.CALL_INTRINSIC_2, Kind.INTRINSIC_2),
}

_RENAMES_313: Final[Mapping[str, Rename]] = {
    **{
        name: row
        for name, row in _RENAMES_312.items()
        if name not in {"LOAD_FAST", "COMPARE_OP", "LOAD_CLOSURE", "END_FOR", "FORMAT_VALUE"}
    },
    "MAKE_FUNCTION": (Op.MAKE_FUNCTION, Kind.ATTRIBUTES),
    "SET_FUNCTION_ATTRIBUTE": (Op.SET_FUNCTION_ATTRIBUTE, Kind.ATTRIBUTE),
    "CONVERT_VALUE": (Op.CONVERT_VALUE, Kind.CONVERSION),
    "TO_BOOL": (Op.TO_BOOL, Kind.NONE),
    "UNARY_NOT": (Op.UNARY_NOT, Kind.NONE),
    "POP_JUMP_IF_TRUE": (Op.POP_JUMP_IF_TRUE, Kind.LABEL),
    "POP_JUMP_IF_FALSE": (Op.POP_JUMP_IF_FALSE, Kind.LABEL),
}


def _with_null(op: Op, arg: object, *, wanted: bool, null_first: bool) -> Pieces:
    """A load, and the NULL that the native opcode pushes with it: behind it, so that what can fail comes first."""
    if not wanted:
        return ((op, arg),)
    if null_first:
        return ((op, arg), (Op.PUSH_NULL, None), (Op.SWAP, 2))
    return ((op, arg), (Op.PUSH_NULL, None))


def _load_name_bit(op: Op, *, null_first: bool) -> Reader:
    return lambda o, n: _with_null(op, o.names[n >> 1], wanted=bool(n & 1), null_first=null_first)


def _load_super_attr(*, null_first: bool) -> Reader:
    return lambda o, n: _with_null(
        Op.LOAD_SUPER_ATTR,
        (o.names[n >> 2], bool(n & 2)),
        wanted=bool(n & 1),
        null_first=null_first,
    )


def _load_method_311(operands: Operands, number: int) -> Pieces:
    return _with_null(Op.LOAD_ATTR, operands.names[number], wanted=True, null_first=True)


def _load_classderef_311(operands: Operands, number: int) -> Pieces:
    return (Op.LOAD_LOCALS, None), (Op.LOAD_FROM_DICT_OR_DEREF, operands.slots[number])


def _constantly(*pieces: tuple[Op, object]) -> Reader:
    return lambda _operands, _number: pieces


def _load_fast_313(operands: Operands, number: int) -> Pieces:
    # Python/flowgraph.c turns LOAD_CLOSURE into LOAD_FAST; a cell can only be loaded to be put into a closure.
    op = Op.LOAD_CLOSURE if number in operands.cells else Op.LOAD_FAST
    return ((op, operands.slots[number]),)


def _pair_313(first: Op, second: Op) -> Reader:
    readers: dict[Op, Reader] = {
        Op.LOAD_FAST: _load_fast_313,
        Op.STORE_FAST: lambda o, n: ((Op.STORE_FAST, o.slots[n]),),
    }
    return lambda o, n: readers[first](o, n >> 4) + readers[second](o, n & 15)


def _compare_313(operands: Operands, number: int) -> Pieces:
    piece = (Op.COMPARE_OP, COMPARE_OPERATORS[number >> 5])
    return (piece, (Op.TO_BOOL, None)) if number & 16 else (piece,)


def _intrinsic_1(_: Operands, number: int) -> Pieces:
    own = {
        "INTRINSIC_UNARY_POSITIVE": Op.UNARY_POSITIVE,
        "INTRINSIC_LIST_TO_TUPLE": Op.LIST_TO_TUPLE,
    }
    name = INTRINSICS_1[number]
    return ((own[name], None),) if name in own else ((Op.CALL_INTRINSIC_1, name),)


def _return_const(operands: Operands, number: int) -> Pieces:
    return (Op.LOAD_CONST, operands.consts[number]), (Op.RETURN_VALUE, None)


def _truth_then(op: Op) -> Reader:
    arg = None if op is Op.UNARY_NOT else Label.TARGET
    return _constantly((Op.TO_BOOL, None), (op, arg))


def _call_kw(operands: Operands, numbers: tuple[int, ...]) -> Pieces:
    """The first number is the index of the names, the last the count."""
    return ((Op.CALL_KW, (numbers[-1], operands.consts[numbers[0]])),)


_SLICES: Final[Mapping[str, Reader]] = {
    # BINARY_SLICE and STORE_SLICE build the slice and do the subscript: _PyBuildSlice_ConsumeRefs, PyObject_GetItem
    "BINARY_SLICE": _constantly((Op.BUILD_SLICE, 2), (Op.BINARY_SUBSCR, None)),
    "STORE_SLICE": _constantly((Op.BUILD_SLICE, 2), (Op.STORE_SUBSCR, None)),
}

_READERS_311: Final[Mapping[str, Reader]] = {
    "LOAD_GLOBAL": _load_name_bit(Op.LOAD_GLOBAL, null_first=True),
    "LOAD_METHOD": _load_method_311,
    "LOAD_CLASSDEREF": _load_classderef_311,
    "IMPORT_STAR": _constantly((Op.CALL_INTRINSIC_1, "INTRINSIC_IMPORT_STAR"), (Op.POP_TOP, None)),
    "PRINT_EXPR": _constantly((Op.CALL_INTRINSIC_1, "INTRINSIC_PRINT"), (Op.POP_TOP, None)),
    "ASYNC_GEN_WRAP": _constantly((Op.CALL_INTRINSIC_1, "INTRINSIC_ASYNC_GEN_WRAP")),
    "PREP_RERAISE_STAR": _constantly((Op.CALL_INTRINSIC_2, "INTRINSIC_PREP_RERAISE_STAR")),
    "UNARY_NOT": _truth_then(Op.UNARY_NOT),
    **{
        f"POP_JUMP_{direction}_IF_{what}": _truth_then(Op[f"POP_JUMP_IF_{what}"])
        for direction in ("FORWARD", "BACKWARD")
        for what in ("TRUE", "FALSE")
    },
}

_READERS_312: Final[Mapping[str, Reader]] = {
    **_SLICES,
    "LOAD_GLOBAL": _load_name_bit(Op.LOAD_GLOBAL, null_first=True),
    "LOAD_ATTR": _load_name_bit(Op.LOAD_ATTR, null_first=True),
    "LOAD_SUPER_ATTR": _load_super_attr(null_first=True),
    "CALL_INTRINSIC_1": _intrinsic_1,
    "RETURN_CONST": _return_const,
    "UNARY_NOT": _truth_then(Op.UNARY_NOT),
    "POP_JUMP_IF_TRUE": _truth_then(Op.POP_JUMP_IF_TRUE),
    "POP_JUMP_IF_FALSE": _truth_then(Op.POP_JUMP_IF_FALSE),
}

_READERS_313: Final[Mapping[str, Reader]] = {
    **_SLICES,
    "LOAD_GLOBAL": _load_name_bit(Op.LOAD_GLOBAL, null_first=False),
    "LOAD_ATTR": _load_name_bit(Op.LOAD_ATTR, null_first=False),
    "LOAD_SUPER_ATTR": _load_super_attr(null_first=False),
    "CALL_INTRINSIC_1": _intrinsic_1,
    "RETURN_CONST": _return_const,
    "LOAD_FAST": _load_fast_313,
    "LOAD_FAST_LOAD_FAST": _pair_313(Op.LOAD_FAST, Op.LOAD_FAST),
    "STORE_FAST_LOAD_FAST": _pair_313(Op.STORE_FAST, Op.LOAD_FAST),
    "STORE_FAST_STORE_FAST": _pair_313(Op.STORE_FAST, Op.STORE_FAST),
    "COMPARE_OP": _compare_313,
    "FORMAT_SIMPLE": _constantly((Op.FORMAT_VALUE, (None, False))),
    "FORMAT_WITH_SPEC": _constantly((Op.FORMAT_VALUE, (None, True))),
}

_CALL_311: Final[Mapping[tuple[str, ...], GroupReader | None]] = {
    ("KW_NAMES", "PRECALL", "CALL"): _call_kw,
    ("PRECALL", "CALL"): lambda _, numbers: ((Op.CALL, numbers[-1]),),
}
_CALL_312: Final[Mapping[tuple[str, ...], GroupReader | None]] = {("KW_NAMES", "CALL"): _call_kw}
_GROUPS_313: Final[Mapping[tuple[str, ...], GroupReader | None]] = {
    ("LOAD_CONST", "CALL_KW"): _call_kw,
    ("TO_BOOL", "POP_JUMP_IF_TRUE"): None,
    ("TO_BOOL", "POP_JUMP_IF_FALSE"): None,
    # an exhausted FOR_ITER goes on behind both
    ("END_FOR", "POP_TOP"): lambda _o, _n: ((Op.END_FOR, None),),
}


def _pair_of(arg: object) -> tuple[object, object]:
    first, second = as_tuple(arg)
    return first, second


def _writes(*natives: Native) -> Writer:
    """Natives whose argument is the last virtual argument, wherever their kind wants one."""

    def write(args: tuple[object, ...]) -> tuple[Native, ...]:
        return tuple(
            Native(native.name, native.kind, args[-1] if native.value is None else native.value)
            for native in natives
        )

    return write


def _write_call_kw(*names_of: Native) -> Writer:
    """`names_of`: natives whose value ``"names"`` or ``"count"`` says which half of the argument they take."""

    def write(args: tuple[object, ...]) -> tuple[Native, ...]:
        count, names = _pair_of(args[-1])
        return tuple(
            Native(native.name, native.kind, names if native.value == "names" else count)
            for native in names_of
        )

    return write


_INTRINSIC_WRITERS: Final[Mapping[tuple[Op, ...], Writer]] = {
    (Op.UNARY_POSITIVE,): _writes(
        Native("CALL_INTRINSIC_1", Kind.INTRINSIC_1, "INTRINSIC_UNARY_POSITIVE")
    ),
    (Op.LIST_TO_TUPLE,): _writes(
        Native("CALL_INTRINSIC_1", Kind.INTRINSIC_1, "INTRINSIC_LIST_TO_TUPLE")
    ),
    (Op.CALL_INTRINSIC_1,): _writes(Native("CALL_INTRINSIC_1", Kind.INTRINSIC_1)),
    # from 3.12 LOAD_FAST does not test for an unbound local
    (Op.LOAD_FAST,): _writes(Native("LOAD_FAST_CHECK", Kind.LOCAL)),
    (Op.LOAD_GLOBAL,): _writes(Native("LOAD_GLOBAL", Kind.NAME_BIT)),
    (Op.LOAD_ATTR,): _writes(Native("LOAD_ATTR", Kind.NAME_BIT)),
    (Op.LOAD_SUPER_ATTR,): _writes(Native("LOAD_SUPER_ATTR", Kind.SUPER)),
}


def _write_intrinsic_311(natives: Mapping[object, Native]) -> Writer:
    def write(args: tuple[object, ...]) -> tuple[Native, ...]:
        if args[0] not in natives:
            raise UnsupportedPython(f"{args[0]} has no native form on Python 3.11")
        return (natives[args[0]],)

    return write


_WRITERS_311: Final[Mapping[tuple[Op, ...], Writer]] = {
    (Op.LOAD_LOCALS, Op.LOAD_FROM_DICT_OR_DEREF): _writes(Native("LOAD_CLASSDEREF", Kind.CELL)),
    (Op.CALL_INTRINSIC_1, Op.POP_TOP): _write_intrinsic_311(
        {
            "INTRINSIC_IMPORT_STAR": Native("IMPORT_STAR"),
            "INTRINSIC_PRINT": Native("PRINT_EXPR"),
        }
    ),
    (Op.TO_BOOL, Op.POP_JUMP_IF_TRUE): _writes(Native("POP_JUMP_FORWARD_IF_TRUE", Kind.LABEL)),
    (Op.TO_BOOL, Op.POP_JUMP_IF_FALSE): _writes(Native("POP_JUMP_FORWARD_IF_FALSE", Kind.LABEL)),
    (Op.TO_BOOL, Op.UNARY_NOT): _writes(Native("UNARY_NOT")),
    (Op.POP_JUMP_IF_TRUE,): _writes(Native("POP_JUMP_FORWARD_IF_TRUE", Kind.LABEL)),
    (Op.POP_JUMP_IF_FALSE,): _writes(Native("POP_JUMP_FORWARD_IF_FALSE", Kind.LABEL)),
    (Op.UNARY_NOT,): _writes(Native("UNARY_NOT")),
    (Op.CALL_INTRINSIC_1,): _write_intrinsic_311(
        {"INTRINSIC_ASYNC_GEN_WRAP": Native("ASYNC_GEN_WRAP")}
    ),
    (Op.CALL_INTRINSIC_2,): _write_intrinsic_311(
        {"INTRINSIC_PREP_RERAISE_STAR": Native("PREP_RERAISE_STAR")}
    ),
    (Op.LOAD_GLOBAL,): _writes(Native("LOAD_GLOBAL", Kind.NAME_BIT)),
    (Op.CALL,): _writes(Native("PRECALL", Kind.INT), Native("CALL", Kind.INT)),
    (Op.CALL_KW,): _write_call_kw(
        Native("KW_NAMES", Kind.CONST, "names"),
        Native("PRECALL", Kind.INT, "count"),
        Native("CALL", Kind.INT, "count"),
    ),
}

_WRITERS_312: Final[Mapping[tuple[Op, ...], Writer]] = {
    (Op.TO_BOOL, Op.POP_JUMP_IF_TRUE): _writes(Native("POP_JUMP_IF_TRUE", Kind.LABEL)),
    (Op.TO_BOOL, Op.POP_JUMP_IF_FALSE): _writes(Native("POP_JUMP_IF_FALSE", Kind.LABEL)),
    (Op.TO_BOOL, Op.UNARY_NOT): _writes(Native("UNARY_NOT")),
    (Op.POP_JUMP_IF_TRUE,): _writes(Native("POP_JUMP_IF_TRUE", Kind.LABEL)),
    (Op.POP_JUMP_IF_FALSE,): _writes(Native("POP_JUMP_IF_FALSE", Kind.LABEL)),
    (Op.UNARY_NOT,): _writes(Native("UNARY_NOT")),
    **_INTRINSIC_WRITERS,
    (Op.CALL_KW,): _write_call_kw(
        Native("KW_NAMES", Kind.CONST, "names"), Native("CALL", Kind.INT, "count")
    ),
}


def _write_format_313(args: tuple[object, ...]) -> tuple[Native, ...]:
    conversion, has_spec = _pair_of(args[-1])
    if conversion is not None:
        raise UnsupportedPython("from Python 3.13 the conversion is a CONVERT_VALUE")
    return (Native("FORMAT_WITH_SPEC" if has_spec else "FORMAT_SIMPLE"),)


def _write_make_function_313(args: tuple[object, ...]) -> tuple[Native, ...]:
    names = as_tuple(args[-1])
    setters = (Native("SET_FUNCTION_ATTRIBUTE", Kind.ATTRIBUTE, name) for name in reversed(names))
    return (Native("MAKE_FUNCTION"), *setters)


_WRITERS_313: Final[Mapping[tuple[Op, ...], Writer]] = {
    **_INTRINSIC_WRITERS,
    (Op.CALL_KW,): _write_call_kw(
        Native("LOAD_CONST", Kind.CONST, "names"), Native("CALL_KW", Kind.INT, "count")
    ),
    (Op.LOAD_CLOSURE,): _writes(Native("LOAD_FAST", Kind.CELL)),
    (Op.COMPARE_OP,): _writes(Native("COMPARE_OP", Kind.COMPARE)),
    (Op.END_FOR,): lambda _args: (Native("END_FOR"), Native("POP_TOP")),
    (Op.FORMAT_VALUE,): _write_format_313,
    (Op.MAKE_FUNCTION,): _write_make_function_313,
}

# An opcode that tests the truth twice gives the bool of the first test: UNARY_NOT of a bool runs no user code.
_TO_BOOL_BY_NOT: Final = {Op.TO_BOOL: (Native("UNARY_NOT"), Native("UNARY_NOT"))}

_HIDDEN_311: Final = frozenset({"CACHE", "EXTENDED_ARG"})
# RESERVED is unused; the others are in code objects that belong to the interpreter itself
_HIDDEN_312: Final = _HIDDEN_311 | {"RESERVED", "INTERPRETER_EXIT"}
_HIDDEN_313: Final = _HIDDEN_312 | {"ENTER_EXECUTOR", "EXIT_INIT_CHECK"}

_BACKWARD: Final = frozenset({"JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
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
_DIALECTS: Final[Mapping[tuple[int, int], Dialect]] = {
    (3, 11): Dialect(
        version=(3, 11),
        renames=_RENAMES_311,
        readers=_READERS_311,
        groups=_CALL_311,
        writers=_WRITERS_311,
        alone=_TO_BOOL_BY_NOT,
        codecs=SHARED_CODECS,
        hidden=_HIDDEN_311,
        backward=_BACKWARD | frozenset(_JUMPS_BACK_311.values()),
        jumps_back=_JUMPS_BACK_311,
        pairs={},
        takes_bool=frozenset(),
        slot_opcodes=_slot_opcodes(_RENAMES_311) | {"LOAD_CLASSDEREF"},
        checked_loads={},
        moving_load=("LOAD_FAST", "DELETE_FAST"),
        for_iter_skips=False,
        null_first=True,
    ),
    (3, 12): Dialect(
        version=(3, 12),
        renames=_RENAMES_312,
        readers=_READERS_312,
        groups=_CALL_312,
        writers=_WRITERS_312,
        alone=_TO_BOOL_BY_NOT,
        codecs={**SHARED_CODECS, Kind.COMPARE: _compare(4)},
        hidden=_HIDDEN_312,
        backward=_BACKWARD,
        jumps_back=_JUMPS_BACK,
        pairs={},
        takes_bool=frozenset(),
        slot_opcodes=_slot_opcodes(_RENAMES_312),
        checked_loads={"LOAD_FAST": "LOAD_FAST_CHECK"},
        moving_load=("LOAD_FAST_AND_CLEAR",),
        for_iter_skips=True,
        null_first=True,
    ),
    (3, 13): Dialect(
        version=(3, 13),
        renames=_RENAMES_313,
        readers=_READERS_313,
        groups=_GROUPS_313,
        writers=_WRITERS_313,
        alone={},
        codecs={**SHARED_CODECS, Kind.COMPARE: _compare(5)},
        hidden=_HIDDEN_313,
        backward=_BACKWARD,
        jumps_back=_JUMPS_BACK,
        pairs={
            "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
            "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
            "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
        },
        takes_bool=frozenset({"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT"}),
        slot_opcodes=_slot_opcodes(_RENAMES_313) | {"LOAD_FAST"},
        checked_loads={"LOAD_FAST": "LOAD_FAST_CHECK"},
        moving_load=("LOAD_FAST_AND_CLEAR",),
        for_iter_skips=True,
        null_first=False,
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
