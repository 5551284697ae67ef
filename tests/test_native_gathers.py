"""Reads at index arrays inside native kernels: values, layouts, bounds, and that no kernel reads what it makes itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_native_views import Array, Recorder, same
from test_native_writes import Maker, check

import bcjit


def scaled(t: Array, i: Array, v: Array) -> Array:
    return t[i] * v


def taken(t: Array, i: Array, v: Array) -> Array:
    return np.take(t, i) + v - t.take(i - 1, axis=0)


def interpolated(t: Array, i: Array, v: Array) -> Array:
    at = np.abs(v * 2)
    k = at.astype(np.int64) % 5
    part = at - k
    return t[k] * (1 - part) + t[k + 1] * part


def by_numpys_loops(t: Array, i: Array, v: Array) -> Array:
    return np.sin(t[i]) + t[np.rint(np.cos(v)).astype(np.int32)]


def of_views(t: Array, i: Array, v: Array) -> Array:
    return t[1:][i % 4] * t[::-2][i % 2] + t[None, :, None][0, :, 0][i % 3]


def rolled(t: Array, i: Array, v: Array) -> Array:
    return np.roll(t, 2)[i % 7] * v + t[np.roll(i, 1)]


def table_made_before(t: Array, i: Array, v: Array) -> Array:
    of_v = v * 2 + 1  # as many elements as what is read of it
    return of_v[i % 3] * of_v + of_v[::-1][i % 2]


def table_of_tables(t: Array, i: Array, v: Array) -> Array:
    return t[i * 0 + (i[i % 3] % 4)] + v


FUNCTIONS = [
    scaled, taken, interpolated, by_numpys_loops, of_views, rolled, table_made_before, table_of_tables,
]  # fmt: skip


def given(n: int, dtype: str = "f8", places: str = "i8") -> tuple[Array, Array, Array]:
    i = (np.arange(n) * 5 % 13 - 6).astype(places)
    return (np.arange(7) ** 2 - 3).astype(dtype), i, np.linspace(-2, 3, n)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_reads(function: Callable[..., Any]) -> None:
    def makers() -> list[Maker]:
        return [lambda: given(11), lambda: given(1500), lambda: given(5, places="i2")]

    made = check(function, *makers(), writes=0)
    assert made.kernels
    assert not any(kernel.fell_back for kernel in made.kernels)
    assert "[i" not in made.source or function is table_of_tables


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "c8", "c16"])
def test_dtypes_of_tables(dtype: str) -> None:
    def picked(t: Array, i: Array) -> Array:
        return np.where(t[i] == t[i - 1], t[1:][i % 6], t[-i])

    made = check(picked, lambda: given(9, dtype)[:2], writes=0)
    assert made.kernels
    assert not any(kernel.fell_back for kernel in made.kernels)


@pytest.mark.parametrize("places", ["i1", "u1", "u4", "u8", ">i8"])
def test_dtypes_of_indices(places: str) -> None:
    def maker() -> tuple[Array, Array, Array]:
        t, i, v = given(9)
        return t, np.abs(i).astype(places), v

    made = check(scaled, maker, writes=0)
    assert not any(kernel.fell_back for kernel in made.kernels)


def pairs(t: Array, i: Array, j: Array) -> Array:
    return t[i, j] * 2 + t[j, i]


def triples(t: Array, i: Array, j: Array) -> Array:
    return t[None][i * 0, i, j] + 1


def in_place(t: Array, i: Array, j: Array) -> Array:
    t += t[i, j] * 0.5
    return t


@pytest.mark.parametrize("function", [pairs, triples, in_place])
def test_several_indices_and_layouts(function: Callable[..., Any]) -> None:
    """Whether a kernel does it or not: results lie as NumPy lays them."""
    t = np.arange(24.0).reshape(4, 6)[:, :4]
    i, j = np.arange(16).reshape(4, 4) % 4, np.arange(16).reshape(4, 4) % 3 - 1
    orders: list[Callable[[Array], Array]] = [
        np.array, np.asfortranarray, lambda a: a.T, lambda a: np.repeat(a, 2, 0)[::2],
        lambda a: np.array(a[:, ::-1])[:, ::-1], lambda a: np.repeat(a, 2, 1)[:, ::2],
    ]  # fmt: skip
    for one in orders:
        makers: list[Maker] = [
            lambda one=one, other=other: (np.array(t), one(i), other(j)) for other in orders
        ]
        made = check(function, *makers, writes=int(function is in_place))
        assert any(kernel.fell_back < kernel.calls for kernel in made.kernels)
    compiled = bcjit.compile(pairs, backend=Recorder())
    for one, other in ((i[:, :1], j[:1]), (i[:1], j[:, :1]), (i[0], j)):
        same(compiled(t, one, other), pairs(t, one, other))


@pytest.mark.parametrize("function", [scaled, taken])
def test_layouts_of_one_index(function: Callable[..., Any]) -> None:
    t, i, _ = given(12)
    i, v = i.reshape(3, 4), np.arange(12.0).reshape(3, 4)
    compiled = bcjit.compile(function, backend=Recorder())
    alone = bcjit.compile(lambda t, i: t[i], backend=Recorder())
    orders: list[Callable[[Array], Array]] = [
        np.array, np.asfortranarray, lambda a: np.repeat(a, 2, 0)[::2], lambda a: a[::-1],
        lambda a: a[:, ::-1], lambda a: np.asfortranarray(a)[::-1], lambda a: a[:1], lambda a: a[:, 1:2],
    ]  # fmt: skip
    for one in orders:
        same(alone(t, one(i)), t[one(i)])
        for other in orders:
            if one(i).shape == other(v).shape:
                same(compiled(t, one(i), other(v)), function(t, one(i), other(v)))


def beyond(n: int, *places: int) -> Maker:
    def maker() -> tuple[Array, Array, Array]:
        t, i, v = given(n)
        i[-len(places) :] = places
        return t, i, v

    return maker


@pytest.mark.parametrize("function", [scaled, taken])
def test_indices_out_of_bounds_are_numpys_error(function: Callable[..., Any]) -> None:
    for state in ("warn", "ignore"):
        with np.errstate(all=state):
            made = check(
                function,
                beyond(11, 6),
                beyond(11, 7),
                beyond(11, -8, 2),
                beyond(3, 10**9),
                beyond(1500, 7, 1),
                lambda: (np.zeros(0), *given(4)[1:]),
                lambda: (np.zeros(0), *given(0)[1:]),
                writes=0,
            )
            assert all(0 < kernel.fell_back < kernel.calls for kernel in made.kernels)


def test_an_index_out_of_bounds_before_a_write() -> None:
    def stored(t: Array, i: Array, v: Array) -> Array:
        v += 1
        v[1:] = t[i[1:]] * 2 + v[:-1]
        v *= 2
        return v

    made = check(stored, beyond(6, 1), beyond(6, 9, 0))
    assert made.kernels


def test_an_array_may_be_read_where_it_is_written() -> None:
    def turned(v: Array, i: Array) -> None:
        v[...] = v[i] * 2 - v

    def shifted(v: Array, i: Array) -> None:
        v[1:] += v[i[1:]]

    i = np.arange(9) * 4 % 9
    made = check(turned, lambda: (np.arange(9.0), i))
    made.kernels += check(shifted, lambda: (np.arange(9.0), i)).kernels
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_tables_that_are_not_as_expected() -> None:
    def unaligned() -> tuple[Array, Array, Array]:
        t, i, v = given(9)
        other = np.frombuffer(b"x" + t.tobytes(), np.uint8, offset=1).view(float)
        return other, i, v

    check(scaled, lambda: given(9), unaligned, lambda: given(9, ">f8"), writes=0)


def test_in_a_loop() -> None:
    def walked(t: Array, i: Array, v: Array) -> Array:
        for _ in range(4):
            i = (i * 3 + 1) % 7
            v = v * 0.5 + t[i]
        return v

    made = check(walked, lambda: given(9), writes=0)
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_what_is_not_read_by_kernels() -> None:
    def rows(t: Array, i: Array, v: Array) -> Array:
        return t.reshape(7, 1)[i] * 2 + v[:, None]

    def masked(t: Array, i: Array, v: Array) -> Array:
        return v[i > 0] * 2

    def wrapped(t: Array, i: Array, v: Array) -> Array:
        return np.take(t, i * 3, mode="wrap") * v

    for function in (rows, masked, wrapped):
        check(function, lambda: given(9), writes=0)
