"""Virtual instructions: one opcode set for every supported CPython, as plain data; no CPython version facts here.

`Op` lists the virtual opcodes; `Instruction` is one of them with its argument.
The virtual stack has the native layout, NULLs included. `stack_effect` declares what each opcode does to it.

Arguments, by opcode (no argument where none is named; a *label* is the index of a virtual instruction):

===============================================  ==========================================================================
opcode                                           argument and stack, top to the right
===============================================  ==========================================================================
NOP, POP_TOP, PUSH_NULL                          PUSH_NULL pushes the NULL of a call that has no ``self``
COPY, SWAP                                       n, counted from 1 at the top
LOAD_CONST                                       the constant itself
LOAD_FAST, STORE_FAST, DELETE_FAST               name. LOAD_FAST raises UnboundLocalError where the local is unbound
LOAD_FAST_AND_CLEAR                              name; pushes NULL where unbound (3.12+, inlined comprehensions). It, STORE_FAST
                                                 and DELETE_FAST of a cell variable act on the slot (the cell), not on its content
LOAD_DEREF, STORE_DEREF, DELETE_DEREF            name; the content of a cell or free variable
LOAD_CLOSURE                                     name; pushes the cell itself
MAKE_CELL                                        name; COPY_FREE_VARS: count. Both in the prologue
LOAD_GLOBAL, STORE_GLOBAL, DELETE_GLOBAL         name
LOAD_NAME, STORE_NAME, DELETE_NAME               name (class and module bodies)
LOAD_LOCALS                                      pushes the namespace of a class body
LOAD_FROM_DICT_OR_DEREF, .._GLOBALS              name; (namespace -- value)
LOAD_ASSERTION_ERROR, LOAD_BUILD_CLASS           push the named builtin object
LOAD_ATTR, STORE_ATTR, DELETE_ATTR               name; (obj -- value), (value, obj --), (obj --)
LOAD_SUPER_ATTR                                  (name, two_arguments); (super, class, self -- value)
UNARY_POSITIVE, UNARY_NEGATIVE, UNARY_INVERT     (value -- result)
TO_BOOL                                          (value -- bool); the only opcode that asks for the truth of an object, but for
                                                 JUMP_IF_TRUE_OR_POP and JUMP_IF_FALSE_OR_POP
UNARY_NOT                                        (bool -- bool); always behind a TO_BOOL or an opcode that gives a bool
BINARY_OP                                        operator text: ``"+"``, ``"+="``, ``"@"``, ...; (left, right -- result)
COMPARE_OP                                       ``"<"``, ``"<="``, ``"=="``, ``"!="``, ``">"``, ``">="``
IS_OP, CONTAINS_OP                               True for ``is not``, ``not in``; CONTAINS_OP: (item, container -- bool)
BINARY_SUBSCR, STORE_SUBSCR, DELETE_SUBSCR       (obj, key -- value), (value, obj, key --), (obj, key --)
GET_ITER, GET_LEN                                (obj -- iterator), (obj -- obj, length)
BUILD_TUPLE, BUILD_LIST, BUILD_SET, BUILD_STRING n; BUILD_MAP: n pairs (key, value); BUILD_SLICE: 2 or 3
BUILD_CONST_KEY_MAP                              n; (value * n, keys tuple -- dict)
LIST_APPEND, SET_ADD, LIST_EXTEND, SET_UPDATE    n: the container is n below the popped item, counted from 1
DICT_UPDATE, DICT_MERGE, MAP_ADD                 n, likewise; MAP_ADD pops (key, value); DICT_MERGE is for ``f(**kwargs)``
LIST_TO_TUPLE                                    (list -- tuple)
UNPACK_SEQUENCE                                  n; first item on top
UNPACK_EX                                        (before, after); first item on top
CONVERT_VALUE                                    "str", "repr" or "ascii"
FORMAT_VALUE                                     (conversion or None, has_spec); (value [, spec] -- str)
BUILD_INTERPOLATION, BUILD_TEMPLATE              (conversion or None, has_spec); (value, text [, spec] -- interpolation);
                                                 (strings, interpolations -- template) (3.14+)
CALL                                             n. The two slots below the n arguments are (NULL, callable) or (method, self)
                                                 on 3.11 and 3.12, (callable, NULL) or (method, self) from 3.13 on
CALL_KW                                          (n, names): the last len(names) of the n arguments are keywords; else as CALL
CALL_FUNCTION_EX                                 has_kwargs; (callable and NULL as in CALL, args [, kwargs] -- result). From 3.14
                                                 on always, with a NULL where there are none
CALL_INTRINSIC_1, CALL_INTRINSIC_2               CPython's name, "INTRINSIC_PRINT"; (value -- result), (a, b -- result)
MAKE_FUNCTION                                    names of the attributes on the stack, bottom first, a subsequence of
                                                 ("defaults", "kwdefaults", "annotations", "closure", "annotate"); the
                                                 code is on top
SET_FUNCTION_ATTRIBUTE                           such a name (3.13+); (attribute, function -- function)
JUMP, JUMP_NO_INTERRUPT                          label
POP_JUMP_IF_TRUE, POP_JUMP_IF_FALSE              label; pops a bool (a TO_BOOL is before it where the version tests the truth)
POP_JUMP_IF_NONE, POP_JUMP_IF_NOT_NONE           label
JUMP_IF_TRUE_OR_POP, JUMP_IF_FALSE_OR_POP        label (3.11); tests the truth; the value stays if the jump is taken
FOR_ITER                                         label for exhaustion, where the iterator is popped; else pushes the item
FOR_ITER_PAIR                                    the same (3.15+) with a NULL above the iterator, popped with it
END_FOR                                          never reached (3.12+): the label of FOR_ITER is behind it
RETURN_VALUE, RAISE_VARARGS, RERAISE             RAISE_VARARGS: 0, 1 or 2 operands; RERAISE: depth of the saved position or 0
PUSH_EXC_INFO, POP_EXCEPT, CHECK_EXC_MATCH       (exc -- previous, exc), (previous --), (exc, type -- exc, bool)
CHECK_EG_MATCH                                   (exc, type -- rest, match)
BEFORE_WITH, BEFORE_ASYNC_WITH                   (manager -- exit, entered)
WITH_EXCEPT_START                                n: the exit is n from the top; (exit, position, previous, exc -- the same,
                                                 result), with a NULL above the exit from 3.14 on (PUSH_NULL behind BEFORE_WITH)
MATCH_CLASS, MATCH_KEYS                          MATCH_CLASS: count of positional patterns
MATCH_MAPPING, MATCH_SEQUENCE                    (subject -- subject, bool)
IMPORT_NAME, IMPORT_FROM                         name; (level, fromlist -- module), (module -- module, value). IMPORT_NAME outside
                                                 functions: (name, CPython's number) of an import that may be lazy (3.15+)
RESUME                                           CPython's number (0 at the start of a function)
SETUP_ANNOTATIONS                                makes ``__annotations__``
RETURN_GENERATOR, YIELD_VALUE                    YIELD_VALUE: CPython's number (0 on 3.11)
GET_YIELD_FROM_ITER, GET_AWAITABLE               CPython's number (3.15+); GET_AWAITABLE: 0, 1 (``__aenter__``), 2 (``__aexit__``)
GET_AITER, GET_ANEXT, END_ASYNC_FOR              (obj -- iterator), (iterator -- iterator, awaitable), (awaitable, exc --)
SEND, END_SEND                                   SEND: label when the receiver is done; it stays below the value in both cases.
                                                 From 3.15 on a NULL is between them
SEND_POP                                         label (3.11): the same, but at the label the receiver is gone
CLEANUP_THROW                                    (receiver, sent, exc -- None, value)
===============================================  ==========================================================================
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from bcjit.records import dataclass


class Op(enum.Enum):
    """The virtual opcodes. The module docstring gives the argument of each."""

    NOP = "NOP"
    POP_TOP = "POP_TOP"
    PUSH_NULL = "PUSH_NULL"
    COPY = "COPY"
    SWAP = "SWAP"
    # names
    LOAD_CONST = "LOAD_CONST"
    LOAD_FAST = "LOAD_FAST"
    STORE_FAST = "STORE_FAST"
    DELETE_FAST = "DELETE_FAST"
    LOAD_FAST_AND_CLEAR = "LOAD_FAST_AND_CLEAR"
    LOAD_DEREF = "LOAD_DEREF"
    STORE_DEREF = "STORE_DEREF"
    DELETE_DEREF = "DELETE_DEREF"
    LOAD_CLOSURE = "LOAD_CLOSURE"
    MAKE_CELL = "MAKE_CELL"
    COPY_FREE_VARS = "COPY_FREE_VARS"
    LOAD_GLOBAL = "LOAD_GLOBAL"
    STORE_GLOBAL = "STORE_GLOBAL"
    DELETE_GLOBAL = "DELETE_GLOBAL"
    LOAD_NAME = "LOAD_NAME"
    STORE_NAME = "STORE_NAME"
    DELETE_NAME = "DELETE_NAME"
    LOAD_LOCALS = "LOAD_LOCALS"
    LOAD_FROM_DICT_OR_DEREF = "LOAD_FROM_DICT_OR_DEREF"
    LOAD_FROM_DICT_OR_GLOBALS = "LOAD_FROM_DICT_OR_GLOBALS"
    LOAD_ASSERTION_ERROR = "LOAD_ASSERTION_ERROR"
    LOAD_BUILD_CLASS = "LOAD_BUILD_CLASS"
    # attributes
    LOAD_ATTR = "LOAD_ATTR"
    STORE_ATTR = "STORE_ATTR"
    DELETE_ATTR = "DELETE_ATTR"
    LOAD_SUPER_ATTR = "LOAD_SUPER_ATTR"
    # operators
    UNARY_POSITIVE = "UNARY_POSITIVE"
    UNARY_NEGATIVE = "UNARY_NEGATIVE"
    UNARY_INVERT = "UNARY_INVERT"
    UNARY_NOT = "UNARY_NOT"
    TO_BOOL = "TO_BOOL"
    BINARY_OP = "BINARY_OP"
    COMPARE_OP = "COMPARE_OP"
    IS_OP = "IS_OP"
    CONTAINS_OP = "CONTAINS_OP"
    BINARY_SUBSCR = "BINARY_SUBSCR"
    STORE_SUBSCR = "STORE_SUBSCR"
    DELETE_SUBSCR = "DELETE_SUBSCR"
    GET_ITER = "GET_ITER"
    GET_LEN = "GET_LEN"
    # containers and strings
    BUILD_TUPLE = "BUILD_TUPLE"
    BUILD_LIST = "BUILD_LIST"
    BUILD_SET = "BUILD_SET"
    BUILD_MAP = "BUILD_MAP"
    BUILD_CONST_KEY_MAP = "BUILD_CONST_KEY_MAP"
    BUILD_STRING = "BUILD_STRING"
    BUILD_SLICE = "BUILD_SLICE"
    LIST_APPEND = "LIST_APPEND"
    SET_ADD = "SET_ADD"
    MAP_ADD = "MAP_ADD"
    LIST_EXTEND = "LIST_EXTEND"
    SET_UPDATE = "SET_UPDATE"
    DICT_UPDATE = "DICT_UPDATE"
    DICT_MERGE = "DICT_MERGE"
    LIST_TO_TUPLE = "LIST_TO_TUPLE"
    UNPACK_SEQUENCE = "UNPACK_SEQUENCE"
    UNPACK_EX = "UNPACK_EX"
    CONVERT_VALUE = "CONVERT_VALUE"
    FORMAT_VALUE = "FORMAT_VALUE"
    BUILD_INTERPOLATION = "BUILD_INTERPOLATION"
    BUILD_TEMPLATE = "BUILD_TEMPLATE"
    # calls and functions
    CALL = "CALL"
    CALL_KW = "CALL_KW"
    CALL_FUNCTION_EX = "CALL_FUNCTION_EX"
    CALL_INTRINSIC_1 = "CALL_INTRINSIC_1"
    CALL_INTRINSIC_2 = "CALL_INTRINSIC_2"
    MAKE_FUNCTION = "MAKE_FUNCTION"
    SET_FUNCTION_ATTRIBUTE = "SET_FUNCTION_ATTRIBUTE"
    # control flow
    JUMP = "JUMP"
    JUMP_NO_INTERRUPT = "JUMP_NO_INTERRUPT"
    POP_JUMP_IF_TRUE = "POP_JUMP_IF_TRUE"
    POP_JUMP_IF_FALSE = "POP_JUMP_IF_FALSE"
    POP_JUMP_IF_NONE = "POP_JUMP_IF_NONE"
    POP_JUMP_IF_NOT_NONE = "POP_JUMP_IF_NOT_NONE"
    JUMP_IF_TRUE_OR_POP = "JUMP_IF_TRUE_OR_POP"
    JUMP_IF_FALSE_OR_POP = "JUMP_IF_FALSE_OR_POP"
    FOR_ITER = "FOR_ITER"
    FOR_ITER_PAIR = "FOR_ITER_PAIR"
    END_FOR = "END_FOR"
    RETURN_VALUE = "RETURN_VALUE"
    RESUME = "RESUME"
    # exceptions and context managers
    RAISE_VARARGS = "RAISE_VARARGS"
    RERAISE = "RERAISE"
    PUSH_EXC_INFO = "PUSH_EXC_INFO"
    POP_EXCEPT = "POP_EXCEPT"
    CHECK_EXC_MATCH = "CHECK_EXC_MATCH"
    CHECK_EG_MATCH = "CHECK_EG_MATCH"
    BEFORE_WITH = "BEFORE_WITH"
    WITH_EXCEPT_START = "WITH_EXCEPT_START"
    # match
    MATCH_CLASS = "MATCH_CLASS"
    MATCH_KEYS = "MATCH_KEYS"
    MATCH_MAPPING = "MATCH_MAPPING"
    MATCH_SEQUENCE = "MATCH_SEQUENCE"
    # modules and classes
    IMPORT_NAME = "IMPORT_NAME"
    IMPORT_FROM = "IMPORT_FROM"
    SETUP_ANNOTATIONS = "SETUP_ANNOTATIONS"
    # generators and coroutines
    RETURN_GENERATOR = "RETURN_GENERATOR"
    YIELD_VALUE = "YIELD_VALUE"
    GET_YIELD_FROM_ITER = "GET_YIELD_FROM_ITER"
    GET_AWAITABLE = "GET_AWAITABLE"
    GET_AITER = "GET_AITER"
    GET_ANEXT = "GET_ANEXT"
    BEFORE_ASYNC_WITH = "BEFORE_ASYNC_WITH"
    END_ASYNC_FOR = "END_ASYNC_FOR"
    SEND = "SEND"
    SEND_POP = "SEND_POP"
    END_SEND = "END_SEND"
    CLEANUP_THROW = "CLEANUP_THROW"

    # Members are singletons; the default hash of an enum member hashes its name anew each time.
    __hash__ = object.__hash__


class Position(NamedTuple):
    """Where an instruction stands in the user's source, as in `types.CodeType.co_positions`."""

    lineno: int | None
    end_lineno: int | None
    col: int | None
    end_col: int | None


NO_POSITION: Final = Position(None, None, None, None)


class Region(NamedTuple):
    """A protected region: where an exception goes, and what is kept on the stack there.

    At `handler` the stack is its lowest `depth` slots, then the position of the raising instruction if `lasti`, then the exception.
    """

    handler: int  # index of a virtual instruction
    depth: int
    lasti: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One virtual instruction."""

    op: Op
    arg: object  # a name, constant, count or label; never an index into a table of the code object
    position: Position
    offset: int  # of the first native instruction of its group, in bytes; the same for the group
    handler: Region | None  # innermost protected region


Effect = Callable[[object, bool], tuple[int, int]]


def _fixed(pops: int, pushes: int) -> Effect:
    return lambda _arg, _jump: (pops, pushes)


def count_of(arg: object) -> int:
    """An argument that is a count or a label."""
    assert isinstance(arg, int), arg
    return arg


def _builds(extra: int = 0, factor: int = 1) -> Effect:
    """Pop `factor` items for each one counted and `extra` more; push one."""
    return lambda arg, _jump: (factor * count_of(arg) + extra, 1)


def _into(items: int) -> Effect:
    """Pop `items`; what they go into is deeper by the argument and stays."""
    return lambda arg, _jump: (count_of(arg) + items, count_of(arg))


def _unpack_ex(arg: object, _jump: bool) -> tuple[int, int]:
    assert isinstance(arg, tuple), arg
    before, after = arg
    return 1, before + 1 + after


def _call_kw(arg: object, _jump: bool) -> tuple[int, int]:
    assert isinstance(arg, tuple), arg
    return arg[0] + 2, 1


def _format_value(arg: object, _jump: bool) -> tuple[int, int]:
    assert isinstance(arg, tuple), arg
    return 1 + bool(arg[1]), 1


def _interpolation(arg: object, _jump: bool) -> tuple[int, int]:
    assert isinstance(arg, tuple), arg
    return 2 + bool(arg[1]), 1


def _make_function(arg: object, _jump: bool) -> tuple[int, int]:
    assert isinstance(arg, tuple), arg
    return 1 + len(arg), 1


_PUSH: Final = _fixed(0, 1)
_POP: Final = _fixed(1, 0)
_NOTHING: Final = _fixed(0, 0)
_UNARY: Final = _fixed(1, 1)
_BINARY: Final = _fixed(2, 1)

_EFFECTS: Final[Mapping[Op, Effect]] = {
    Op.NOP: _NOTHING,
    Op.POP_TOP: _POP,
    Op.PUSH_NULL: _PUSH,
    Op.COPY: lambda arg, _jump: (count_of(arg), count_of(arg) + 1),
    Op.SWAP: lambda arg, _jump: (count_of(arg), count_of(arg)),
    Op.LOAD_CONST: _PUSH,
    Op.LOAD_FAST: _PUSH,
    Op.STORE_FAST: _POP,
    Op.DELETE_FAST: _NOTHING,
    Op.LOAD_FAST_AND_CLEAR: _PUSH,
    Op.LOAD_DEREF: _PUSH,
    Op.STORE_DEREF: _POP,
    Op.DELETE_DEREF: _NOTHING,
    Op.LOAD_CLOSURE: _PUSH,
    Op.MAKE_CELL: _NOTHING,
    Op.COPY_FREE_VARS: _NOTHING,
    Op.LOAD_GLOBAL: _PUSH,
    Op.STORE_GLOBAL: _POP,
    Op.DELETE_GLOBAL: _NOTHING,
    Op.LOAD_NAME: _PUSH,
    Op.STORE_NAME: _POP,
    Op.DELETE_NAME: _NOTHING,
    Op.LOAD_LOCALS: _PUSH,
    Op.LOAD_FROM_DICT_OR_DEREF: _UNARY,
    Op.LOAD_FROM_DICT_OR_GLOBALS: _UNARY,
    Op.LOAD_ASSERTION_ERROR: _PUSH,
    Op.LOAD_BUILD_CLASS: _PUSH,
    Op.LOAD_ATTR: _UNARY,
    Op.STORE_ATTR: _fixed(2, 0),
    Op.DELETE_ATTR: _POP,
    Op.LOAD_SUPER_ATTR: _fixed(3, 1),
    Op.UNARY_POSITIVE: _UNARY,
    Op.UNARY_NEGATIVE: _UNARY,
    Op.UNARY_INVERT: _UNARY,
    Op.UNARY_NOT: _UNARY,
    Op.TO_BOOL: _UNARY,
    Op.BINARY_OP: _BINARY,
    Op.COMPARE_OP: _BINARY,
    Op.IS_OP: _BINARY,
    Op.CONTAINS_OP: _BINARY,
    Op.BINARY_SUBSCR: _BINARY,
    Op.STORE_SUBSCR: _fixed(3, 0),
    Op.DELETE_SUBSCR: _fixed(2, 0),
    Op.GET_ITER: _UNARY,
    Op.GET_LEN: _fixed(1, 2),
    Op.BUILD_TUPLE: _builds(),
    Op.BUILD_LIST: _builds(),
    Op.BUILD_SET: _builds(),
    Op.BUILD_MAP: _builds(factor=2),
    Op.BUILD_CONST_KEY_MAP: _builds(extra=1),
    Op.BUILD_STRING: _builds(),
    Op.BUILD_SLICE: _builds(),
    Op.LIST_APPEND: _into(1),
    Op.SET_ADD: _into(1),
    Op.MAP_ADD: _into(2),
    Op.LIST_EXTEND: _into(1),
    Op.SET_UPDATE: _into(1),
    Op.DICT_UPDATE: _into(1),
    # the error message of DICT_MERGE names the callable, which is three below the dict
    Op.DICT_MERGE: lambda arg, _jump: (count_of(arg) + 4, count_of(arg) + 3),
    Op.LIST_TO_TUPLE: _UNARY,
    Op.UNPACK_SEQUENCE: lambda arg, _jump: (1, count_of(arg)),
    Op.UNPACK_EX: _unpack_ex,
    Op.CONVERT_VALUE: _UNARY,
    Op.FORMAT_VALUE: _format_value,
    Op.BUILD_INTERPOLATION: _interpolation,
    Op.BUILD_TEMPLATE: _BINARY,
    Op.CALL: _builds(extra=2),
    Op.CALL_KW: _call_kw,
    Op.CALL_FUNCTION_EX: lambda arg, _jump: (3 + bool(arg), 1),
    Op.CALL_INTRINSIC_1: _UNARY,
    Op.CALL_INTRINSIC_2: _BINARY,
    Op.MAKE_FUNCTION: _make_function,
    Op.SET_FUNCTION_ATTRIBUTE: _BINARY,
    Op.JUMP: _NOTHING,
    Op.JUMP_NO_INTERRUPT: _NOTHING,
    Op.POP_JUMP_IF_TRUE: _POP,
    Op.POP_JUMP_IF_FALSE: _POP,
    Op.POP_JUMP_IF_NONE: _POP,
    Op.POP_JUMP_IF_NOT_NONE: _POP,
    Op.JUMP_IF_TRUE_OR_POP: lambda _arg, jump: (1, 1) if jump else (1, 0),
    Op.JUMP_IF_FALSE_OR_POP: lambda _arg, jump: (1, 1) if jump else (1, 0),
    Op.FOR_ITER: lambda _arg, jump: (1, 0) if jump else (1, 2),
    Op.FOR_ITER_PAIR: lambda _arg, jump: (2, 0) if jump else (2, 3),
    Op.END_FOR: _fixed(2, 0),
    Op.RETURN_VALUE: _POP,
    Op.RESUME: _NOTHING,
    Op.RAISE_VARARGS: lambda arg, _jump: (count_of(arg), 0),
    Op.RERAISE: _into(1),
    Op.PUSH_EXC_INFO: _fixed(1, 2),
    Op.POP_EXCEPT: _POP,
    Op.CHECK_EXC_MATCH: _fixed(2, 2),
    Op.CHECK_EG_MATCH: _fixed(2, 2),
    Op.BEFORE_WITH: _fixed(1, 2),
    Op.WITH_EXCEPT_START: lambda arg, _jump: (count_of(arg), count_of(arg) + 1),
    Op.MATCH_CLASS: _fixed(3, 1),
    Op.MATCH_KEYS: _fixed(2, 3),
    Op.MATCH_MAPPING: _fixed(1, 2),
    Op.MATCH_SEQUENCE: _fixed(1, 2),
    Op.IMPORT_NAME: _BINARY,
    Op.IMPORT_FROM: _fixed(1, 2),
    Op.SETUP_ANNOTATIONS: _NOTHING,
    Op.RETURN_GENERATOR: _PUSH,
    Op.YIELD_VALUE: _UNARY,
    Op.GET_YIELD_FROM_ITER: _UNARY,
    Op.GET_AWAITABLE: _UNARY,
    Op.GET_AITER: _UNARY,
    Op.GET_ANEXT: _fixed(1, 2),
    Op.BEFORE_ASYNC_WITH: _fixed(1, 2),
    Op.END_ASYNC_FOR: _fixed(2, 0),
    Op.SEND: _fixed(2, 2),
    Op.SEND_POP: lambda _arg, jump: (2, 1) if jump else (2, 2),
    Op.END_SEND: _BINARY,
    Op.CLEANUP_THROW: _fixed(3, 2),
}

FOR_ITERS: Final = frozenset({Op.FOR_ITER, Op.FOR_ITER_PAIR})
"""The two layouts of a loop's head: an iterator, and an iterator below a NULL."""

JUMPS: Final = frozenset(
    {
        Op.JUMP,
        Op.JUMP_NO_INTERRUPT,
        Op.POP_JUMP_IF_TRUE,
        Op.POP_JUMP_IF_FALSE,
        Op.POP_JUMP_IF_NONE,
        Op.POP_JUMP_IF_NOT_NONE,
        Op.JUMP_IF_TRUE_OR_POP,
        Op.JUMP_IF_FALSE_OR_POP,
        *FOR_ITERS,
        Op.SEND,
        Op.SEND_POP,
    }
)
"""The opcodes whose argument is a label."""

TERMINATORS: Final = frozenset(
    {Op.JUMP, Op.JUMP_NO_INTERRUPT, Op.RETURN_VALUE, Op.RAISE_VARARGS, Op.RERAISE}
)
"""The opcodes after which control does not fall through."""


def stack_effect(op: Op, arg: object, *, jump: bool = False) -> tuple[int, int]:
    """How many slots `op` takes from the top of the stack, and how many stand there afterwards.

    Slots that are only read count in both: ``COPY 2`` is ``(2, 3)``. `jump`: the effect when the jump is taken.
    """
    return _EFFECTS[op](arg, jump)
