"""Hypothesis strategies for whole programs: straight lines and branches over arrays and containers.

A program is one function `f(x, y, k, r, flag, pair, items, table)` as source text, made of typed
statements so that most programs run to their end; some raise or warn, which is compared too. This
module must not run programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

PARAMETERS = ("x", "y", "k", "r", "flag", "pair", "items", "table")

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(slots=True)
class Scope:
    """The variables that may be used, by type, and a source of new names."""

    arrays: list[str] = field(default_factory=lambda: ["x", "y", "pair[0]", "table['a']"])
    scalars: list[str] = field(default_factory=lambda: ["k", "r", "pair[1]", "table['b']"])
    lists: list[str] = field(default_factory=lambda: ["items"])
    dicts: list[str] = field(default_factory=lambda: ["table"])
    tuples: list[str] = field(default_factory=lambda: ["pair"])
    counter: list[int] = field(default_factory=lambda: [0])  # shared by copies

    def copy(self) -> Scope:
        return Scope(
            *(
                list(kind)
                for kind in (self.arrays, self.scalars, self.lists, self.dicts, self.tuples)
            ),
            self.counter,
        )

    def new(self, prefix: str) -> str:
        self.counter[0] += 1
        return f"{prefix}{self.counter[0]}"


def _pick(draw: Draw, options: list[str] | tuple[str, ...]) -> str:
    return draw(st.sampled_from(list(options)))


def scalar(draw: Draw, scope: Scope, depth: int = 2) -> str:
    """Draw an expression for a number."""
    form = draw(st.integers(0, 11 if depth else 2))
    if form <= 1:
        return _pick(draw, scope.scalars)
    if form == 2:
        return _pick(draw, ("2", "0.5", "-1", "3", "1e3", "0", "np.float32(1.5)", "7"))
    if form <= 6:
        method = _pick(draw, ("sum", "max", "mean", "min", "sum", "prod"))
        return f"{array(draw, scope, depth - 1)}.{method}()"
    if form == 7:
        name = _pick(draw, scope.arrays)
        return _pick(draw, (f"len({name})", f"{name}.shape[0]", f"{name}.ndim", f"{name}.size"))
    if form == 8:
        return f"{_pick(draw, scope.arrays)}.flat[{_pick(draw, ('0', '-1', '1'))}]"
    if form == 9:
        return f"np.sum({array(draw, scope, depth - 1)} > {scalar(draw, scope, 0)})"
    operator = _pick(draw, ("+", "-", "*", "/", "//", "%"))
    return f"({scalar(draw, scope, depth - 1)} {operator} {scalar(draw, scope, depth - 1)})"


UFUNCS = ("np.abs", "np.sqrt", "np.sin", "np.square", "np.exp", "np.negative", "np.tanh", "np.log")


def array(draw: Draw, scope: Scope, depth: int = 2) -> str:
    """Draw an expression for an array."""
    form = draw(st.integers(0, 12 if depth > 0 else 2))
    if form <= 2:
        return _pick(draw, scope.arrays)
    if form <= 5:
        operator = _pick(draw, ("+", "-", "*", "/", "+"))
        return f"({array(draw, scope, depth - 1)} {operator} {array(draw, scope, depth - 1)})"
    if form <= 7:
        operator = _pick(draw, ("+", "-", "*", "/", "**", "//", "%"))
        return f"({array(draw, scope, depth - 1)} {operator} {scalar(draw, scope, 0)})"
    if form == 8:
        return f"{_pick(draw, UFUNCS)}({array(draw, scope, depth - 1)})"
    if form == 9:
        a, b = array(draw, scope, depth - 1), array(draw, scope, depth - 1)
        return f"np.where({a} > {scalar(draw, scope, 0)}, {b}, {_pick(draw, scope.arrays)})"
    if form == 10:
        call = _pick(draw, ("helper({})", "deep({})", "helper({}, 3, shift=r)", "choose({}, 1)"))
        return call.format(array(draw, scope, depth - 1))
    if form == 11:
        tail = _pick(draw, ("[::-1]", "[:]", ".copy()", ".T", "[...]"))
        return f"{_pick(draw, scope.arrays)}{tail}"
    return f"np.maximum({array(draw, scope, depth - 1)}, {scalar(draw, scope, 0)})"


def condition(draw: Draw, scope: Scope, depth: int = 1) -> str:
    """Draw an expression for a truth value."""
    form = draw(st.integers(0, 9 if depth else 5))
    if form == 0:
        return "flag"
    if form <= 2:
        comparison = _pick(draw, ("<", ">", "<=", "==", "!="))
        return f"{scalar(draw, scope, 1)} {comparison} {scalar(draw, scope, 0)}"
    if form == 3:
        reduce = _pick(draw, ("any", "all"))
        return f"({_pick(draw, scope.arrays)} > {scalar(draw, scope, 0)}).{reduce}()"
    if form == 4:
        return _pick(draw, ("x is y", "x.ndim == 1", "k is None", "'c' in table", "len(items) > 2"))
    if form == 5:
        return f"{_pick(draw, scope.arrays)}.shape[0] > {_pick(draw, ('2', '3', '4'))}"
    if form == 6:
        return f"not ({condition(draw, scope, 0)})"
    if form == 7:
        return f"0 < {scalar(draw, scope, 1)} < {scalar(draw, scope, 0)}"
    joint = _pick(draw, ("and", "or"))
    return f"({condition(draw, scope, 0)}) {joint} ({condition(draw, scope, 0)})"


def anything(draw: Draw, scope: Scope) -> str:
    """Draw an expression of any type."""
    form = draw(st.integers(0, 5))
    if form <= 1:
        return array(draw, scope, 1)
    if form <= 3:
        return scalar(draw, scope, 1)
    return _pick(draw, [*scope.lists, *scope.dicts, *scope.tuples])


# -- statements: each returns its lines and may add to the scope ------------------------------------


def _assign_array(draw: Draw, scope: Scope) -> list[str]:
    text = array(draw, scope)
    name = scope.new("a")
    scope.arrays.append(name)
    return [f"{name} = {text}"]


def _assign_scalar(draw: Draw, scope: Scope) -> list[str]:
    text = scalar(draw, scope)
    name = scope.new("s")
    scope.scalars.append(name)
    return [f"{name} = {text}"]


def _in_place(draw: Draw, scope: Scope) -> list[str]:
    target = _pick(draw, scope.arrays)
    operator = _pick(draw, ("+=", "-=", "*=", "+="))
    value = _pick(draw, (array(draw, scope, 1), scalar(draw, scope, 1)))
    return [f"{target} {operator} {value}"]


def _set_item(draw: Draw, scope: Scope) -> list[str]:
    target = _pick(draw, scope.arrays)
    index = _pick(draw, ("0", "1:", "-1", "...", "::2", f"{target} > 1", "[0, 0]", "k"))
    return [f"{target}[{index}] = {scalar(draw, scope, 1)}"]


def _view(draw: Draw, scope: Scope) -> list[str]:
    target = _pick(draw, scope.arrays)
    tail = _pick(draw, ("[::-1]", "[:]", ".reshape(-1)[::-1].reshape(" + target + ".shape)", ".T"))
    name = scope.new("v")
    scope.arrays.append(name)
    return [f"{name} = {target}{tail}"]


def _list_work(draw: Draw, scope: Scope) -> list[str]:
    form = draw(st.integers(0, 5))
    if form <= 1:
        name = scope.new("l")
        made = [f"{name} = [{array(draw, scope, 1)}, {anything(draw, scope)}]"]
        scope.lists.append(name)
        scope.arrays.append(f"{name}[0]")
        return made
    target = _pick(draw, scope.lists)
    forms = (
        "{t}.append({v})",
        "{t}.insert(1, {v})",
        "{t}.extend(({v}, 1))",
        "{t}[1] = {v}",
        "{t} += [{v}]",
        "{t}[1:2] = [{v}, 5]",
        "{t}.append({t})",
    )
    return [_pick(draw, forms).format(t=target, v=anything(draw, scope))]


def _list_pop(draw: Draw, scope: Scope) -> list[str]:
    name = scope.new("o")
    target = _pick(draw, scope.lists)
    scope.tuples.append(name)
    return [f"{name} = ({target}.pop(), len({target}))", f"{target}.append({name}[0])"]


def _dict_work(draw: Draw, scope: Scope) -> list[str]:
    target = _pick(draw, scope.dicts)
    form = draw(st.integers(0, 6))
    value = anything(draw, scope)
    if form == 0:
        name = scope.new("d")
        scope.dicts.append(name)
        return [f"{name} = {{'p': {value}, 'q': {anything(draw, scope)}, **{target}}}"]
    if form == 1:
        return [f"{target}['c'] = {value}", f"{target}.pop('c')"]
    if form == 2:
        return [f"{target}.setdefault('z', []).append({value})"]
    if form == 3:
        return [f"{target}.update(w={value})"]
    if form == 4:
        return [f"{target}['b'] = {scalar(draw, scope, 1)}"]
    if form == 5:
        name = scope.new("o")
        scope.tuples.append(name)
        return [f"{name} = (list({target}), {target}.get('none', {value}))"]
    return [f"{target}['n'] = {value}", f"del {target}['n']"]


def _tuple_work(draw: Draw, scope: Scope) -> list[str]:
    form = draw(st.integers(0, 2))
    if form == 0:
        name = scope.new("t")
        text = f"{name} = ({array(draw, scope, 1)}, {anything(draw, scope)})"
        scope.tuples.append(name)
        scope.arrays.append(f"{name}[0]")
        return [text]
    if form == 1:
        a, b = scope.new("a"), scope.new("s")
        text = f"{a}, {b} = {array(draw, scope, 1)}, {scalar(draw, scope, 1)}"
        scope.arrays.append(a)
        scope.scalars.append(b)
        return [text]
    a, b = (_pick(draw, ("x", "y")) for _ in range(2))
    return [f"{a}, {b} = {b}, {a}"]


def _break(draw: Draw, scope: Scope) -> list[str]:
    forms = (
        "print('here')",
        "graph_break()",
        "print({v})",
        "note({v})",
        "q = [x, print('in a list'), {v}]",
        "print(noisy({a}))",
    )
    return [_pick(draw, forms).format(v=anything(draw, scope), a=array(draw, scope, 1))]


def _branch(draw: Draw, scope: Scope, depth: int) -> list[str]:
    lines = [f"if {condition(draw, scope)}:"]
    sides = [scope.copy(), scope.copy()]
    lines += [f"    {line}" for line in block(draw, sides[0], depth - 1, 3)]
    if draw(st.booleans()):
        lines.append("else:")
        lines += [f"    {line}" for line in block(draw, sides[1], depth - 1, 3)]
    return lines


def _rejoin(draw: Draw, scope: Scope) -> list[str]:
    name = scope.new("a")
    one, two = array(draw, scope, 1), array(draw, scope, 1)
    test = condition(draw, scope)
    scope.arrays.append(name)
    if draw(st.booleans()):
        return [f"{name} = {one} if {test} else {two}"]
    return [f"if {test}:", f"    {name} = {one}", "else:", f"    {name} = {two}"]


def _early_end(draw: Draw, scope: Scope) -> list[str]:
    ends = (
        "return {a}, items",
        "raise ValueError('ended', {s})",
        "raise Refused('mine', {s}) from KeyError('cause')",
        "return explode({a})",
    )
    end = _pick(draw, ends).format(a=array(draw, scope, 1), s=scalar(draw, scope, 1))
    return [f"if {condition(draw, scope)}:", f"    {end}"]


def _closure(draw: Draw, scope: Scope) -> list[str]:
    name, result, cell = scope.new("g"), scope.new("a"), scope.new("c")
    body = array(draw, scope, 1)
    lines = [f"{cell} = {scalar(draw, scope, 1)}"]
    if draw(st.booleans()):
        lines += [
            f"def {name}(v, w=r):",
            f"    nonlocal {cell}",
            f"    {cell} = {cell} + 1",
            f"    return v * {cell} + w",
        ]
    else:
        lines += [f"{name} = lambda v: v + {cell}"]
    lines += [f"{result} = {name}({body})", f"{cell} = {cell} * 2"]
    scope.arrays.append(result)
    scope.scalars.append(cell)
    if draw(st.booleans()):
        lines.append(f"{result} = {name}({result})")
    return lines


def _object(draw: Draw, scope: Scope) -> list[str]:
    name, result = scope.new("b"), scope.new("a")
    lines = [
        f"{name} = Box({scalar(draw, scope, 1)})",
        f"{name}.count += 1",
        f"{result} = {name}.scaled({array(draw, scope, 1)})",
    ]
    scope.arrays.append(result)
    scope.scalars.append(f"{name}.count")
    return lines


def _warn(draw: Draw, scope: Scope) -> list[str]:
    forms = (
        "warnings.warn('said', stacklevel=1)",
        "warnings.warn(f'value {s}', RuntimeWarning, stacklevel=2)",
        "w = x / 0",
        "w = np.log(y - y)",
    )
    return [_pick(draw, forms).replace("{s}", "{k}")]


def _text(draw: Draw, scope: Scope) -> list[str]:
    name = scope.new("o")
    text = scalar(draw, scope, 1).replace("'", '"')
    scope.tuples.append(name)
    return [f"{name} = (f'{{{text}}}', 'n=' + str(x.shape))"]


_SIMPLE = (
    (_assign_array, 8),
    (_assign_scalar, 4),
    (_in_place, 4),
    (_set_item, 3),
    (_view, 2),
    (_list_work, 4),
    (_list_pop, 1),
    (_dict_work, 4),
    (_tuple_work, 3),
    (_break, 4),
    (_rejoin, 2),
    (_early_end, 1),
    (_closure, 2),
    (_object, 1),
    (_warn, 1),
    (_text, 1),
)
_WEIGHTED = tuple(make for make, weight in _SIMPLE for _ in range(weight))


def block(draw: Draw, scope: Scope, depth: int, most: int) -> list[str]:
    """Draw a list of statements."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, most))):
        if depth and draw(st.integers(0, 5)) == 0:
            lines += _branch(draw, scope, depth)
        else:
            lines += draw(st.sampled_from(_WEIGHTED))(draw, scope)
    return lines


@st.composite
def programs(draw: Draw, most: int = 10) -> str:
    """Draw the source text of a function `f`."""
    scope = Scope()
    lines = [f"def f({', '.join(PARAMETERS)}):"]
    lines += [f"    {line}" for line in block(draw, scope, 2, most)]
    results = [anything(draw, scope) for _ in range(draw(st.integers(1, 3)))]
    lines.append(f"    return ({', '.join([*results, _pick(draw, scope.arrays)])},)")
    return "\n".join(lines) + "\n"


def argument_sets() -> list[dict[str, Any]]:
    """Return the argument sets of a program: same shape, other signs, other dtype, other shape, aliased."""

    def made(x: np.ndarray, y: np.ndarray, k: Any, r: Any, flag: object) -> dict[str, Any]:
        return {
            "x": x,
            "y": y,
            "k": k,
            "r": r,
            "flag": flag,
            "pair": (x * 0.5 + 1, 2),
            "items": [x + 1, 2.5, "text"],
            "table": {"a": y - 1, "b": 3},
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
