"""Writes that native kernels do: what is stored, what is not when NumPy has something to say, and where plain code goes on then."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_native_views import Array, Recorder, grid, same

import bcjit

Maker = Callable[[], tuple[Any, ...]]


def observed(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a call gives, raises and warns, and its arguments behind it."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = function(*given)
        except Exception as error:  # noqa: BLE001 - whatever it is
            result = type(error), str(error)
            lines = [
                f"{frame.name}:{frame.line}"
                for frame in traceback.extract_tb(error.__traceback__)
                if "test_native_" in frame.filename and frame.name != "observed"
            ]
    return result, lines, [(str(one.message), one.lineno) for one in said], given


def check(function: Callable[..., Any], *makers: Maker, writes: int = 1) -> Recorder:
    """Compare with plain NumPy, each with new arguments, twice; `writes` kernels do a write."""
    made = Recorder()
    compiled = bcjit.compile(function, backend=made)
    for maker in makers:
        for _ in range(2):
            plain = observed(function, maker())
            found = observed(compiled, maker())
            assert found[1:3] == plain[1:3]
            if isinstance(plain[0], tuple) and plain[0] and isinstance(plain[0][0], type):
                assert found[0] == plain[0]
            elif plain[0] is not None:
                same(found[0], plain[0])
            same(found[3], plain[3])
    assert made.source.count("is not None: ") - made.source.count(" = None: ") >= writes, (
        made.source
    )
    return made


def inner(u: Array) -> None:
    u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] - u[1:-1, 2:])


def shifted(u: Array) -> None:
    u[1:] = u[:-1] * 2 + 1


def turned(u: Array) -> None:
    u[...] = u[::-1] * 2 - u


def in_place(u: Array) -> Array:
    u += u * 2 + 1
    return u


def in_place_inner(u: Array) -> None:
    u[1:] += u[:-1] * 2


def negative(u: Array) -> None:
    u[u < 0] = 0


def masked_by_others(u: Array) -> None:
    u[(u > 0.5) & (u[0] < 1)] = -1.5


def out(u: Array) -> Array:
    return np.add(u * 2, u, out=u)


def copied(u: Array) -> None:
    np.copyto(u, u[:, ::-1] * 3 + 1)


def repeated(u: Array) -> None:
    u[1:] = u[0] * 2 + 1


def column(u: Array) -> None:
    u[:, 1] = u[:, 0] * 2 + u[:, -1]


def transposed(u: Array) -> None:
    u.T[1:] = u.T[:-1] * 2 + 1


def backwards(u: Array) -> None:
    u[::-1] = u * 2 + 1


def view_written(u: Array) -> Array:
    v = u[1:]
    v *= u[:-1] + 1
    v -= v * 2
    return v


def read_later(u: Array) -> Array:
    first = u * 2
    u[1:] = first[:-1] + 1
    second = u * 3 + first
    u[0] = second[0] + 1
    return second - u


def two_results(u: Array) -> Array:
    v = u * 2
    u[...] = v + 1
    return v


def into_its_own_result(u: Array) -> Array:
    v = np.where(u > 0, u, 1)
    v[...] = v * 0.5
    return v


FUNCTIONS = [
    inner, shifted, turned, in_place, in_place_inner, negative, masked_by_others, out, copied, repeated, column,
    transposed, backwards, view_written, read_later, two_results,
]  # fmt: skip


def test_an_array_that_the_group_makes_is_no_destination() -> None:
    check(into_its_own_result, lambda: (grid(4, 5),), writes=0)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes(function: Callable[..., Any]) -> None:
    made = check(
        function,
        lambda: (grid(4, 5),),
        lambda: (np.asfortranarray(grid(4, 5)),),
        lambda: (grid(8, 10)[::-2, ::2],),
    )
    if function is not two_results:  # what goes elsewhere must lie as NumPy lays it
        assert not any(kernel.fell_back for kernel in made.kernels)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes_that_numpy_does_after_all(function: Callable[..., Any]) -> None:
    def unaligned() -> tuple[Array]:
        memory = bytearray(8 * 20 + 1)
        array = np.frombuffer(memory, dtype=np.uint8, offset=1).view(float).reshape(4, 5)
        array[...] = grid(4, 5)
        return (array,)

    made = check(function, unaligned)
    assert all(kernel.fell_back == kernel.calls > 0 for kernel in made.kernels)


@pytest.mark.parametrize("function", [inner, in_place, negative, out])
def test_writes_of_other_dtypes(function: Callable[..., Any]) -> None:
    for dtype in (np.float32, np.int16, np.uint8):

        def maker(dtype: type[np.generic] = dtype) -> tuple[Array]:
            return (np.arange(20).reshape(4, 5).astype(dtype),)

        check(function, maker, writes=0)


def test_arguments_that_share_memory() -> None:
    def both(u: Array, v: Array) -> None:
        u[1:] = v[:-1] + u[1:] * 2

    def maker(start: int) -> tuple[Array, Array]:
        base = np.arange(12.0)
        return base[start : start + 8], base[2:10]

    check(both, lambda: maker(0), lambda: maker(1), lambda: maker(2), lambda: maker(4))


def test_values_are_cast_to_the_array() -> None:
    def stored(u: Array, v: Array) -> None:
        u[...] = v * 2 + 1
        u[1:] += v[1:] * 0.5

    made = check(stored, lambda: (np.zeros(5, np.float32), np.arange(5.0)), writes=2)
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_a_cast_that_is_not_allowed_is_numpys_error() -> None:
    def wrong(u: Array, v: Array) -> None:
        u += v * 2.0 + 1

    check(wrong, lambda: (np.zeros(3, int), np.arange(3.0)), writes=0)


def test_what_is_broadcast_is_read_only() -> None:
    """Whatever its array is: NumPy raises, and nothing is stored."""

    def fn(x: Array) -> None:
        seen = np.broadcast_to(x, x.shape)
        seen[1:] *= x[1:] + 1

    x = np.arange(4.0)
    compiled = bcjit.compile(fn, backend=Recorder())
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            compiled(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_read_only_and_folded_arrays() -> None:
    def stored(u: Array, v: Array) -> None:
        u[...] = v * 2 + 1

    def frozen() -> tuple[Array, Array]:
        u = np.zeros(3)
        u.flags.writeable = False
        return u, np.ones(3)

    def folded() -> tuple[Array, Array]:
        u = np.lib.stride_tricks.as_strided(np.zeros(5), (3, 3), (8, 8))
        return u, np.arange(9.0).reshape(3, 3)

    check(stored, lambda: (np.zeros(3), np.ones(3)), frozen, writes=0)
    check(stored, lambda: (np.zeros((3, 3)), np.ones((3, 3))), folded)


def test_empty_and_single_elements() -> None:
    check(in_place, lambda: (np.zeros((0, 3)),), lambda: (np.ones((1, 1)),), lambda: (grid(1, 3),))
    check(shifted, lambda: (np.zeros((1, 3)),), lambda: (np.ones((2, 1)),))


def test_shapes_that_do_not_fit() -> None:
    def stored(u: Array, v: Array) -> None:
        u[1:] = v * 2 + 1

    check(
        stored,
        lambda: (grid(4, 3), grid(3, 3)),
        lambda: (grid(4, 3), grid(1, 3)),
        lambda: (grid(4, 3), grid(2, 3)),
        writes=0,
    )


# What NumPy has something to say of


def divided(u: Array, v: Array) -> Array:
    u[0] = 7
    u[1:] = u[:-1] / v[1:] + 1
    u *= 2
    return u


def overflowing(u: Array, v: Array) -> Array:
    v -= 1
    u *= v * 1e200
    u += 1
    return u


def in_a_loop(u: Array, v: Array) -> Array:
    for _ in range(3):
        u[1:] += u[:-1] / v[:-1]
        v[1:] -= v[:-1] * 0.5
    return u


def stored_and_cast(u: Array, v: Array) -> Array:
    u += 1
    w = np.zeros(u.shape, np.float32)
    w[...] = u * 1e300
    v += w
    return w


CASES: list[tuple[Callable[..., Any], Maker]] = [
    (divided, lambda: (np.array([1.0, 2, 3]), np.array([1.0, 0, 2]))),
    (overflowing, lambda: (np.array([1e200, 2]), np.array([3.0, 1e160]))),
    (in_a_loop, lambda: (np.array([1.0, 2, 3]), np.array([1.0, 0.5, 2]))),
    (stored_and_cast, lambda: (np.array([1e200, 2]), np.array([3.0, 1e160]))),
]


@pytest.mark.parametrize(("function", "maker"), CASES)
def test_warnings_are_numpys(function: Callable[..., Any], maker: Maker) -> None:
    def quiet() -> tuple[Any, ...]:
        return tuple(np.ones_like(one) for one in maker())

    check(function, quiet, maker, quiet)


@pytest.mark.parametrize(("function", "maker"), CASES)
@pytest.mark.parametrize("how", ["raise", "ignore", "call", "print"])
def test_error_states(
    function: Callable[..., Any], maker: Maker, how: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    said: list[object] = []
    with np.errstate(all=how, under="ignore", call=lambda *words: said.append(words)):
        compiled = bcjit.compile(function, backend=Recorder())
        for _ in range(2):
            plain = observed(function, maker())
            printed, told = capfd.readouterr(), said[:]
            said.clear()
            found = observed(compiled, maker())
            assert capfd.readouterr() == printed
            assert said == told
            said.clear()
            assert found[1:3] == plain[1:3]
            same(found[3], plain[3])


@pytest.mark.parametrize(("function", "maker"), CASES)
def test_warnings_as_errors(function: Callable[..., Any], maker: Maker) -> None:
    compiled = bcjit.compile(function, backend=Recorder())
    for _ in range(2):
        states = []
        for one in (function, compiled):
            given = maker()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(RuntimeWarning) as caught:
                    one(*given)
            last = traceback.extract_tb(caught.value.__traceback__)[-1]
            states.append((str(caught.value), last.name, last.line, given))
        assert states[0][:3] == states[1][:3]
        same(states[1][3], states[0][3])


def test_a_write_is_not_done_where_something_before_it_raises() -> None:
    def half(u: Array, v: Array, i: int) -> None:
        u += 1
        w = v * 2 + 1
        x = v[i]
        u[...] = w * x

    check(
        half,
        lambda: (grid(2, 3), grid(2, 3), np.int64(1)),
        lambda: (grid(2, 3), grid(2, 3), np.int64(5)),
        writes=0,
    )


def test_augmented_assignment_of_a_slice_stores_once() -> None:
    def step(e: Array, h: Array) -> None:
        h += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += 0.5 * (h[1:] - h[:-1])

    made = check(step, lambda: (np.arange(6.0) ** 2, np.arange(5.0)), writes=2)
    assert "e[1:-1] =" not in made.source
    assert not any(kernel.fell_back for kernel in made.kernels)


def edges(u: Array) -> None:
    u[0] = u[1]
    u[:, -1] = u[:, -2]
    u[1:] = u[:-1]
    u[::-1, 0] = u[:, 1]


def neighbours(u: Array) -> Array:
    around = np.zeros(u.shape, np.uint8)
    alive = u > 0
    around[1:] += alive[:-1]
    around[:, 1:] += alive[:, :-1]
    around[1:] |= around[:-1]
    return around


@pytest.mark.parametrize("function", [edges, neighbours])
def test_stores_of_views_without_a_group(function: Callable[..., Any]) -> None:
    made = check(
        function,
        lambda: (grid(4, 5),),
        lambda: (grid(1, 5)[:, ::-1],),
        lambda: (np.asfortranarray(grid(4, 5)),),
        writes=2,
    )
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_stores_of_views_that_do_not_fit() -> None:
    def stored(u: Array, v: Array) -> None:
        u[0] += 1
        u[1:] = v[1:]

    def frozen() -> tuple[Array, Array]:
        u = grid(4, 3)[:, :]
        u.flags.writeable = False
        return u, grid(4, 3)

    check(
        stored, lambda: (grid(4, 3), grid(4, 3)), lambda: (grid(4, 3), grid(3, 3)), frozen, writes=0
    )


def test_views_by_an_index_that_may_be_out_of_bounds_are_made_before_the_kernel() -> None:
    def copied(u: Array) -> None:
        for i in range(len(u)):
            row = u[i]
            column = u[:, i]
            row[:] = column[::-1]

    def added(u: Array) -> None:
        for i in range(len(u)):
            column = u[:, i]
            u[i] += column[::-1]

    bcjit.config.strict = True  # put back by conftest.py
    for function in (copied, added):
        check(function, lambda: (grid(3, 3),), lambda: (grid(4, 4),), writes=0)
