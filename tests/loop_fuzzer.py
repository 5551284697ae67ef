"""Writes programs of loops and branches: every kind of iteration and way out, over arrays, scalars of all kinds and draws; it compiles nothing.

`program(seed)` returns the source text of one with the calls made of it, the same for the same seed; `write(rng)` lets Hypothesis
decide. Loops end by construction: what a ``range`` or a ``while`` is bounded by is never assigned. Each statement is tried on the arguments of
the first two calls, so that most programs come to their end; with other sizes and dtypes more of them raise.
``python -m tests.loop_fuzzer --count 1000 --seed 7`` runs many (see `fuzz_run`).
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Final

import numpy as np
from numpy.lib import NumpyVersion

PRELUDE: Final = """\
def total(v, most):
    s = 0.0
    for j in range(min(most, len(v))):
        s += v[j]
    return s


def limited(v, limit):
    if v > limit:
        return limit
    elif v < -limit:
        return -limit
    return v


def first(v, limit):
    for j, item in enumerate(v):
        if item > limit:
            return j
    return -1


def shifted(v, by):
    for j in range(len(v)):
        v[j] += by
    return v


def halvings(v):
    turns = 0
    while abs(v) > 0.5 and turns < 8:
        v = v / 2
        turns += 1
    return v, turns


"""

Lines = list[str]

PARAMETERS: Final = "x y a parts g n k r"
# How a value begins that is carried on: a Python number, a NumPy one, none at all.
STARTS: Final = ("0.0", "0", "1", "1.5", "x.sum()", "r", "np.float32(1)", "np.float64(0.5)", "y.dtype.type(0)", "-1", "1e3")  # fmt: skip
# NumPy 2.0 dies, compiled or plain, where small integers that do not lie in one piece are compared to an int that is none of theirs.
COMPARED: Final = "np.asarray({})" if NumpyVersion(np.__version__) < "2.1.0" else "{}"
DTYPES: Final = ("f8", "f8", "f8", "f8", "f4", "i8", "i4", "f2", "u1", "?", "D")
LAYOUTS: Final = ("C", "C", "C", "F", "up", "sparse", "turned", "read-only", "repeated")
INTS: Final = ("c", "d")
FLOATS: Final = ("s", "q")
CALLS: Final = 5


@dataclass(slots=True)
class Scope:
    """What may be read here; `c`, `d`, `s`, `q`, `b`, `t` and `v` are assigned too, the others never."""

    lines: list[str] = field(default_factory=lambda: ["x", "y", "t"])
    planes: list[str] = field(default_factory=lambda: ["a"])
    ints: list[str] = field(default_factory=lambda: ["n", "k", "c", "d"])
    floats: list[str] = field(default_factory=lambda: ["r", "s", "q"])
    # Ints that are an index into the lines, at least in the first calls.
    indices: list[str] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(*(list(getattr(self, name)) for name in self.__slots__))


def _inside(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class Writer:
    """Writes one program; `rng` decides everything."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scope = Scope()
        self.number = 0
        self.loops = 0  # around here
        self.blocks = 0

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.rng.randrange(len(options))]

    def chance(self, share: int) -> bool:
        return self.rng.randrange(share) == 0

    def new(self, letter: str) -> str:
        self.number += 1
        return f"{letter}{self.number}"

    # -- expressions

    def line(self) -> str:
        """Return a one-dimensional array."""
        return self.pick(self.scope.lines)

    def plane(self) -> str:
        return self.pick(self.scope.planes)

    def index(self, of: str) -> str:
        """Return an index that is mostly in its range."""
        if self.scope.indices and not self.chance(4):
            i = self.pick(self.scope.indices)
            return self.pick((i, i, i, i, f"{i} - 1", f"-{i}", f"({i} + 1) % len({of})"))
        one = self.pick(self.scope.ints)
        return self.pick(("0", "-1", "1", f"{one} % len({of})", f"{one} % len({of})", f"k % {of}.shape[0]"))  # fmt: skip

    def item(self) -> str:
        """Return an element of an array."""
        if self.chance(4):
            a = self.plane()
            return f"{a}[{self.index(a)}, {self.index(a)}]"
        x = self.line()
        return f"{x}[{self.index(x)}]"

    def int_(self) -> str:
        """Return an int of Python, or of NumPy."""
        one, two = self.pick(self.scope.ints), self.pick(self.scope.ints)
        x = self.line()
        return self.pick((
            one, one, one, f"{one} + 1", f"{one} * 3 % 11", f"{one} - {two}", f"({one} ^ {two}) & 255", f"{one} >> 1", f"{one} // 2",
            f"len({x})", f"{x}.size", f"int({self.item()})", f"first({x}, {self.pick(self.scope.floats)})", f"{one} << 1 & 1023",
            f"abs({one})", f"min({one}, {two})", f"{x}.argmax()", f"np.int32({one} % 100)", f"int({self.condition(0)})", f"{one} % ({two} * {two} + 1)",
        ))  # fmt: skip

    def float_(self, depth: int = 1) -> str:
        """Return a scalar of whatever kind."""
        one, two = self.pick(self.scope.floats), self.pick(self.scope.floats)
        if depth and self.chance(3):
            return f"{self.float_(0)} {self.pick(('+', '-', '*', '*', '+'))} {self.float_(0)}"
        x = self.line()
        return self.pick((
            one, one, one, self.item(), self.item(), self.item(), f"{one} * 0.5", f"{one} + 1", f"{two} - {one}", f"abs({one})", f"max({one}, {two})",
            f"min({self.item()}, {one})", f"float({one})", f"limited({one}, 2.5)", f"total({x}, 3)", f"{x}.sum()", f"{x}.max()", f"np.sin({one})",
            f"{x}.mean()", f"{one} / 3", f"{x} @ {x}", self.pick(self.scope.ints), f"math.tanh({one})", f"np.float32({one})", f"halvings({one})[0]",
            f"({self.item()} if {self.condition(0)} else {one})", f"round({one}, 2)", f"-{one}", "np.random.random()", "g.normal()", "g.random()", f"{one} % 1.5", "0.25",
        ))  # fmt: skip

    def bound(self) -> str:
        """Return what an array is compared to."""
        return COMPARED.format(self.pick(self.scope.floats))

    def array(self) -> str:
        """Return a one-dimensional array of the common length."""
        one, two = self.line(), self.line()
        a = self.plane()
        return self.pick((
            one, f"{one} * 0.5", f"{one} + {two}", f"{one} - {self.float_(0)}", f"{one} * {self.float_(0)}", f"np.sin({one})", f"np.maximum({one}, {two})",
            f"np.where({one} > {self.bound()}, {one}, {two})", f"{one}.copy()", f"np.zeros_like({one})", f"{one}[::-1]", f"np.abs({one})",
            f"{a}[{self.index(a)}]", f"{a}[:, {self.index(a)}]", f"{a} @ {one}", f"np.roll({one}, 1)", f"np.cumsum({one})", f"{one} / 3", f"{one}[:]",
            f"shifted({one}.copy(), 1)", f"{a}.T[0]", f"np.clip({one}, -2, 2)", f"g.normal(size={one}.shape)", f"np.full(len({one}), {self.float_(0)})",
        ))  # fmt: skip

    def condition(self, depth: int = 1) -> str:
        """Return a condition on data, mostly."""
        if depth and self.chance(3):
            one, two = self.condition(0), self.condition(0)
            return self.pick((f"{one} and {two}", f"{one} or {two}", f"not {one}", f"not ({one} and {two})", f"({one} or {two}) and b"))  # fmt: skip
        one, two = self.pick(self.scope.floats), self.pick(self.scope.floats)
        i = self.pick(self.scope.ints)
        x = self.line()
        order = self.pick(("<", ">", "<=", ">=", "==", "!="))
        return self.pick((
            f"{self.item()} {order} {one}", f"{self.item()} {order} {self.item()}", f"{one} {order} {two}", f"{i} % 2 == 0", f"{i} % 3", f"{i} {order} {self.pick(self.scope.ints)}",
            "b", f"-1 < {one} < 1", f"{x}.sum() > {one}", f"{self.item()}", f"{i} & 1", f"({x} > 0).any()", f"np.isfinite({one})", f"{one} is None", f"len({x}) > {i}",
            f"abs({one}) > 0.5", f"{i} > 0", f"{one}", "np.random.random() < 0.5", f"{i} in (1, 2)", f"{x} is y", f"{one} > 0 > {two}",
        ))  # fmt: skip

    # -- statements

    def assign_number(self) -> Lines:
        name = self.pick(FLOATS)
        operator = self.pick(("=", "=", "+=", "+=", "-=", "*=", "/="))
        return [f"{name} {operator} {self.float_()}"]

    def assign_int(self) -> Lines:
        name = self.pick(INTS)
        operator = self.pick(("=", "+=", "+=", "-=", "^=", "|="))
        return [f"{name} {operator} {self.int_()}"]

    def count(self) -> Lines:
        return [f"{self.pick(INTS)} += 1"]

    def assign_flag(self) -> Lines:
        return [self.pick((f"b = {self.condition()}", "b = not b", f"b = b or {self.condition(0)}", f"b |= {self.condition(0)}"))]  # fmt: skip

    def assign_array(self) -> Lines:
        return [f"{self.pick(('t', 't', 't', 'v'))} = {self.array()}"]

    def in_place(self) -> Lines:
        name = self.pick(("t", "x", "y", "v", "t"))
        value = self.array() if self.chance(2) else self.float_()
        return [f"{name} {self.pick(('+=', '-=', '*='))} {value}"]

    def write_item(self) -> Lines:
        return [f"{self.item()} {self.pick(('=', '=', '+=', '-=', '*='))} {self.float_()}"]

    def write_slice(self) -> Lines:
        x, y, a = self.line(), self.line(), self.plane()
        i = self.index(x)
        return [self.pick((
            f"{x}[1:] += {x}[:-1]", f"{x}[:{i}] = {self.float_()}", f"{x}[{i}:] *= 0.5", f"{a}[{self.index(a)}] = {self.array()}", f"{x}[...] = {self.array()}",
            f"{a}[:, {self.index(a)}] += {self.float_()}", f"{a}[{self.index(a)}, 1:] -= {a}[{self.index(a)}, :-1]", f"{x}[1:-1] = 0.5 * ({y}[:-2] + {y}[2:])",
            f"{x}[{x} > {self.bound()}] = {self.float_(0)}", f"{x}[::2] = {y}[::2]", f"{x}.fill({self.float_(0)})", f"np.add({x}, {y}, out={x})", f"{x}[:] = {self.array()}",
        ))]  # fmt: skip

    def view_and_write(self) -> Lines:
        a, x = self.plane(), self.line()
        made = self.pick((f"{a}[{self.index(a)}]", f"{a}[:, {self.index(a)}]", f"{x}[::-1]", x, f"{a}.T[{self.index(a)}]", f"{x}[:]", f"{a}.diagonal().copy()"))  # fmt: skip
        return [f"v = {made}", self.pick((f"v[{self.index('v')}] = {self.float_()}", "v += 1", f"v *= {self.float_(0)}", f"s += v[{self.index('v')}]"))]  # fmt: skip

    def swap(self) -> Lines:
        x = self.line()
        i, j = self.index(x), self.index(x)
        return [self.pick((
            f"{x}[{i}], {x}[{j}] = {x}[{j}], {x}[{i}]", "x, t = t, x", "x, y = y, x", "s, q = q, s", "c, d = d, c", "s, q = q, s + q", "t, v = v, t", "x, y, t = y, t, x",
        ))]  # fmt: skip

    def pack(self) -> Lines:
        return [self.pick((
            f"p = ({self.float_(0)}, {self.int_()})", "s, c = p", "q = p[0]", f"p = (p[0] + {self.float_(0)}, p[1] + 1)", f"s, d = {self.float_()}, {self.int_()}",
            f"s, c = halvings({self.float_(0)})", "state = (t, s)\nt, s = state",
        ))]  # fmt: skip

    def best(self) -> Lines:
        item = self.item()
        return [f"if z is None or {item} > z:", f"    z = {item}", f"    d = {self.int_()}"]

    def some_ways(self) -> Lines:
        """Bind a name on some ways only; sometimes it is read where it may have no value."""
        lines = [f"if {self.condition()}:", f"    u = {self.float_()}"]
        if self.chance(3):
            lines += ["else:", f"    u = {self.pick((self.float_(), self.int_(), 'None'))}"]
        return [*lines, "s = s + u"] if self.chance(4) else lines

    def draw(self) -> Lines:
        return [self.pick((
            "s += np.random.random()", f"{self.item()} = g.normal()", "d = g.integers(5)", "t = t + np.random.normal(size=t.shape)", "q = np.random.uniform(-1, 1)", "np.random.shuffle(t)",
        ))]  # fmt: skip

    def trouble(self) -> Lines:
        """Return what raises or warns, for some values."""
        x = self.line()
        one, i = self.pick(self.scope.floats), self.pick(self.scope.ints)
        return [self.pick((
            f"s = s / ({i} - 2)", f"t = t / {x}", f"q = np.log({one})", f"s += {x}[{i}]", f"if {self.condition()}: raise ValueError({one})", f"assert {self.condition()}, {i}",
            f"q = np.sqrt(np.float64({i} - 3))", f"t = t + np.ones({i} % 3 + 2)", f"d = {i} % (c - 3)", f"x[{i}] = 300", f"c = int({one} / {self.item()})", "t = np.exp(t * 100)",
            "warnings.warn('turn')", f"q = math.sqrt({one})", f"x[{i}] = 1e40",
            "d = 7 // (2 - c)\nc += 1", f"q = {one} / q\nq = 0.0",
        ))]  # fmt: skip

    def other(self) -> Lines:
        """Return what no graph holds, or what lets a loop be captured in no case."""
        x = self.line()
        return [self.pick((
            f"print({self.pick(self.scope.ints)})", f"SEEN.append({self.pick(self.scope.ints)})", f"note({x})", "graph_break()", f"t = np.append(t, {self.float_(0)})", "t = t[1:]",
            "parts = [*parts, t]", f"parts[0] = {x}", "del u", "w = [s]\nw.append(q)\ns = w[-1]",
        ))]  # fmt: skip

    # -- blocks

    def block(self, most: int = 3) -> Lines:
        outer, self.scope = self.scope, self.scope.copy()
        self.blocks += 1
        lines = [line for _ in range(1 + self.rng.randrange(most)) for line in self.statement()]
        self.blocks -= 1
        self.scope = outer
        return lines

    def branch(self) -> Lines:
        lines = [f"if {self.condition()}:", *_inside(self.block(2))]
        while self.chance(3):
            lines += [f"elif {self.condition()}:", *_inside(self.block(2))]
        return [*lines, "else:", *_inside(self.block(2))] if self.chance(2) else lines

    def leave(self) -> Lines:
        if not self.loops:
            return self.branch()
        way = self.pick(
            ("break", "break", "continue", "continue", "return", "return s, t", "return c")
        )
        if way == "return":
            way = f"return {self.pick(('x', 's', 'i, s', 'None', 'b'))}".replace("i, s", f"{self.pick(self.scope.ints)}, s")  # fmt: skip
        lines = self.block(1) if self.chance(3) else []
        found = [f"if {self.condition()}:", *_inside([*lines, way])]
        return [*found, "else:", *_inside(self.block(1))] if self.chance(4) else found

    def head(self) -> str:
        """Return the head of a ``for``, and bring its names into scope."""
        x, a = self.line(), self.plane()
        i, v = self.new("i"), self.new("e")
        scope = self.scope
        near = self.pick(scope.indices) if scope.indices else "0"
        form = self.rng.randrange(24)
        if form <= 10:
            bounds = self.pick((
                "n", "n", f"len({x})", f"len({x})", f"{x}.shape[0]", f"1, len({x})", f"len({x}) - 1, -1, -1", f"{near}, len({x})", f"{near} + 1", "n - 1, -1, -1", f"0, len({x}), 2",
                "k, n", "n, k, -1", "k, n, 2", "0, n, abs(k) + 1", "n, 0, -2", "3", f"n % 3, {a}.shape[1]", f"len({a})", "c % 4", "-n, k", f"1, len({x}) - 1",
            ))  # fmt: skip
            scope.ints.append(i)
            scope.indices.append(i)
            return f"for {i} in {self.pick(('range({})', 'range({})', 'range({})', 'reversed(range({}))', 'np.arange({})')).format(bounds)}:"  # fmt: skip
        over = self.pick((x, x, x, f"{x}[1:]", f"{x}[::-1]", f"{x}[:n]", f"{x} * 2"))
        if form <= 13:
            scope.floats.append(v)
            return f"for {v} in {self.pick(('{}', '{}', 'reversed({})')).format(over)}:"
        if form <= 16:
            scope.floats.append(v)
            scope.ints.append(i)
            if not self.chance(4):
                scope.indices.append(i)
                return f"for {i}, {v} in enumerate({over}):"
            return f"for {i}, {v} in enumerate({over}, {self.pick(('1', 'k', 'n'))}):"
        if form <= 18:
            w = self.new("e")
            scope.floats += [v, w]
            other = self.pick((self.line(), self.line(), "range(n)", f"{a}[0]"))
            if self.chance(2):
                scope.ints.append(i)
                return f"for {i}, ({v}, {w}) in enumerate(zip({over}, {other})):"
            return f"for {v}, {w} in zip({over}, {other}):"
        if form <= 20:
            row = self.new("w")
            scope.lines.append(row)
            if self.chance(2):
                scope.ints.append(i)
                return f"for {i}, {row} in enumerate({a}):"
            return f"for {row} in {self.pick((a, a, f'{a}.T', f'reversed({a})'))}:"
        row = self.new("w")
        scope.lines.append(row)
        if form == 21:
            return (
                f"for {row} in {self.pick(('parts', '(x, y, t)', 'parts[1:]', 'reversed(parts)'))}:"
            )
        scope.ints.append(i)
        return f"for {i}, {row} in {self.pick(('enumerate(parts)', 'zip(range(n), parts)'))}:"

    def for_loop(self) -> Lines:
        outer, self.scope = self.scope, self.scope.copy()
        head = self.head()
        lines = [head, *_inside(self.body())]
        inner, self.scope = self.scope, outer
        if self.chance(5):
            lines += ["else:", *_inside(self.block(1))]
        if self.chance(3):  # the variables of the loop behind it
            names = [name for name in inner.ints if name not in outer.ints]
            names += [name for name in inner.floats if name not in outer.floats]
            lines += [f"s = s + {name}" for name in names[:1]]
        return lines

    def body(self, most: int = 4) -> Lines:
        self.loops += 1
        lines = self.block(most)
        self.loops -= 1
        return lines

    def while_loop(self) -> Lines:
        w = self.new("j")
        outer, self.scope = self.scope, self.scope.copy()
        bound = self.pick(("n", "5", "abs(k)", "len(x)"))
        form = self.rng.randrange(6)
        test = self.condition()
        self.scope.ints.append(w)
        if form == 0:
            lines = ["while True:", f"    {w} += 1", f"    if {w} > {bound}:", "        break"]
        elif form == 1:
            lines = [f"while {w} < {bound}:", f"    {w} += 1"]
        elif form == 2:
            lines = [f"while np.abs(t).max() > 0.1 and {w} < {bound}:", f"    {w} += 1", "    t = t * 0.5"]  # fmt: skip
        elif form == 3:
            lines = [f"while {w} < {bound} and ({test}):", f"    {w} += 1"]
        elif form == 4:
            lines = [f"while not ({test} or {w} >= {bound}):", f"    {w} += 1"]
        else:
            lines = [f"while ({test}) and {w} < {bound}:", f"    {w} += 1"]
        lines += _inside(self.body(3))
        self.scope = outer
        if form and self.chance(5):
            lines += ["else:", *_inside(self.block(1))]
        return [f"{w} = 0", *lines]

    def guarded(self) -> Lines:
        form = self.rng.randrange(4)
        if form == 0:
            return ["with np.errstate(all='ignore'):", *_inside(self.block(2))]
        kind = self.pick(("IndexError", "Exception", "(ArithmeticError, ValueError)"))
        lines = ["try:", *_inside(self.block(2))]
        if form == 1:
            return [*lines, "finally:", "    c += 1"]
        return [*lines, f"except {kind} as error:", "    note(error)", "    d += 1"]

    def statement(self) -> Lines:
        """Return one statement."""
        # Blocks end somewhere, or a program would have none.
        if self.blocks < 5 and self.chance(5 + self.loops):
            forms = [self.branch, self.branch, self.leave, self.leave]
            if self.loops < 3:
                forms += [self.for_loop, self.for_loop, self.while_loop]
            if self.chance(3):
                forms = [self.guarded]
            return self.flat(self.pick(forms)())
        return self.flat(self.pick(_SIMPLE)(self))

    @staticmethod
    def flat(lines: Lines) -> Lines:
        return [part for line in lines for part in line.split("\n")]

    # -- programs

    def arguments(self, number: int) -> str:
        """Return an expression for the arguments of one call."""
        m = 3 + self.rng.randrange(3)
        n = m
        k = self.pick((1, 2, -1))
        dtype, other = "f8", self.pick(("f8", "f8", "f4", "i8"))
        if number > 1:
            n = self.pick((0, 1, 2, m, m, 12))
            k = self.pick((0, -1, -3, 2, 5))
            dtype, other = self.pick(DTYPES), self.pick(DTYPES)
        if number == 3:
            m = self.pick((0, 1, 2))
        layout = self.pick(LAYOUTS) if number > 1 else "C"
        plane = self.pick(("C", "F", "C", "turned"))
        y = f"made(({m},), '{other}', 0)"
        form = self.rng.randrange(8) if number > 1 else 8
        y = ("x", "x[::-1]", "a[0]" if m else "x")[form] if form < 3 else y
        parts = f"[made(({m},), '{dtype}', -j) for j in range({self.pick((2, 3, 12))})]"
        r = self.pick(
            ("0.5", "-1.5", "2.25", "3", "np.float64(1.5)", "np.float32(0.1)", "0.0", "True")
        )
        if number < 2:
            r = ("0.5", "1.25")[number]
        return (
            f"(lambda x, a: (x, {y}, a, {parts}, np.random.default_rng({number}), {n}, {k}, {r}))"
            f"(made(({m},), '{dtype}', -1, '{layout}'), made(({m}, {m}), '{dtype}', -1, '{plane}'))"
        )

    def write(self) -> str:
        """Return the source text of a program."""
        calls = [self.arguments(number) for number in range(CALLS)]
        trials = [_Trial(call) for call in calls[:2]]
        lines: Lines = []
        starts = (
            f"s = {self.pick(STARTS)}", f"q = {self.pick(STARTS)}", f"c = {self.pick(('0', '0', '1', 'k', 'len(x)'))}", "d = 0", f"b = {self.pick(('False', 'True', 'x.any()'))}",
            f"t = {self.pick(('x * 1.0', 'x + y', 'y.copy()', 'np.zeros(len(x))', 'x'))}", "v = y", f"p = ({self.pick(STARTS)}, 0)", "z = None",
        )  # fmt: skip
        for start in starts:
            for trial in trials:
                trial.works([start])
            lines.append(start)
        loops = 1 + self.rng.randrange(2)
        for number in range(2 * loops + 1):
            lines += self.tried(trials, loop=number % 2 == 1)
        results = self.pick(("s, q, t", "s, t, c, d", "x, s, b", "s, q, c, z, p", "t, v, s", "s"))
        lines.append(f"return {results}")
        made = "".join(f"    lambda: {call},\n" for call in calls)
        head = f"def f({', '.join(PARAMETERS.split())}):"
        return "\n".join([head, *_inside(lines)]) + f"\n\n\nCALLS = [\n{made}]\n"

    def tried(self, trials: Sequence[_Trial], *, loop: bool) -> Lines:
        """Return a statement, or a loop, that mostly does not raise."""
        for _ in range(6):
            before = self.scope.copy()
            make = (
                self.pick((self.for_loop, self.for_loop, self.while_loop))
                if loop
                else self.statement
            )
            lines = self.flat(make())
            worked = [trial.works(lines) for trial in trials]
            if all(worked) or self.chance(30):
                return lines
            self.scope = before
        return ["pass"]


class _Trial:
    """The names of a program as they are while it is written, for one call."""

    def __init__(self, call: str) -> None:
        self.around: dict[str, Any] = {"graph_break": lambda: None}
        exec(_prelude(), self.around)
        values = eval(call, self.around)
        self.names: dict[str, Any] = dict(zip(PARAMETERS.split(), values, strict=True))

    def works(self, lines: Lines) -> bool:
        """Run statements; whether none raised. What returns leaves the names as they are."""
        names = ", ".join(self.names)
        text = "\n".join([f"def trial({names}):", *_inside(lines), "    return locals()"])
        with (
            warnings.catch_warnings(record=True),
            np.errstate(all="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            try:
                exec(text, self.around)
                found = self.around["trial"](**self.names)
            except Exception:  # noqa: BLE001 - whatever it is
                return False
        if isinstance(found, dict):
            self.names = {name: value for name, value in found.items() if name != "error"}
        return True


@cache
def _prelude() -> CodeType:
    import array_fuzzer  # here: when this file is the program, its folder is not on the path before
    import programs

    return compile(programs.PRELUDE + array_fuzzer.PRELUDE + PRELUDE, "trial", "exec")


_WEIGHTS: Final[tuple[tuple[Callable[[Writer], Lines], int], ...]] = (
    (Writer.assign_number, 8),
    (Writer.assign_int, 5),
    (Writer.count, 3),
    (Writer.assign_flag, 2),
    (Writer.assign_array, 5),
    (Writer.in_place, 3),
    (Writer.write_item, 8),
    (Writer.write_slice, 4),
    (Writer.view_and_write, 3),
    (Writer.swap, 3),
    (Writer.pack, 2),
    (Writer.best, 2),
    (Writer.some_ways, 2),
    (Writer.draw, 2),
    (Writer.trouble, 2),
    (Writer.other, 1),
    (Writer.branch, 4),
    (Writer.leave, 4),
)
_SIMPLE: Final = tuple(make for make, weight in _WEIGHTS for _ in range(weight))


def write(rng: random.Random) -> str:
    """Return the source text of a program and its calls; `rng` decides everything."""
    return Writer(rng).write()


def program(seed: object) -> str:
    """Return the source text of a program and its calls."""
    return write(random.Random(str(seed)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from fuzz_run import main

    sys.exit(main(writer="loops"))
