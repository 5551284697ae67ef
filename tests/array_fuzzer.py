"""Writes programs about arrays: views, indices, writes through views, overlap, dtypes, reductions, warnings; it compiles nothing.

`program(seed)` returns the source text of one with the calls made of it, the same for the same seed; `write(rng)` lets Hypothesis
decide. Shapes are tracked by name (``m``, ``n``), and each statement is tried on the arguments of the first two calls, so that most
programs come to their end; with other sizes and dtypes more of them raise.
``python -m tests.array_fuzzer --count 1000 --seed 7`` runs many (see `fuzz_run`).
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Final

import numpy as np
from numpy.lib import NumpyVersion

PRELUDE: Final = """\
import math


def halved(v, out=None):
    return np.multiply(v, 0.5, out=out)


def bounded(v, low, high=2.0):
    if v.size and v.max() > high:
        return np.clip(v, low, high)
    return v


def add_into(v, w):
    v += w
    return v


def laid(a, layout):
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "up":
        return a[::-1].copy()[::-1] if a.ndim else a
    if layout == "sparse" and a.ndim:
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        wide[..., ::2] = a
        return wide[..., ::2]
    if layout == "turned":
        return a.T.copy().T
    if layout == "read-only":
        a.flags.writeable = False
    if layout == "repeated" and a.ndim and a.shape[0]:
        return np.broadcast_to(a[:1], a.shape)
    return a


def made(shape, dtype, start, layout="C"):
    size = math.prod(shape)
    values = (np.arange(size) * 7 % 11 - 4) * 0.75 + start
    if dtype == "?":
        values = values > 0
    elif dtype in ("u1", "u2", "u8"):
        values = abs(values)
    return laid(values.astype(dtype).reshape(shape), layout)


"""

REAL: Final = ("f8", "f8", "f8", "f4", "i8", "i4", "f2", "u1", "i1", "u8", "?")
DTYPES: Final = (*REAL, "F", "D", "i2", "g")
# NumPy 2.0 dies, compiled or plain, where small integers that do not lie in one piece are compared to an int that is none of theirs.
# Before 2.1 ``ufunc.at`` finds flags that calls before it left up where they are ignored, and stops there: NumPy's bug, not part of any program's meaning.
ADDED_AT: Final = (
    "{}.sort()" if NumpyVersion(np.__version__) < "2.1.0" else "np.add.at({}, i.copy(), 1)"
)
COMPARED: Final = "np.asarray({})" if NumpyVersion(np.__version__) < "2.1.0" else "{}"
LAYOUTS: Final = ("C", "C", "C", "F", "up", "sparse", "turned", "read-only", "repeated")
SHAPES: Final = (("n",), ("n",), ("n",), ("m", "n"), ("m", "n"), ("1", "n"), ("m", "1"), ())

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Array:
    """An expression for an array; a shape of None is not known, nor is a kind of ``?``."""

    text: str
    shape: tuple[str, ...] | None
    kind: str = "any"  # any, bool, int, index
    name: bool = False  # a plain name, which may be rebound


@dataclass(slots=True)
class Scope:
    """What may be used here."""

    arrays: list[Array] = field(default_factory=list)
    numbers: list[str] = field(default_factory=lambda: ["k", "r"])
    ints: list[str] = field(default_factory=lambda: ["k", "len(SEEN)"])

    def copy(self) -> Scope:
        return Scope(list(self.arrays), list(self.numbers), list(self.ints))


def _inside(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


UNARY: Final = (
    "np.abs", "np.sqrt", "np.sin", "np.square", "np.exp", "np.negative", "np.tanh", "np.log", "np.sign", "np.floor",
    "np.isfinite", "np.reciprocal", "np.conj", "np.rint", "np.positive", "np.logical_not", "np.cos", "np.arctan", "np.log1p",
)  # fmt: skip
BINARY: Final = (
    "np.maximum", "np.minimum", "np.add", "np.multiply", "np.subtract", "np.divide", "np.arctan2", "np.hypot", "np.fmod",
    "np.floor_divide", "np.power", "np.equal", "np.less", "np.logical_and", "np.logaddexp", "np.copysign", "np.remainder",
)  # fmt: skip
REDUCTIONS: Final = (
    "sum", "sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "std", "var", "cumsum",
)  # fmt: skip
# a, b: arrays that go together; n: a number; c: one to compare to; i: an int.
LIBRARY: Final = (
    "np.nansum({a})", "np.nanmax({a}, axis=0)", "np.nanmean({a})", "np.nanstd({a})", "np.median({a})", "np.percentile({a}, 30)", "np.quantile({a}, [0.1, 0.5])",
    "np.average({a}, axis=0)", "np.ptp({a})", "np.cov({a})", "np.histogram({a}, 4)[0]", "np.bincount(abs(i))", "np.count_nonzero({a})", "np.unique({a})",
    "np.diff({a})", "np.ediff1d({a})", "np.gradient({a})", "np.cumprod({a}, axis=0)", "np.trapezoid({a})", "np.interp({a}, [0, 1], [2, 3])", "np.convolve({a}, {b})",
    "np.dot({a}, {b})", "{a} @ {b}", "np.outer({a}, {b})", "np.inner({a}, {b})", "np.vdot({a}, {b})", "np.tensordot({a}, {b}, 1)", "np.kron({a}, {b})", "{a}.T @ {a}",
    "np.einsum('...i,...i->...', {a}, {b})", "np.linalg.norm({a})", "np.linalg.norm({a}, axis=0)", "np.trace({a})", "np.linalg.det({a} @ {a}.T)", "np.cross({a}, {b})",
    "np.add.reduce({a})", "np.multiply.reduce({a}, axis=None)", "np.maximum.accumulate({a})", "np.subtract.outer({a}, {b})", "np.add.reduceat({a}, [0, 1])",
    "np.logical_or.reduce({a})", "np.add({a}, {b}, where={a} > 0, out=np.zeros({a}.shape))", "np.sum({a}, where={a} > {c})", "np.sum({a}, initial={n})",
    "np.max({a}, initial=1, where={a} > 0)", "np.any({a}, axis=0, keepdims=True)", "np.round({a}, 1)", "{a}.round()", "np.clip({a}, None, {n})", "np.nan_to_num({a})",
    "np.roll({a}, {i}, axis=0) + {a}", "(np.roll({a}, {i}, axis=-1) - {a}).max(axis=0)", "({a}[1:] - {a}[:-1]).sum(axis=-1)", "({a}.T[..., ::2] * {n}).mean()",
    "(np.stack([{a}, {b}]) * {n}).sum(axis=(0, -1))", "np.abs({a})[..., 1:].sum(dtype='f8')",
    "np.flip({a})", "np.fliplr({a})", "np.rot90({a})", "np.roll({a}, {i})", "np.tile({a}, 2)", "np.repeat({a}, 2, axis=0)", "{a}.repeat(2)", "np.resize({a}, (2, 3))",
    "np.stack([{a}, {b}])", "np.vstack([{a}, {a}])", "np.hstack([{a}, {b}])", "np.column_stack([{a}, {a}])", "np.block([{a}, {b}])", "np.append({a}, {n})", "np.insert({a}, 0, {n})",
    "np.delete({a}, 0)", "np.split({a}, 1)[0]", "np.array_split({a}, 2)[1]", "np.pad({a}, 1)", "np.pad({a}, 1, mode='edge')", "np.broadcast_arrays({a}, {b})[1]",
    "np.moveaxis({a}, 0, -1)", "np.expand_dims({a}, 0)", "np.atleast_2d({a})", "np.triu({a})", "np.tril({a}, {i})", "np.diag({a})", "np.diagonal({a})", "np.eye(3)",
    "np.argsort({a})", "{a}.argsort(axis=0)", "np.partition({a}, 0)", "np.searchsorted(np.sort({a}), {b})", "np.digitize({a}, [0, 1])", "np.lexsort(({a}, {b}))",
    "np.nonzero({a})[0]", "np.flatnonzero({a})", "np.argwhere({a})", "np.where({a})[0]", "np.isin({a}, {b})", "np.isclose({a}, {b})", "np.array_equal({a}, {b})",
    "np.allclose({a}, {b})", "np.shares_memory({a}, {b})", "np.take_along_axis({a}, np.argsort({a}), -1)", "np.compress([True, False], {a}, axis=0)", "np.extract({a} > 0, {a})",
    "np.select([{a} > 0, {a} < 0], [{a}, {b}], 7)", "np.choose(i % 2, [{a}, {b}])", "np.meshgrid({a}, {b})[0]", "np.indices({a}.shape)", "np.fft.fft({a})", "np.fft.rfft({a}.real)",
    "np.modf({a})[1]", "np.frexp({a})[0]", "np.divmod({a}, {n})[0]", "np.ldexp({a}, 2)", "np.nextafter({a}, {b})", "np.gcd(i, 4)", "np.bitwise_count(i)", "np.heaviside({a}, 1)",
    "np.sinc({a})", "np.deg2rad({a})", "np.fmax({a}, {b})", "np.exp2({a})", "np.cbrt({a})", "np.trunc({a})", "np.signbit({a})", "np.isnan({a})", "np.angle({a})", "np.unwrap({a})",
    "np.minimum.accumulate({a} * 2, axis=-1)", "{a} - np.cumsum({a}, axis=0)", "np.logical_or.accumulate({a} > {c}) & ({b} > 0)", "np.nancumsum({a})", "np.cumprod(1 + {a}, axis=-1) / 2",
    "np.divmod({a}, {b})[1] * 2", "np.add(*np.modf({a}))", "np.multiply(*np.frexp({a} * 2))", "({a} * 3) // {b} + {a} % {n}", "(i * 5) // 3 - i % 7 + abs(i) // (i + 9)",
    "np.polyval([1, 2], {a})", "np.vander({a})", "np.matvec({a}, {b})", "np.asfortranarray({a})", "np.require({a}, requirements='C')", "np.array({a}, ndmin=2)", "np.array([{a}, {b}])",
    "np.random.default_rng(3).normal(size={a}.shape)", "np.random.rand(3) + {n}", "np.random.default_rng(4).permutation({a})", "np.random.RandomState(1).randint(0, 9, {a}.shape)",
    "np.geomspace(1, 8, 4)", "np.logspace(0, 1, 3)", "np.tri(3)", "np.ones(({i}, 2))", "np.astype({a}, 'f4')", "{a}.astype('i1')", "{a}.flatten('F')",
)  # fmt: skip
OPERATORS: Final = ("+", "-", "*", "+", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", "&", "|", "^", "<<", ">>")  # fmt: skip


class Writer:
    """Writes one program; `rng` decides everything."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.scope = Scope()
        self.depth = 0

    # -- choosing

    def stored(self) -> str:
        """Pick a function whose result may be stored: no power, which may raise in the middle (see `in_place`)."""
        return str(self.pick([name for name in BINARY if name != "np.power"]))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.rng.randrange(len(options))]

    def chance(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def any_array(self) -> Array:
        return self.pick(self.scope.arrays)

    def array(self, fits: Callable[[Array], bool]) -> Array:
        """Return an array of some kind, or any where there is none, and now and then anyway."""
        found = [one for one in self.scope.arrays if fits(one)]
        return self.any_array() if not found or self.chance(25) else self.pick(found)

    def like(self, shape: tuple[str, ...] | None) -> Array:
        """Return an array that goes with a shape without making it larger."""
        if shape is None:
            return self.any_array()
        return self.array(lambda one: one.shape is not None and _broadcasts(one.shape, shape))

    def number(self, depth: int = 1) -> str:
        form = self.rng.randrange(10 if depth else 5)
        if form <= 2:
            return self.pick(self.scope.numbers)
        if form <= 4:
            return self.pick(("2", "0.5", "-1", "3", "1e3", "0", "np.float32(1.5)", "7", "np.int8(3)", "1e-3", "True", "1.5j"))  # fmt: skip
        if form <= 7:
            return f"{self.any_array().text}.{self.pick(('sum', 'max', 'mean', 'min', 'prod'))}()"
        if form == 8:
            return self.integer()
        operator = self.pick(("+", "-", "*", "/", "//", "%", "**"))
        return f"({self.number(0)} {operator} {self.number(0)})"

    def bound(self, depth: int = 1) -> str:
        """Return a number that arrays are compared to."""
        return COMPARED.format(self.number(depth))

    def integer(self) -> str:
        form = self.rng.randrange(8)
        one = self.any_array().text
        if form <= 2:
            return self.pick(self.scope.ints)
        if form == 3:
            return self.pick(("0", "1", "2", "-1", "3"))
        if form == 4:
            return self.pick((f"{one}.ndim", f"{one}.size", f"len({one}.shape)"))
        if form == 5:
            return f"{self.pick(self.scope.ints)} {self.pick(('+ 1', '// 2', '* 2', '% 3', '- 1'))}"
        if form == 6:
            return f"max({self.pick(self.scope.ints)}, {self.pick(('1', '2', '3'))})"
        return f"min({one}.size, {self.pick(self.scope.ints)})"

    def size(self) -> str:
        """Return an int that may be a size."""
        form = self.rng.randrange(4)
        if form == 0:
            return "x.shape[-1]" if self.chance(2) else "x.size"
        return ("2", "abs(k)", "3")[form - 1]

    # -- expressions

    def expression(self, depth: int = 2) -> Array:
        """Return an expression for an array."""
        form = self.rng.randrange(16 if depth > 0 else 2)
        if form <= 1:
            return self.any_array()
        if form <= 5:
            return self._operator(depth)
        if form <= 7:
            one = self.expression(depth - 1)
            kind = "bool" if (name := self.pick(UNARY)) in ("np.isfinite", "np.logical_not") else "any"  # fmt: skip
            return Array(f"{name}({one.text})", one.shape, kind)
        if form == 8:
            one = self.any_array()
            return Array(f"{self.pick(BINARY)}({one.text}, {self.like(one.shape).text})", one.shape)
        if form == 9:
            one, mask = self.any_array(), self.expression(depth - 1)
            return Array(f"np.where({mask.text} > {self.bound(0)}, {one.text}, {self.pick((self.like(one.shape).text, self.number(0)))})", None)  # fmt: skip
        if form == 10:
            return self._reduction()
        if form == 11:
            return self._made()
        if form == 12:
            return self._gathered()
        if form == 13:
            call = self.pick(("halved({})", "bounded({}, 0)", "({} + 1)", "np.asarray({})", "np.ascontiguousarray({})", "np.copy({})", "abs({})", "-{}", "np.atleast_1d({})"))  # fmt: skip
            one = self.expression(depth - 1)
            return Array(call.format(one.text), one.shape)
        if form == 14:
            one = self.any_array()
            text = self.pick((".astype('f4')", ".astype(int)", ".astype(bool)", ".copy()", ".astype(x.dtype)", ".astype(np.float64, copy=False)"))  # fmt: skip
            return Array(one.text + text, one.shape)
        return self.view()

    def _operator(self, depth: int) -> Array:
        one = self.expression(depth - 1)
        operator = self.pick(OPERATORS)
        kind = "bool" if operator in ("<", "<=", "==", "!=") else "any"
        number = self.bound if kind == "bool" else self.number
        other = self.like(one.shape).text if self.chance(2) else number(depth - 1)
        if self.chance(4):
            return Array(f"({other} {operator} {one.text})", one.shape, kind)
        return Array(f"({one.text} {operator} {other})", one.shape, kind)

    def _reduction(self) -> Array:
        one = self.any_array()
        name = self.pick(REDUCTIONS)
        options = []
        shape = one.shape
        if self.chance(2) and shape != () and shape is not None:
            options.append(self.pick(("axis=0", "axis=-1", "0")))
            shape = shape[:-1] if options[0] == "axis=-1" else shape[1:]
        elif name != "cumsum":
            shape = ()
        if self.chance(4) and not name.startswith(("arg", "cum")):
            options.append("keepdims=True")
            shape = None
        if self.chance(6) and name in ("sum", "prod", "mean", "cumsum"):
            options.append(self.pick(("dtype='f4'", "dtype=float", "dtype='i8'")))
        if name == "cumsum":
            shape = one.shape if options[:1] else None
        text = ", ".join(options)
        if self.chance(2):
            return Array(f"{one.text}.{name}({text})", shape)
        return Array(f"np.{name}({', '.join([one.text, text] if text else [one.text])})", shape)

    def _made(self) -> Array:
        one = self.any_array()
        form = self.rng.randrange(8)
        if form == 0:
            return Array(f"np.{self.pick(('zeros', 'ones'))}({one.text}.shape{self.pick(('', ', dtype=int', ', x.dtype'))})", one.shape)  # fmt: skip
        if form == 1:
            return Array(f"np.{self.pick(('zeros', 'ones'))}_like({one.text})", one.shape)
        if form == 2:
            return Array(f"np.full({one.text}.shape, {self.number(0)})", one.shape)
        if form == 3:
            return Array(f"np.arange({self.pick(('x.shape[-1]', 'x.size', 'k', '1, x.size + 1'))})", None, "int")  # fmt: skip
        if form == 4:
            return Array(f"np.linspace(0, {self.number(0)}, {self.size()})", None)
        if form == 5:
            return Array(f"np.full_like({one.text}, {self.number(0)})", one.shape)
        if form == 6:
            return Array(f"np.array([{self.number(0)}, {self.number(0)}])", None)
        return Array(f"np.concatenate([{one.text}, {self.like(one.shape).text}])", None)

    def _gathered(self) -> Array:
        one = self.array(lambda a: bool(a.shape))
        form = self.rng.randrange(9)
        if form == 0:
            return Array(f"{one.text}[i]", None if one.shape is None else ("m", *one.shape[1:]))
        if form == 7:  # an index that is computed where it is used
            of = self.pick(("np.abs({}).astype(int)", "i", "np.arange({}.size)", "({} > 0).astype('u1')")).format(self.any_array().text)  # fmt: skip
            text = self.pick((f"({of}) % {self.pick(('2', '3', 'k'))}", f"{of} - 1"))
            return Array(f"({one.text}[{text}] {self.pick(('+', '*'))} {self.number(0)})", None)
        if form == 8:
            text = f"{one.text}[i, i - 1]" if len(one.shape or ()) == 2 else f"{one.text}[i]"
            return Array(f"({text} * np.take({one.text}, i) - {text})", None)
        if form == 1:
            return Array(f"{one.text}[[0, -1]]", None)
        if form == 2:
            return Array(f"{one.text}[{one.text} > {self.bound(0)}]", None)
        if form == 3:
            return Array(f"np.take({one.text}, i)", None)
        if form == 4:
            return Array(f"{one.text}[..., i]", None)
        if form == 5:
            return Array(f"{one.text}[i, 0]", None)
        return Array(f"{one.text}[np.argsort({one.text}[0])]" if self.chance(2) else f"np.sort({one.text})", None)  # fmt: skip

    def view(self, one: Array | None = None) -> Array:
        """Return a view of an array."""
        one = one or self.any_array()
        text, shape = one.text, one.shape
        if shape is None:
            return Array(text + self.pick((".T", "[...]", "[:]", ".reshape(-1)", "[None]", ".ravel()", "[::-1]")), None)  # fmt: skip
        if shape == ():
            return Array(text + self.pick(("[...]", "[None]", ".reshape(1)", "[()]", ".T")), None)
        first, rest = shape[0], shape[1:]
        forms: list[tuple[str, tuple[str, ...] | None]] = [
            ("[::-1]", shape), ("[:]", shape), ("[...]", shape), ("[1:]", (f"{first}-1", *rest)), ("[:-1]", (f"{first}-1", *rest)),
            ("[::2]", (f"{first}/2", *rest)), ("[0]", rest), ("[-1]", rest), ("[k]", rest), ("[None]", ("1", *shape)),
            (".T", shape[::-1]), (".reshape(-1)", None), (".ravel()", None), ("[..., None]", (*shape, "1")), (".real", shape),
            (".imag", shape), ("[:k]", None), ("[k:]", None), ("[::-2]", None), ("[: x.shape[-1] // 2]", None), (f".reshape({text}.shape[::-1])", shape[::-1]),
            ("[..., 0]", shape[:-1]), ("[1:-1]", None), (".reshape(-1, 1)", None), (".squeeze()", None), (".view()", shape),
        ]  # fmt: skip
        if len(shape) == 2:
            forms += [
                (".swapaxes(0, 1)", shape[::-1]), ("[:, ::-1]", shape), ("[1:, :-1]", None), ("[:, 0]", shape[:1]), ("[0, :]", shape[1:]),
                (".diagonal()", None), ("[0, 0]", ()), ("[:, None, :]", None), (".transpose(1, 0)", shape[::-1]),
            ]  # fmt: skip
        tail, found = self.pick(forms)
        if self.chance(12):
            return Array(f"np.broadcast_to({text}, (2, *{text}.shape))", ("2", *shape))
        return Array(text + tail, found)

    def condition(self) -> str:
        form = self.rng.randrange(8)
        one = self.any_array().text
        if form <= 1:
            return f"{one}.{self.pick(('sum', 'max', 'mean', 'min'))}() {self.pick(('>', '<', '=='))} {self.number(0)}"
        if form == 2:
            return f"({one} > {self.bound(0)}).{self.pick(('any', 'all'))}()"
        if form == 3:
            return f"{self.number(0)} > {self.number(0)}"
        if form == 4:
            return self.pick(
                (f"{one}.size", f"len(x) > 2 and {one}.ndim", f"{one}.shape == x.shape", "k", "r")
            )
        if form == 5:
            return f"{self.integer()} > {self.integer()}"
        if form == 6:
            return f"{one} is {self.any_array().text}"
        return f"np.any({one})"

    # -- statements

    def keep(self, prefix: str, made: Array) -> Lines:
        name = self.new(prefix)
        self.scope.arrays.append(replace(made, text=name, name=True))
        return [f"{name} = {made.text}"]

    def assign(self) -> Lines:
        return self.keep("a", self.expression())

    def assign_view(self) -> Lines:
        return self.keep("v", self.view())

    def assign_number(self) -> Lines:
        name = self.new("s")
        if self.chance(3):
            text = self.integer()
            lines = [f"{name} = {text}"]
            self.scope.ints.append(name)
        else:
            wrap = self.pick(("{}", "{}", "{}", "float({})", "int({})", "np.float64({})", "bool({})", "abs({})"))  # fmt: skip
            lines = [f"{name} = {wrap.format(self.number())}"]
        self.scope.numbers.append(name)
        return lines

    def in_place(self) -> Lines:
        target = self.array(lambda a: a.shape is not None and a.text != "i")
        operator = self.pick(("+=", "-=", "*=", "+=", "/=", "//=", "%=", "**=", "&=", "|=", "<<="))
        if operator == "**=":
            # A negative power of integers raises in the middle: what NumPy casts in buffers is then whatever lay in memory.
            return [f"{target.text} **= {self.pick(('1', '2', '3', '0.5'))}"]
        if self.chance(3):
            return [f"{target.text} {operator} {self.number()}"]
        if self.chance(3):
            return [f"{target.text} {operator} {self.view(self.like(target.shape)).text}"]
        return [f"{target.text} {operator} {self.like(target.shape).text}"]

    def overlap(self) -> Lines:
        one = self.array(lambda a: bool(a.shape)).text
        forms = (
            "{0}[1:] += {0}[:-1]", "{0}[:-1] += {0}[1:]", "{0}[:] = {0}[::-1]", "{0}[1:] = {0}[:-1]", "{0}[::-1] += {0}", "{0} += {0}.T", "{0} -= {0}[0]",
            "{0}[...] = {0}.T", "np.add({0}[1:], {0}[:-1], out={0}[1:])", "np.multiply({0}, {0}[::-1], out={0})", "np.cumsum({0}, axis=0, out={0})",
            "{0}[::2] *= {0}[::2]", "np.subtract({0}[:-1], {0}[1:], {0}[:-1])", "{0}[0] = {0}[-1]", "{0} *= {0}[..., :1]", "np.add({0}, {0}, out={0})",
        )  # fmt: skip
        return [self.pick(forms).format(one)]

    def store(self) -> Lines:
        target = self.any_array()
        # A copy: NumPy looks at an index once, and writes out of bounds where it is itself what is written.
        index = self.pick(("...", "0", "1:", "-1", "::2", ":", "k", "i.copy()", f"{target.text} > 1", "[0, -1]", "..., 0", "None", "::-1", ":k"))  # fmt: skip
        value = self.number() if self.chance(2) else self.like(target.shape).text
        operator = self.pick(("=", "=", "=", "+=", "*="))
        return [f"{target.text}[{index}] {operator} {value}"]

    def masked(self) -> Lines:
        """Read through a mask, compute, and store through the same one."""
        target = self.array(lambda a: bool(a.shape) and a.text != "i")
        alike = [one.text for one in self.scope.arrays if one.shape == target.shape]
        mask = self.new("p")
        lines = [f"{mask} = {self.pick(alike)} > {self.bound(0)}"]
        for _ in range(1 + self.rng.randrange(2)):
            form = self.pick((
                "{t}[{m}] = {t}[{m}] {o} {a}[{m}]", "{t}[{m}] {o}= {n}", "{t}[{m}] {o}= {a}[{m}] * {n}", "{t}[{m}] = {a}[{m}]",
                "{t}[{m}] = {f}({a}[{m}])", "{w} = {t}[{m}]; {w} {o}= {n}; {t}[{m}] = {w}", "{t}[{m}] = {t}[{m}] ** 2 {o} {n}",
            ))  # fmt: skip
            parts = {"t": target.text, "m": mask, "a": self.pick(alike), "o": self.pick(("+", "-", "*", "/", "//"))}  # fmt: skip
            lines += form.format(
                n=self.number(0), f=self.pick(UNARY), w=self.new("w"), **parts
            ).split("; ")
        return lines

    def out(self) -> Lines:
        target = self.any_array()
        one, two = self.like(target.shape).text, self.like(target.shape).text
        form = self.rng.randrange(9)
        name = self.new("o")
        if form <= 1:
            text = f"{self.pick(UNARY)}({one}, out={target.text})"
        elif form <= 3:
            text = f"{self.stored()}({one}, {two}, out={target.text})"
        elif form == 4:
            # np.equal and np.less are among them.
            text = f"{self.stored()}({one}, {COMPARED.format(self.number(0))}, {target.text})"
        elif form == 5:
            text = f"np.clip({one}, 0, 1, out={target.text})"
        elif form == 6:
            text = f"add_into({target.text}, {one})"
        elif form == 7:
            text = f"np.sum({one}, axis=0, out={target.text})"
        else:
            text = f"np.add({one}, {two}, out={target.text}, casting='unsafe')"
        self.scope.arrays.append(replace(target, text=name, name=True))
        return [f"{name} = {text}"]

    def mutate(self) -> Lines:
        target = self.any_array()
        other = self.like(target.shape).text
        forms = (
            f"{target.text}.fill({self.number(0)})", f"{target.text}.sort()", f"np.copyto({target.text}, {other})", ADDED_AT.format(target.text),
            f"{target.text}.put(0, {self.number(0)})", f"np.fill_diagonal({target.text}, 0)", f"{target.text}.sort(axis=0)",
        )  # fmt: skip
        return [self.pick(forms)]

    def library(self) -> Lines:
        one = self.any_array()
        parts = {"a": one.text, "b": self.like(one.shape).text, "n": self.number(0), "i": self.integer()}  # fmt: skip
        parts["c"] = COMPARED.format(parts["n"])
        return self.keep("a", Array(self.pick(LIBRARY).format(**parts), None))

    def swap(self) -> Lines:
        names = [one for one in self.scope.arrays if one.name or one.text in ("x", "y")]
        one, two = self.pick(names), self.pick(names)
        if one.shape != two.shape:
            return [f"{one.text} = {one.text} + 0"]
        return [f"{one.text}, {two.text} = {two.text}, {one.text}"]

    def say(self) -> Lines:
        one = self.any_array().text
        forms = (f"print({one}.sum())", "print('here')", f"note({one})", "graph_break()", f"print({one}.dtype, {one}.shape)", f"SEEN.append({one}.copy())", "warnings.warn('said')")  # fmt: skip
        return [self.pick(forms)]

    def block(self, most: int = 3) -> Lines:
        """Return a list of statements with a scope of their own."""
        outer, self.scope = self.scope, self.scope.copy()
        self.depth += 1
        lines = [line for _ in range(1 + self.rng.randrange(most)) for line in self.statement()]
        self.depth -= 1
        self.scope = outer
        return lines

    def branch(self) -> Lines:
        lines = [f"if {self.condition()}:", *_inside(self.block())]
        return [*lines, "else:", *_inside(self.block())] if self.chance(2) else lines

    def loop(self) -> Lines:
        form = self.rng.randrange(3)
        name = self.new("j")
        self_array = self.array(lambda a: bool(a.shape)).text
        outer, self.scope = self.scope, self.scope.copy()
        if form == 0:
            head = f"for {name} in range({self.pick(('3', 'min(len(x), 4)', 'k % 4'))}):"
            self.scope.ints.append(name)
        elif form == 1:
            head = f"for {name} in {self_array}:"
            self.scope.arrays.append(Array(name, None))
        else:
            head = f"for {name}, w in enumerate({self_array}[:3]):"
            self.scope.ints.append(name)
            self.scope.numbers.append("w")
        body = self.block()
        self.scope = outer
        return [head, *_inside(body)]

    def errstate(self) -> Lines:
        how = self.pick(("all='ignore'", "all='raise'", "divide='ignore', invalid='warn'", "over='raise'", "all='warn'", "all='print'", "all='call', call=lambda kind, flag: note(kind, flag)", "invalid='call'"))  # fmt: skip
        body = _inside(self.block())
        if self.chance(2):
            body = [*body, *_inside(self.keep("a", Array("x / (y * 0)", None)))]
        return [f"with np.errstate({how}):", *body]

    def caught(self) -> Lines:
        kind = self.pick(("FloatingPointError", "RuntimeWarning", "ValueError", "(TypeError, IndexError)", "Exception"))  # fmt: skip
        lines = ["try:", *_inside(self.block())]
        lines += [
            f"except {kind} as error:",
            "    note(type(error).__name__, error)",
        ]
        return [*lines, "finally:", "    note('left')"] if self.chance(4) else lines

    def filtered(self) -> Lines:
        how = self.pick(("error", "ignore", "always"))
        return [
            "with warnings.catch_warnings():",
            f"    warnings.simplefilter('{how}')",
            *_inside(self.block()),
        ]

    def statement(self) -> Lines:
        """Return one statement."""
        if self.depth < 2 and self.chance(6):
            return self.pick((self.branch, self.branch, self.loop, self.errstate, self.errstate, self.caught, self.filtered))()  # fmt: skip
        return self.pick(_SIMPLE)(self)

    # -- programs

    def arguments(self, number: int, shapes: Sequence[tuple[str, ...]], dtypes: Sequence[str]) -> str:  # fmt: skip
        """Return an expression for the arguments of one call."""
        sizes = {"1": 1}
        odd = number % 4 == 3
        sizes["m"] = self.pick((0, 1, 2)) if odd else 2 + self.rng.randrange(3)
        sizes["n"] = self.pick((0, 1, 3)) if odd else 3 + self.rng.randrange(4)
        if number in (2, 5):
            dtypes = [self.pick(DTYPES) for _ in shapes]
        arrays = []
        for index, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            layout = self.pick(LAYOUTS) if number > 1 and index < 2 else "C"
            numbers = ", ".join(f"{sizes[name]}" for name in shape) + ("," if shape else "")
            arrays.append(f"made(({numbers}), '{dtype}', {index - 1}, '{layout}')")
        x, y, z = arrays
        form = self.rng.randrange(8) if number > 1 else 8
        if form == 0:
            y = "x"
        elif form == 1 and shapes[0] == shapes[1]:
            y = "x[::-1]" if shapes[0] else "x"
        elif form == 2 and shapes[0] == shapes[1] and shapes[0]:
            y = "base[1:]"
        last = max(sizes["m"] * 0 + (sizes[shapes[0][0]] if shapes[0] else 1), 0)
        indices = f"np.arange({sizes['m']}) % {max(last, 1)}"
        k = self.pick(("2", "3", "1", "0", "-1", "4", "5"))
        r = self.pick(("0.5", "-1.5", "2.25", "3", "np.float64(2.5)", "np.float32(0.1)", "1e200", "2j", "np.int16(300)", "0.0"))  # fmt: skip
        if number < 2:
            r = ("0.5", "-2.25")[number]
        if y == "base[1:]":
            # Two windows of one array, one element apart.
            numbers = ", ".join(str(sizes[name] + (index == 0)) for index, name in enumerate(shapes[0])) + ","  # fmt: skip
            return f"(lambda base: (base[:-1], base[1:], {z}, {indices}, {k}, {r}))(made(({numbers}), '{dtypes[0]}', 1))"
        return f"(lambda x: (x, {y}, {z}, {indices}, {k}, {r}))({x})"

    def write(self) -> str:
        """Return the source text of a program."""
        first = self.pick(SHAPES)
        second = first if self.chance(2) else self.pick(SHAPES)
        shapes = [first, second, self.pick((("n",), ("m", "n"), ()))]
        dtypes = [self.pick(REAL) for _ in shapes]
        if self.chance(2):
            dtypes = ["f8", "f8", "f8"]
        self.scope.arrays = [
            Array(name, shape) for name, shape in zip("xyz", shapes, strict=True)
        ] + [Array("x", first), Array("i", ("m",), "index")]
        calls = [self.arguments(number, shapes, dtypes) for number in range(CALLS)]
        trials = [_Trial(call) for call in calls[:2]]
        lines = ["def f(x, y, z, i, k, r):"]
        for _ in range(3 + self.rng.randrange(8)):
            lines += _inside(self.tried(trials))
        results = [self.any_array().text for _ in range(2)]
        results += [self.pick((self.view().text, self.number(), self.expression(1).text, "x.shape", "np.geterr()['over']"))]  # fmt: skip
        if not all(trial.works([f"({', '.join(results)})"]) for trial in trials):
            results.pop()
        lines.append(f"    return {', '.join(results)}")
        made = "".join(f"    lambda: {call},\n" for call in calls)
        return "\n".join(lines) + f"\n\n\nCALLS = [\n{made}]\n"

    def tried(self, trials: Sequence[_Trial]) -> Lines:
        """Return a statement that mostly does not raise."""
        for _ in range(8):
            before = self.scope.copy()
            lines = self.statement()
            worked = [trial.works(lines) for trial in trials]
            if all(worked) or self.chance(60):
                return lines
            self.scope = before
        return ["pass"]


class _Trial:
    """The names of a program as they are while it is written, for one call."""

    def __init__(self, call: str) -> None:
        self.names: dict[str, Any] = {"graph_break": lambda: None}
        exec(_prelude(), self.names)
        self.names.update(zip("xyzikr", eval(call, self.names), strict=True))

    def works(self, lines: Lines) -> bool:
        """Run statements; whether none raised."""
        with (
            warnings.catch_warnings(record=True),
            np.errstate(all="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            try:
                exec("\n".join(lines), self.names)
            except Exception:  # noqa: BLE001 - whatever it is
                return False
        return True


@cache
def _prelude() -> CodeType:
    import programs  # here: when this file is the program, its folder is not on the path before

    return compile(programs.PRELUDE + PRELUDE, "trial", "exec")


CALLS: Final = 6
_WEIGHTS: Final = (
    (Writer.assign, 8),
    (Writer.assign_view, 6),
    (Writer.assign_number, 3),
    (Writer.in_place, 6),
    (Writer.overlap, 3),
    (Writer.store, 5),
    (Writer.masked, 2),
    (Writer.out, 4),
    (Writer.mutate, 2),
    (Writer.library, 6),
    (Writer.swap, 1),
    (Writer.say, 2),
)
_SIMPLE: Final = tuple(make for make, weight in _WEIGHTS for _ in range(weight))


def _broadcasts(shape: tuple[str, ...], to: tuple[str, ...]) -> bool:
    """Whether a shape goes with another without making it larger."""
    if len(shape) > len(to):
        return False
    tail = to[len(to) - len(shape) :]
    return all(have in ("1", want) for have, want in zip(shape, tail, strict=True))


def write(rng: random.Random) -> str:
    """Return the source text of a program and its calls; `rng` decides everything."""
    return Writer(rng).write()


def program(seed: object) -> str:
    """Return the source text of a program and its calls."""
    return write(random.Random(str(seed)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from fuzz_run import main

    sys.exit(main(writer="arrays"))
