"""Undo: an instruction that is given up leaves no trace, wherever a capture is when it gives up.

The measure is a capture that was told beforehand to stop there (`capture_limit`), and so never tried the instruction.
"""

from __future__ import annotations

import types

import numpy as np
import pytest
from corpus import ENTRIES
from vm_kit import DOOR, Painter, capture_call, machine_picture, machines, values_of

from bcjit.bytecode import Op
from bcjit.config import config
from bcjit.errors import GraphBreak
from bcjit.symbolic_vm import HANDLERS, REASONS, BreakExit, ReturnExit
from bcjit.symbolic_vm.handlers import PROLOGUE
from bcjit.symbolic_vm.machine import Machine, holds_cell

LIMIT = REASONS["BRK018"]


def helper(v, scale=2.0, *, shift=0):
    w = v * scale
    return w + shift


def outer_helper(v):
    return helper(v, shift=len(v)) - helper(v)


def simple(x, n):
    y = x * n
    z = y + x[: n - 1].sum()
    return z.reshape(-1), y.shape[0] * 2


def containers(x, n, table):
    items = [x, n]
    items.append(table["a"] + x)
    extra = {"k": items, **table}
    extra["n"] = (n, n + 1)
    return items[2], extra, f"{'n'}!", items[-1] is x


def writes(x, n):
    y = x + 1
    y[0] = n
    y += x
    y[1:] *= 2
    return y, x


def cells(x, n):
    total = x

    def add(k, *, twice=False):
        nonlocal total
        total = total + k
        return total

    first = add(n)
    return first, add(1), total


def calls(x, n):
    return outer_helper(x) + helper(x, n, shift=1)


def facts(x, y, n):
    if n > 2 and len(x) != n:
        x = x + y
    if x.shape[0] * 2 == y.shape[0] + n:
        return x
    return x - y


OWN = (
    (simple, (np.arange(5.0), 3)),
    (containers, (np.arange(5.0), 3, {"a": np.ones(5), "b": 2})),
    (writes, (np.arange(5.0), 3)),
    (cells, (np.arange(5.0), 3)),
    (calls, (np.arange(5.0), 3)),
    (facts, (np.arange(5.0), np.arange(5.0), 3)),
)


def functions():
    """Yield names, functions and arguments: the own ones, and some of the corpus."""
    for fn, arguments in OWN:
        yield fn.__name__, fn, arguments, {}
    for entry in ENTRIES[::6]:
        if "large" in entry.tags or not entry.expects_capture:
            continue
        world = entry.make()
        args, kwargs = world.calls[0]()
        if isinstance(world.fn, types.FunctionType):
            try:
                values_of(world.fn, args, kwargs)
            except TypeError:
                continue
            yield entry.name, world.fn, args, kwargs


CASES = list(functions())


def stopped(fn, args, kwargs, limit, monkeypatch):
    """Return the pictures of a capture that does not try what comes after `limit` instructions."""
    with config.override(capture_limit=limit), machines(monkeypatch) as found:
        done = capture_call(fn, *args, **kwargs)
    return found[0], end_picture(done), done


def end_picture(done):
    painter = Painter()
    end = done.end
    why = "returns" if isinstance(end, ReturnExit) else (end.instruction, end.cause.line)
    return painter.paint(end.state), painter.paint(done.end_position), why, done.guards


class Giving(dict):
    """The handlers; that of the instruction behind `limit` others runs and then gives up."""

    def __init__(self, limit):
        super().__init__({op: self.wrap(op, handler) for op, handler in HANDLERS.items()})
        self.left = limit

    def wrap(self, op, handler):
        def counted(vm, frame, instruction):
            self.left -= op not in PROLOGUE
            over = self.left < 0  # a call counts before what is inlined in it
            leave = broke = None
            try:
                leave = handler(vm, frame, instruction)
            except GraphBreak as cause:
                broke = cause  # for a reason of its own, for which some guards would stay
            starts = frame.listing.group_at(instruction.offset)[0] is instruction
            before = vm.positions[-1].state.stack
            if over and starts and op not in PROLOGUE and not any(map(holds_cell, before)):
                raise GraphBreak(LIMIT)
            if broke is not None:
                raise broke
            return leave

        return counted


@pytest.mark.parametrize("name,fn,args,kwargs", CASES, ids=[case[0] for case in CASES])
def test_an_instruction_that_was_done_and_given_up_leaves_no_trace(
    name, fn, args, kwargs, monkeypatch
):
    whole = capture_call(fn, *args, **kwargs)
    tried = 0
    for limit in range(1, min(whole.steps, 150)):
        want = stopped(fn, args, kwargs, limit, monkeypatch)
        with monkeypatch.context() as patch, machines(monkeypatch) as found:
            patch.setattr(DOOR, "HANDLERS", Giving(limit))
            got = capture_call(fn, *args, **kwargs)
        assert found[0] == want[0], f"{name} behind {limit} instructions"
        assert end_picture(got) == want[1], f"{name} behind {limit} instructions"
        tried += 1
    assert tried or whole.steps <= 2


@pytest.mark.parametrize("name,fn,args,kwargs", CASES, ids=[case[0] for case in CASES])
def test_an_instruction_given_up_in_its_middle_leaves_no_trace(name, fn, args, kwargs, monkeypatch):
    """Each guard, input and node is a place to give up at; the measure is the capture that stops before the instruction."""
    stops = []

    def count(limit):
        made = {"seen": 0}
        with monkeypatch.context() as patch:
            for method in ("guard", "graph_input", "new_id", "bind_symbol", "record"):
                patch.setattr(Machine, method, interrupting(getattr(Machine, method), made, limit))
            with machines(monkeypatch) as found:
                done = capture_call(fn, *args, **kwargs)
        return made["seen"], found[0], done

    total, _, whole = count(None)
    for limit in range(1, min(total, 60) + 1):
        _, got, done = count(limit)
        if not isinstance(done.end, BreakExit) or done.end.cause.reason is not LIMIT:
            continue
        stops.append(limit)
        before = steps_before(fn, args, kwargs, done, monkeypatch)
        if (
            before is None
        ):  # a capture tries at least one instruction, and does not stop within a group
            cut = done.end.instruction
            assert limit <= 2 or done.frame.listing.group_at(cut.offset)[0] is not cut
            continue
        want, end, _ = stopped(fn, args, kwargs, before, monkeypatch)
        assert got == want, f"{name} at interruption {limit}"
        assert end_picture(done) == end, f"{name} at interruption {limit}"
    assert stops or not total


def interrupting(method, made, limit):
    def wrapped(self, *args, **kwargs):
        made["seen"] += bool(self.positions)  # not while the first state is made
        if self.positions and made["seen"] == limit:
            raise GraphBreak(LIMIT)
        return method(self, *args, **kwargs)

    return wrapped


def steps_before(fn, args, kwargs, done, monkeypatch):
    """Return the limit at which a capture stops before the same instruction of the outermost frame; None if none does."""
    place = done.end.state.index
    for limit in range(1, done.steps + 1):
        with config.override(capture_limit=limit):
            other = capture_call(fn, *args, **kwargs)
        if (
            isinstance(other.end, BreakExit)
            and other.end.cause.reason is LIMIT
            and other.end.state.index == place
            and other.graph.text() == done.graph.text()
        ):
            return limit
    return None


def test_truncating_to_any_mark_gives_the_machine_as_it_was(monkeypatch):
    """Marks are taken before every instruction of a capture; at its end the machine goes back through all of them."""
    seen = []

    class Marking(dict):
        def __init__(self):
            super().__init__({op: self.wrap(handler) for op, handler in HANDLERS.items()})

        def wrap(self, handler):
            def marking(vm, frame, instruction):
                if not frame.inlined:
                    seen.append((vm.mark(), machine_picture(vm)))
                return handler(vm, frame, instruction)

            return marking

    checked = 0
    close = Machine.close

    def rewinding(self):
        nonlocal checked
        for mark, picture in reversed(seen):
            self.truncate(mark)
            assert machine_picture(self) == picture
            checked += 1
        close(self)

    monkeypatch.setattr(DOOR, "HANDLERS", Marking())
    monkeypatch.setattr(Machine, "close", rewinding)
    for fn, args in OWN:
        seen.clear()
        capture_call(fn, *args)
    assert checked > 100


def test_the_measure_tells_captures_apart(monkeypatch):
    first = stopped(simple, OWN[0][1], {}, 2, monkeypatch)
    second = stopped(simple, OWN[0][1], {}, 15, monkeypatch)
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert isinstance(first[2].end, BreakExit)
    assert first[2].end.instruction.op is not Op.RETURN_VALUE
