"""The table of opcode handlers: nothing is missing, each does to the stack what its opcode declares.

The corpus of the differential tests and the samples below are captured with a wrapper around each handler that compares the
stack before and after with the declared effect. Handlers that no capture reaches fail the test.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys

import numpy as np
import pytest
from corpus import ENTRIES
from differential import observe
from under_test import TRANSFORMS

from bcjit.bytecode import Op, stack_effect
from bcjit.bytecode import dialect as dialects
from bcjit.errors import InternalError
from bcjit.symbolic_vm import BREAKS, CALL_OPS, HANDLERS, REASONS
from bcjit.symbolic_vm.handlers import PROLOGUE
from bcjit.symbolic_vm.machine import Machine

DIALECTS = dialects._DIALECTS
RUNNING = sys.version_info[:2]


def test_every_opcode_is_in_the_table() -> None:
    assert set(HANDLERS) == set(Op)
    assert PROLOGUE | CALL_OPS <= set(HANDLERS) - set(BREAKS)


@pytest.mark.parametrize("version", DIALECTS)
def test_every_opcode_of_a_version_is_handled_or_breaks_for_a_reason(version):
    dialect = DIALECTS[version]
    named = {op for op, _ in dialect.renames.values()}
    named |= {op for ops in dialect.writers for op in ops} | set(dialect.alone)
    assert named, version
    for op in named:
        assert op in HANDLERS, op


def test_opcodes_that_break_say_why() -> None:
    for op, (code, text) in BREAKS.items():
        assert code in REASONS, op
        assert len(text.split()) > 3, (op, text)
        assert "implement" not in text.lower(), (op, text)


class Ledger(dict):
    """The handlers, each wrapped in a check of what it does to the stack."""

    def __init__(self) -> None:
        super().__init__({op: self.wrap(op, handler) for op, handler in HANDLERS.items()})
        self.seen: set[Op] = set()
        self.jumps: set[tuple[Op, bool]] = set()

    def wrap(self, op, handler):
        def checked(vm: Machine, frame, instruction):
            before = vm.state
            leave = handler(vm, frame, instruction)
            after = vm.state if leave is None else leave.state
            jumped = leave is None and after.index != before.index
            pops, pushes = stack_effect(op, instruction.arg, jump=jumped)
            assert len(before.stack) >= pops, instruction
            if op in LEAVES:
                pushes = 0
            assert len(after.stack) == len(before.stack) - pops + pushes, (instruction, jumped)
            kept = len(before.stack) - pops
            assert all(a is b for a, b in zip(before.stack[:kept], after.stack[:kept], strict=True))
            if op not in LOCALS:
                assert after.locals == before.locals, instruction
            if jumped:
                assert after.index == instruction.arg
            self.seen.add(op)
            self.jumps.add((op, jumped))
            return leave

        return checked


LOCALS = {Op.STORE_FAST, Op.DELETE_FAST, Op.MAKE_CELL, Op.LOAD_FAST_AND_CLEAR}
# Opcodes that leave the frame: what is below stays for when it goes on.
LEAVES = {Op.RETURN_GENERATOR, Op.YIELD_VALUE}


@pytest.fixture
def ledger(monkeypatch) -> Ledger:
    made = Ledger()
    door = importlib.import_module("bcjit.symbolic_vm.capture")
    monkeypatch.setattr(door, "HANDLERS", made)
    return made


def sample_names(x):
    a = b = x + 1
    a, b = b, a
    del a
    k, m, *rest = (1, 2, 3, 4)
    a = x * k
    return a, b, rest, m


def sample_operators(x, n):
    return -x, +x, ~n, not n, x @ x, x is x, x is not n, n in (1, 2), n not in (1, 2), x[1:3], x[0]


def sample_writes(x, n):
    y = x + 0.0
    y[0] = 1.0
    y[1:2] = 2.0
    more = {"b": 1}
    table = {"a": x, **more}
    table["c"] = n
    items = [x, *[1, 2]]
    items[0] = n
    return y, table, items, {"p": 1, "q": x}, (*items, 3), [n, n, n], [1, 2, 3]


def sample_large_dict(x, n):
    return {
        "a": x, "b": n, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1,
        "k": 1, "l": 1, "m": 1, "n": 1, "o": 1, "p": 1, "q": 1, "r": x + 1, "s": 1,
    }  # fmt: skip


def sample_texts(x, n=3):
    k = 7
    a = f"{k}"
    b = f"{k!r:>4} and {k}"
    return x + 1, a, b, a + b


def takes_all(a, /, b, *rest, key=1, **more):
    return a + b + key, rest, more


def sample_calls(x, n):
    given = (x, 2)
    named = {"key": 5}
    first = takes_all(x, 1, 2, key=3, other=4)
    second = takes_all(*given, **named)
    third = takes_all(*given)
    return first, second, third, x.sum(axis=0), x.reshape(-1, 1).shape


def sample_closures(x, n):
    scale = x + n

    def inner(y, k: int = 2, *, shift=1):
        nonlocal scale
        scale = y * k + shift
        return scale

    out = inner(x)
    return out, scale


def sample_deleted_cell(x):
    keep = x + 1

    def reader():
        return keep  # noqa: F821 - deleted only behind the call

    got = reader()
    del keep
    return got


def sample_jumps(x, n, none=None):
    if n > 2:
        x = x + 1
    if n < 2:
        x = x + 1
    if none is None:
        x = x * 2
    if none is not None:
        x = x * 3
    if n is None:
        x = x * 5
    if n is not None:
        x = x * 7
    a = n and n + 1
    b = none or n
    c = none and n
    d = n or 2
    low = 1 < n < 5
    assert n
    return x, a, b, c, d, low


def sample_bools(x, n):
    return x.sum() > 1 and x.max() > 0, not x.any(), bool(n)


def sample_matches(x, n):
    match n:
        case 1:
            return x
        case 3:
            return x + 1
    return x + 2


def sample_loops(x, n):
    found = []
    for i, item in enumerate((x, x + n)):
        found.append(item * i)
    doubled = [item * 2 for item in found]
    total = sum(item.sum() for item in doubled)
    try:
        int("x")
    except ValueError:
        total = total + 1
    return found, doubled, total


SAMPLES = {
    sample_loops: (3,),
    sample_names: (),
    sample_operators: (3,),
    sample_writes: (3,),
    sample_large_dict: (3,),
    sample_texts: (),
    sample_calls: (3,),
    sample_closures: (3,),
    sample_deleted_cell: (),
    sample_jumps: (3,),
    sample_bools: (3,),
    sample_matches: (3,),
}


def test_handlers_do_to_the_stack_what_their_opcodes_declare(ledger):
    with contextlib.redirect_stdout(io.StringIO()):
        for fn, more in SAMPLES.items():
            compiled = TRANSFORMS["eager"](fn)
            x = np.arange(1.0, 5.0)
            assert repr(compiled(x, *more)) == repr(fn(np.arange(1.0, 5.0), *more)), fn.__name__
    for entry in ENTRIES:
        world = entry.make()
        observe(TRANSFORMS["eager"](world.fn), world.calls, world=world)
    produced = {op for op, _ in DIALECTS[RUNNING].renames.values()}
    produced |= {op for ops in DIALECTS[RUNNING].writers for op in ops}
    unseen = produced - ledger.seen - set(BREAKS)
    assert not unseen
    for op in (Op.POP_JUMP_IF_TRUE, Op.POP_JUMP_IF_FALSE):
        assert {(op, True), (op, False)} <= ledger.jumps


def test_a_wrong_effect_is_found(ledger, monkeypatch):
    def forgets(vm, frame, instruction):
        return None

    monkeypatch.setitem(ledger, Op.POP_TOP, ledger.wrap(Op.POP_TOP, forgets))

    def fn(x):
        x.sum()
        return x

    with pytest.raises((AssertionError, InternalError), match="POP_TOP"):
        TRANSFORMS["eager"](fn)(np.zeros(2))
