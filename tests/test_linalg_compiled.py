"""Linear algebra, transforms and contractions in compiled functions: one graph, plain results, errors at the user's line.

What each function returns is the table test's; here are named tuples, breaks between, failures at run time, and sizes.
"""

from __future__ import annotations

import numpy as np
import pytest
from differential import PLAIN, Setting, World, args, assert_same
from under_test import TRANSFORMS

import bcjit
from bcjit.config import config


def matrix(size=3, dtype=np.float64):
    return (np.arange(size * size).reshape(size, size) % 5 + 4 * np.eye(size)).astype(dtype)


def world_of(fn, *calls):
    calls = calls or (lambda: args(matrix()), lambda: args(matrix(4)), lambda: args(matrix(1)))
    return lambda: World(fn, calls)


# ---------------------------------------------------------------------- constants
def orders(a, p):
    return np.linalg.norm(a, np.inf), np.linalg.norm(a, p), np.linalg.vector_norm(a[0], ord=p)


def conditions(a, p):
    return np.linalg.cond(a, p), np.linalg.matrix_rank(a, rtol=p), np.linalg.pinv(a, p / 10)


@pytest.mark.parametrize("fn", [orders, conditions], ids=lambda fn: fn.__name__)
def test_a_number_that_must_be_known_is_guarded(fn):
    calls = tuple(lambda p=p: args(matrix(), p) for p in (1, 1.0, 2, -2, np.inf))
    assert_same(world_of(fn, *calls), TRANSFORMS["eager"])
    config.strict = True
    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    for _ in range(3):
        compiled(matrix(), 2)
        compiled(matrix(), 1.0)
    assert len(compiled.report().parts) == len({*map(id, compiled.graphs)}) == 2


# ---------------------------------------------------------------------- failures
def solved(a, b):
    scaled = b * 2
    return (
        np.linalg.solve(
            a,
            scaled,
        )
        + 1
    )


def factored(a, b):
    b[0] = 7  # done before the failure, and once
    return np.linalg.cholesky(a) @ b, np.linalg.inv(a)


def caught(a, b):
    try:
        return np.linalg.inv(a) @ b
    except np.linalg.LinAlgError as error:
        return str(error), b


def kept_for_the_handler(a, b):
    found, both = np.linalg.eigh(a.T @ a + 1), np.linalg.slogdet(np.eye(2))
    try:
        return found, np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return found, found.eigenvalues is found[0], both, [found]


def unconverged(a, b):
    return np.linalg.svd(a).S + np.linalg.eigvalsh(a) + b


def reduced(a, b):
    return np.linalg.tensorinv(a, 1) @ np.linalg.matrix_power(a, -2), b


@pytest.mark.parametrize(
    "fn",
    [solved, factored, caught, kept_for_the_handler, unconverged, reduced],
    ids=lambda fn: fn.__name__,
)
def test_singular_matrices_raise_at_the_line_of_the_call(fn):
    calls = tuple(
        lambda a=a: args(a.copy(), np.arange(float(len(a))))
        for a in (
            matrix(),
            np.zeros((3, 3)),
            np.full((3, 3), np.nan),
            -np.eye(2),
            np.ones((2, 3)),
            np.eye(3, dtype=np.float16),
            np.zeros((0, 0)),
        )
    )
    settings = (PLAIN, Setting(errstate={"all": "raise"}, repeats=1))
    assert_same(world_of(fn, *calls), TRANSFORMS["eager"], settings)


# ---------------------------------------------------------------------- sizes
def chain(a, b, c):
    product = np.einsum("ij,jk->ik", a, b)
    return product @ c, np.tensordot(a, b, 1), np.linalg.norm(product), np.kron(a, b).sum()


def spectrum(x):
    spectrum = np.fft.rfft(x)
    low = np.where(np.arange(len(spectrum)) < 2, spectrum, 0)
    return np.fft.irfft(low, n=len(x)), np.fft.fftshift(np.fft.fftfreq(len(x)))


def least_norm(a, b):
    return np.linalg.pinv(a) @ b, np.linalg.qr(a, mode="r"), np.linalg.svd(a, full_matrices=False)


def test_many_sizes_are_one_graph_and_inner_sizes_one_guard():
    def sizes(n):
        a, b = np.ones((n, n + 1)), np.ones((n + 1, n + 2))
        return lambda: args(a.copy(), b.copy(), np.ones(n + 2))

    assert_same(world_of(chain, *map(sizes, range(2, 6))), TRANSFORMS["eager"])
    compiled = TRANSFORMS["eager"](chain)
    for n in range(2, 22):
        compiled(*sizes(n)()[0])
    assert len(compiled.report().parts) == len(compiled.graphs) == 1
    guards = [str(guard) for guard in compiled.explain(*sizes(3)()[0]).parts[0].guards]
    assert sum("a.shape[1] == b.shape[0]" in guard for guard in guards) == 1
    mismatch = lambda: args(np.ones((2, 3)), np.ones((4, 5)), np.ones(5))  # noqa: E731
    assert_same(world_of(chain, sizes(3), mismatch), TRANSFORMS["eager"])


@pytest.mark.parametrize("fn", [spectrum, least_norm], ids=lambda fn: fn.__name__)
def test_other_sizes_are_the_same_graph(fn):
    def sizes(n):
        matrices = (np.arange(2.0 * n * n).reshape(2 * n, n) % 7, np.arange(2.0 * n))
        return lambda: args(*(matrices if fn is least_norm else (np.arange(2.0 * n + 1),)))

    assert_same(world_of(fn, *map(sizes, range(2, 6))), TRANSFORMS["eager"])
    compiled = TRANSFORMS["eager"](fn)
    for n in range(2, 22):
        compiled(*sizes(n)()[0])
    assert len(compiled.graphs) == 1


def fitted(a, b):
    solution, residuals, rank, singular = np.linalg.lstsq(a, b)
    error = residuals.sum() + len(residuals)
    return solution, residuals * 2, np.zeros(residuals.shape), error, rank, singular[0]


def branching(a, b):
    solution, residuals, rank, _ = np.linalg.lstsq(a, b, rcond=1e-10)
    if len(residuals) and rank == a.shape[1]:
        return solution, residuals + 1
    return solution + 1


TALL = np.arange(12.0).reshape(4, 3) % 5 + np.eye(4, 3)


@pytest.mark.parametrize("fn", [fitted, branching], ids=lambda fn: fn.__name__)
def test_least_squares_with_and_without_residuals(fn):
    deficient = TALL.copy()
    deficient[:, 2] = deficient[:, 0]
    wide, line, lines = TALL.T.copy(), np.arange(4.0), np.arange(8.0).reshape(4, 2)
    calls = [
        lambda a=a, b=b: args(a.copy(), b.copy())
        for a, b in (
            (TALL, line), (deficient, line), (TALL, lines), (deficient, lines), (wide, line[:3]),
            (TALL, line[:3]), (TALL * np.nan, line), (np.ones((6, 2)), np.ones(6)),
        )
    ]  # fmt: skip
    assert_same(world_of(fn, *calls), TRANSFORMS["eager"])
    compiled = TRANSFORMS["eager"](fitted)
    for a in (TALL, deficient, TALL, np.ones((6, 2))):
        compiled(a, np.arange(float(len(a))))
    assert [graph.count for graph in compiled.graphs] == [compiled.graphs[0].count]
    assert compiled.graphs[0].count > 6


# ---------------------------------------------------------------------- writes and views
def einsum_views(a):
    diagonal = np.einsum("ii->i", a)
    diagonal += 1
    turned = np.einsum("ij->ji", a)
    turned[0] = 5
    return diagonal, turned, np.linalg.diagonal(a), np.linalg.matrix_power(a, 1) is a


def einsum_views_for_the_caller(a):
    repeated = np.einsum("jikij->kij", np.ones((2, 3, 1, 3, 2)))
    views = np.einsum("ii->i", a), np.einsum("ii->i", np.broadcast_to(a[0], a.shape)), repeated
    return views, [view.flags.writeable for view in views]


def into(a):
    out = np.empty_like(a)
    same = np.einsum("ij,jk->ik", a, a, out=out)
    again = np.linalg.multi_dot([a, a], out=out)
    spectrum = np.empty(a.shape, np.complex128)
    return same is out, again is out, np.fft.fft(a, out=spectrum) is spectrum, out, spectrum


def into_the_argument(a):
    np.einsum("ij,jk->ik", a, a, out=a)
    np.dot(a, a.copy(), out=a)
    return np.trace(a, out=a[0, :1].reshape(())), a


@pytest.mark.parametrize("transform", sorted(TRANSFORMS.keys() - {"print", "counting"}))
@pytest.mark.parametrize(
    "fn",
    [einsum_views, einsum_views_for_the_caller, into, into_the_argument],
    ids=lambda fn: fn.__name__,
)
def test_views_and_outputs(fn, transform):
    assert_same(world_of(fn), TRANSFORMS[transform])


def scalars(a):
    x = a[0, 0]
    return [x @ a, x @ x, a @ 2][0]


def scalar_product(a):
    return 2.0 @ a


@pytest.mark.parametrize("fn", [scalars, scalar_product], ids=lambda fn: fn.__name__)
def test_a_product_with_a_scalar_raises(fn):
    (records,) = assert_same(world_of(fn), TRANSFORMS["eager"])
    assert all(record.outcome[0] == "raised" for record in records)
