"""Writes programs: functions over arrays and every kind of container, with all of Python's control flow; it runs nothing.

`program(seed)` returns the source text of one, the same for the same seed. Statements are typed and loops bounded, so that most
programs come to their end; some raise or warn on the way. ``python -m tests.fuzzer --count 1000 --seed 7`` runs many (see `fuzz_run`).
"""

from __future__ import annotations

import collections
import random
import symtable
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

# Behind programs.PRELUDE.
PRELUDE: Final = """\
import collections
import contextlib
import functools
import itertools
import math
import sys

TOTAL = 0.0
STATE = {"n": 0, "last": None}


Box.__repr__ = lambda self: f"Box({self.count})"  # without an address


class Slotted:
    __slots__ = ("a", "b")

    def __repr__(self):
        return "Slotted()"

    def __init__(self, a, b=1):
        self.a = a
        self.b = b

    @property
    def product(self):
        return self.a * self.b

    def add(self, v):
        self.a = self.a + v
        return self


class Guarded:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("entered")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append((kind and kind.__name__, str(error)))
        return self.swallow


@contextlib.contextmanager
def pushed(log, value):
    log.append(value)
    try:
        yield len(log)
    except LookupError as error:
        log.append(type(error).__name__)
        raise
    finally:
        log.append("left")


@contextlib.contextmanager
def swallowing(log):
    try:
        yield log
    except (ValueError, ArithmeticError) as error:
        log.append(str(error))


def count_up(v, most):
    try:
        for i in range(most):
            SEEN.append(("turn", i))
            yield v * i
    finally:
        SEEN.append("closed")


def rows_of(v):
    yield from v
    yield v.sum()


def first_over(v, limit):
    for one in v.flat:
        if one > limit:
            return one
    return None


def normalised(v):
    top = np.abs(v).max()
    turns = 0
    while top > 4 and turns < 9:
        v = v / 2
        turns += 1
        top = np.abs(v).max()
    return v


def guarded_inverse(v):
    try:
        if (v == 0).any():
            raise ZeroDivisionError("zero in it")
        return 1 / v
    except ZeroDivisionError:
        return v + 1
    finally:
        STATE["n"] += 1


def fill_running(v, out):
    total = 0.0
    for i in range(v.shape[0]):
        total = total + v[i].sum()
        out[i] = total
    return total


"""

PARAMETERS: Final = (
    "x", "y", "k", "r", "flag", "pair", "items", "table", "bag", "queue", "box",
)  # fmt: skip


@dataclass(slots=True)
class Scope:
    """What may be used here, by type. What is in `names` may be bound again."""

    arrays: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    ints: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    dicts: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    deques: list[str] = field(default_factory=list)
    things: list[str] = field(default_factory=list)  # of any type
    boxes: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)  # of an array, giving one
    generators: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # arrays that are plain local names

    def copy(self) -> Scope:
        return Scope(*(list(getattr(self, one.name)) for one in fields(self)))


def _first_scope() -> Scope:
    return Scope(
        arrays=["x", "y", "pair[0]", "table['a']", "items[0]", "box.value"],
        scalars=["k", "r", "pair[1]", "table['b']", "TOTAL"],
        ints=["k", "len(items)", "x.shape[0]", "box.count", "len(bag)"],
        lists=["items"],
        dicts=["table"],
        sets=["bag"],
        deques=["queue"],
        things=["pair", "items", "table", "x", "flag", "queue", "bag"],
        boxes=["box"],
        functions=["helper", "deep", "normalised", "guarded_inverse", "np.abs", "np.cumsum"],
        names=["x", "y"],
    )


Lines = list[str]


def _inside(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class Writer:
    """Writes one function; `rng` decides everything."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.scope = _first_scope()
        self.loops = 0  # how many loops of this function are around
        self.handlers = 0
        self.calls = 0  # how many nested functions are around
        # A variable that is perhaps unbound is not one of a nested function too: behind a break Python calls it a free one.
        self.leaks = self.chance(0.5)

    # -- choosing -------------------------------------------------------------------------------

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def one(self, choices: list[str]) -> str:
        return self.rng.choice(choices)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        """Names that are bound inside are mostly not used outside: they may be unbound there."""
        outer = self.scope
        self.scope = outer.copy()
        yield
        if not (self.leaks and self.chance(0.15)):
            self.scope = outer

    # -- expressions ----------------------------------------------------------------------------

    def int_(self) -> str:
        form = self.rng.randrange(6)
        if form <= 2:
            return self.one(self.scope.ints)
        if form == 3:
            return self.pick("0", "1", "2", "3", "-1")
        if form == 4:
            return f"({self.one(self.scope.ints)} {self.pick('+', '-', '*')} {self.pick('1', '2')})"
        return f"({self.one(self.scope.ints)} {self.pick('//', '%')} {self.pick('2', '3')})"

    def scalar(self, depth: int = 2) -> str:
        form = self.rng.randrange(12 if depth > 0 else 3)
        if form <= 1:
            return self.one(self.scope.scalars)
        if form == 2:
            return self.pick("2", "0.5", "-1", "3.25", "1e3", "0", "np.float32(1.5)", "True")
        if form <= 5:
            method = self.pick("sum", "max", "mean", "min", "std", "any")
            return f"{self.array(depth - 1)}.{method}()"
        if form == 6:
            return self.int_()
        if form == 7:
            return f"float({self.one(self.scope.arrays)}.sum())"
        if form == 8:
            return f"{self.one(self.scope.arrays)}.flat[{self.pick('0', '-1', '1')}]"
        if form == 9:
            name = self.pick("max", "min")
            return f"{name}({self.scalar(0)}, {self.scalar(depth - 1)})"
        if form == 10:
            return f"({self.scalar(0)} if {self.condition(0)} else {self.scalar(0)})"
        operator = self.pick("+", "-", "*", "/", "//", "%", "+", "-")
        return f"({self.scalar(depth - 1)} {operator} {self.scalar(0)})"

    def array(self, depth: int = 2) -> str:
        form = self.rng.randrange(15 if depth > 0 else 3)
        if form <= 2:
            return self.one(self.scope.arrays)
        if form <= 6:
            operator = self.pick("+", "-", "*", "+", "-", "/")
            return f"({self.array(depth - 1)} {operator} {self.array(depth - 1)})"
        if form <= 8:
            operator = self.pick("+", "-", "*", "/", "**", "//", "%")
            return f"({self.array(depth - 1)} {operator} {self.scalar(0)})"
        if form == 9:
            function = self.pick("np.abs", "np.sqrt", "np.sin", "np.square", "np.exp", "np.tanh")
            return f"{function}({self.array(depth - 1)})"
        if form == 10:
            return f"np.where({self.array(0)} > {self.scalar(0)}, {self.array(0)}, {self.array(0)})"
        if form == 11:
            return f"{self.one(self.scope.functions)}({self.array(depth - 1)})"
        if form == 12:
            tail = self.pick("[::-1]", "[:]", ".copy()", ".T", "[...]", ".astype('f8')")
            return f"{self.one(self.scope.arrays)}{tail}"
        if form == 13:
            return f"({self.array(0)} if {self.condition(0)} else {self.array(0)})"
        return f"np.maximum({self.array(depth - 1)}, {self.scalar(0)})"

    def condition(self, depth: int = 1) -> str:
        form = self.rng.randrange(11 if depth else 7)
        if form == 0:
            return "flag"
        if form <= 2:
            return f"{self.scalar(1)} {self.pick('<', '>', '<=', '==', '!=')} {self.scalar(0)}"
        if form == 3:
            return f"({self.one(self.scope.arrays)} > {self.scalar(0)}).{self.pick('any', 'all')}()"
        if form == 4:
            return self.pick(
                "x is y", "x.ndim == 1", "'c' in table", "len(items) > 3", "2 in bag", "queue",
                "isinstance(k, int)", "STATE['last'] is None",
            )  # fmt: skip
        if form == 5:
            return f"{self.int_()} {self.pick('>', '<', '==', '>=')} {self.pick('1', '2', '3')}"
        if form == 6:
            return f"{self.one(self.scope.things)} is not {self.one(self.scope.things)}"
        if form == 7:
            return f"not ({self.condition(0)})"
        if form == 8:
            return f"0 < {self.scalar(1)} < {self.scalar(0)}"
        return f"({self.condition(0)}) {self.pick('and', 'or')} ({self.condition(0)})"

    def anything(self) -> str:
        form = self.rng.randrange(8)
        if form <= 1:
            return self.array(1)
        if form <= 3:
            return self.scalar(1)
        if form == 4:
            return f"({self.array(0)}, {self.scalar(0)})"
        if form == 5:
            return f"[{self.scalar(0)}, {self.array(0)}]"
        if form == 6:
            return self.one(self.scope.things)
        return self.comprehension()

    def iterable(self) -> tuple[str, str, str]:
        """Return an iterable, what kind its items are ("scalar", "array", "int", "thing"), and its target."""
        name = self.new("v")
        first = self.new("i")
        array = self.one(self.scope.arrays)
        forms = (
            (f"range({self.pick('3', 'k', 'k % 4', '2', '1', '0')})", "int", first),
            (f"range({array}.shape[0])", "int", first),
            (f"range({self.pick('0, 6, 2', '3, 0, -1', 'k, k + 3')})", "int", first),
            (array, "scalar", name),
            (f"enumerate({array})", "scalar", f"{first}, {name}"),
            (f"zip({array}, {self.one(self.scope.arrays)})", "scalar", f"{name}, {first}"),
            (f"reversed({array}.tolist())", "thing", name),
            (f"[{self.array(1)}, {self.array(1)}]", "array", name),
            (f"({self.array(1)}, {self.array(0)})", "array", name),
            (f"list({self.one(self.scope.lists)})", "thing", name),
            (self.one(self.scope.lists) + "[:3]", "thing", name),
            (f"{self.one(self.scope.dicts)}.values()", "thing", name),
            (f"list({self.one(self.scope.dicts)}.items())", "thing", f"{first}, {name}"),
            (f"sorted({self.one(self.scope.sets)})", "int", first),
            (f"tuple({self.one(self.scope.deques)})", "thing", name),
            (f"count_up({self.array(0)}, {self.pick('2', '3', 'k')})", "array", name),
            (f"map({self.one(self.scope.functions)}, [{self.array(0)}, {self.array(0)}])", "array", name),
            (f"filter(None, {array}.ravel().tolist())", "scalar", name),
            (f"itertools.chain({array}, [{self.scalar(0)}])", "scalar", name),
            (f"itertools.islice({array}, 2)", "scalar", name),
            (f"rows_of({array})", "scalar", name),
            ("'ab'", "thing", name),
        )  # fmt: skip
        return self.rng.choice(forms)

    def bind_items(self, kind: str, target: str) -> None:
        names = target.split(", ")
        scope = self.scope
        if kind == "int":
            scope.ints.append(names[-1])
            scope.scalars.append(names[-1])
        elif kind == "array":
            scope.arrays.append(names[-1])
        elif kind == "scalar":
            scope.scalars.append(names[-1])
        else:
            scope.things.append(names[-1])
        if len(names) > 1:
            scope.things.append(names[0])

    def comprehension(self) -> str:
        iterable, kind, target = self.iterable()
        if self.leaks:  # a comprehension is a nested function too, on 3.11 each kind
            return f"[({target}) for {target} in {iterable}]"
        outer, self.scope = self.scope, self.scope.copy()
        self.bind_items(kind, target)
        scope = self.scope
        result = {
            "int": lambda: f"{self.array(0)} * {scope.ints[-1]}",
            "array": lambda: self.pick(f"{scope.arrays[-1]} + 1", f"{scope.arrays[-1]}.sum()"),
            "scalar": lambda: f"{scope.scalars[-1]} * {self.scalar(0)}",
            "thing": lambda: f"({scope.things[-1]}, {self.scalar(0)})",
        }[kind]()
        test = f" if {self.condition(0)}" if self.chance(0.35) else ""
        name = self.new("j")
        second = f" for {name} in range(2)" if self.chance(0.15) else ""
        self.scope = outer
        loop = f"for {target} in {iterable}{test}{second}"
        form = self.rng.randrange(8)
        if form <= 3:
            return f"[{result} {loop}]"
        if form == 4:
            return f"{{str({target.split(', ')[0]}): {result} {loop}}}"
        if form == 5:
            return f"len({{str({target.split(', ')[0]}) {loop}}})"
        if form == 6:
            return f"list({result} {loop})"
        return f"[[{result} {loop}], {self.scalar(0)}]"

    # -- simple statements ------------------------------------------------------------------------

    def assign_array(self) -> Lines:
        text = self.array()
        name = self.new("a")
        self.scope.arrays.append(name)
        self.scope.names.append(name)
        if self.chance(0.1):
            other = self.new("a")
            self.scope.arrays.append(other)
            return [f"{name} = {other} = {text}"]
        return [f"{name} = {text}"]

    def rebind(self) -> Lines:
        if not self.scope.names:
            return self.assign_array()
        name = self.one(self.scope.names)
        return [f"{name} = {self.array()}"]

    def assign_scalar(self) -> Lines:
        text = self.scalar()
        name = self.new("s")
        self.scope.scalars.append(name)
        return [f"{name} = {text}"]

    def assign_int(self) -> Lines:
        text = self.int_()
        name = self.new("n")
        self.scope.ints.append(name)
        return [f"{name} = {text}"]

    def change_scalar(self) -> Lines:
        names = [
            name
            for name in self.scope.scalars
            if name.isidentifier() and name not in {"TOTAL", "k"}
        ]
        if not names:
            return self.assign_scalar()
        name = self.one(names)
        if self.chance(0.3):
            return [f"{name} {self.pick('*=', '/=', '//=')} {self.pick('2', '0.5', '3')}"]
        return [f"{name} {self.pick('+=', '-=')} {self.scalar(1)}"]

    def in_place(self) -> Lines:
        # Into an item of a tuple it is done, and then raises.
        fit = [name for name in self.scope.arrays if name[:4] != "pair" and name[0] != "t"]
        target = self.one(self.scope.arrays if self.chance(0.1) or not fit else fit)
        operator = self.pick("+=", "-=", "*=", "+=", "/=")
        return [f"{target} {operator} {self.rng.choice((self.array, self.scalar))(1)}"]

    def set_item(self) -> Lines:
        target = self.one(self.scope.arrays)
        index = self.pick("0", "1:", "-1", "...", "::2", f"{target} > 1", "[0, 0]", self.int_())
        if self.chance(0.3):
            return [f"{target}[{index}] {self.pick('+=', '-=', '*=')} {self.scalar(1)}"]
        return [f"{target}[{index}] = {self.scalar(1)}"]

    def write_into(self) -> Lines:
        target = self.one(self.scope.arrays)
        forms = (
            f"np.add({self.array(0)}, {self.scalar(0)}, out={target})",
            f"np.copyto({target}, {self.scalar(0)})",
            f"{target}.fill({self.scalar(0)})",
            f"{target}.sort()",
            f"{target}.put([0], {self.scalar(0)})",
            f"np.multiply({target}, 2, out={target}, where={target} > 0)",
            f"fill_running({self.array(0)}, {target})",
            f"{target}.T[...] = {self.array(0)}",
        )
        return [self.pick(*forms)]

    def view(self) -> Lines:
        target = self.one(self.scope.arrays)
        tail = self.pick(
            "[::-1]", "[:]", ".T", ".reshape(-1)", "[1:]", "[..., None][..., 0]", ".real"
        )
        name = self.new("v")
        self.scope.arrays.append(name)
        return [f"{name} = {target}{tail}"]

    def list_work(self) -> Lines:
        if self.chance(0.25):
            name = self.new("l")
            made = f"{name} = [{self.array(1)}, {self.anything()}]"
            self.scope.lists.append(name)
            self.scope.arrays.append(f"{name}[0]")
            return [made]
        forms = (
            "{t}.append({v})", "{t}.append({v})", "{t}.insert(1, {v})", "{t}.extend(({v}, 1))", "{t}[1] = {v}",
            "{t} += [{v}]", "{t}[1:2] = [{v}, 5]", "{t}[-1] = {v}", "{t}.reverse()", "del {t}[2:]", "{t}.append({t})",
            "SEEN.append({t}.pop())", "{t}.sort(key=lambda o: type(o).__name__)", "{t}[0] = {a}", "{t}[0] += {s}",
        )  # fmt: skip
        target = self.one(self.scope.lists)
        text = self.pick(*forms)
        return [text.format(t=target, v=self.anything(), a=self.array(1), s=self.scalar(0))]

    def dict_work(self) -> Lines:
        if self.chance(0.2):
            name = self.new("d")
            made = f"{name} = {{'p': {self.anything()}, 'a': {self.array(0)}, **{self.one(self.scope.dicts)}}}"
            self.scope.dicts.append(name)
            self.scope.arrays.append(f"{name}['a']")
            return [made]
        forms = (
            "{t}['c'] = {v}", "{t}.setdefault('z', []).append({v})", "{t}.update(w={v})", "{t}['b'] = {s}",
            "{t}['b'] += {s}", "{t}.pop('c', None)", "{t}['n'] = {v}; del {t}['n']", "{t}['a'] = {a}",
            "{t} |= {{'m': {s}}}", "SEEN.append(list({t}))", "SEEN.append({t}.get('none', {v}))", "{t}[k] = {s}",
        )  # fmt: skip
        target = self.pick(*self.scope.dicts, "STATE")
        text = self.pick(*forms[:-1] if target != "STATE" else forms[:2])
        return [text.format(t=target, v=self.anything(), a=self.array(1), s=self.scalar(0))]

    def set_work(self) -> Lines:
        if self.chance(0.2):
            name = self.new("u")
            made = f"{name} = {{{self.int_()}, {self.int_()}, 7}}"
            self.scope.sets.append(name)
            self.scope.things.append(name)
            return [made]
        forms = (
            "{t}.add({i})", "{t}.discard({i})", "{t} |= {{{i}, 5}}", "{t} -= {{2}}", "{t}.update(range({i} % 3))",
            "SEEN.append(sorted({t} ^ {{1, {i}}}))", "SEEN.append({i} in {t})", "{t}.remove({i})",
        )  # fmt: skip
        weights = (*forms[:-1], *forms)
        return [self.pick(*weights).format(t=self.one(self.scope.sets), i=self.int_())]

    def deque_work(self) -> Lines:
        if self.chance(0.2):
            name = self.new("q")
            made = f"{name} = collections.deque([{self.anything()}], maxlen={self.pick('3', 'None', '2')})"
            self.scope.deques.append(name)
            self.scope.things.append(name)
            return [made]
        forms = (
            "{t}.append({v})", "{t}.appendleft({v})", "{t}.rotate(1)", "SEEN.append({t}.pop())", "{t}.extend([{v}, 1])",
            "{t}[0] = {v}", "SEEN.append(len({t}))",
        )  # fmt: skip
        return [self.pick(*forms).format(t=self.one(self.scope.deques), v=self.anything())]

    def tuple_work(self) -> Lines:
        form = self.rng.randrange(4)
        if form == 0:
            name = self.new("t")
            text = f"{name} = ({self.array(1)}, {self.anything()})"
            self.scope.arrays.append(f"{name}[0]")
            self.scope.things.append(name)
            return [text]
        if form == 1:
            a, b = self.new("a"), self.new("s")
            text = f"{a}, {b} = {self.array(1)}, {self.scalar(1)}"
            self.scope.arrays.append(a)
            self.scope.scalars.append(b)
            return [text]
        if form == 2:
            a, b = self.new("o"), self.new("o")
            self.scope.things += [a, b]
            return [f"{a}, *{b} = {self.one(self.scope.lists)}"]
        if not self.scope.names:
            return self.assign_array()
        a, b = self.one(self.scope.names), self.one(self.scope.names)
        return [f"{a}, {b} = {b}, {a}"]

    def object_work(self) -> Lines:
        if self.chance(0.3):
            name = self.new("b")
            kind = self.pick("Box", "Slotted")
            value = self.array(1)
            if kind == "Box":
                self.scope.boxes.append(name)
                self.scope.arrays.append(f"{name}.value")
            else:
                self.scope.arrays += [f"{name}.product", f"{name}.add({self.scalar(0)}).a"]
            self.scope.things.append(name)
            return [f"{name} = {kind}({value})"]
        forms = (
            "{t}.count += 1", "{t}.value = {a}", "{t}.value[0] = {s}", "{t}.value += {s}", "{t}.note = {v}",
            "SEEN.append({t}.scaled({a}))", "setattr({t}, 'other', {v})", "SEEN.append(getattr({t}, 'other', {s}))",
            "{t}.gain = {s}", "Box.gain = {t}.gain + 1", "SEEN.append(vars({t}).get('note'))", "{t}.count -= {i}",
            "{t}.extra = {v}; del {t}.extra", "{t}.count = {i}",
        )  # fmt: skip
        return [
            self.pick(*forms).format(
                t=self.one(self.scope.boxes),
                a=self.array(1),
                s=self.scalar(0),
                v=self.anything(),
                i=self.int_(),
            )
        ]

    def global_work(self) -> Lines:
        forms = (
            "TOTAL = TOTAL + {s}", "TOTAL += {s}", "STATE['n'] += 1", "STATE['last'] = {v}", "SEEN.append({v})",
            "note({s}, {a})", "STATE['last'] = None", "TOTAL = {s}",
        )  # fmt: skip
        if self.calls:  # a nested function has no declaration of its own
            forms = forms[2:7]
        return [self.pick(*forms).format(s=self.scalar(1), v=self.anything(), a=self.array(0))]

    def output(self) -> Lines:
        forms = (
            "print('here')", "graph_break()", "print({v})", "o = [x, print('in a list'), {v}]", "print(noisy({a}))",
            "print(f'{{{s}:.3}} {{{i}}}')", "print({a}.sum(), end=' ')", "SEEN.append(str({s}))",
        )  # fmt: skip
        text = self.pick(*forms)
        scalar = f"float({self.one(self.scope.arrays)}.max())".replace("'", '"')
        return [
            text.format(v=self.anything(), a=self.array(1), s=scalar, i=self.one(self.scope.ints))
        ]

    def warn(self) -> Lines:
        return [
            self.pick(
                "warnings.warn('said', stacklevel=1)",
                "warnings.warn(f'value {k}', RuntimeWarning, stacklevel=2)",
                f"o = {self.array(0)} / 0",
                "o = np.log(y - y)",
                f"o = ({self.array(0)} * 0).astype('f8') / ({self.array(0)} * 0)",
            )
        ]

    def draw(self) -> Lines:
        name = self.new("a")
        text = self.pick(
            "np.random.standard_normal({a}.shape)", "np.random.rand(*{a}.shape)",
            "np.random.default_rng(k).random({a}.shape)", "np.random.permutation({a})",
        ).format(a=self.one(self.scope.arrays))  # fmt: skip
        self.scope.arrays.append(name)
        return [f"{name} = {text}"]

    def call(self) -> Lines:
        name = self.new("a")
        forms = (
            "helper({a}, {s})", "helper({a}, shift={s})", "helper(*[{a}], **{{'shift': {s}}})", "choose({a}, {s})",
            "np.array([float(o) for o in {a}.flat])", "functools.reduce(np.add, [{a}, {b}], {b})",
            "sum([{a}, {b}])", "next(count_up({a}, 2))", "max([{a}, {b}], key=np.sum)", "np.stack([{a}, {b}])[0]",
            "sorted([{a}, {b}], key=lambda o: o.sum())[-1]", "list(map({f}, [{a}]))[0]", "(lambda o: o + {s})({a})",
            "np.concatenate([o.ravel() for o in ({a}, {b})])[: {a}.size].reshape({a}.shape)",
            "functools.partial(helper, shift={s})({a})", "np.fromiter((o for o in {a}.flat), float)",
            "box.scaled({a})", "{f}({a})",
        )  # fmt: skip
        if self.leaks:
            forms = tuple(form for form in forms if "lambda" not in form)
        text = self.pick(*forms).format(
            a=self.array(1), b=self.array(0), s=self.scalar(0), f=self.one(self.scope.functions)
        )
        self.scope.arrays.append(name)
        return [f"{name} = {text}"]

    def comprehend(self) -> Lines:
        name = self.new("l")
        text = self.comprehension()
        self.scope.things.append(name)
        if self.chance(0.2):
            return [f"{name} = [({self.new('z')} := {self.scalar(1)}), {text}]"]
        return [f"{name} = {text}"]

    def generator(self) -> Lines:
        if self.scope.generators and self.chance(0.5):
            forms = (
                "SEEN.append(next({g}, None))",
                "SEEN.append(list({g}))",
                "{g}.close()",
                "del {g}",
            )
            text = self.pick(*forms[:3] if self.chance(0.8) else forms)
            return [text.format(g=self.one(self.scope.generators))]
        name = self.new("g")
        iterable, _, target = self.iterable()
        iterable = iterable.replace("count_up(", "itertools.repeat(")
        # Not count_up, which says when it is closed: what a variable holds when an exception passes lives as long as its
        # traceback, and that is one of the known differences.
        made = self.pick(
            f"(o * 2 for o in {self.array(0)})",
            f"({target.split(', ')[-1]} for {target} in {iterable})",
            f"iter({self.one(self.scope.arrays)})",
            f"rows_of({self.array(0)})",
            f"zip({self.one(self.scope.arrays)}, itertools.count())",
        )
        self.scope.generators.append(name)
        lines = [f"{name} = {made}"]
        if self.chance(0.6):
            lines.append(f"SEEN.append(next({name}, 'none'))")
        return lines

    def fail(self) -> Lines:
        bad = self.pick(
            "x[99]", "table['none']", "k // 0", "raise Refused('mine', {s})", "raise ValueError('said', {s})", "explode({a})",
            "np.linalg.inv(np.zeros((2, 2)))", "int('a')", "refuse({a})", "np.ones(3) + np.ones(7)", "assert {c}, f'sum {{k}}'",
            "raise KeyError('k') from ZeroDivisionError('z')", "items.remove('none')", "o, p = items[:1]", "x.nothing",
            "{a}.reshape(7, 11)", "next(iter(()))", "missing_name", "raise ArithmeticError", "x[0] = 'text'",
        ).format(s=self.scalar(0), a=self.array(0), c=self.condition(0))  # fmt: skip
        return [bad]

    def end(self) -> Lines:
        """Leave the function, or what is around, under a condition mostly."""
        ends = ["return {v}", "return {a}, {s}", "raise ValueError('ended', {s})", "return"]
        if self.loops:
            ends += ["break", "continue", "break", "continue", "break", "continue"]
        if self.handlers:
            ends += ["raise", "raise RuntimeError('in handler')", "raise KeyError('k') from None"]
        text = self.one(ends).format(v=self.anything(), a=self.array(1), s=self.scalar(0))
        if self.chance(0.85):
            return [f"if {self.condition()}:", f"    {text}"]
        return [text]

    # -- compound statements ----------------------------------------------------------------------

    def block(self, depth: int, most: int) -> Lines:
        with self.inner_scope():
            return self.statements(depth, self.rng.randint(1, most))

    def statements(self, depth: int, count: int) -> Lines:
        lines: Lines = []
        for _ in range(count):
            share = 0.34 if depth > 0 else 0.0
            if self.chance(share):
                lines += self.rng.choice(_COMPOUND)(self, depth - 1)
            else:
                lines += self.rng.choices(_SIMPLE, _WEIGHTS)[0](self)
        return lines

    def branch(self, depth: int) -> Lines:
        lines = [f"if {self.condition()}:", *_inside(self.block(depth, 3))]
        if self.chance(0.2):
            lines += [f"elif {self.condition()}:", *_inside(self.block(depth, 2))]
        if self.chance(0.5):
            lines += ["else:", *_inside(self.block(depth, 3))]
        return lines

    @contextmanager
    def turning(self) -> Iterator[None]:
        self.loops += 1
        yield
        self.loops -= 1

    def for_loop(self, depth: int) -> Lines:
        guard: Lines = []
        if self.chance(0.15):
            # Directly over what the body may change: it must come to an end all the same.
            name = self.one([*self.scope.lists, *self.scope.deques, *self.scope.dicts])
            iterable, kind, target = name, "thing", self.new("v")
            guard = [f"if len({name}) > 8: break"]
        else:
            iterable, kind, target = self.iterable()
        with self.inner_scope():
            self.bind_items(kind, target)
            with self.turning():
                lines = [
                    f"for {target} in {iterable}:",
                    *_inside([*guard, *self.block(depth, 4)]),
                ]
        if self.chance(0.3):
            lines += ["else:", *_inside(self.block(depth, 2))]
        return lines

    def while_loop(self, depth: int) -> Lines:
        name = self.new("w")
        most = self.pick("3", "k", "2", "x.shape[0]", "5")
        test = f"{name} < {most}" + (f" and {self.condition(0)}" if self.chance(0.4) else "")
        with self.inner_scope(), self.turning():
            self.scope.ints.append(name)
            lines = [
                f"{name} = 0",
                f"while {test}:",
                *_inside([f"{name} += 1", *self.block(depth, 4)]),
            ]
        if self.chance(0.2):
            lines += ["else:", *_inside(self.block(depth, 2))]
        return lines

    def converge(self, depth: int) -> Lines:
        name = self.new("a")
        w = self.new("w")
        lines = [
            f"{name} = {self.array(1)}",
            f"{w} = 0",
            f"while np.abs({name}).max() > {self.pick('1', '0.5', 'k')}:",
        ]
        self.scope.arrays.append(name)
        with self.turning():
            body = [f"{name} = {name} * 0.5", f"{w} += 1", f"if {w} > 6: break"]
            return [*lines, *_inside([*body, *self.block(depth, 2)])]

    def attempt(self, depth: int) -> Lines:
        body = self.block(depth, 3)
        if self.chance(0.6):
            body += self.fail()
            body += self.block(0, 1) if self.chance(0.4) else []
        lines = ["try:", *_inside(body)]
        handled = self.chance(0.8)
        if handled:
            self.handlers += 1
            for kinds in self.rng.choice(_CLAUSES):
                name = self.new("e")
                bound = self.chance(0.5) and kinds
                if bound:
                    self.scope.things.append(f"{name}.args")
                head = (
                    f"except {kinds} as {name}:" if bound else f"except {kinds}:".replace(" :", ":")
                )
                lines += [head, *_inside(self.block(depth, 2))]
                if bound:
                    self.scope.things.remove(f"{name}.args")
            self.handlers -= 1
            if self.chance(0.3):
                lines += ["else:", *_inside(self.block(depth, 2))]
        if not handled or self.chance(0.4):
            lines += ["finally:", *_inside(self.block(depth, 2))]
        return lines

    def manage(self, depth: int) -> Lines:
        name = self.new("m")
        manager = self.pick(
            "np.errstate(divide='ignore', invalid='ignore')", "np.errstate(all='raise')", "pushed(items, {s}) as {m}",
            "swallowing(SEEN) as {m}", "Guarded(SEEN, {c})", "Guarded(items) as {m}", "contextlib.suppress(LookupError)",
            "contextlib.nullcontext({a}) as {m}", "pushed(SEEN, k) as {m}, Guarded(SEEN, flag)", "np.errstate(over='warn')",
        ).format(s=self.scalar(0), m=name, c=self.condition(0), a=self.array(0))  # fmt: skip
        body = self.block(depth, 3)
        if self.chance(0.3):
            body += self.fail()
        if self.chance(0.2):
            body += ["o = x / 0"]
        return [f"with {manager}:", *_inside(body)]

    def nested_function(self, depth: int) -> Lines:
        if self.leaks:
            return self.branch(depth)
        name, cell = self.new("g"), self.new("c")
        lines = [f"{cell} = {self.scalar(1)}"]
        outer = self.scope, self.loops, self.handlers
        self.scope, self.loops, self.handlers = self.scope.copy(), 0, 0
        self.calls += 1
        self.scope.names = []  # binding one would make it local to the nested function
        self.scope.scalars = ["v.sum()", "w", cell, "0.5"]
        self.scope.arrays.append("v")
        self.scope.things.append(cell)
        body = [f"{cell} = {cell} + 1"] if self.chance(0.5) else []
        body += self.statements(depth, self.rng.randint(0, 2))
        body.append(f"return v * {cell} + {self.array(0)}")
        self.calls -= 1
        self.scope, self.loops, self.handlers = outer
        self.scope.scalars.append(cell)
        result = self.new("a")
        body = [*_nonlocals(body, self.scope), *body]
        lines += [f"def {name}(v, w=r):", *_inside(body), f"{result} = {name}({self.array(0)})"]
        self.scope.arrays.append(result)
        self.scope.functions.append(name)
        return lines

    def match(self, depth: int) -> Lines:
        subject = self.pick("k", "pair", "items", "table", "flag", "(k, flag)", self.int_())
        lines = [f"match {subject}:"]
        for pattern in self.rng.sample(_PATTERNS, 2):
            lines += _inside([f"case {pattern}:", *_inside(self.block(depth, 2))])
        return [*lines, *_inside(["case _:", *_inside(self.block(depth, 1))])]


def _nonlocals(body: Lines, outer: Scope) -> Lines:
    """Declare the variables of the function around that a nested function binds."""
    names = {
        name for kind in fields(outer) for name in getattr(outer, kind.name) if name.isidentifier()
    }
    around = [f"def f({', '.join(sorted(names))}):", *_inside(["def g(v, w):", *_inside(body)])]
    # From 3.14 on there are scopes of annotations beside those of functions.
    top = symtable.symtable("\n".join(around), "nested", "exec")
    [whole] = (t for t in top.get_children() if isinstance(t, symtable.Function))
    [function] = (
        t
        for t in whole.get_children()
        if isinstance(t, symtable.Function) and not t.get_name().startswith("__annotate")
    )
    assert isinstance(function, symtable.Function)
    bound = sorted(
        name
        for name in function.get_locals()
        if name in names and function.lookup(name).is_assigned() and name not in {"v", "w"}
    )
    return [f"nonlocal {', '.join(bound)}"] if bound else []


_PATTERNS: Final = (
    "0",
    "1 | 2",
    "[_, *_]",
    "(_, 2)",
    "{'a': _}",
    "int()",
    "None",
    "True",
    "(_, _)",
)
_CLAUSES: Final = (
    ("Exception",),
    ("LookupError", "Exception"),
    ("(ValueError, ArithmeticError)",),
    ("IndexError",),
    ("Refused", "KeyError"),
    ("",),
    ("ZeroDivisionError", "(TypeError, ValueError)"),
    ("Exception",),
)

_TABLE: Final[tuple[tuple[Callable[[Writer], Lines], int], ...]] = (
    (Writer.assign_array, 8),
    (Writer.rebind, 6),
    (Writer.assign_scalar, 4),
    (Writer.assign_int, 2),
    (Writer.change_scalar, 3),
    (Writer.in_place, 4),
    (Writer.set_item, 4),
    (Writer.write_into, 2),
    (Writer.view, 2),
    (Writer.list_work, 4),
    (Writer.dict_work, 3),
    (Writer.set_work, 2),
    (Writer.deque_work, 2),
    (Writer.tuple_work, 3),
    (Writer.object_work, 4),
    (Writer.global_work, 3),
    (Writer.output, 3),
    (Writer.warn, 1),
    (Writer.draw, 1),
    (Writer.call, 5),
    (Writer.comprehend, 3),
    (Writer.generator, 2),
    (Writer.end, 2),
)
_SIMPLE: Final = [make for make, _ in _TABLE]
_WEIGHTS: Final = [weight for _, weight in _TABLE]
_COMPOUND: Final[tuple[Callable[[Writer, int], Lines], ...]] = (
    Writer.branch,
    Writer.branch,
    Writer.for_loop,
    Writer.for_loop,
    Writer.for_loop,
    Writer.while_loop,
    Writer.converge,
    Writer.attempt,
    Writer.attempt,
    Writer.manage,
    Writer.nested_function,
    Writer.match,
)


def program(seed: object) -> str:
    """Return the source text of the program of a seed: a function `f`."""
    rng = random.Random(str(seed))
    writer = Writer(rng)
    lines = writer.statements(depth=3, count=rng.randint(3, 9))
    results = [writer.anything() for _ in range(rng.randint(1, 3))]
    last = f"return ({', '.join([*results, rng.choice(writer.scope.arrays)])},)"
    return (
        "\n".join(
            [f"def f({', '.join(PARAMETERS)}):", "    global TOTAL", *_inside([*lines, last])]
        )
        + "\n"
    )


def argument_sets() -> list[dict[str, Any]]:
    """Return the argument sets of a program: same shape, other signs, other dtypes, other shapes, aliased."""

    def made(x: np.ndarray, y: np.ndarray, k: int, r: Any, flag: object) -> dict[str, Any]:
        return {
            "x": x,
            "y": y,
            "k": k,
            "r": r,
            "flag": flag,
            "pair": (x * 0.5 + 1, 2),
            "items": [x + 1, 2.5, "text"],
            "table": {"a": y - 1, "b": 3},
            "bag": {1, k},
            "queue": collections.deque([x[:1], 4], maxlen=None if k else 2),
            "box": y + x,  # what a Box is made of
        }

    base = np.array([0.5, 2.0, -1.5, 3.25])
    grid = np.linspace(-2, 3, 9).reshape(3, 3)
    return [
        made(base, base[::-1] + 1, 2, 0.5, True),
        made(-base, base * 3, 1, -2.0, False),
        made(base.astype("f4"), np.arange(4, dtype="f4"), 3, 1, 0),
        made(grid, grid.T + 1, 0, 1.5, [1]),
        made(base, base, 2, np.float64(2.5), ""),
        made(np.arange(1, 6), np.arange(5) - 2, 4, 2, None),
    ]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from fuzz_run import main

    sys.exit(main())
