"""Sums and products of large arrays are computed from the side that NumPy computes them from: bit for bit, temporaries being what they are."""

from __future__ import annotations

import numpy as np
import pytest

import bcjit
from bcjit.fx_graph.elision import ever_swaps, swaps
from bcjit.fx_graph.extract import copy_graph

SIZE = 20_000  # complex: more than NumPy's 256 KiB


def both_nested(a, b):
    return np.conj(a) * np.conj(b)


def left_named(a, b):
    x = np.conj(a)
    return x * np.conj(b)


def right_named(a, b):
    y = np.conj(b)
    return np.conj(a) * y


def both_named(a, b):
    x, y = np.conj(a), np.conj(b)
    return x * y


def argument_and_temporary(a, b):
    return a * np.conj(b)


def twice_the_same(a, b):
    return a * np.conj(b) + np.conj(b) * b


def named_and_not(a, b):
    y = np.conj(b)
    return a * np.conj(b) - a * y


def view_and_temporary(a, b):
    return a[1:] * np.conj(b[1:]) + np.conj(a)[1:] * np.conj(b[1:])


def behind_a_write(a, b):
    a[0] = 1 + 2j
    return a * np.conj(b)


def in_a_loop(a, b):
    for i in range(40):
        a = a * np.conj(b + i)
    return a


def over_a_cut(a, b):
    return np.conj(a) * (bcjit.graph_break() or np.conj(b))


def over_a_cut_in_a_name(a, b):
    x = np.conj(a)
    return x * (bcjit.graph_break() or np.conj(b))


def in_a_list(a, b):
    kept = [np.conj(a)]
    return kept[0] * np.conj(b), kept


def inlined(a, b):
    return product(np.conj(a), np.conj(b)) + product(a, np.conj(b))


def product(x, y):
    return x * y


def with_a_number(a, b):
    return (1 + 3j) * np.conj(b) + a * np.complex128(3 - 2j)


def with_another_kind(a, b):
    return a.real * np.conj(b) + np.abs(a) * np.conj(b)


def of_nans(a, b):
    nan = np.full(a.shape, np.nan)
    return nan + np.copysign(nan, -1.0), np.copysign(nan, -1.0) + nan, nan * -nan, -nan * (nan + 1)


PROGRAMS = [
    both_nested, left_named, right_named, both_named, argument_and_temporary, twice_the_same, named_and_not, view_and_temporary,
    behind_a_write, in_a_loop, over_a_cut, over_a_cut_in_a_name, in_a_list, inlined, with_a_number, with_another_kind, of_nans,
]  # fmt: skip


def bits(value):
    if isinstance(value, tuple | list):
        return [bits(item) for item in value]
    return value.view(np.uint64).tobytes()


def arrays(size: int = SIZE):
    draw = np.random.default_rng(5)
    return tuple(draw.standard_normal(size) + 1j * draw.standard_normal(size) for _ in range(2))


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_products_have_the_bits_of_numpy(program, optimize):
    compiled = bcjit.compile(program, backend="eager")
    with bcjit.config.override(optimize=optimize):
        for size in (SIZE, 50, SIZE):
            assert bits(compiled(*arrays(size))) == bits(program(*arrays(size)))
    assert compiled.graphs


def test_only_sums_and_products_are_swapped():
    def differences(x, y):
        return x - -y, x / np.conj(y), x + -y

    for kind in (complex, np.int64):
        x, y = (np.arange(40_000.0).astype(kind) + start for start in (1, 7))
        compiled = bcjit.compile(differences, backend="eager")
        for _ in range(2):
            assert bits(compiled(x, y)) == bits(differences(x, y))


def test_copies_of_graphs_know_temporaries():
    compiled = bcjit.compile(argument_and_temporary, backend="eager")
    compiled(*arrays())
    (graph,) = compiled.graphs
    known = [node.temporaries for node in graph.calls]
    assert (False, True) in known
    assert [node.temporaries for node in copy_graph(graph).calls] == known


def test_the_order_matters_here():
    a, b = arrays()
    conj = np.conj(b)
    if bits(a * conj) == bits(conj * a):
        pytest.skip("this processor rounds complex products the same both ways")
    expected = np.multiply(conj, a) if ever_swaps() else np.multiply(a, conj)
    assert bits(argument_and_temporary(a, b)) == bits(expected)


def test_when_numpy_swaps():
    large = np.ones(40_000)
    assert swaps(np.ones(40_000), large)
    assert swaps(2.0, large)
    assert swaps(np.float64(2.0), large)
    assert not swaps(np.ones(3), np.ones(3))
    assert not swaps(np.ones(1), large)
    assert not swaps(np.ones(40_000, complex), large)
    assert not swaps(large, large[:])
    frozen = np.ones(40_000)
    frozen.flags.writeable = False
    assert not swaps(large, frozen)
