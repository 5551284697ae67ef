"""Nothing stays: arrays, graphs and code die with their function, and memory does not grow with calls."""

from __future__ import annotations

import gc
import os
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from conftest import FULL
from programs import function_from
from under_test import compile_eager

CALLS = 100_000 if FULL else 4_000
ROUNDS = 1_000 if FULL else 60
# Bytes that allocators may keep. In full runs a leak of 50 bytes a call or 5 kB a round is more.
GROWTH = 3 << 20

SOURCES = {
    "whole": "def f(x, k):\n    y = x * k + 1\n    return y, y[1:], [x, y]\n",
    "branch": (
        "def f(x, k):\n    y = x * k\n    if y.sum() > 0:\n        return y + 1\n    return y - 1\n"
    ),
    "break": (
        "def f(x, k):\n    y = x * k\n    note(k)\n    SEEN.clear()\n    z = y + 1\n    return z, y\n"
    ),
    "closure": (
        "def f(x, k):\n    total = x.sum()\n    def g(v):\n        return v * total\n"
        "    SEEN.clear()\n    total = total + k\n    return g(x), g\n"
    ),
    "bailout": "def f(x, k):\n    y = x * k\n    z = y.reshape(2, 2)\n    return z + 1\n",
    "inline": "def f(x, k):\n    return deep(x) + helper(x, k) - Box(x).scaled(x)\n",
}


def resident():
    """Return the resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def arguments(number):
    """Return arguments of call `number`; some make 'bailout' fail, some take the other side."""
    size = 4 if number % 3 else 5
    sign = -1.0 if number % 2 else 1.0
    return np.arange(size) * sign, 2 + number % 5


def call(f, number):
    try:
        return f(*arguments(number))
    except ValueError:
        return None


@pytest.mark.parametrize("name", SOURCES)
def test_memory_does_not_grow_with_calls(name):
    f = compile_eager(function_from(SOURCES[name], name))
    for number in range(CALLS // 4):
        call(f, number)
    gc.collect()
    before = resident()
    for number in range(CALLS):
        call(f, number)
    gc.collect()
    assert resident() - before < GROWTH


@pytest.mark.parametrize("name", SOURCES)
def test_memory_does_not_grow_with_compiled_functions(name):
    def one_round():
        f = compile_eager(function_from(SOURCES[name], name))
        for number in range(6):
            call(f, number)

    for _ in range(max(ROUNDS // 4, 20)):
        one_round()
    gc.collect()
    before = resident()
    for _ in range(ROUNDS):
        one_round()
    gc.collect()
    assert resident() - before < GROWTH


@pytest.mark.parametrize("name", SOURCES)
def test_arguments_and_results_die_after_the_call(name):
    f = compile_eager(function_from(SOURCES[name], name))
    for number in range(12):
        x, k = arguments(number)
        watched = [weakref.ref(x)]
        try:
            result = f(x, k)
        except ValueError:
            result = None
        parts = result if isinstance(result, (tuple, list)) else (result,)
        watched += [
            weakref.ref(p) for p in parts if isinstance(p, (np.ndarray, types.FunctionType))
        ]
        del x, result, parts
        gc.collect()
        assert [ref() for ref in watched] == [None] * len(watched), number


@pytest.mark.parametrize("name", SOURCES)
def test_deleting_the_function_frees_code_and_graphs(name):
    plain = function_from(SOURCES[name], name)
    f = compile_eager(plain)
    for number in range(6):
        call(f, number)
    watched = [weakref.ref(f), weakref.ref(plain), weakref.ref(plain.__code__)]
    watched += [weakref.ref(graph) for graph in f.graphs]
    assert len(watched) > 3, "nothing was captured"
    del plain, f
    gc.collect()
    assert [ref() for ref in watched] == [None] * len(watched)


@pytest.mark.parametrize("name", SOURCES)
def test_result_dies_by_reference_count_alone(name):
    # A cycle through an array would keep it until the collector runs, which plain Python does not.
    f = compile_eager(function_from(SOURCES[name], name))
    for number in range(1, 12, 3):
        call(f, number)
    gc.collect()
    gc.disable()
    try:
        x, k = np.arange(4.0), 2
        ref = weakref.ref(x)
        result = f(x, k)
        del x, result
        assert ref() is None
    finally:
        gc.enable()


def test_global_array_is_not_kept_alive():
    f = function_from("TABLE = None\ndef f(x):\n    return x + TABLE\n", "global_array")
    f.__globals__["TABLE"] = np.ones(3)
    ref = weakref.ref(f.__globals__["TABLE"])
    compiled = compile_eager(f)
    compiled(np.ones(3))
    compiled(np.ones(3))
    f.__globals__["TABLE"] = np.zeros(3)
    gc.collect()
    assert ref() is None
    assert compiled(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
