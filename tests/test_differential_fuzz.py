"""Programs that `fuzzer` writes, compiled and plain, cannot be told apart; one that differs is shown small.

A full run takes more than a thousand. By hand: ``python -m tests.fuzzer --count 1000 --seed 7``.
"""

from __future__ import annotations

import ast
import textwrap

import fuzzer
import pytest
from conftest import FIXED_SEED, FULL, share
from differential import Setting, compare, observe
from fuzz_run import (
    differences,
    differences_of,
    nodes,
    shrink,
    smallest,
    way_of,
    world_of,
)
from under_test import break_points, compile_breaking, run_plain

CHUNK = 10
FIXED = 600 if FULL else 60
FRESH = 600 if FULL else 30

# The first fixed programs, and nodes captured from them on the Python that captures least; only to be raised.
FIRST, FLOOR = (60, 4_300) if FULL else (20, 1_940)  # 3.14, the least, captures 4,414 and 1,994


def check(seed, chunk):
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        source = fuzzer.program(f"{seed}/{number}")
        way = way_of(number)
        if differences(source, way):
            small, lines = smallest(source, way)
            shown = "\n  ".join(lines[:10])
            pytest.fail(f"program {seed}/{number} {way} differs:\n  {shown}\n\n{small}")


# What differed once, made small. Each is run with a break at each instruction in turn.
FOUND = {
    "comprehension over an unbound name": "return [v * 2 for v in x], {v: 1 for v in range(2)}",
    "comprehension over a bound name": """
        v = 3
        a = [v * 2 for v in x]
        return a, v, {w for w in (1, v)}
    """,
    "comprehension that raises": """
        try:
            return [1 // (v - 1) for v in range(3)]
        except ZeroDivisionError:
            return v
    """,
    "comprehension in a loop that stays as it is": """
        for i in bag:
            a = [1 for v in table if 1 > 3]
        for i in range(3):
            try:
                a = [1 // w for w in range(i - 2, 1)]
            except ZeroDivisionError:
                y += 1
        return a, [w for w in bag], i
    """,
    "generator on the stack when an exception is caught": """
        try:
            for v in count_up(x, 3):
                try:
                    missing_name
                except 1:
                    pass
        finally:
            SEEN.append("behind")
    """,
    "reversed lists of several lengths": """
        for v in reversed(x.tolist()):
            np.multiply(y, 2, out=y, where=True)
        return y
    """,
    "dict that grows while it is iterated over": """
        d = {"a": x}
        for key in d:
            d[key + "b"] = x * 2
        return d
    """,
    "with block around a function that raises": """
        with Guarded(SEEN):
            refuse(y)
    """,
    "handler of what a function raises": """
        for v in range(2):
            try:
                refuse(x)
            except Refused as e:
                SEEN.append(e.args)
            finally:
                y += 1
    """,
    "dict that grows behind its iterator": """
        d = {"a": x}
        it = iter(d)
        d["b"] = x * 2
        print("break")
        return list(it)
    """,
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_cannot_be_told_from_plain(name):
    head = f"def f({', '.join(fuzzer.PARAMETERS)}):\n"
    source = head + textwrap.indent(textwrap.dedent(FOUND[name]).strip(), "    ") + "\n"
    points = break_points(world_of(source).fn)
    for asked in ([], points, *([point] for point in points)):
        found = differences_of(
            source, Setting(in_except=True), lambda fn: compile_breaking(fn, asked), (0, 5)
        )
        assert not found, f"broken at {asked}: {found[0]}"


@pytest.mark.timeout(0 if FULL else 300)
@pytest.mark.parametrize("chunk", share(range(FIXED // CHUNK), 3))
def test_fixed_programs_cannot_be_told_from_plain(chunk):
    check(FIXED_SEED, chunk)


@pytest.mark.timeout(0 if FULL else 300)
@pytest.mark.parametrize("chunk", range(FRESH // CHUNK))
def test_fresh_programs_cannot_be_told_from_plain(chunk, fresh_seed):
    check(fresh_seed, chunk)


def test_programs_are_the_same_for_the_same_seed_and_most_return():
    returned = total = 0
    for number in range(60):
        source = fuzzer.program(f"{FIXED_SEED}/{number}")
        assert source == fuzzer.program(f"{FIXED_SEED}/{number}")
        world = world_of(source)
        for record in observe(world.fn, world.calls, Setting(repeats=1), world):
            total += 1
            returned += record.outcome[0] == "returned"
    assert returned > 0.5 * total, f"{returned} of {total} calls returned"


def test_programs_hold_every_kind_of_statement():
    # What is never written is never tested.
    kinds = {
        type(node)
        for number in range(120)
        for node in ast.walk(ast.parse(fuzzer.program(f"{FIXED_SEED}/{number}")))
    }
    wanted = {
        ast.For, ast.While, ast.If, ast.Try, ast.With, ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Match,
        ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef, ast.Nonlocal, ast.Global,
        ast.AugAssign, ast.Delete, ast.Starred, ast.NamedExpr, ast.JoinedStr, ast.Assert, ast.IfExp, ast.Attribute,
    }  # fmt: skip
    assert wanted <= kinds, wanted - kinds


def test_fixed_programs_capture_at_least_their_floor():
    sources = [fuzzer.program(f"{FIXED_SEED}/{number}") for number in range(FIRST)]
    assert sum(map(nodes, sources)) >= FLOOR
    assert sum(nodes(source, run_plain) for source in sources) < FLOOR


def test_running_a_program_twice_is_seen():
    # Stands for every wrong transform: nearly all programs write or print something.
    def twice(fn):
        def called(*given, **named):
            fn(*given, **named)
            return fn(*given, **named)

        return called

    seen = 0
    for number in range(20):
        source = fuzzer.program(f"{FIXED_SEED}/{number}")
        records = [
            observe(transform(world.fn), world.calls, Setting(repeats=1), world)
            for transform, world in ((lambda fn: fn, world_of(source)), (twice, world_of(source)))
        ]
        seen += bool(compare(*records))
    assert seen >= 18, f"seen in {seen} of 20 programs"


def test_a_program_that_differs_is_made_small():
    # A transform that forgets a write stands for a bug; what is left must still have that write.
    source = (
        "def f(x, y, k):\n    a = x * 2\n    for i in range(3):\n        b = a + i\n        if b.sum() > 0:\n"
        "            y[0] = k * 2 + 1\n            print(b)\n    return a, y\n"
    )
    small = shrink(source, lambda text: "y[0] =" in text)
    assert "y[0] =" in small
    assert len(small.splitlines()) == 2, small
