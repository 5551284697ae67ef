"""The native backend with ``fast``: contractions and sums over few elements, written out in kernels with what they are made of and what is made of them."""

from __future__ import annotations

import types
import warnings

import numpy as np
import pytest

import bcjit
from bcjit import _core

pytest.importorskip("llvmlite")

from bcjit.backends.native import build
from bcjit.backends.native.backend import NATIVE, Native

FAST = Native(fast=True)
RNG = np.random.default_rng(0)


@pytest.fixture
def kernels(monkeypatch):
    """The kernels that are made."""
    made = []

    def kernel(*arguments, **named):
        made.append(_core.Kernel(*arguments, **named))
        return made[-1]

    makers = types.SimpleNamespace(Kernel=kernel, ReduceKernel=_core.ReduceKernel)
    monkeypatch.setattr(build, "_core", makers)
    return made


def arrays(*shapes, dtype=np.float64):
    """Small whole numbers: sums of their products are the same in any order."""
    return [RNG.integers(-9, 9, shape).astype(dtype) for shape in shapes]


def same(got, wanted):
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.strides == wanted.strides
    assert got.tobytes() == wanted.tobytes()


N, THREE, PAIR, LINE = (40, 3), (3, 3), (12, 3, 3), (12, 3)
CASES = {
    "batches": (lambda a, b: a @ b * 2 + 1, PAIR, PAIR),
    "batches by one": (lambda a, b: (a - 1) @ b, PAIR, THREE),
    "one by batches": (lambda a, b: np.matmul(a, b), THREE, PAIR),
    "turned": (lambda a, b: np.einsum("nij,nkj->nik", a, b), PAIR, PAIR),
    "vectors": (lambda a, b: np.einsum("nij,nj->ni", a, b) + b, PAIR, LINE),
    "three": (lambda a, b, c: np.einsum("ni,nij,nj->n", a, b, c), N, (40, 3, 2), (40, 2)),
    "rows": (lambda a, b: np.einsum("ni,ni->n", a + 1, b), N, N),
    "stacked rows": (lambda a, b: a @ b, PAIR, (3,)),
    "directions": (lambda a: a / np.linalg.norm(a, axis=1, keepdims=True), N),
    "distances": (lambda a, b: ((a[:, None] - b[None]) ** 2).sum(axis=-1), (7, 3), (9, 3)),
    "norms": (lambda a: np.linalg.norm(a * 2, axis=1), (40, 2)),
    "means": (lambda a: (a + 1).mean(axis=1, keepdims=True) * 3, (40, 4)),
    "first axis": (lambda a, b: (a * b).sum(axis=0), (3, 40), (3, 1)),
    "two axes": (lambda a: (a * a).sum(axis=(1, 2)), (40, 2, 3)),
    "repeated": (lambda a, b: (a * b).sum(axis=1), N, (1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_out_is_what_numpy_computes(name, kernels):
    function, *shapes = CASES[name]
    operands = arrays(*shapes)
    call = bcjit.compile(function, backend=FAST)
    for _ in range(2):
        same(call(*operands), function(*operands))
    assert kernels
    assert [(one.calls, one.fell_back) for one in kernels] == [(2, 0)] * len(kernels)
    longer = [np.concatenate([one] * 2) if one.shape[0] > 4 else one for one in operands]
    same(call(*longer), function(*longer))
    assert kernels[0].fell_back == 0


@pytest.mark.parametrize("dtype", ["f", "F", "D", "b", "q", "?", "e"])
def test_of_each_dtype(dtype, kernels):
    function, *shapes = CASES["batches by one"]
    operands = arrays(*shapes, dtype=dtype)
    function = (lambda a, b: a @ b) if dtype == "?" else function
    same(bcjit.compile(function, backend=FAST)(*operands), function(*operands))
    assert len(kernels) == (dtype != "e") or kernels[0].fell_back == 0
    total = bcjit.compile(lambda a: (a + a).sum(axis=-1), backend=FAST)
    same(total(operands[0]), (operands[0] + operands[0]).sum(axis=-1))


def test_products_are_rounded_once_where_the_processor_can():
    a, b = np.full((40, 2), 1 + 2.0**-30), np.full((40, 2), 1 + 2.0**-30)
    a[:, 0], b[:, 0] = 1 + 2.0**-29, -1.0
    got = bcjit.compile(lambda a, b: np.einsum("ni,ni->n", a, b), backend=FAST)(a, b)
    assert set(got) <= {2.0**-60, 0.0}


@pytest.mark.parametrize("name", ["batches", "distances"])
def test_other_sizes_are_numpys(name, kernels):
    function, *shapes = CASES[name]
    call = bcjit.compile(function, backend=FAST)
    call(*arrays(*shapes))
    others = arrays(
        *((*shape[:-2], 4, 4) if name == "batches" else (shape[0], 5) for shape in shapes)
    )
    same(call(*others), function(*others))
    assert kernels[0].fell_back == 1
    few = arrays(*((0, *shape[1:]) for shape in shapes))
    same(call(*few), function(*few))


def test_what_is_small_by_chance_is_not_written_out(kernels):
    call = bcjit.compile(lambda a: (a * a).sum(axis=1), backend=FAST)
    for shape in ((5, 4), (40, 30)):
        (a,) = arrays(shape)
        same(call(a), (a * a).sum(axis=1))
    assert not kernels


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("name", ["batches", "turned", "rows", "distances", "norms"])
def test_what_numpy_says_of_flags(name, value):
    function, *shapes = CASES[name]
    operands = arrays(*shapes)
    operands[0].flat[4] = value
    operands[-1].flat[4] = 0
    said = []
    for one in (function, bcjit.compile(function, backend=FAST)):
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
            warnings.simplefilter("always")
            said.append((one(*operands), [str(warning.message) for warning in caught]))
    assert said[0][1] == said[1][1]
    np.testing.assert_array_equal(said[0][0], said[1][0])


LAYOUTS = {
    "fortran": np.asfortranarray,
    "steps": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1],
    "turned": lambda a: np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2),
    "moved": lambda a: np.ascontiguousarray(np.moveaxis(a, 0, -1)).transpose(
        -1, *range(a.ndim - 1)
    ),
}


@pytest.mark.parametrize(
    "name", ["batches", "batches by one", "turned", "vectors", "rows", "distances", "two axes"]
)
def test_results_lie_as_numpys_do(name):
    function, *shapes = CASES[name]
    call = bcjit.compile(function, backend=FAST)
    call(*arrays(*shapes))
    for layout in LAYOUTS.values():
        for chosen in range(len(shapes)):
            operands = arrays(*shapes)
            operands[chosen] = layout(operands[chosen])
            same(call(*operands), function(*operands))


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a.swapaxes(1, 2) @ b,
        lambda a, b: np.einsum("nij,njk->nik", a.swapaxes(1, 2), b),
        lambda a, b: np.einsum("nij,njk->nik", a.transpose(2, 0, 1), b.transpose(2, 1, 0)),
        lambda a, b: (a.transpose(1, 2, 0) * b.transpose(1, 2, 0)).sum(axis=0),
        lambda a, b: np.einsum("nij,nij->ij", a, b),
        lambda a, b: np.einsum("ijn,ijn->ij", a[:3], b[:3]),
        lambda a, b: np.einsum("nii->n", a) + b[:, 0, 0],
        lambda a, b: (a[:, 1:] @ b[:, :, :2])[::-1],
        lambda a, b: np.einsum("nij,njk,nkl->nil", a, b, a),
    ],
)
def test_views_of_operands(function):
    a, b = arrays((12, 3, 3), (12, 3, 3))
    same(bcjit.compile(function, backend=FAST)(a, b), function(a, b))


def test_what_something_else_needs_is_there(kernels):
    def function(a, b):
        c = a - 1.0
        product = c @ b
        again = product @ b
        return c * 2.0, product + c, again

    a, b = arrays(PAIR, PAIR)
    call = bcjit.compile(function, backend=FAST)
    for _ in range(2):
        for got, wanted in zip(call(a, b), function(a, b), strict=True):
            same(got, wanted)
    assert all(one.fell_back == 0 for one in kernels)
    assert len(kernels) > 1


def test_dear_operands_of_a_product_are_computed_once(kernels):
    text = []

    def spy(graph, inputs):
        made = FAST(graph, inputs)
        text.append(made.source)
        return made

    call = bcjit.compile(lambda a, b: np.exp(a * 0.1) @ b, backend=spy)
    a, b = arrays(PAIR, PAIR)
    np.testing.assert_allclose(call(a, b), np.exp(a * 0.1) @ b, rtol=1e-12, atol=1e-12)
    assert text[0].count("exp dd") == 1
    assert len(kernels) == 2


def test_writes_behind_what_is_written_out():
    def function(a, b, c):
        c[...] = a @ b
        c += a @ b + 1.0
        return c.sum()

    a, b, c = arrays(PAIR, PAIR, PAIR)
    call, other = bcjit.compile(function, backend=FAST), c.copy()
    assert call(a, b, c) == function(a, b, other)
    assert c.tobytes() == other.tobytes()
    other = a.copy()
    assert call(a, b, a) == function(other, b, other)


@pytest.mark.parametrize(
    "function", [lambda a, b: a @ b, lambda a, b: np.dot(a, b[0]), lambda a, b: np.inner(a, b)]
)
def test_products_of_matrices_are_left_to_blas(function, kernels):
    a, b = arrays(N, THREE)
    same(bcjit.compile(function, backend=FAST)(a, b), function(a, b))
    assert not kernels


# ---------------------------------------------------------------------- exact mode
SUMS = {
    "distances": (lambda a, b: ((a[:, None] - b[None]) ** 2).sum(axis=-1), (7, 3), (9, 3)),
    "norms": (lambda a: np.linalg.norm(a - 1, axis=1), (40, 7)),
    "directions": (lambda a: a / np.linalg.norm(a, axis=1, keepdims=True), (40, 3)),
    "means": (lambda a: np.cos(a).mean(axis=1, keepdims=True) * 3, (40, 4)),
    "first axis": (lambda a, b: (a * b).sum(axis=0), (5, 40), (5, 1)),
    "middle axis": (lambda a, b: (a - b).sum(axis=1), (4, 6, 9), (9,)),
    "of an operand": (lambda a: a.sum(axis=-1) * 2, (40, 5)),
    "spread": (lambda a, b: (a + b).std(axis=-1), (40, 6), (6,)),
}
RANDOM = RNG.standard_normal(300)
RANDOM[::17] = -0.0


def randoms(*shapes, dtype="d"):
    found = []
    for shape in shapes:
        values = RANDOM[: np.prod(shape)].reshape(shape)
        found.append((values * 20).astype(dtype) if dtype in "bl" else values.astype(dtype))
    return found


@pytest.mark.parametrize("dtype", "dfl")
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_few_elements_are_numpys_bit_by_bit(name, dtype, kernels):
    function, *shapes = SUMS[name]
    operands = randoms(*shapes, dtype=dtype)
    call = bcjit.compile(function, backend=NATIVE)
    for _ in range(2):
        same(call(*operands), function(*operands))
    assert sum(one.calls for one in kernels) == 2 * len(kernels)
    assert not any(one.fell_back for one in kernels)
    assert kernels or dtype == "l"


@pytest.mark.parametrize("name", ["middle axis", "of an operand", "distances"])
def test_exact_sums_of_other_layouts(name):
    function, *shapes = SUMS[name]
    call = bcjit.compile(function, backend=NATIVE)
    call(*randoms(*shapes))
    for layout in LAYOUTS.values():
        operands = randoms(*shapes)
        operands[0] = layout(operands[0])
        same(call(*operands), function(*operands))
        operands[0] = np.ascontiguousarray(operands[0][..., ::-1])[..., ::-1]
        same(call(*operands), function(*operands))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (a * a).sum(axis=1),
        lambda a: a[:, ::-1].sum(axis=1) + 1,
        lambda a: a[:, :3].sum(axis=1) + a[:, 0],
        lambda a: (a[:, ::-1] * 1).sum(axis=1),
        lambda a: (a + 1j).sum(axis=1),
        lambda a: (a[:, None, :2] * a[:, :2, None]).sum(axis=(1, 2)),
        lambda a: (a * a).sum(axis=1, dtype=np.float32),
        lambda a: np.einsum("ni,ni->n", a, a),
    ],
)
@pytest.mark.parametrize("count", [7, 8])
def test_exact_sums_in_another_order_are_not_written_out(function, count):
    a = np.random.default_rng(count).standard_normal((40, count))
    a[3] = -0.0
    same(bcjit.compile(function, backend=NATIVE)(a), function(a))


def test_other_sizes_have_kernels_of_their_own(kernels):
    """What has another number of elements than the first call's is no case for plain NumPy."""
    call = bcjit.compile(lambda a: (a * a + a).sum(axis=1), backend=NATIVE)
    for shape in ((40, 3), (40, 200), (0, 3), (40, 200), (40, 3)):
        (a,) = randoms((1, 1)) if 0 in shape else [RNG.standard_normal(shape)]
        a = np.resize(a, shape)
        same(call(a), (a * a + a).sum(axis=1))
    assert [one.fell_back for one in kernels] == [2]
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        call(np.full((40, 3), 1e200))
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        call(np.full((40, 9), 1e200))


def test_exact_mode_leaves_contractions_to_numpy(kernels):
    text = []

    def spy(graph, inputs):
        made = NATIVE(graph, inputs)
        text.append(made.source)
        return made

    for name in ("batches", "turned", "rows"):
        function, *shapes = CASES[name]
        operands = arrays(*shapes)
        same(bcjit.compile(function, backend=spy)(*operands), function(*operands))
    assert "multiply_add" not in "".join(text)
    assert "a @ b" in text[0]


@pytest.mark.parametrize("backend", [NATIVE, FAST])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (a * a + b / b.sum()).sum(axis=1),
        lambda a, b: (a * a + np.cumsum(b)).sum(axis=1),
        lambda a, b: (a * a).sum(axis=0) + (a + b.max()).sum(axis=0),
        lambda a, b: np.clip(a + 1, b / b.sum(axis=-1, keepdims=True), 3).sum(
            axis=1, keepdims=True
        ),
    ],
)
def test_a_kernel_may_stand_between_a_sum_and_what_is_summed(function, backend):
    a, b = arrays((3, 2, 64), (64,))
    for one in ((a, abs(b) + 1), (abs(a), b * b + 1)):
        for _ in range(2):
            compiled = bcjit.compile(function, backend=backend)
            np.testing.assert_array_equal(compiled(*one), function(*one))
