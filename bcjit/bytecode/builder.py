"""`CodeBuilder`: new code objects, written in virtual instructions; residual code is made with it.

Labels, jumps, stack size and the location table are the work of the ``bytecode`` package, which gets unpaired native
instructions only. Knows nothing of graphs or of what the code is for. Rewriting existing code is `assembler`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Final, NamedTuple, cast

from bytecode import BinaryOp, Bytecode, Compare, CompilerFlags, Instr, Label
from bytecode.instr import (
    UNSET,
    CellVar,
    FormatValue,
    FreeVar,
    InstrLocation,
    Intrinsic1Op,
    Intrinsic2Op,
)

from bcjit.bytecode.assembler import NativeHandler, assemble, parse
from bcjit.bytecode.dialect import Dialect, current, takes_argument
from bcjit.bytecode.instruction import JUMPS, NO_POSITION, Instruction, Op, Position
from bcjit.bytecode.operands import COMPARE_OPERATORS, Kind, Native, Operands

CO_FUNCTION: Final = 0x1 | 0x2  # CO_OPTIMIZED | CO_NEWLOCALS


_SHORT_COLUMNS: Final = 127  # the last column the package encodes right


class _Constant:
    """Stands for a constant while the package works: it would merge different objects that are marshalled alike."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class _Range(NamedTuple):
    """A protected run of instructions, counted without labels, and where an exception in it goes."""

    start: int
    end: int
    handler: int
    depth: int
    lasti: bool


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
        self._code = Bytecode()
        self._code.name = name
        self._code.qualname = qualname
        self._code.filename = filename
        self._code.first_lineno = firstlineno
        self._code.argnames = list(argnames)
        self._code.argcount = len(argnames)
        self._code.cellvars = list(cellvars)
        self._code.freevars = list(freevars)
        self._code.flags = CompilerFlags(flags)
        self._variables: dict[str, CellVar | FreeVar] = {
            **{name: FreeVar(name) for name in freevars},
            **{name: CellVar(name) for name in cellvars},
        }
        self._constants: dict[int, _Constant] = {}
        self._marked: set[Label] = set()
        self._temporaries = 0
        self._wide = False
        self._count = 0  # instructions so far
        self._ranges: list[_Range] = []
        self._handler_stack = 0
        self.at(Position(firstlineno, firstlineno, 0, 0))
        self._prologue()
        if resume:
            self.resume()

    def _prologue(self) -> None:
        # The order of Python/compile.c, insert_prefix_instructions.
        if self._code.freevars:
            self.emit(Op.COPY_FREE_VARS, len(self._code.freevars))
        for name in self._code.cellvars:
            self.emit(Op.MAKE_CELL, name)

    def resume(self) -> None:
        """From here on the frame is seen, and may be interrupted."""
        self.emit(Op.RESUME, 0)

    def finish(self) -> CodeType:
        """The code object. Every label that is jumped to must have been marked."""
        code = self._code.to_code()
        constants = (c.value if isinstance(c, _Constant) else c for c in code.co_consts)
        code = code.replace(co_consts=tuple(constants))
        # The package writes columns from 128 on in the short form, where CPython takes them for the start of an entry.
        if not (self._wide or self._ranges):
            return code
        native = parse(code)
        instructions = native.instructions
        assert len(instructions) == self._count, "the package keeps every instruction"
        for start, end, handler, depth, lasti in sorted(self._ranges):
            native.handlers.append(
                NativeHandler(
                    instructions[start], instructions[end], instructions[handler], depth, lasti
                )
            )
        # The package does not see how handlers are reached, and leaves their needs out.
        deepest = max(code.co_stacksize, self._handler_stack)
        return assemble(native).replace(co_stacksize=deepest)

    # -- positions and names -------------------------------------------------------------------------------------------
    def at(self, position: Position) -> None:
        """What is emitted from now on stands at `position` of the user's source."""
        self._location = InstrLocation(*position)
        self._wide = self._wide or max(position.col or 0, position.end_col or 0) > _SHORT_COLUMNS

    def temp(self) -> str:
        """A new name of a local that no user's name can be."""
        self._temporaries += 1
        return f".t{self._temporaries - 1}"

    # -- any virtual instruction ---------------------------------------------------------------------------------------
    def native(self, instruction: Instruction) -> None:
        """Emit one virtual instruction at its own position; a jump must have a `Label` for argument."""
        before = self._location
        if instruction.position != NO_POSITION:
            self.at(instruction.position)
        self.emit(instruction.op, instruction.arg)
        self._location = before

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
            self._append(native)

    def _jump(self, op: Op, label: Label) -> None:
        (native,) = self._dialect.write(op, label)
        if label not in self._marked:
            self._append(native)
        elif native.name in self._dialect.jumps_back:
            self._append(Native(self._dialect.jumps_back[native.name], native.kind, label))
        else:  # a conditional jump goes forward only, from 3.12 on
            taken, behind = Label(), Label()
            self._append(Native(native.name, native.kind, taken))
            self._jump(Op.JUMP, behind)
            self.mark(taken)
            self._jump(Op.JUMP, label)
            self.mark(behind)

    def _append(self, native: Native) -> None:
        arg = _ENCODERS[native.kind](self, native.value)
        if not takes_argument(native.name):
            arg = UNSET
        elif arg is UNSET:
            arg = 0
        self._code.append(Instr(native.name, arg, location=self._location))
        self._count += 1

    def variable(self, name: object) -> CellVar | FreeVar:
        """The package's mark of a cell or free variable."""
        assert isinstance(name, str), name
        return self._variables[name]

    def local(self, name: object) -> str:
        """The name of a local that is no cell."""
        assert isinstance(name, str), name
        if name in self._variables:
            raise ValueError(f"{name!r} is a cell variable of {self._code.qualname}")
        return name

    def constant(self, value: object) -> object:
        """Stands for `value`; the same for the same object, and only for it."""
        return self._constants.setdefault(id(value), _Constant(value))

    # -- loads and stores ----------------------------------------------------------------------------------------------
    def load_fast(self, name: str) -> None:
        """Push a local that is bound here for certain: not tested, from 3.12 on a NULL would be pushed."""
        self._append(Native("LOAD_FAST", Kind.LOCAL, name))

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
    def place(self) -> int:
        """The place of the next instruction, for `protect`."""
        return self._count

    def protect(self, start: int, end: int, depth: int, *, lasti: bool, stack: int) -> None:
        """Make what was emitted from place `start` to before `end` lead, when it raises, to the next instruction.

        There the stack is its lowest `depth` slots, the position of what raised if `lasti`, and the exception. No path
        leads to the next instruction otherwise: it must stand behind a jump or return.

        Parameters
        ----------
        stack
            How many slots the handler needs.
        """
        self._ranges.append(_Range(start, end, self._count, depth, lasti))
        self._handler_stack = max(self._handler_stack, stack)

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
        self._code.append(label)

    def jump(self, label: Label) -> None:
        """Go on at `label`."""
        self.emit(Op.JUMP, label)

    def return_value(self) -> None:
        """Return the top."""
        self.emit(Op.RETURN_VALUE)


Encoder = Callable[[CodeBuilder, object], object]

_NO_OPERANDS: Final = Operands((), (), (), frozenset())


def _number(kind: Kind) -> Encoder:
    """For arguments that are plain numbers to the package too."""
    return lambda _builder, value: current().codecs[kind].write(_NO_OPERANDS, value)


def _super(_: CodeBuilder, value: object) -> object:
    assert isinstance(value, tuple), value
    name, two_arguments = value
    return False, two_arguments, name


def _member(enum: Callable[[int], object], kind: Kind) -> Encoder:
    """For arguments that are a member of one of the package's enums, whose values are CPython's."""
    number = _number(kind)
    return lambda builder, value: enum(cast("int", number(builder, value)))


_ENCODERS: Final[Mapping[Kind, Encoder]] = {
    Kind.NONE: lambda _builder, _value: UNSET,
    Kind.INT: lambda _builder, value: value,
    Kind.BOOL: _number(Kind.BOOL),
    Kind.NAME: lambda _builder, value: value,
    Kind.NAME_BIT: lambda _builder, value: (False, value),
    Kind.SUPER: _super,
    Kind.CONST: CodeBuilder.constant,
    Kind.LOCAL: CodeBuilder.local,
    Kind.CELL: CodeBuilder.variable,
    Kind.LABEL: lambda _builder, value: value,
    Kind.BINARY: _member(BinaryOp, Kind.BINARY),
    Kind.COMPARE: lambda _builder, value: Compare(COMPARE_OPERATORS.index(cast("str", value))),
    Kind.UNPACK_EX: _number(Kind.UNPACK_EX),
    Kind.FORMAT: _number(Kind.FORMAT),
    Kind.CONVERSION: _member(FormatValue, Kind.CONVERSION),
    Kind.INTRINSIC_1: _member(Intrinsic1Op, Kind.INTRINSIC_1),
    Kind.INTRINSIC_2: _member(Intrinsic2Op, Kind.INTRINSIC_2),
    Kind.ATTRIBUTES: _number(Kind.ATTRIBUTES),
    Kind.ATTRIBUTE: _number(Kind.ATTRIBUTE),
}
