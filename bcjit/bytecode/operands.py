"""How native arguments index the tables of a code object, for the argument kinds that all versions share; knows no opcode.

Indices into the fast locals follow ``Objects/codeobject.c``, the numbers of operators ``Include/opcode.h``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import CodeType
from typing import Final

from bcjit.errors import BcjitError
from bcjit.records import dataclass


class UnsupportedPython(BcjitError):
    """Raised where this Python, or bytecode that its compiler does not make, cannot be decoded."""


class Label(enum.Enum):
    """Stands in a reader's result for the label of a jump; the decoder puts the index of the target there."""

    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Operands:
    """What the native arguments of one code object index, and the way back."""

    names: Sequence[str]
    consts: Sequence[object]
    slots: tuple[str, ...]  # names of the fast locals, see `slot_names`
    cells: frozenset[int]  # slots that hold cells
    _fast: dict[str, int] = field(init=False, repr=False)
    _deref: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        deref = {self.slots[slot]: slot for slot in sorted(self.cells)}
        fast = dict(deref)
        for slot in range(len(self.slots) - 1, -1, -1):
            if slot not in self.cells:
                fast[self.slots[slot]] = slot
        object.__setattr__(self, "_deref", deref)
        object.__setattr__(self, "_fast", fast)

    @classmethod
    def of(cls, code: CodeType) -> Operands:
        """The operands of `code`."""
        slots = slot_names(code.co_varnames, code.co_cellvars, code.co_freevars)
        cells = frozenset(
            slot
            for slot, name in enumerate(slots)
            if slot >= len(code.co_varnames) or name in code.co_cellvars
        )
        return cls(code.co_names, code.co_consts, slots, cells)

    def slot_of_local(self, name: str) -> int:
        """The slot that the ``_FAST`` opcodes mean by `name`: the local, or else the slot of the cell."""
        return self._fast[name]

    def slot_of_cell(self, name: str) -> int:
        """The slot that the ``_DEREF`` opcodes mean by `name`."""
        return self._deref[name]

    def index_of_const(self, value: object) -> int:
        """The index of this very object among the constants."""
        for index, known in enumerate(self.consts):
            if known is value:
                return index
        raise ValueError(f"not a constant of the code object: {value!r}")


def slot_names(
    varnames: Sequence[str], cellvars: Sequence[str], freevars: Sequence[str]
) -> tuple[str, ...]:
    """Names of the fast locals in slot order; a cell variable that is a parameter has the parameter's slot."""
    return (*varnames, *(name for name in cellvars if name not in varnames), *freevars)


class Kind(enum.Enum):
    """How the number in a native instruction encodes its argument."""

    NONE = enum.auto()
    INT = enum.auto()
    BOOL = enum.auto()
    NAME = enum.auto()  # index into co_names
    NAME_BIT = enum.auto()  # the same with a flag in the lowest bit
    SUPER = enum.auto()  # the same with two flags
    CONST = enum.auto()
    LOCAL = enum.auto()  # slot, of a local
    CELL = enum.auto()  # slot, of a cell
    LABEL = enum.auto()
    BINARY = enum.auto()
    COMPARE = enum.auto()
    UNPACK_EX = enum.auto()
    FORMAT = enum.auto()
    CONVERSION = enum.auto()
    INTRINSIC_1 = enum.auto()
    INTRINSIC_2 = enum.auto()
    ATTRIBUTES = enum.auto()  # of a function, a set of bits
    ATTRIBUTE = enum.auto()  # of a function, one bit
    INTERPOLATION = enum.auto()  # of a t-string
    IMPORT = enum.auto()  # index into co_names, with the way to import
    COMMON_CONSTANT = enum.auto()
    SPECIAL = enum.auto()  # method of a context manager


@dataclass(frozen=True, slots=True)
class Codec:
    """Both ways between a native number and a virtual argument."""

    read: Callable[[Operands, int], object]
    write: Callable[[Operands, object], int]


def _table(values: Sequence[object]) -> Codec:
    return Codec(lambda _, number: values[number], lambda _, value: values.index(value))


def as_int(value: object) -> int:
    """`value`, which must be an integer."""
    assert isinstance(value, int), value
    return value


def as_str(value: object) -> str:
    """`value`, which must be text."""
    assert isinstance(value, str), value
    return value


def as_tuple(value: object) -> tuple[object, ...]:
    """`value`, which must be a tuple."""
    assert isinstance(value, tuple), value
    return value


SUBSCRIPT: Final = "[]"
# Include/opcode.h, NB_ADD ... NB_INPLACE_XOR, from 3.14 on NB_SUBSCR
BINARY_OPERATORS: Final = (
    *("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"),
    *("+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^="),
    SUBSCRIPT,
)
COMPARE_OPERATORS: Final = ("<", "<=", "==", "!=", ">", ">=")
# Python/compile.c, compare_masks: which outcomes of a comparison make it true, for specialisation only
COMPARE_MASKS: Final = {"<": 2, "<=": 2 | 8, "==": 8, "!=": 1 | 2 | 4, ">": 4, ">=": 4 | 8}
_CONVERSIONS: Final[tuple[object, ...]] = (None, "str", "repr", "ascii")
# Include/internal/pycore_opcode_utils.h, MAKE_FUNCTION_DEFAULTS ... ; "annotate" from 3.14 on
FUNCTION_ATTRIBUTES: Final = ("defaults", "kwdefaults", "annotations", "closure", "annotate")
INTRINSICS_1: Final = (
    "INTRINSIC_1_INVALID",
    "INTRINSIC_PRINT",
    "INTRINSIC_IMPORT_STAR",
    "INTRINSIC_STOPITERATION_ERROR",
    "INTRINSIC_ASYNC_GEN_WRAP",
    "INTRINSIC_UNARY_POSITIVE",
    "INTRINSIC_LIST_TO_TUPLE",
    "INTRINSIC_TYPEVAR",
    "INTRINSIC_PARAMSPEC",
    "INTRINSIC_TYPEVARTUPLE",
    "INTRINSIC_SUBSCRIPT_GENERIC",
    "INTRINSIC_TYPEALIAS",
)
_INTRINSICS_2: Final = (
    "INTRINSIC_2_INVALID",
    "INTRINSIC_PREP_RERAISE_STAR",
    "INTRINSIC_TYPEVAR_WITH_BOUND",
    "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
    "INTRINSIC_SET_FUNCTION_TYPE_PARAMS",
    "INTRINSIC_SET_TYPEPARAM_DEFAULT",  # 3.13
)


def _read_attributes(_: Operands, number: int) -> object:
    return tuple(name for bit, name in enumerate(FUNCTION_ATTRIBUTES) if number >> bit & 1)


def _write_attributes(_: Operands, value: object) -> int:
    return sum(1 << FUNCTION_ATTRIBUTES.index(as_str(name)) for name in as_tuple(value))


def _write_super(operands: Operands, value: object) -> int:
    name, two_arguments = as_tuple(value)
    return operands.names.index(as_str(name)) << 2 | as_int(two_arguments) << 1


def _write_unpack_ex(_: Operands, value: object) -> int:
    before, after = as_tuple(value)
    return as_int(before) | as_int(after) << 8


def _write_format(_: Operands, value: object) -> int:
    conversion, has_spec = as_tuple(value)
    return _CONVERSIONS.index(conversion) | as_int(has_spec) << 2


_EAGER: Final = 2  # the flag that imports in functions have (3.15); others may be lazy


def _read_import(operands: Operands, number: int) -> object:
    name, flags = operands.names[number >> 2], number & 3
    return name if flags == _EAGER else (name, flags)


def _write_import(operands: Operands, value: object) -> int:
    name, flags = value if isinstance(value, tuple) else (value, _EAGER)
    return operands.names.index(as_str(name)) << 2 | as_int(flags)


def _write_interpolation(_: Operands, value: object) -> int:
    conversion, has_spec = as_tuple(value)
    return _CONVERSIONS.index(conversion) << 2 | 2 | as_int(has_spec)


SHARED_CODECS: Final[Mapping[Kind, Codec]] = {
    Kind.NONE: Codec(lambda _o, _n: None, lambda _o, _v: 0),
    Kind.INT: Codec(lambda _o, n: n, lambda _o, v: as_int(v)),
    Kind.BOOL: Codec(lambda _o, n: bool(n), lambda _o, v: as_int(v)),
    Kind.NAME: Codec(lambda o, n: o.names[n], lambda o, v: o.names.index(as_str(v))),
    Kind.NAME_BIT: Codec(lambda o, n: o.names[n >> 1], lambda o, v: o.names.index(as_str(v)) << 1),
    Kind.SUPER: Codec(lambda o, n: (o.names[n >> 2], bool(n & 2)), _write_super),
    Kind.CONST: Codec(lambda o, n: o.consts[n], lambda o, v: o.index_of_const(v)),
    Kind.LOCAL: Codec(lambda o, n: o.slots[n], lambda o, v: o.slot_of_local(as_str(v))),
    Kind.CELL: Codec(lambda o, n: o.slots[n], lambda o, v: o.slot_of_cell(as_str(v))),
    Kind.LABEL: Codec(lambda _o, _n: Label.TARGET, lambda _o, _v: 0),
    Kind.BINARY: _table(BINARY_OPERATORS),
    Kind.COMPARE: _table(COMPARE_OPERATORS),
    Kind.UNPACK_EX: Codec(lambda _o, n: (n & 0xFF, n >> 8), _write_unpack_ex),
    Kind.FORMAT: Codec(lambda _o, n: (_CONVERSIONS[n & 3], bool(n & 4)), _write_format),
    Kind.CONVERSION: _table(_CONVERSIONS),
    Kind.INTRINSIC_1: _table(INTRINSICS_1),
    Kind.INTRINSIC_2: _table(_INTRINSICS_2),
    Kind.ATTRIBUTES: Codec(_read_attributes, _write_attributes),
    Kind.ATTRIBUTE: Codec(
        lambda _o, n: FUNCTION_ATTRIBUTES[n.bit_length() - 1],
        lambda _o, v: 1 << FUNCTION_ATTRIBUTES.index(as_str(v)),
    ),
    Kind.INTERPOLATION: Codec(
        lambda _o, n: (_CONVERSIONS[n >> 2], bool(n & 1)), _write_interpolation
    ),
    Kind.IMPORT: Codec(_read_import, _write_import),
    Kind.COMMON_CONSTANT: Codec(lambda _o, n: n, lambda _o, v: as_int(v)),
    Kind.SPECIAL: Codec(lambda _o, n: n, lambda _o, v: as_int(v)),
}


@dataclass(frozen=True, slots=True)
class Native:
    """A native instruction to be made: opcode name, and its argument as `Kind` says."""

    name: str
    kind: Kind = Kind.NONE
    value: object = None
