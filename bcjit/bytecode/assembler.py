"""Native code objects as data: parse to instructions, labels and exception entries, and assemble back byte for byte.

Knows code units, jumps and tables of a code object, but not what an opcode means, and renames none.
Mirrors ``Objects/locations.md``, ``Objects/exception_handling_notes.txt`` and ``Python/assemble.c``.
"""

from __future__ import annotations

import opcode as cpython
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Final

from bcjit.bytecode.dialect import Dialect, caches_of, current
from bcjit.bytecode.instruction import NO_POSITION, Position
from bcjit.records import dataclass

_EXTENDED_ARG: Final = cpython.opmap["EXTENDED_ARG"]
_JUMPS: Final = frozenset(cpython.hasjrel)
_CACHES: Final = {number: caches_of(name) for name, number in cpython.opmap.items() if number < 256}
UNIT: Final = 2  # bytes


@dataclass(slots=True, eq=False)
class NativeInstruction:
    """One native instruction with its EXTENDED_ARG prefixes and inline caches. Compared by identity: jumps refer to it."""

    name: str
    arg: int = 0
    position: Position = NO_POSITION
    target: NativeInstruction | None = None  # of a jump; its `arg` is computed
    prefixes: int = 0  # EXTENDED_ARG units to keep even if the argument needs fewer
    offset: int = (
        -1
    )  # byte offset of the first unit, prefixes included; set by `parse` and `assemble`

    @property
    def opcode(self) -> int:
        """The native opcode number."""
        return cpython.opmap[self.name]

    @property
    def size(self) -> int:
        """Bytes of the instruction with its prefixes and caches."""
        return UNIT * (self.prefixes + 1 + _CACHES[self.opcode])


@dataclass(slots=True, eq=False)
class NativeHandler:
    """One entry of the exception table. `end` is exclusive; None is the end of the code."""

    start: NativeInstruction
    end: NativeInstruction | None
    target: NativeInstruction
    depth: int
    lasti: bool


@dataclass(slots=True)
class NativeCode:
    """The instructions and exception entries of a code object; `code` gives everything else."""

    code: CodeType
    instructions: list[NativeInstruction]
    handlers: list[NativeHandler]


@dataclass(frozen=True, slots=True)
class Tables:
    """The three assembled tables of a code object."""

    co_code: bytes
    co_linetable: bytes
    co_exceptiontable: bytes


def parse(code: CodeType) -> NativeCode:
    """Read the instructions and the exception table of `code`, without specialisation and instrumentation.

    Raises
    ------
    UnsupportedPython
        If there is no dialect for the running Python.
    """
    dialect = current()
    raw = code.co_code
    positions = [Position(*position) for position in code.co_positions()]
    instructions: list[NativeInstruction] = []
    starts: dict[int, NativeInstruction] = {}
    jumps: list[tuple[NativeInstruction, int]] = []
    offset = start = arg = prefixes = 0
    while offset < len(raw):
        number, arg = raw[offset], arg << 8 | raw[offset + 1]
        offset += UNIT
        if number == _EXTENDED_ARG:
            prefixes += 1
            continue
        name = cpython.opname[number]
        position = positions[offset // UNIT - 1]
        instruction = NativeInstruction(name, arg, position, None, prefixes, start)
        offset += UNIT * _CACHES[number]
        if number in _JUMPS:
            distance = -arg if name in dialect.backward else arg
            jumps.append((instruction, offset + UNIT * distance))
        instructions.append(instruction)
        starts[start] = instruction
        start, arg, prefixes = offset, 0, 0
    for instruction, target in jumps:
        instruction.target = starts[target]
    handlers = [
        NativeHandler(starts[begin], starts.get(end), starts[target], depth, lasti)
        for begin, end, target, depth, lasti in _read_handlers(code.co_exceptiontable)
    ]
    return NativeCode(code, instructions, handlers)


def assemble(native: NativeCode) -> CodeType:
    """The code object again; what was not changed has the same bytes."""
    tables = assemble_tables(native.instructions, native.handlers, native.code.co_firstlineno)
    return native.code.replace(
        co_code=tables.co_code,
        co_linetable=tables.co_linetable,
        co_exceptiontable=tables.co_exceptiontable,
    )


def assemble_tables(
    instructions: Sequence[NativeInstruction], handlers: Sequence[NativeHandler], firstlineno: int
) -> Tables:
    """Lay out `instructions`; sets their offsets, the arguments of jumps, and prefixes where more are needed.

    Raises
    ------
    ValueError
        If a jump's target is not in the direction of its opcode.
    """
    end = _lay_out(instructions, current())
    code = bytearray()
    for instruction in instructions:
        for shift in range(instruction.prefixes, 0, -1):
            code += bytes((_EXTENDED_ARG, instruction.arg >> 8 * shift & 0xFF))
        code += bytes((instruction.opcode, instruction.arg & 0xFF))
        code += bytes(UNIT * _CACHES[instruction.opcode])
    return Tables(
        bytes(code), _line_table(instructions, firstlineno), _handler_table(handlers, end)
    )


def _lay_out(instructions: Sequence[NativeInstruction], dialect: Dialect) -> int:
    """Fix offsets and jump arguments, widening until nothing changes. Returns the size of the code."""
    while True:
        offset = 0
        for instruction in instructions:
            instruction.offset = offset
            offset += instruction.size
        widened = False
        for instruction in instructions:
            if instruction.target is not None:
                instruction.arg = _distance(instruction, instruction.target, dialect)
            needed = (max(instruction.arg.bit_length(), 1) - 1) // 8
            if needed > instruction.prefixes:
                instruction.prefixes = needed
                widened = True
        if not widened:
            return offset


def _distance(instruction: NativeInstruction, target: NativeInstruction, dialect: Dialect) -> int:
    distance = (target.offset - instruction.offset - instruction.size) // UNIT
    if instruction.name in dialect.backward:
        distance = -distance
    if distance < 0:
        raise ValueError(f"{instruction.name} at {instruction.offset} cannot reach {target.offset}")
    return distance


# -- location table ----------------------------------------------------------------------------------------------------
_NO_COLUMNS, _LONG, _NO_LOCATION = 13, 14, 15  # codes of entries
_MAX_UNITS: Final = 8  # code units of one entry


def _line_table(instructions: Sequence[NativeInstruction], firstlineno: int) -> bytes:
    table = bytearray()
    line = firstlineno
    for instruction in instructions:
        position = instruction.position
        units = instruction.size // UNIT
        while units > 0:
            step = min(units, _MAX_UNITS)
            units -= step
            table += _location(position, step, line)
            if position.lineno is not None:
                line = position.lineno
    return bytes(table)


def _location(position: Position, units: int, line: int) -> bytes:
    lineno, end_lineno, col, end_col = position
    if lineno is None:
        return bytes((_entry(_NO_LOCATION, units),))
    if end_lineno == lineno and col is None and end_col is None:
        return bytes((_entry(_NO_COLUMNS, units), *_signed(lineno - line)))
    end = lineno if end_lineno is None else end_lineno
    columns = (0 if column is None else column + 1 for column in (col, end_col))
    fields = (end - lineno, *columns)
    return bytes(
        (_entry(_LONG, units), *_signed(lineno - line), *(b for f in fields for b in _unsigned(f)))
    )


def _entry(kind: int, units: int) -> int:
    return 0x80 | kind << 3 | units - 1


def _unsigned(value: int) -> Iterator[int]:
    """Six bits a byte, low bits first."""
    while value >= 64:
        yield 64 | value & 63
        value >>= 6
    yield value


def _signed(value: int) -> Iterator[int]:
    return _unsigned(-value << 1 | 1 if value < 0 else value << 1)


# -- exception table ---------------------------------------------------------------------------------------------------
def _read_handlers(table: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """Yield (start, end, target, depth, lasti), offsets in bytes."""
    source = iter(table)

    def varint(first: int) -> int:
        """Six bits a byte, high bits first; bit 6 says that more follow."""
        value, byte = first & 63, first
        while byte & 64:
            byte = next(source)
            value = value << 6 | byte & 63
        return value

    for first in source:
        start, length, target, depth = varint(first), *(varint(next(source)) for _ in range(3))
        yield UNIT * start, UNIT * (start + length), UNIT * target, depth >> 1, bool(depth & 1)


def _handler_table(handlers: Sequence[NativeHandler], code_size: int) -> bytes:
    table = bytearray()
    for handler in handlers:
        start = handler.start.offset // UNIT
        end = (handler.end.offset if handler.end is not None else code_size) // UNIT
        if start >= end:
            continue
        first, *rest = _big_endian(start)
        table += bytes((first | 0x80, *rest))  # marks the start of an entry, for the binary search
        for value in (
            end - start,
            handler.target.offset // UNIT,
            handler.depth << 1 | handler.lasti,
        ):
            table += bytes(_big_endian(value))
    return bytes(table)


def _big_endian(value: int) -> list[int]:
    groups = [value & 63]
    while value := value >> 6:
        groups.append(value & 63 | 64)
    return groups[::-1]
