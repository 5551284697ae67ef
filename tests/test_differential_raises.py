"""Functions that raise at each place in turn, before and after a break, look the same compiled.

Each program is a list of statements into which one raising (or warning) line is put at each position,
with a print or a graph break at another. Tracebacks, causes, contexts, warnings are compared.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import FULL, share
from differential import Setting, World, args, assert_same, observe
from programs import copy_arguments, function_from
from under_test import TRANSFORMS

STATEMENTS = (
    "a = x * 2",
    "b = a + y",
    "c = [a, b]",
    "d = {'b': b, 'n': x.shape[0]}",
    "x[0] = d['n']",
    "e = c[1].sum() * 0.5",
    "g = helper(b, shift=e)",
    "view = g[1:]",
    "view += 1",
    "g = choose(g, k) - k",
)
LAST = ("later = 1", "return g, view, c, d, e")

BREAKS = {"print": "print('break')", "graph_break": "graph_break()"}

# Expressions that raise or warn; the name of each is the id of its test.
RAISING = {
    "shape_mismatch": "x + np.ones(7)",
    "matmul_mismatch": "x @ np.ones((7, 2))",
    "index": "x[99]",
    "index_of_list": "[x, y][k + 9]",
    "index_array": "x[[0, 99]]",
    "too_many_indices": "x[0, 0, 0]",
    "key": "{'a': x}['none']",
    "key_unhashable": "{}[x]",
    "zero_int": "k // zero",
    "zero_float": "(k + 0.5) % zero",
    "type_of_operand": "x + 'text'",
    "type_of_scalars": "k + 'text'",
    "type_of_call": "len(k)",
    "not_callable": "k(x)",
    "attribute_of_array": "x.nothing",
    "attribute_of_module": "np.nothing",
    "attribute_of_int": "k.nothing",
    "unbound_local": "later",
    "name": "missing_name",
    "linalg": "np.linalg.inv(np.zeros((2, 2)))",
    "callee": "explode(x)",
    "callee_with_cause": "refuse(x)",
    "callee_in_callee": "deep('text')",
    "missing_argument": "helper()",
    "unknown_keyword": "helper(x, nope=1)",
    "reshape": "x.reshape(7, 7)",
    "axis": "x.sum(axis=3)",
    "concatenate": "np.concatenate([x, np.ones((2, 2))])",
    "truth": "not (x > 0)",
    "comparison": "k < 'text'",
    "format": "f'{x:zz}'",
    "conversion": "float(x)",
    "int_of_nan": "int(np.float64('nan'))",
    "overflow_python": "10.0 ** (k + 400)",
    "int_does_not_fit": "np.ones(2, 'i1') + 300",
    "ufunc_keyword": "np.add(x, y, nope=1)",
    "out_shape": "np.add(x, y, out=np.ones(7))",
    "out_cast": "np.add(x, y, out=np.ones(4, 'i4'))",
    "warns_divide": "x / 0",
    "warns_invalid": "np.sqrt(x - 100)",
    "warns_overflow": "np.exp(x * 1e4)",
    "warns_scalar": "np.float64(1e300) * np.float64(1e300)",
    "warns_mean": "x[:0].mean()",
    "warns_user": "warnings.warn('said', stacklevel=2)",
    "bound_method": "Box(1).scaled('a', 2)",
    "over_lines": "(\n    x\n    + np.ones(\n        7,\n    )\n)",
}

# Statements of other forms.
RAISING_STATEMENTS = {
    "raise_instance": "raise ValueError('said', 1)",
    "raise_class": "raise RuntimeError",
    "raise_from": "raise KeyError('k') from ZeroDivisionError('z')",
    "raise_from_none": "raise KeyError('k') from None",
    "raise_user": "raise Refused('mine', x)",
    "raise_nothing": "raise",
    "raise_no_exception": "raise k",
    "assert": "assert x.sum() == 12345, f'sum {k}'",
    "unpack_few": "p, q, s = c0 = [x, y]",
    "unpack_not_iterable": "p, q = k",
    "store_item": "x[99] = 1",
    "store_item_shape": "x[1:] = np.ones(9)",
    "store_item_text": "x[0] = 'text'",
    "in_place_cast": "x += 1j",
    "in_place_shape": "x += np.ones(7)",
    "in_place_warns": "x /= zero",
    "delete_name": "del later",
    "delete_item": "del {}['none']",
    "delete_slot": "del x[0]",
    "store_attribute": "x.nothing = 1",
    "store_attribute_of_int": "k.nothing = 1",
    "star_call": "helper(*k)",
    "import": "import no_such_module_at_all",
    "import_name": "from numpy import no_such_name",
}

HOLES = (
    "z = {bad}",
    "z = [x, (x + 1, {bad}), x.sum()]",
    "z = helper(x * 2, shift={bad})",
)


def source_of(lines):
    """Return a function with these statements."""
    body = "".join(f"    {line}\n" for statement in lines for line in statement.splitlines())
    return f"def f(x, y, k, zero):\n{body}"


def world_of(source):
    given = (
        {"x": np.array([1.0, 2.0, -3.0, 4.0]), "y": np.arange(4.0), "k": 2, "zero": 0},
        {"x": np.arange(1, 6), "y": np.float64(2), "k": 3, "zero": 0},
    )

    def make():
        f = function_from(source, "raises")
        return World(f, [lambda one=one: args(**copy_arguments(one)) for one in given])

    return make


def sources(statement, break_line):
    """Yield programs: the statement at each position, a break nowhere and at others."""
    count = len(STATEMENTS) + 1
    for at in range(count):
        # In short runs each position has one of: no break, one just before, one a little earlier.
        breaks = range(-1, count) if FULL else ((-1, at, max(at - 2, 0))[at % 3],)
        for cut in breaks:
            lines = list(STATEMENTS)
            lines.insert(at, statement)
            if cut >= 0:
                lines.insert(cut, break_line)
            yield source_of([*lines, *LAST])


def settings_of(name):
    plain = Setting(in_except=True)
    return (plain, Setting("error", repeats=1)) if "warns" in name else (plain,)


def check_all(made, transform, settings):
    """Compare every program; fail with the first differing ones."""
    problems = []
    for source in made:
        try:
            assert_same(world_of(source), transform, settings)
        except AssertionError as error:
            problems.append(f"{error}\n{source}")
    assert not problems, f"{len(problems)} programs differ, the first:\n{problems[0]}"


@pytest.mark.parametrize("break_kind", BREAKS)
@pytest.mark.parametrize("kind", [*RAISING, *RAISING_STATEMENTS])
def test_raising_at_each_position_looks_like_plain(kind, break_kind):
    statement = RAISING_STATEMENTS.get(kind) or f"z = {RAISING[kind]}"
    made = share(sources(statement, BREAKS[break_kind]), 2)
    check_all(made, TRANSFORMS["eager"], settings_of(kind))


@pytest.mark.parametrize("hole", HOLES[1:], ids=["display", "call"])
@pytest.mark.parametrize("kind", RAISING)
def test_raising_inside_an_expression_looks_like_plain(kind, hole):
    bad = RAISING[kind]
    expressions = (bad, f"(print('in'), {bad})", f"({bad}, print('after'))")
    made = []
    for at, expression in share(itertools.product((0, 5, 9), expressions), 4):
        lines = list(STATEMENTS)
        lines.insert(at, hole.format(bad=expression))
        made.append(source_of([*lines, *LAST]))
    check_all(made, TRANSFORMS["eager"], settings_of(kind))


def test_every_kind_raises_or_warns_in_plain_python():
    # A line that does neither would test nothing.
    for kind, statement in {
        **{kind: f"z = {bad}" for kind, bad in RAISING.items()},
        **RAISING_STATEMENTS,
    }.items():
        world = world_of(source_of([statement, *STATEMENTS, *LAST]))()
        record = observe(world.fn, world.calls, Setting(repeats=1))[0]
        assert record.outcome[0] == "raised" or record.events, kind


def test_programs_without_a_raising_line_return():
    world = world_of(source_of([*STATEMENTS, *LAST]))()
    assert all(r.outcome[0] == "returned" for r in observe(world.fn, world.calls))
