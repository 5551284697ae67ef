"""From a code object to its `Listing` of virtual instructions, and back for the round-trip proof.

Does not interpret instructions and changes no code object.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from types import CodeType
from typing import Final

from bcjit.bytecode.assembler import (
    NativeCode,
    NativeHandler,
    NativeInstruction,
    assemble,
    parse,
)
from bcjit.bytecode.dialect import Dialect, UnsupportedPython, current
from bcjit.bytecode.instruction import FOR_ITERS, JUMPS, Instruction, Op, Region
from bcjit.bytecode.listing import Listing
from bcjit.bytecode.operands import Label, Native, Operands
from bcjit.records import dataclass

# A listing holds its code object, so an identity in here is never reused while its entry lives.
# No WeakValueDictionary: its callbacks are Python code, in which a signal could strike, whose exception would be lost.
_listings: Final[dict[int, weakref.ref[Listing]]] = {}


def decode(code: CodeType) -> Listing:
    """The virtual instructions of `code`. One listing for each code object, as long as somebody holds it.

    Raises
    ------
    UnsupportedPython
        If the running Python has no dialect, or `code` holds what its compiler does not make.
    """
    key = id(code)
    known = _listings.get(key)
    listing = None if known is None else known()
    if listing is None:
        listing = _Decoder.of(code).listing()
        _listings[key] = weakref.ref(listing, partial(_listings.pop, key))
    return listing


@dataclass(slots=True)
class _Piece:
    """A virtual instruction before labels have indices."""

    op: Op
    arg: object
    native: NativeInstruction  # that it came from: position, target, region
    group: NativeInstruction  # the first of its group


@dataclass(slots=True)
class _Decoder:
    native: NativeCode
    dialect: Dialect
    operands: Operands
    targets: set[int]  # identities of native instructions that something jumps to
    pieces: list[_Piece]
    first: dict[
        int, int
    ]  # identity of the first native instruction of a group -> index of its first piece

    @classmethod
    def of(cls, code: CodeType) -> _Decoder:
        native = parse(code)
        targets = {id(i.target) for i in native.instructions if i.target is not None}
        targets |= {id(handler.target) for handler in native.handlers}
        return cls(native, current(), Operands.of(code), targets, [], {})

    def listing(self) -> Listing:
        for group in self._groups():
            self._add_group(group)
        regions = self._regions()
        instructions = tuple(
            Instruction(
                piece.op,
                self._label(piece) if piece.op in JUMPS else piece.arg,
                piece.native.position,
                piece.group.offset,
                regions.get(id(piece.native)),
            )
            for piece in self.pieces
        )
        return Listing(instructions, self.native.code)

    def _groups(self) -> Iterator[list[NativeInstruction]]:
        """The native instructions in runs that must not be split."""
        natives, index = self.native.instructions, 0
        sizes: dict[str, list[int]] = {}  # of the runs that start with an opcode, longest first
        for names in sorted(self.dialect.groups, key=len, reverse=True):
            sizes.setdefault(names[0], []).append(len(names))
        while index < len(natives):
            size = 1
            for candidate in sizes.get(natives[index].name, ()):
                run = natives[index : index + candidate]
                joined = tuple(native.name for native in run) in self.dialect.groups
                if joined and not any(id(native) in self.targets for native in run[1:]):
                    size = candidate
                    break
            yield natives[index : index + size]
            index += size

    def _add_group(self, group: list[NativeInstruction]) -> None:
        head = group[0]
        pending = self._take_pending_truth(head)
        self.first[id(head)] = len(self.pieces)
        if pending is not None:
            self.pieces.append(_Piece(pending.op, None, pending.native, head))
        reader = (
            self.dialect.groups.get(tuple(native.name for native in group))
            if len(group) > 1
            else None
        )
        if reader is not None:
            pieces = reader(self.operands, tuple(native.arg for native in group))
            self.pieces += (_Piece(op, arg, group[-1], head) for op, arg in pieces)
            return
        for native in group:
            for op, arg in self._read(native):
                self.pieces.append(_Piece(op, arg, native, head))

    def _read(self, native: NativeInstruction) -> Sequence[tuple[Op, object]]:
        if native.name in self.dialect.renames:
            op, kind = self.dialect.renames[native.name]
            return ((op, self.dialect.codecs[kind].read(self.operands, native.arg)),)
        if native.name in self.dialect.readers:
            return self.dialect.readers[native.name](self.operands, native.arg)
        message = f"{native.name} at offset {native.offset} of {self.native.code.co_qualname} has no meaning here"
        raise UnsupportedPython(message)

    def _take_pending_truth(self, head: NativeInstruction) -> _Piece | None:
        """The truth test that COMPARE_OP makes for the jump behind it: move it to the jump, where other versions have it."""
        last = self.pieces[-1] if self.pieces else None
        moves = (
            last is not None
            and last.op is Op.TO_BOOL
            and last.native.name == "COMPARE_OP"
            and head.name in self.dialect.takes_bool
            and id(head) not in self.targets
        )
        return self.pieces.pop() if moves else None

    def _label(self, piece: _Piece) -> int:
        assert piece.arg is Label.TARGET, piece
        assert piece.native.target is not None, piece
        index = self.first[id(piece.native.target)]
        if piece.op in FOR_ITERS and self.dialect.for_iter_skips:
            if self.pieces[index].op is not Op.END_FOR:
                raise UnsupportedPython("FOR_ITER whose target is not an END_FOR")
            index += 1
        return index

    def _regions(self) -> dict[int, Region]:
        regions: dict[int, Region] = {}
        natives = self.native.instructions
        where = {id(native): index for index, native in enumerate(natives)}
        for handler in self.native.handlers:
            end = len(natives) if handler.end is None else where[id(handler.end)]
            region = Region(self.first[id(handler.target)], handler.depth, handler.lasti)
            for native in natives[where[id(handler.start)] : end]:
                regions[id(native)] = region
        return regions


def encode(listing: Listing) -> CodeType:
    """A code object that decodes to the same instructions, positions and regions; offsets may differ.

    Native pairs are written apart. Names and constants must be those of ``listing.code``, in whose tables they are looked up.
    """
    dialect, operands = current(), Operands.of(listing.code)
    natives: list[NativeInstruction] = []
    first: dict[int, NativeInstruction] = {}
    owners: list[int] = []  # for each native instruction, the virtual one that gives its region
    jumps: list[tuple[NativeInstruction, int, int]] = []
    index = 0
    while index < len(listing):
        size, written = _write_at(listing, index, dialect)
        instruction = listing[index + size - 1]
        for native in written:
            arg = dialect.codecs[native.kind].write(operands, native.value)
            made = NativeInstruction(native.name, arg, instruction.position)
            first.setdefault(index, made)
            natives.append(made)
            owners.append(index + size - 1)
            if instruction.op in JUMPS and native is written[-1]:
                jumps.append((made, index, _label_to_write(listing, instruction, dialect)))
        index += size
    for made, here, label in jumps:
        made.target = first[label]
        if label <= here:
            made.name = dialect.jumps_back.get(made.name, made.name)
    handlers = _handlers(listing, natives, owners, first)
    deepest = max((depth for depth in listing.depths() if depth is not None), default=0)
    code = assemble(NativeCode(listing.code, natives, handlers))
    return code.replace(co_stacksize=max(code.co_stacksize, deepest))


def _write_at(listing: Listing, index: int, dialect: Dialect) -> tuple[int, tuple[Native, ...]]:
    """Native form of the instructions from `index` on that are written together, and how many they are."""
    group = listing.group_at(listing[index].offset)
    rest = listing.instructions[index : listing.index_of(group[0].offset) + len(group)]
    for size in range(len(rest), 1, -1):
        writer = dialect.writers.get(tuple(instruction.op for instruction in rest[:size]))
        if writer is not None:
            return size, writer(tuple(instruction.arg for instruction in rest[:size]))
    return 1, dialect.write(rest[0].op, rest[0].arg)


def _label_to_write(listing: Listing, instruction: Instruction, dialect: Dialect) -> int:
    label = instruction.arg
    assert isinstance(label, int)
    if instruction.op in FOR_ITERS and dialect.for_iter_skips:
        assert listing[label - 1].op is Op.END_FOR
        return label - 1
    return label


def _handlers(
    listing: Listing,
    natives: Sequence[NativeInstruction],
    owners: Sequence[int],
    first: dict[int, NativeInstruction],
) -> list[NativeHandler]:
    handlers: list[NativeHandler] = []
    runs = itertools.groupby(range(len(natives)), lambda n: listing[owners[n]].handler)
    for region, run in runs:
        members = list(run)
        if region is None:
            continue
        end = natives[members[-1] + 1] if members[-1] + 1 < len(natives) else None
        target = first[region.handler]
        handlers.append(NativeHandler(natives[members[0]], end, target, region.depth, region.lasti))
    return handlers
