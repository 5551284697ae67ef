"""`CodeBuilder`: new code objects, written in virtual instructions; residual code is made with it.

Knows nothing of graphs or of what the code is for. Rewriting existing code is `assembler`'s, which also lays out what is written here.
"""

from __future__ import annotations

import opcode as cpython
from collections.abc import Sequence
from types import CodeType
from typing import Final, NamedTuple

from bcjit.bytecode.assembler import NativeHandler, NativeInstruction, assemble_tables
from bcjit.bytecode.dialect import Dialect, current
from bcjit.bytecode.instruction import JUMPS, NO_POSITION, Instruction, Op, Position
from bcjit.bytecode.operands import Kind, Native, Operands, as_str, slot_names
from bcjit.records import dataclass

CO_FUNCTION: Final = 0x1 | 0x2  # CO_OPTIMIZED | CO_NEWLOCALS


@dataclass(slots=True, eq=False)
class Label:
    """A place in code that is being built, compared by identity. `CodeBuilder.mark` gives it its instruction."""

    target: NativeInstruction | None = None


class _Range(NamedTuple):
    """A protected run of instructions and where an exception in it goes, as places."""

    start: int
    end: int
    handler: int
    depth: int
    lasti: bool


class _Draft:
    """The native instructions of a code object to be, and the tables that their arguments index."""

    def __init__(
        self,
        named: tuple[str, str, str, int],  # file, name, qualified name, first line
        argnames: tuple[str, ...],
        cellvars: tuple[str, ...],
        freevars: tuple[str, ...],
        flags: int,
    ) -> None:
        self.named, self.argcount, self.flags = named, len(argnames), flags
        self.cellvars, self.freevars = cellvars, freevars
        self.marks: list[Label] = []  # that wait for the next instruction
        self._codecs = current().codecs
        self._instructions: list[NativeInstruction] = []
        self._cells: list[tuple[NativeInstruction, str]] = []  # their slots are behind all locals
        self._jumps: list[tuple[NativeInstruction, Label]] = []
        self._names: list[str] = []
        # The first would be taken for a docstring.
        self._constants: list[object] = [None]
        self._constant_of: dict[int, int] = {id(None): 0}
        self._locals: dict[str, int] = {name: slot for slot, name in enumerate(argnames)}
        self._operands = Operands(self._names, self._constants, (), frozenset())
        self.ranges: list[_Range] = []

    @property
    def size(self) -> int:
        """How many instructions there are."""
        return len(self._instructions)

    def append(self, native: Native, position: Position) -> None:
        """Add an instruction; the marks that wait are at it."""
        instruction = NativeInstruction(native.name, 0, position)
        instruction.arg = self._argument(native, instruction)
        self._instructions.append(instruction)
        for label in self.marks:
            label.target = instruction
        self.marks.clear()

    def _argument(self, native: Native, instruction: NativeInstruction) -> int:
        kind, value = native.kind, native.value
        if kind is Kind.LABEL:
            assert isinstance(value, Label), value
            self._jumps.append((instruction, value))
            return 0
        if kind is Kind.CELL:
            self._cells.append((instruction, as_str(value)))
            return 0
        if kind is Kind.LOCAL:
            return self._local(as_str(value))
        if kind is Kind.CONST:
            return self._constant(value)
        if kind in _NAMES:
            name = as_str(value[0] if isinstance(value, tuple) else value)
            if name not in self._names:
                self._names.append(name)
        return self._codecs[kind].write(self._operands, value)

    def _local(self, name: str) -> int:
        if name in self.cellvars or name in self.freevars:
            raise ValueError(f"{name!r} is a cell variable of {self.named[2]}")
        return self._locals.setdefault(name, len(self._locals))

    def _constant(self, value: object) -> int:
        """The index of this very object: equal ones are not merged."""
        index = self._constant_of.setdefault(id(value), len(self._constants))
        if index == len(self._constants):
            self._constants.append(value)
        return index

    def finish(self) -> CodeType:
        """The code object."""
        varnames = tuple(self._locals)
        slots = slot_names(varnames, self.cellvars, self.freevars)
        for instruction, name in self._cells:
            instruction.arg = slots.index(name)
        for instruction, label in self._jumps:
            assert label.target is not None, "a jump to a label that is not marked"
            instruction.target = label.target
        filename, name, qualname, firstlineno = self.named
        at = [*self._instructions, None]
        handlers = [
            NativeHandler(
                self._instructions[start], at[end], self._instructions[handler], depth, lasti
            )
            for start, end, handler, depth, lasti in sorted(self.ranges)
        ]
        tables = assemble_tables(self._instructions, handlers, firstlineno)
        return CodeType(
            self.argcount,
            0,  # posonlyargcount
            0,  # kwonlyargcount
            len(varnames),
            _stack_size(self._instructions, self.ranges),
            self.flags,
            tables.co_code,
            tuple(self._constants),
            tuple(self._names),
            varnames,
            filename,
            name,
            qualname,
            firstlineno,
            tables.co_linetable,
            tables.co_exceptiontable,
            self.freevars,
            self.cellvars,
        )


class CodeBuilder:
    """Builds the code object of a function whose arguments are all positional.

    Every method that emits takes its operands from the virtual stack. Positions are those of the last `at`.

    Parameters
    ----------
    argnames
        Names of the arguments; those that are also in `cellvars` become cells before the first instruction.
    cellvars, freevars
        Names of the cells made, and of those that come with the closure.
    flags
        ``co_flags``, without those that follow from the rest.
    resume
        False: `resume` is called later. Nothing else runs before it: no signal handler, no other thread.
    """

    def __init__(
        self,
        name: str,
        qualname: str,
        filename: str,
        firstlineno: int,
        argnames: tuple[str, ...] = (),
        cellvars: tuple[str, ...] = (),
        freevars: tuple[str, ...] = (),
        flags: int = CO_FUNCTION,
        *,
        resume: bool = True,
    ) -> None:
        self._dialect: Dialect = current()
        named = (filename, name, qualname, firstlineno)
        self._draft = _Draft(named, argnames, cellvars, freevars, flags)
        self._marked: set[Label] = set()
        self._temporaries = 0
        self.at(Position(firstlineno, firstlineno, 0, 0))
        self._prologue()
        if resume:
            self.resume()

    def _prologue(self) -> None:
        # The order of Python/compile.c, insert_prefix_instructions.
        if self._draft.freevars:
            self.emit(Op.COPY_FREE_VARS, len(self._draft.freevars))
        for name in self._draft.cellvars:
            self.emit(Op.MAKE_CELL, name)

    def resume(self) -> None:
        """From here on the frame is seen, and may be interrupted."""
        self.emit(Op.RESUME, 0)

    def finish(self) -> CodeType:
        """The code object. Every label that is jumped to must have been marked."""
        return self._draft.finish()

    # -- positions and names -------------------------------------------------------------------------------------------
    def at(self, position: Position) -> None:
        """What is emitted from now on stands at `position` of the user's source."""
        self._position = position

    def temp(self) -> str:
        """A new name of a local that no user's name can be."""
        self._temporaries += 1
        return f".t{self._temporaries - 1}"

    # -- any virtual instruction ---------------------------------------------------------------------------------------
    def native(self, instruction: Instruction) -> None:
        """Emit one virtual instruction at its own position; a jump must have a `Label` for argument."""
        before = self._position
        if instruction.position != NO_POSITION:
            self.at(instruction.position)
        self.emit(instruction.op, instruction.arg)
        self._position = before

    def emit(self, op: Op, arg: object = None) -> None:
        """Emit one virtual instruction at the current position.

        Raises
        ------
        UnsupportedPython
            If this Python has no native form for it alone.
        """
        if op in JUMPS:
            assert isinstance(arg, Label), f"{op.name} needs a label of this builder"
            self._jump(op, arg)
            return
        for native in self._dialect.write(op, arg):
            self._draft.append(native, self._position)

    def _jump(self, op: Op, label: Label) -> None:
        (native,) = self._dialect.write(op, label)
        if label not in self._marked:
            self._draft.append(native, self._position)
        elif native.name in self._dialect.jumps_back:
            self._draft.append(
                Native(self._dialect.jumps_back[native.name], native.kind, label), self._position
            )
        else:  # a conditional jump goes forward only, from 3.12 on
            taken, behind = Label(), Label()
            self._draft.append(Native(native.name, native.kind, taken), self._position)
            self._jump(Op.JUMP, behind)
            self.mark(taken)
            self._jump(Op.JUMP, label)
            self.mark(behind)

    # -- loads and stores ----------------------------------------------------------------------------------------------
    def load_fast(self, name: str) -> None:
        """Push a local that is bound here for certain: not tested, from 3.12 on a NULL would be pushed."""
        self._draft.append(Native("LOAD_FAST", Kind.LOCAL, name), self._position)

    def store_fast(self, name: str) -> None:
        """Pop into a local."""
        self.emit(Op.STORE_FAST, name)

    def delete_fast(self, name: str) -> None:
        """Unbind a local that is bound."""
        self.emit(Op.DELETE_FAST, name)

    def load_const(self, value: object) -> None:
        """Push this very object."""
        self.emit(Op.LOAD_CONST, value)

    def load_global(self, name: str) -> None:
        """Push a global or builtin."""
        self.emit(Op.LOAD_GLOBAL, name)

    def load_attr(self, name: str) -> None:
        """Replace the top by an attribute of it."""
        self.emit(Op.LOAD_ATTR, name)

    def load_deref(self, name: str) -> None:
        """Push the content of a cell."""
        self.emit(Op.LOAD_DEREF, name)

    def store_deref(self, name: str) -> None:
        """Pop into a cell."""
        self.emit(Op.STORE_DEREF, name)

    def load_closure(self, name: str) -> None:
        """Push a cell itself."""
        self.emit(Op.LOAD_CLOSURE, name)

    # -- the stack -----------------------------------------------------------------------------------------------------
    def copy(self, n: int) -> None:
        """Push the nth item from the top, counted from 1."""
        self.emit(Op.COPY, n)

    def swap(self, n: int) -> None:
        """Exchange the top with the nth item, counted from 1."""
        self.emit(Op.SWAP, n)

    def pop(self) -> None:
        """Drop the top."""
        self.emit(Op.POP_TOP)

    def push_null(self) -> None:
        """Push a NULL, as the native stack of a call has."""
        self.emit(Op.PUSH_NULL)

    # -- protected regions ---------------------------------------------------------------------------------------------
    @property
    def positions_are_objects(self) -> bool:
        """Whether the position that handlers with `lasti` get is an object; if not, a NULL stands for it."""
        return self._dialect.positions_are_objects

    def place(self) -> int:
        """The place of the next instruction, for `protect`."""
        return self._draft.size

    def protect(self, start: int, end: int, depth: int, *, lasti: bool) -> None:
        """Make what was emitted from place `start` to before `end` lead, when it raises, to the next instruction.

        There the stack is its lowest `depth` slots, the position of what raised if `lasti`, and the exception. No path
        leads to the next instruction otherwise: it must stand behind a jump or return.
        """
        self._draft.ranges.append(_Range(start, end, self.place(), depth, lasti))

    # -- objects -------------------------------------------------------------------------------------------------------
    def build_tuple(self, n: int) -> None:
        """Make a tuple of the `n` top items."""
        self.emit(Op.BUILD_TUPLE, n)

    def build_list(self, n: int) -> None:
        """Make a list of the `n` top items."""
        self.emit(Op.BUILD_LIST, n)

    def build_set(self, n: int) -> None:
        """Make a set of the `n` top items."""
        self.emit(Op.BUILD_SET, n)

    def build_map(self, n: int) -> None:
        """Make a dict of the `n` top pairs."""
        self.emit(Op.BUILD_MAP, n)

    def build_slice(self, n: int) -> None:
        """Make a slice of the 2 or 3 top items."""
        self.emit(Op.BUILD_SLICE, n)

    def unpack_sequence(self, n: int) -> None:
        """Replace the top by its `n` items, the first on top."""
        self.emit(Op.UNPACK_SEQUENCE, n)

    def binary_subscr(self) -> None:
        """(object, key -- item)."""
        self.emit(Op.BINARY_SUBSCR)

    # -- calls and functions -------------------------------------------------------------------------------------------
    def begin_call(self) -> None:
        """Comes before the callable is pushed: some versions have the NULL of a call below it."""
        if self._dialect.null_first:
            self.push_null()

    def end_callable(self) -> None:
        """Comes when the callable has been pushed, before the arguments: other versions have the NULL above it."""
        if not self._dialect.null_first:
            self.push_null()

    def push_callable(self, value: object) -> None:
        """Push a constant callable with its NULL; the arguments and `call` follow."""
        self.begin_call()
        self.load_const(value)
        self.end_callable()

    def call(self, n: int) -> None:
        """Call with the `n` top items."""
        self.emit(Op.CALL, n)

    def call_kw(self, n: int, names: tuple[str, ...]) -> None:
        """Call with the `n` top items, the last of which are keywords `names`."""
        self.emit(Op.CALL_KW, (n, names))

    def make_function(self, code: CodeType, attributes: tuple[str, ...] = ()) -> None:
        """Make a function of `code`.

        `attributes` names what is on the stack for it, bottom first: "defaults" and "closure" are tuples,
        "kwdefaults" is a dict, "annotations" a tuple of names and values; in the order
        ("defaults", "kwdefaults", "annotations", "closure").
        """
        self.load_const(code)
        self.emit(Op.MAKE_FUNCTION, attributes)

    # -- control flow --------------------------------------------------------------------------------------------------
    def label(self) -> Label:
        """A new label, to be marked once."""
        return Label()

    def mark(self, label: Label) -> None:
        """Put `label` here."""
        if label in self._marked:
            raise ValueError("the label is marked already")
        self._marked.add(label)
        self._draft.marks.append(label)

    def jump(self, label: Label) -> None:
        """Go on at `label`."""
        self.emit(Op.JUMP, label)

    def return_value(self) -> None:
        """Return the top."""
        self.emit(Op.RETURN_VALUE)


_NAMES: Final = frozenset({Kind.NAME, Kind.NAME_BIT, Kind.SUPER, Kind.IMPORT})
_UNTIL_JUMP: Final = frozenset({"RETURN_VALUE", "RAISE_VARARGS", "RERAISE"})
_ALWAYS_JUMP: Final = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})


def _stack_size(instructions: Sequence[NativeInstruction], ranges: Sequence[_Range]) -> int:
    """The deepest that the stack gets on any way from the first instruction and from the handlers."""
    where = {id(instruction): index for index, instruction in enumerate(instructions)}
    reached: set[int] = set()
    work = [(0, 0), *((found.handler, found.depth + found.lasti + 1) for found in ranges)]
    deepest = max(depth for _, depth in work)
    while work:
        index, depth = work.pop()
        while index not in reached:
            reached.add(index)
            instruction = instructions[index]
            number = instruction.opcode
            arg = instruction.arg if number >= cpython.HAVE_ARGUMENT else None
            if instruction.target is not None:
                there = depth + cpython.stack_effect(number, arg, jump=True)
                deepest = max(deepest, there)
                work.append((where[id(instruction.target)], there))
            if instruction.name in _ALWAYS_JUMP or instruction.name in _UNTIL_JUMP:
                break
            depth += cpython.stack_effect(number, arg, jump=False)
            deepest = max(deepest, depth)
            index += 1
    return deepest
