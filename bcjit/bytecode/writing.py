"""Native forms of virtual opcodes, by CPython version, where they are not the reverse of reading.

Tables for `dialect`. A form alone must push what the opcode says even where a version has it only as part of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bcjit.bytecode.instruction import Op
from bcjit.bytecode.operands import SUBSCRIPT, Kind, Native, UnsupportedPython, as_tuple
from bcjit.bytecode.reading import COMMON_CONSTANTS_314, COMMON_CONSTANTS_315

try:
    from bcjit._core import bound_special
except ImportError:  # then nothing is compiled, and nothing is written
    bound_special = None  # type: ignore[assignment]  # no extension: functions run plain, and nothing is written

Writer = Callable[[tuple[object, ...]], tuple[Native, ...]]


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


_WRITERS: Final[Mapping[tuple[Op, ...], Writer]] = {
    (Op.WITH_EXCEPT_START,): _writes(Native("WITH_EXCEPT_START")),
}

_INTRINSIC_WRITERS: Final[Mapping[tuple[Op, ...], Writer]] = {
    **_WRITERS,
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


WRITERS_311: Final[Mapping[tuple[Op, ...], Writer]] = {
    **_WRITERS,
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

WRITERS_312: Final[Mapping[tuple[Op, ...], Writer]] = {
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


WRITERS_313: Final[Mapping[tuple[Op, ...], Writer]] = {
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


_SMALL_INTS: Final = tuple(range(256))  # that LOAD_SMALL_INT is used for


def _write_load_const(constants: tuple[object, ...]) -> Writer:
    """Small integers and common constants have opcodes of their own and need not be among the constants."""

    def write(args: tuple[object, ...]) -> tuple[Native, ...]:
        value = args[-1]
        if type(value) is int and 0 <= value < len(_SMALL_INTS) and value is _SMALL_INTS[value]:
            return (Native("LOAD_SMALL_INT", Kind.INT, value),)
        for number, constant in enumerate(constants):
            if constant is value:
                return (Native("LOAD_COMMON_CONSTANT", Kind.COMMON_CONSTANT, number),)
        return (Native("LOAD_CONST", Kind.CONST, value),)

    return write


def _write_call_function_ex_314(args: tuple[object, ...]) -> tuple[Native, ...]:
    call = (Native("CALL_FUNCTION_EX"),)
    return call if args[-1] else (Native("PUSH_NULL"), *call)


# The two slots that LOAD_SPECIAL pushes, as one object: the second of them may be NULL, so it stays where a call allows that.
_BIND_SPECIAL: Final = (
    Native("LOAD_CONST", Kind.CONST, bound_special),
    Native("SWAP", Kind.INT, 3),
    Native("CALL", Kind.INT, 1),
)


def _writes_enter(exit_number: int, enter_number: int, *bind: Native) -> Writer:
    return _writes(
        Native("COPY", Kind.INT, 1),
        Native("LOAD_SPECIAL", Kind.SPECIAL, exit_number),
        *bind,
        *([] if bind else [Native("SWAP", Kind.INT, 2)]),
        Native("SWAP", Kind.INT, 2 if bind else 3),
        Native("LOAD_SPECIAL", Kind.SPECIAL, enter_number),
        Native("CALL", Kind.INT, 0),
    )


WRITERS_314: Final[Mapping[tuple[Op, ...], Writer]] = {
    (Op.BEFORE_WITH, Op.PUSH_NULL, Op.SWAP): _writes_enter(1, 0),
    (Op.BEFORE_ASYNC_WITH, Op.PUSH_NULL, Op.SWAP): _writes_enter(3, 2),
    **WRITERS_313,
    (Op.BEFORE_WITH,): _writes_enter(1, 0, *_BIND_SPECIAL),
    (Op.BEFORE_ASYNC_WITH,): _writes_enter(3, 2, *_BIND_SPECIAL),
    (Op.BINARY_OP,): _writes(Native("BINARY_OP", Kind.BINARY)),
    (Op.BINARY_SUBSCR,): _writes(Native("BINARY_OP", Kind.BINARY, SUBSCRIPT)),
    (Op.CALL_FUNCTION_EX,): _write_call_function_ex_314,
    (Op.END_FOR,): _writes(Native("END_FOR"), Native("POP_ITER")),
    (Op.LOAD_ASSERTION_ERROR,): _writes(Native("LOAD_COMMON_CONSTANT", Kind.COMMON_CONSTANT, 0)),
    (Op.LOAD_CONST,): _write_load_const(COMMON_CONSTANTS_314),
}

# GET_ITER may push what no Python code can hold, a list and an index; this pushes an iterator
_ITER_BY_CALL: Final = (
    Native("LOAD_CONST", Kind.CONST, iter),
    Native("SWAP", Kind.INT, 2),
    Native("PUSH_NULL"),
    Native("SWAP", Kind.INT, 2),
    Native("CALL", Kind.INT, 1),
)
WRITERS_315: Final[Mapping[tuple[Op, ...], Writer]] = {
    (Op.SWAP, Op.POP_TOP, Op.END_SEND): _writes(Native("END_SEND")),
    (Op.GET_ITER, Op.PUSH_NULL): _writes(Native("GET_ITER", Kind.INT, 0)),
    (Op.GET_YIELD_FROM_ITER, Op.PUSH_NULL): lambda args: (Native("GET_ITER", Kind.INT, args[0]),),
    **WRITERS_314,
    (Op.GET_ITER,): _writes(*_ITER_BY_CALL),
    (Op.LOAD_CONST,): _write_load_const(COMMON_CONSTANTS_315),
}
# An opcode that tests the truth twice gives the bool of the first test: UNARY_NOT of a bool runs no user code.
TO_BOOL_BY_NOT: Final = {Op.TO_BOOL: (Native("UNARY_NOT"), Native("UNARY_NOT"))}
