"""Bytecode written down so that it reads like Python, for people; what it gives need not run, and nothing reads it back.

A walk over the virtual instructions with a stack of texts. It is total: an opcode that has no row in `_WRITERS` is written as a call of its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from types import CodeType
from typing import Final, TypeAlias

from bcjit.bytecode.decode import decode
from bcjit.bytecode.instruction import FOR_ITERS, JUMPS, TERMINATORS, Instruction, Op, stack_effect
from bcjit.records import dataclass

__all__ = ["sketch"]

Namer: TypeAlias = Callable[[object], "str | None"]


@dataclass(frozen=True, slots=True)
class _Text:
    """A value on the stack."""

    text: str
    calm: bool = True  # computing it later is the same: a name, a constant, what is made of these


_NULL: Final = _Text("NULL")


@dataclass(slots=True, eq=False)
class _Page:
    """What has been written so far."""

    namer: Namer
    stack: list[_Text] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    at: dict[int, tuple[_Text, ...]] = field(default_factory=dict)  # stacks at labels
    names: int = 0

    def pop(self, count: int = 1) -> list[_Text]:
        """Take values off; a stack that is not known to be so deep gives question marks."""
        missing = max(count - len(self.stack), 0)
        kept = len(self.stack) - (count - missing)
        taken = [_Text("?")] * missing + self.stack[kept:]
        del self.stack[kept:]
        return taken

    def push(self, text: str, *, calm: bool) -> None:
        self.stack.append(_Text(text, calm))

    def say(self, line: str, changes: str = "") -> None:
        """Write a statement; what is on the stack and must be computed before gets a name."""
        for index, value in enumerate(self.stack):
            if not value.calm or (changes and changes in value.text):
                self.stack[index] = self.named(value)
        self.lines.append(line)

    def named(self, value: _Text) -> _Text:
        """Bind a value to a new name."""
        self.names += 1
        name = f"value_{self.names}"
        self.lines.append(f"{name} = {value.text}")
        return _Text(name)


def sketch(code: CodeType, namer: Namer = lambda _value: None) -> str:
    """Return a function's code as lines that read like Python.

    Parameters
    ----------
    code
        Any code object.
    namer
        Names constants that have no short text; None: the name of their type.

    Examples
    --------
    >>> def double(x, y):
    ...     total = x + y * 2
    ...     return total
    >>> print(sketch(double.__code__))
    def double(x, y):
        total = x + (y * 2)
        return total
    """
    listing = decode(code)
    labels = {i.arg for i in listing.instructions if i.op in JUMPS}
    handlers = {i.handler for i in listing.instructions if i.handler is not None}
    page = _Page(namer)
    for region in handlers:
        kept = [_Text("?")] * (region.depth + region.lasti)
        page.at[region.handler] = (*kept, _Text("exception"))
    inside: object = None
    for index, instruction in enumerate(listing.instructions):
        if index in labels or index in page.at:
            stack = page.at.get(index)
            page.say(f"# {_label(index)}:")
            page.stack = list(stack) if stack is not None else page.stack
        if instruction.handler is not inside:
            inside = instruction.handler
            where = _label(instruction.handler.handler) if instruction.handler else "the caller"
            page.say(f"# exceptions go to {where}")
        _write(page, instruction)
    count = code.co_argcount + code.co_kwonlyargcount
    arguments = ", ".join(map(_spelled, code.co_varnames[:count]))
    return "\n".join([f"def {code.co_name}({arguments}):", *(f"    {line}" for line in page.lines)])


def _label(index: object) -> str:
    return f"L{index}"


def _write(page: _Page, instruction: Instruction) -> None:
    op = instruction.op
    writer = _WRITERS.get(op)
    if writer is not None:
        writer(page, instruction.arg)
    elif op in JUMPS:
        _jump(page, instruction)
    else:
        _unknown(page, instruction)
    if op in TERMINATORS:
        page.stack = []


def _jump(page: _Page, instruction: Instruction) -> None:
    """Write a jump, with what is on the stack where it leads to."""
    op, label = instruction.op, instruction.arg
    test = _TESTS.get(op)
    if test is not None:
        (value,) = page.pop()
        page.say(f"if {test.format(_in_parentheses(value))}: goto {_label(label)}")
    else:
        pops, pushes = stack_effect(op, label)
        operands = page.pop(pops)
        if isinstance(label, int):
            page.at.setdefault(label, tuple(page.stack))
        if op in FOR_ITERS:
            page.stack += operands
            item = page.named(_Text(f"next({operands[0].text}), at its end goto {_label(label)}"))
            page.stack.append(item)
        else:
            words = f"{op.value}({', '.join(v.text for v in operands)}), or " if pops else ""
            page.say(f"{words}goto {_label(label)}")
            page.stack += [_Text("?")] * pushes
        return
    if isinstance(label, int):
        page.at.setdefault(label, tuple(page.stack))


_TESTS: Final = {
    Op.POP_JUMP_IF_TRUE: "{}",
    Op.POP_JUMP_IF_FALSE: "not {}",
    Op.POP_JUMP_IF_NONE: "{} is None",
    Op.POP_JUMP_IF_NOT_NONE: "{} is not None",
}


def _unknown(page: _Page, instruction: Instruction) -> None:
    pops, pushes = stack_effect(instruction.op, instruction.arg)
    operands = [value.text for value in page.pop(pops)]
    if instruction.arg is not None:
        operands.insert(0, repr(instruction.arg))
    text = f"{instruction.op.value}({', '.join(operands)})"
    if pushes == 0 or instruction.op in TERMINATORS:
        page.say(text)
    elif pushes == 1:
        page.push(text, calm=False)
    else:
        made = page.named(_Text(text))
        page.stack += [_Text(f"{made.text}[{place}]") for place in range(pushes)]


# ---- one writer for each opcode that has a text of its own -------------------------------------------


def _spelled(name: object) -> str:
    """Return a name that Python takes: those of temporaries begin with a dot, those of stack slots hold a space."""
    return str(name).replace(".", "_").replace(" ", "_")


def _name(page: _Page, arg: object) -> None:
    page.push(_spelled(arg), calm=True)


def _constant(page: _Page, arg: object) -> None:
    text = page.namer(arg)
    if text is None:
        plain = arg is None or type(arg) in (bool, int, float, complex, str, bytes, type(...))
        text = repr(arg) if plain else _constant_text(arg, page.namer)
    page.push(text, calm=True)


def _constant_text(value: object, namer: Namer) -> str:
    if type(value) is tuple:
        inner = (namer(item) or _constant_text(item, namer) for item in value)
        return f"({', '.join(inner)}{',' if len(value) == 1 else ''})"
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return repr(value)
    name = getattr(value, "__qualname__", None) if callable(value) else None
    return name if isinstance(name, str) else f"<{type(value).__name__}>"


def _store(page: _Page, arg: object) -> None:
    (value,) = page.pop()
    name = _spelled(arg)
    if value.text != name:
        page.say(f"{name} = {value.text}", name)


def _delete(page: _Page, arg: object) -> None:
    if not str(arg).startswith("."):  # a temporary's end says nothing
        page.say(f"del {arg}", str(arg))


def _in_parentheses(value: _Text) -> str:
    return f"({value.text})" if " " in value.text and not value.text.endswith(")") else value.text


def _binary(page: _Page, arg: object) -> None:
    left, right = page.pop(2)
    page.push(f"{_in_parentheses(left)} {arg} {_in_parentheses(right)}", calm=False)


def _unary(sign: str) -> Callable[[_Page, object], None]:
    def write(page: _Page, _arg: object) -> None:
        (value,) = page.pop()
        page.push(f"{sign}{_in_parentheses(value)}", calm=False)

    return write


def _attribute(page: _Page, arg: object) -> None:
    (owner,) = page.pop()
    page.push(f"{_in_parentheses(owner)}.{arg}", calm=False)


def _store_attribute(page: _Page, arg: object) -> None:
    value, owner = page.pop(2)
    page.say(f"{owner.text}.{arg} = {value.text}")


def _subscript(page: _Page, _arg: object) -> None:
    owner, key = page.pop(2)
    page.push(f"{_in_parentheses(owner)}[{key.text}]", calm=False)


def _store_subscript(page: _Page, _arg: object) -> None:
    value, owner, key = page.pop(3)
    page.say(f"{owner.text}[{key.text}] = {value.text}")


def _delete_subscript(page: _Page, _arg: object) -> None:
    owner, key = page.pop(2)
    page.say(f"del {owner.text}[{key.text}]")


def _call(page: _Page, arg: object) -> None:
    count, names = arg if isinstance(arg, tuple) else (arg, ())
    first, second, *operands = page.pop(count + 2)
    words = [value.text for value in operands]
    for place, name in enumerate(names, len(words) - len(names)):
        words[place] = f"{name}={words[place]}"
    function = second if first is _NULL else first
    if first is not _NULL and second is not _NULL:
        words.insert(0, second.text)  # the method's self
    page.push(f"{function.text}({', '.join(words)})", calm=False)


def _sequence(left: str, right: str) -> Callable[[_Page, object], None]:
    def write(page: _Page, arg: object) -> None:
        assert isinstance(arg, int)
        items = page.pop(arg)
        comma = "," if arg == 1 and left == "(" else ""
        text = f"{left}{', '.join(item.text for item in items)}{comma}{right}"
        page.push(text, calm=left == "(" and all(item.calm for item in items))

    return write


def _mapping(page: _Page, arg: object) -> None:
    assert isinstance(arg, int)
    items = [item.text for item in page.pop(2 * arg)]
    pairs = (f"{key}: {value}" for key, value in zip(items[::2], items[1::2], strict=True))
    page.push(f"{{{', '.join(pairs)}}}", calm=False)


def _slice(page: _Page, arg: object) -> None:
    assert isinstance(arg, int)
    page.push(f"slice({', '.join(item.text for item in page.pop(arg))})", calm=True)


def _unpack(page: _Page, arg: object) -> None:
    assert isinstance(arg, int)
    (value,) = page.pop()
    owner = value if value.calm else page.named(value)
    page.stack += [_Text(f"{owner.text}[{place}]") for place in reversed(range(arg))]


def _into(method: str) -> Callable[[_Page, object], None]:
    """Write the opcodes that put an item into a container that stays on the stack."""

    def write(page: _Page, arg: object) -> None:
        assert isinstance(arg, int)
        (item,) = page.pop()
        above = page.pop(arg)
        if not above[0].calm:
            above[0] = page.named(above[0])
        page.stack += above
        page.say(f"{above[0].text}.{method}({item.text})")

    return write


def _copy(page: _Page, arg: object) -> None:
    assert isinstance(arg, int)
    if len(page.stack) < arg:
        page.stack = [_Text("?")] * (arg - len(page.stack)) + page.stack
    if not page.stack[-arg].calm:
        page.stack[-arg] = page.named(page.stack[-arg])
    page.stack.append(page.stack[-arg])


def _swap(page: _Page, arg: object) -> None:
    assert isinstance(arg, int)
    values = page.pop(arg)
    page.stack += [values[-1], *values[1:-1], values[0]]


def _drop(page: _Page, _arg: object) -> None:
    (value,) = page.pop()
    if not value.calm:
        page.say(value.text)


def _return(page: _Page, _arg: object) -> None:
    (value,) = page.pop()
    page.say(f"return {value.text}")


def _push_null(page: _Page, _arg: object) -> None:
    page.stack.append(_NULL)


def _nothing(_page: _Page, _arg: object) -> None:
    """Leave it out."""


_WRITERS: Final[dict[Op, Callable[[_Page, object], None]]] = {
    **dict.fromkeys((Op.LOAD_FAST, Op.LOAD_DEREF, Op.LOAD_GLOBAL, Op.LOAD_NAME), _name),
    Op.LOAD_CONST: _constant,
    **dict.fromkeys((Op.STORE_FAST, Op.STORE_DEREF, Op.STORE_GLOBAL, Op.STORE_NAME), _store),
    **dict.fromkeys((Op.DELETE_FAST, Op.DELETE_DEREF, Op.DELETE_GLOBAL, Op.DELETE_NAME), _delete),
    Op.BINARY_OP: _binary,
    Op.COMPARE_OP: _binary,
    Op.UNARY_NEGATIVE: _unary("-"),
    Op.UNARY_INVERT: _unary("~"),
    Op.UNARY_NOT: _unary("not "),
    Op.LOAD_ATTR: _attribute,
    Op.STORE_ATTR: _store_attribute,
    Op.BINARY_SUBSCR: _subscript,
    Op.STORE_SUBSCR: _store_subscript,
    Op.DELETE_SUBSCR: _delete_subscript,
    Op.CALL: _call,
    Op.CALL_KW: _call,
    Op.BUILD_TUPLE: _sequence("(", ")"),
    Op.BUILD_LIST: _sequence("[", "]"),
    Op.BUILD_SET: _sequence("{", "}"),
    Op.BUILD_MAP: _mapping,
    Op.BUILD_SLICE: _slice,
    Op.LIST_APPEND: _into("append"),
    Op.LIST_EXTEND: _into("extend"),
    Op.SET_ADD: _into("add"),
    Op.SET_UPDATE: _into("update"),
    Op.DICT_UPDATE: _into("update"),
    Op.UNPACK_SEQUENCE: _unpack,
    Op.COPY: _copy,
    Op.SWAP: _swap,
    Op.POP_TOP: _drop,
    Op.RETURN_VALUE: _return,
    Op.PUSH_NULL: _push_null,
    # What only the interpreter is told, and the test of truth, which an `if` shows.
    **dict.fromkeys((Op.NOP, Op.RESUME, Op.COPY_FREE_VARS, Op.MAKE_CELL, Op.TO_BOOL), _nothing),
}
