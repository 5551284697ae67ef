"""Writes through masks of what was read through the same masks, as native kernels: values, what is left alone, what NumPy has to say."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_native_views import Array, Recorder, same
from test_native_writes import Maker, check

import bcjit


def squared(z: Array, m: Array, c: Array) -> None:
    z[m] = z[m] ** 2 + c[m]


def counted(z: Array, m: Array, c: Array) -> None:
    z[m] += 1
    z[m] -= c[m]


def copied(z: Array, m: Array, c: Array) -> None:
    z[m] = c[m]


def step_by_step(z: Array, m: Array, c: Array) -> None:
    v = z[m]
    v *= 2
    w = c[m] * v
    v -= w + 1
    z[m] = v


def twice(z: Array, m: Array, c: Array) -> None:
    z[m] = z[m] * 2 + c[m]
    c[m] = c[m] * 3 - z[m]


def of_numpys_loops(z: Array, m: Array, c: Array) -> None:
    z[m] = np.arctan2(z[m], c[m]) + np.cos(z[m])


def beside_others(z: Array, m: Array, c: Array) -> None:
    other = np.sort(c[m])  # as many as are selected
    z[m] = z[m] * 2 + other


def by_numbers(z: Array, m: Array, c: Array) -> None:
    z[m] = z[m] * c[0] + c.size


FUNCTIONS = [
    squared, counted, copied, step_by_step, twice, of_numpys_loops, beside_others, by_numbers,
]  # fmt: skip


def some(n: int) -> Array:
    return np.arange(n) % 3 != 1


def given(n: int, mask: Array | None = None) -> tuple[Array, Array, Array]:
    m = some(n) if mask is None else mask
    return np.linspace(-1.5, 2, n), m, np.linspace(3, 1, n)


def runs(n: int) -> Array:
    """Short runs, a long one, words that are half true, and a rest."""
    return (np.arange(n) % 16 < 9) | ((np.arange(n) > 300) & (np.arange(n) < 900))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_selected(function: Callable[..., Any]) -> None:
    makers = [
        lambda: given(11),
        lambda: given(5, np.zeros(5, bool)),
        lambda: given(9, np.ones(9, bool)),
        lambda: given(1403, runs(1403)),
        lambda: given(2100, np.arange(2100) % 2 == 0),
    ]
    made = check(function, *makers, writes=2 if function in (counted, twice) else 1)
    assert made.kernels
    assert not any(kernel.fell_back for kernel in made.kernels)


@pytest.mark.parametrize("function", [squared, counted, copied, of_numpys_loops])
def test_axes_and_layouts(function: Callable[..., Any]) -> None:
    def shaped() -> tuple[Array, ...]:
        return tuple(one.reshape(3, 2, 4) for one in given(24))

    def spread() -> tuple[Array, ...]:
        z, m, c = given(40)
        return z[::2], m[::-2], np.repeat(c, 3)[::6]

    made = check(function, shaped, writes=0)
    made.kernels += check(function, spread, writes=0).kernels
    assert made.kernels
    assert not any(kernel.fell_back for kernel in made.kernels)
    check(function, lambda: tuple(np.asfortranarray(one) for one in shaped()), writes=0)
    check(
        function,
        lambda: (np.asfortranarray(shaped()[0]), *shaped()[1:]),
        lambda: (np.asfortranarray(shaped()[0])[:, ::-1], *shaped()[1:]),
        writes=0,
    )


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "f2", "f4", "c8", "c16"])
def test_dtypes(dtype: str) -> None:
    def mixed(z: Array, m: Array, c: Array) -> None:
        z[m] = z[m] | c[m] if z.dtype == bool else z[m] * c[m]

    def maker() -> tuple[Array, Array, Array]:
        z, m, c = given(12)
        return (z + 2).astype(dtype), m, c.astype(dtype)

    made = check(mixed, maker, writes=int(dtype[0] != "c"))
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_values_are_cast() -> None:
    def cast(z: Array, m: Array, c: Array) -> None:
        z[m] = c[m] * 0.5
        z[m] += c[m]

    check(
        cast,
        lambda: (np.zeros(12, np.float32), *given(12)[1:]),
        lambda: (np.zeros(12, complex), *given(12)[1:]),
        writes=2,
    )
    check(cast, lambda: (np.zeros(12, int), *given(12)[1:]), writes=0)  # += is an error


def test_what_lies_backwards_beside_what_is_selected() -> None:
    def backwards(z: Array, m: Array, c: Array) -> None:
        other = np.sort(c[m])[::-1]
        z[m] = z[m] * other - other

    def by_a_loop(z: Array, m: Array, c: Array) -> None:
        z[m] = np.arctan2(z[m], np.sort(c[m])[::-1])

    makers: list[Maker] = [lambda: given(11), lambda: given(1403, runs(1403))]
    assert not any(kernel.fell_back for kernel in check(backwards, *makers).kernels)
    check(by_a_loop, *makers)


def test_large_masks_are_counted_in_pieces() -> None:
    n = 200_001
    made = check(squared, lambda: given(n, runs(n)), lambda: given(n, np.arange(n) > 70_000))
    assert not any(kernel.fell_back for kernel in made.kernels)


# What shares memory


def test_the_mask_may_be_what_is_written() -> None:
    def turned(z: Array, m: Array, o: Array) -> None:
        z[m] = z[m] & o[m]

    def maker() -> tuple[Array, Array, Array]:
        m = some(20)
        return m, m, np.arange(20) % 2 == 0

    made = Recorder()
    compiled = bcjit.compile(turned, backend=made)
    compiled(some(20), some(20), some(20))
    (kernel,) = made.kernels
    found, plain = maker(), maker()
    assert kernel(found[0], found[2], found[1]) is None
    turned(*plain)
    same(found, plain)


@pytest.mark.parametrize("how", [0, 1, 2])
def test_operands_may_share_memory_with_what_is_written(how: int) -> None:
    def shifted(z: Array, m: Array, c: Array) -> None:
        z[m] = c[m] + z[m] * 0.5

    def whole(z: Array, m: Array, c: Array) -> None:
        z[m] = c[m] ^ z[m]  # raises no flag: is stored block by block

    def maker(dtype: type) -> tuple[Array, Array, Array]:
        base = np.arange(14).astype(dtype)
        return base[how : how + 12], some(12), base[1:13]

    made = check(shifted, lambda: maker(float))
    made.kernels += check(whole, lambda: maker(int)).kernels
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_bytes_that_are_no_bools_are_numpys() -> None:
    def maker() -> tuple[Array, Array, Array]:
        z, m, c = given(12)
        odd = m.view(np.uint8) * 2
        return z, odd.view(bool), c

    made = Recorder()
    compiled = bcjit.compile(copied, backend=made)
    compiled(*given(12))
    (kernel,) = made.kernels
    z, m, c = given(12)
    assert kernel(c, z, m) is None
    z, m, c = maker()
    assert kernel(c, z, m) is True
    same((z, m, c), maker())


# What a kernel does not do


def used_elsewhere(z: Array, m: Array, c: Array) -> Array:
    v = z[m] * 2
    z[m] = v
    return v


def written_twice(z: Array, m: Array, c: Array) -> Array:
    v = z[m]
    v += 1
    z[m] = v
    v *= 2
    return v


def another_mask(z: Array, m: Array, c: Array) -> None:
    z[m] = z[~m][: m.sum()] + 1


def written_between(z: Array, m: Array, c: Array) -> None:
    v = z[m]
    z[0] = 7
    z[m] = v * 2


def mask_written_between(z: Array, m: Array, c: Array) -> None:
    v = z[m]
    m[0] = True
    z[m] = v * 2


def sizes(z: Array, m: Array, c: Array) -> int:
    z[m] = z[m] + 1
    return len(z[m]) + z[m].size


def size_of_the_first(z: Array, m: Array, c: Array) -> tuple[Array, int]:
    v = z[m]
    z[m] = v * 2
    return np.zeros(len(v)), 1


@pytest.mark.parametrize(
    "function",
    [used_elsewhere, written_twice, another_mask, written_between, mask_written_between, size_of_the_first],
)  # fmt: skip
def test_what_others_need_or_change(function: Callable[..., Any]) -> None:
    compiled = bcjit.compile(function, backend=Recorder())
    for mask in (np.array([True, False] * 6), np.arange(12) < 6):
        for _ in range(2):
            found, plain = given(12, mask.copy()), given(12, mask.copy())
            results = [outcome(compiled, found), outcome(function, plain)]
            assert repr(results[0]) == repr(results[1])
            same(found, plain)


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> object:
    try:
        return function(*arguments)
    except (IndexError, ValueError) as error:
        return str(error)


def test_sizes_of_what_is_selected() -> None:
    compiled = bcjit.compile(sizes, backend=Recorder())
    for n in (4, 9):
        found, plain = given(n), given(n)
        assert compiled(*found) == sizes(*plain)
        same(found, plain)


def test_masks_that_do_not_fit() -> None:
    check(
        squared,
        lambda: given(12),
        lambda: given(12, some(11)),
        lambda: (*given(12)[:2], np.ones(13)),
        writes=0,
    )


def test_read_only_arrays() -> None:
    def frozen() -> tuple[Array, Array, Array]:
        z, m, c = given(12)
        z.flags.writeable = False
        return z, m, c

    check(squared, lambda: given(12), frozen, writes=0)


# What NumPy has something to say of


def divided(z: Array, m: Array, c: Array) -> Array:
    c[0] = 5
    z[m] = z[m] / c[m] + 1
    z += 1
    return z


def in_place(z: Array, m: Array, c: Array) -> Array:
    c[0] = 5
    z[m] /= c[m]
    z[m] *= 2
    return z


def in_a_loop(z: Array, m: Array, c: Array) -> Array:
    for k in range(3):
        z[m] = z[m] / c[m]
        z[m] /= 2
        m &= z < k
    return z


def zeros_at(*places: int) -> Maker:
    def maker() -> tuple[Array, Array, Array]:
        z, m, c = given(12)
        c[list(places)] = 0
        return z, m, c

    return maker


@pytest.mark.parametrize("function", [divided, in_place, in_a_loop])
def test_warnings_are_numpys(function: Callable[..., Any]) -> None:
    # Element 1 is not selected: what would be divided there raises nothing.
    made = check(function, zeros_at(1), writes=1)
    assert not any(kernel.fell_back for kernel in made.kernels)
    check(function, zeros_at(), zeros_at(2, 5), zeros_at())
    with np.errstate(divide="ignore"):
        made = check(function, zeros_at(2, 5))
        assert not any(kernel.fell_back for kernel in made.kernels)


@pytest.mark.parametrize("function", [divided, in_place, in_a_loop])
@pytest.mark.parametrize("how", ["error", "raise"])
def test_errors_leave_what_numpy_leaves(function: Callable[..., Any], how: str) -> None:
    compiled = bcjit.compile(function, backend=Recorder())
    for _ in range(2):
        states = []
        for one in (function, compiled):
            arguments = zeros_at(2, 5)()
            with warnings.catch_warnings(), np.errstate(all="raise" if how == "raise" else "warn"):
                warnings.simplefilter("error")
                with pytest.raises((RuntimeWarning, FloatingPointError)) as caught:
                    one(*arguments)
            last = traceback.extract_tb(caught.value.__traceback__)[-1]
            states.append((repr(caught.value), last.name, last.line, arguments))
        assert states[0][:3] == states[1][:3]
        same(states[1][3], states[0][3])


def test_julia() -> None:
    def julia(side: int, most: int) -> tuple[Array, Array]:
        y, x = np.mgrid[-1.5 : 1.5 : side * 1j, -1.5 : 1.5 : side * 1j]
        z = x + 1j * y
        turns = np.zeros(z.shape, int)
        left = np.ones(z.shape, bool)
        for _ in range(most):
            z[left] = z[left] ** 2 + (-0.4 + 0.6j)
            left &= z.real**2 + z.imag**2 < 4.0
            turns[left] += 1
        return turns, z

    made = Recorder()
    compiled = bcjit.compile(julia, backend=made)
    for side in (5, 9):
        same(compiled(side, 6), julia(side, 6))
    assert made.source.count("if left") >= 5


def scanned_inside(z, m, c):
    s = np.cumsum(c[m])
    z[m] = z[m] * s
    return z, s


def scanned_before(z, m, c):
    v = z[m]
    s = np.cumsum(v)
    z[m] = v * c[m] + s
    return z


def scanned_behind(z, m, c):
    s = c[m]
    z[m] = z[m] * s
    return z, s.sum(), np.cumsum(s * 2)


def reduced_inside(z, m, c):
    s = c[m]
    z[m] = z[m] - s.mean() + s
    return z


@pytest.mark.parametrize("fn", [scanned_inside, scanned_before, scanned_behind, reduced_inside])
def test_scans_and_sums_leave_the_calls_of_masked_writes_alone(fn):
    made = Recorder()
    compiled = bcjit.compile(fn, backend=made)
    for size in (20, 7, 2):
        x = np.arange(1.0, size + 1)
        mask = x % 3 > 1
        same(compiled(x.copy(), mask, x * 2), fn(x.copy(), mask, x * 2))
    with np.errstate(over="ignore", invalid="ignore"):  # NumPy does it again, and says nothing
        x = np.full(20, 1e308)
        same(compiled(x.copy(), x > 0, x), fn(x.copy(), x > 0, x))
