"""What native opcodes mean, by CPython version: renames, readers, and the runs that are read together.

Tables for `dialect`, which has one of each for a version. They follow ``Python/bytecodes.c`` (from 3.12 on) and ``Python/ceval.c`` (3.11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bcjit.bytecode.instruction import Op
from bcjit.bytecode.operands import (
    BINARY_OPERATORS,
    COMPARE_OPERATORS,
    INTRINSICS_1,
    SUBSCRIPT,
    Kind,
    Label,
    Operands,
    UnsupportedPython,
)

Pieces = tuple[tuple[Op, object], ...]
Rename = tuple[Op, Kind]
Reader = Callable[[Operands, int], Pieces]
GroupReader = Callable[[Operands, tuple[int, ...]], Pieces]


_COMMON: Final[Mapping[str, Rename]] = {
    **{
        op.name: (op, Kind.NONE)
        for op in (
            *(Op.NOP, Op.POP_TOP, Op.PUSH_NULL, Op.LOAD_ASSERTION_ERROR, Op.LOAD_BUILD_CLASS),
            *(Op.UNARY_NEGATIVE, Op.UNARY_INVERT, Op.BINARY_SUBSCR, Op.STORE_SUBSCR),
            *(Op.DELETE_SUBSCR, Op.GET_ITER, Op.GET_LEN, Op.RETURN_VALUE, Op.PUSH_EXC_INFO),
            *(Op.POP_EXCEPT, Op.CHECK_EXC_MATCH, Op.CHECK_EG_MATCH, Op.BEFORE_WITH),
            *(Op.MATCH_KEYS, Op.MATCH_MAPPING, Op.MATCH_SEQUENCE),
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

# in `_COMMON`, and taken apart or gone in 3.14
_NOT_IN_314: Final = frozenset(
    {
        *("BINARY_OP", "BINARY_SUBSCR", "LOAD_ASSERTION_ERROR", "BEFORE_WITH", "BEFORE_ASYNC_WITH"),
        *("BUILD_CONST_KEY_MAP", "CALL_FUNCTION_EX"),
    }
)

RENAMES_311: Final[Mapping[str, Rename]] = {
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

RENAMES_312: Final[Mapping[str, Rename]] = {
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

RENAMES_313: Final[Mapping[str, Rename]] = {
    **{
        name: row
        for name, row in RENAMES_312.items()
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

RENAMES_314: Final[Mapping[str, Rename]] = {
    **{name: row for name, row in RENAMES_313.items() if name not in _NOT_IN_314},
    "BUILD_INTERPOLATION": (Op.BUILD_INTERPOLATION, Kind.INTERPOLATION),
    "BUILD_TEMPLATE": (Op.BUILD_TEMPLATE, Kind.NONE),
}

RENAMES_315: Final[Mapping[str, Rename]] = {
    **{
        name: row
        for name, row in RENAMES_314.items()
        if name not in {"GET_ITER", "GET_YIELD_FROM_ITER", "END_SEND"}
    },
    "FOR_ITER": (Op.FOR_ITER_PAIR, Kind.LABEL),
    "IMPORT_NAME": (Op.IMPORT_NAME, Kind.IMPORT),
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


def _binary_op_314(_: Operands, number: int) -> Pieces:
    symbol = BINARY_OPERATORS[number]
    if symbol == SUBSCRIPT:
        return ((Op.BINARY_SUBSCR, None),)
    return ((Op.BINARY_OP, symbol),)


# Include/internal/pycore_opcode_utils.h, CONSTANT_ASSERTIONERROR ...
COMMON_CONSTANTS_314: Final = (AssertionError, NotImplementedError, tuple, all, any)
COMMON_CONSTANTS_315: Final = (
    *COMMON_CONSTANTS_314,
    *(list, set, None, "", True, False, -1),
)


def _common_constant(constants: tuple[object, ...]) -> Reader:
    def read(_: Operands, number: int) -> Pieces:
        if number == 0:
            return ((Op.LOAD_ASSERTION_ERROR, None),)
        return ((Op.LOAD_CONST, constants[number]),)

    return read


def _get_iter_315(_: Operands, number: int) -> Pieces:
    """An iterator takes two slots: itself and NULL, or a list or tuple and an index that is no object.

    The second form only comes and goes inside native code: what we make has a NULL there (see `_ITER_BY_CALL`).
    """
    if number:  # how ``yield from`` and ``await`` ask for it
        return (Op.GET_YIELD_FROM_ITER, number), (Op.PUSH_NULL, None)
    return (Op.GET_ITER, None), (Op.PUSH_NULL, None)


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

_WITH_EXCEPT_START: Final = {"WITH_EXCEPT_START": _constantly((Op.WITH_EXCEPT_START, 4))}

READERS_311: Final[Mapping[str, Reader]] = {
    **_WITH_EXCEPT_START,
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

READERS_312: Final[Mapping[str, Reader]] = {
    **_WITH_EXCEPT_START,
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

READERS_313: Final[Mapping[str, Reader]] = {
    **_WITH_EXCEPT_START,
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

READERS_314: Final[Mapping[str, Reader]] = {
    **{name: reader for name, reader in READERS_313.items() if name != "RETURN_CONST"},
    "WITH_EXCEPT_START": _constantly((Op.WITH_EXCEPT_START, 5)),
    "BINARY_OP": _binary_op_314,
    "LOAD_SMALL_INT": lambda _o, n: ((Op.LOAD_CONST, n),),
    "LOAD_COMMON_CONSTANT": _common_constant(COMMON_CONSTANTS_314),
    "LOAD_FAST_BORROW": _load_fast_313,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _pair_313(Op.LOAD_FAST, Op.LOAD_FAST),
    "NOT_TAKEN": _constantly(),  # for sys.monitoring: what is behind a branch begins with the user's code
    "POP_ITER": _constantly((Op.POP_TOP, None)),
    "CALL_FUNCTION_EX": _constantly((Op.CALL_FUNCTION_EX, True)),
}

READERS_315: Final[Mapping[str, Reader]] = {
    **READERS_314,
    "LOAD_COMMON_CONSTANT": _common_constant(COMMON_CONSTANTS_315),
    "GET_ITER": _get_iter_315,
    "POP_ITER": _constantly((Op.POP_TOP, None), (Op.POP_TOP, None)),
    "END_SEND": _constantly((Op.SWAP, 2), (Op.POP_TOP, None), (Op.END_SEND, None)),
}

GROUPS_311: Final[Mapping[tuple[str, ...], GroupReader | None]] = {
    ("KW_NAMES", "PRECALL", "CALL"): _call_kw,
    ("PRECALL", "CALL"): lambda _, numbers: ((Op.CALL, numbers[-1]),),
}
GROUPS_312: Final[Mapping[tuple[str, ...], GroupReader | None]] = {("KW_NAMES", "CALL"): _call_kw}
GROUPS_313: Final[Mapping[tuple[str, ...], GroupReader | None]] = {
    ("LOAD_CONST", "CALL_KW"): _call_kw,
    ("TO_BOOL", "POP_JUMP_IF_TRUE"): None,
    ("TO_BOOL", "POP_JUMP_IF_FALSE"): None,
    # an exhausted FOR_ITER goes on behind both
    ("END_FOR", "POP_TOP"): lambda _o, _n: ((Op.END_FOR, None),),
}


# `with`: COPY 1, LOAD_SPECIAL __exit__, SWAP 2, SWAP 3, LOAD_SPECIAL __enter__, CALL 0
_ENTERS_314: Final[Mapping[tuple[int, ...], Op]] = {
    (1, 1, 2, 3, 0, 0): Op.BEFORE_WITH,
    (1, 3, 2, 3, 2, 0): Op.BEFORE_ASYNC_WITH,
}


def _enter_314(_: Operands, numbers: tuple[int, ...]) -> Pieces:
    """The exit is a callable and its ``self`` or NULL, as all that is called: for us, a bound method and NULL."""
    op = _ENTERS_314.get(numbers)
    if op is None:
        raise UnsupportedPython(f"LOAD_SPECIAL in {numbers} has no meaning here")
    return (op, None), (Op.PUSH_NULL, None), (Op.SWAP, 2)


_ENTER: Final = ("COPY", "LOAD_SPECIAL", "SWAP", "SWAP", "LOAD_SPECIAL", "CALL")
GROUPS_314: Final[Mapping[tuple[str, ...], GroupReader | None]] = {
    **{run: reader for run, reader in GROUPS_313.items() if run[0] != "END_FOR"},
    ("END_FOR", "POP_ITER"): lambda _o, _n: ((Op.END_FOR, None),),
    _ENTER: _enter_314,
}
