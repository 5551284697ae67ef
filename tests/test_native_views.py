"""Views as operands of native kernels: the same results as NumPy's, from kernels that make the views themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.fx_graph import Graph
from bcjit.fx_graph.codegen import source_of

pytest.importorskip("llvmlite")

from bcjit.backends.native.backend import Native  # noqa: E402 - needs llvmlite

Array = np.ndarray[Any, Any]


class Recorder:
    """The native backend, with what it made last."""

    optimizes = True

    def __init__(self) -> None:
        self.source = ""
        self.kernels: list[_core.Kernel] = []

    def __call__(self, graph: Graph, inputs: list[object]) -> Callable[..., object]:
        function = Native(smallest=1)(graph, inputs)
        self.source = source_of(function) or ""
        self.kernels += [
            value for value in function.__globals__.values() if isinstance(value, _core.Kernel)
        ]
        return function


def same(one: object, other: object) -> None:
    """Values, dtypes and layouts are equal."""
    if isinstance(one, tuple):
        assert isinstance(other, tuple)
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
        return
    assert type(one) is type(other)
    assert isinstance(one, np.ndarray | np.generic)
    assert isinstance(other, np.ndarray | np.generic)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if isinstance(one, np.ndarray):
        assert one.strides == other.strides
    assert one.tobytes("A") == other.tobytes("A")


def check(function: Callable[..., Any], *samples: tuple[Any, ...]) -> Recorder:
    """Compare the compiled function with the plain one, twice for each sample."""
    made = Recorder()
    compiled = bcjit.compile(function, backend=made)
    for given in samples:
        for _ in range(2):
            same(compiled(*given), function(*given))
    return made


def grid(rows: int, columns: int) -> Array:
    return np.arange(rows * columns, dtype=float).reshape(rows, columns) / 8 - 1


def stencil(u: Array) -> Array:
    return u[1:-1, 1:-1] + 0.5 * (u[2:, 1:-1] + u[:-2, 1:-1] - u[1:-1, 2:])


def reversed_rows(u: Array) -> Array:
    return u[::-1] * 2 + u


def reversed_columns(u: Array) -> Array:
    return u[:, ::-1] - u[:, :1]


def strided(u: Array) -> Array:
    return u[::2, 1::2] + u[::2, 1::2] * 3


def steps_back(u: Array) -> Array:
    return u[-1:-4:-2] + u[-2] * 2


def outer(u: Array) -> Array:
    return u[0, :, None] * u[1] + u[0, None]


def transposed(u: Array) -> Array:
    return u.T * 2 + u.T


def swapped(u: Array) -> Array:
    return np.transpose(u, (1, 0)) * 2 + u.swapaxes(0, 1)


def transposed_inside(u: Array) -> Array:
    return u.T[1:] + u.T[:-1]


def view_of_view(u: Array) -> Array:
    return u[1:][:, 1:][::-1] + u[:-1, :-1]


def repeated(u: Array) -> Array:
    return np.broadcast_to(u[0], u.shape) + u[-1]


def element(u: Array) -> Array:
    return u * u[0, 1] - u[-1, -1]


def whole(u: Array) -> Array:
    return u[...] + u[:]


def nothing(u: Array) -> Array:
    return u[5:3] + u[9:, :]


FUNCTIONS = [
    stencil, reversed_rows, reversed_columns, strided, steps_back, outer, transposed, swapped, transposed_inside,
    view_of_view, repeated, element, whole, nothing,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_views_are_made_by_the_kernel(function: Callable[..., Any]) -> None:
    made = check(function, (grid(4, 5),), (grid(5, 3),))
    assert made.kernels
    assert "u[" not in made.source, made.source
    assert not any(kernel.fell_back for kernel in made.kernels)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_views_of_other_layouts(function: Callable[..., Any]) -> None:
    backwards = grid(4, 5)[::-1, ::-1]
    check(function, (np.asfortranarray(grid(4, 5)),), (backwards,), (grid(8, 10)[::2, ::2],))


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.complex128, np.bool_])
def test_views_of_other_dtypes(dtype: type[np.generic]) -> None:
    def both(u: Array) -> Array:
        return (u[1:] + u[:-1]) * u[::-1][1:]

    made = check(both, (np.arange(7).astype(dtype),))
    # Complex products that go backwards may have other last bits in NumPy.
    assert dtype is np.complex128 or not any(kernel.fell_back for kernel in made.kernels)


def test_bounds_that_are_known_when_it_is_called() -> None:
    def taken(u: Array, start: int, stop: int, step: int) -> Array:
        return u[start:stop] * 2 + u[start:stop] + u[start, None]

    u = grid(6, 2)
    made = check(taken, (u, 1, 4, 1), (u, 2, 4, 2), (u, -5, 4, 1), (u, 3, -1, 1), (u, 2, 99, 1))
    assert made.kernels


def test_a_row_in_a_loop() -> None:
    def rows(u: Array) -> Array:
        total = np.zeros(u.shape[1])
        for i in range(u.shape[0] - 1):
            total = total + u[i] * 2 - u[i + 1]
        return total

    made = check(rows, (grid(5, 4),), (grid(3, 6),))
    assert not any(kernel.fell_back for kernel in made.kernels)


def test_an_index_out_of_bounds_is_numpys_error() -> None:
    def row(u: Array, i: int) -> Array:
        return u[i] * 2 + u[i]

    compiled = bcjit.compile(row, backend=Native(smallest=1))
    u = grid(4, 3)
    same(compiled(u, 1), row(u, 1))
    same(compiled(u, 2), row(u, 2))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        compiled(u, 4)
    same(compiled(u, -4), row(u, -4))


def test_a_view_that_is_needed_elsewhere_stays() -> None:
    def both(u: Array) -> tuple[Array, Array]:
        v = u[1:]
        w = v * 2 + u[:-1]
        v[0] = 5
        return v, w

    u, twin = grid(4, 3), grid(4, 3)
    compiled = bcjit.compile(both, backend=Native(smallest=1))
    first, plain = compiled(u), both(twin)
    same(first, plain)
    assert np.shares_memory(first[0], u)


def test_a_view_sees_what_is_written_later() -> None:
    def seen(u: Array) -> Array:
        u = u + 0
        v, first = u[1:], u[0, 0]
        u[1] = 7
        u[0] = 9
        return v * 2 + first

    check(seen, (grid(4, 3),))


def test_results_that_share_an_operand_with_their_own_view() -> None:
    def smooth(u: Array) -> Array:
        v = u * 2 + 1
        return v[::-1] + v * v[::-1]

    check(smooth, (grid(4, 3),), (grid(3, 4),))


def test_wrong_and_warning_calls_are_numpys() -> None:
    def divided(u: Array) -> Array:
        return u[1:] / u[:-1] + 1

    compiled = bcjit.compile(divided, backend=Native(smallest=1))
    u = np.array([1.0, 0.0, 2.0])
    compiled(u + 1)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        result = compiled(u)
    assert result.tolist() == [1.0, np.inf]


def test_axes_of_one_element_in_fortran_order() -> None:
    """Where NumPy casts, it lays them out otherwise than where it does not."""

    def halves(u: Array) -> Array:
        return u * 0.5 + u

    for dtype in (np.int8, np.float64):
        check(halves, (np.zeros((2, 1, 3), dtype, order="F"),))


def laplacian(u: Array) -> Array:
    return np.roll(u, 1, 0) + np.roll(u, -1, axis=0) + np.roll(u, 1, -1) - 3.0 * u


def rolled(u: Array, n: int) -> Any:
    return np.roll(u[1:], n, 0) * 2 + u[1:], np.roll(np.roll(u, 5, 1), (n, 2), axis=(0, 1)) - 1


def rolled_row(u: Array, n: int) -> Any:
    return np.roll(u[0], n) + u, np.roll(u[0], shift=-n) * 2


@pytest.mark.parametrize("layout", ["C", "F", "step", "reversed", "one row"])
def test_rolled_axes_are_no_copies(layout: str) -> None:
    u = grid(6, 10)
    u = {"F": np.asfortranarray(u), "step": u[:, ::2], "reversed": u[::-1], "one row": u[:1]}.get(
        layout, u
    )
    made = check(laplacian, (u,))
    assert "roll" not in made.source
    assert all(kernel.fell_back == 0 for kernel in made.kernels) or layout == "one row"
    made = check(rolled, (grid(6, 10), 1), (grid(6, 10), -9), (u, 4), (u, 0))
    assert "roll" not in made.source
    made = check(rolled_row, (u, 1), (u, -3))
    assert "roll" not in made.source


def test_rolled_axes_of_more_than_a_block() -> None:
    for shape in ((3, 1500), (1500, 3), (40, 2, 30)):
        u = np.arange(np.prod(shape), dtype=float).reshape(shape)
        check(laplacian, (u,))


def test_what_repeats_is_rolled_by_numpy() -> None:
    repeated = np.broadcast_to(grid(1, 10), (4, 10))
    check(laplacian, (repeated,), (grid(0, 3),))
    check(lambda u: np.roll(u, 1, axis=1) * 2, (repeated,))  # along another axis
    check(lambda u: np.sum(np.roll(u, 1, axis=1), axis=0), (repeated,))


def test_a_rolled_copy_that_something_else_needs_is_made() -> None:
    def both(u: Array) -> Any:
        moved = np.roll(u, 1, 0)
        return moved, moved * 2 + u

    made = check(both, (grid(6, 10),))
    assert "roll" in made.source
    first, _ = bcjit.compile(both, backend=made)(grid(6, 10))
    assert first.flags.owndata


def test_what_is_written_after_a_roll_does_not_show() -> None:
    def stored(u: Array) -> Array:
        moved = np.roll(u, 1, 0)
        u[1:] = moved[1:] * 0.5
        u *= 2.0
        return moved + u

    for _ in range(2):
        given, expected = grid(6, 10), grid(6, 10)
        same(bcjit.compile(stored, backend=Recorder())(given), stored(expected))
        same(given, expected)


def test_shifts_that_numpy_spreads_are_left_to_it() -> None:
    check(lambda u: np.roll(u, 1, axis=(0, 1)) * 2, (grid(6, 10),))
    check(lambda u: np.roll(u, 3) * 2, (grid(6, 10),))
    check(lambda u: np.roll(u, 3, axis=None) * 2, (grid(1, 10)[0],))
