"""Solvers, decompositions and what is made of them in ``np.linalg``; norms and products are in modules of their own.

LAPACK's routines are library calls: only the shapes and dtypes of their results are known here. They raise ``LinAlgError`` by
value, so each can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from bcjit.dims import Dim, minimum, product
from bcjit.ops.emitter import DType, Emitter, Operand, Permute, Reshape, Shape, Value
from bcjit.ops.named_tuples import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from bcjit.ops.numpy_facts import COND_IS_REAL, EIG_IS_COMPLEX
from bcjit.ops.opdef import NotConstant, Sampler, Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, INTP, as_flag, broadcast, constant, equal, less, size_of
from bcjit.ops.reductions import ABSENT
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__ = ["common_dtype", "define_linalg", "inverse", "real_dtype", "singular_values", "square"]

example = Samplers("linalg")
table = Rows()

_REAL: Final[dict[str, DType]] = {
    "F": np.dtype(np.float32),
    "D": FLOAT64,
    "G": np.dtype(np.longdouble),
}
_COMPLEX: Final[dict[str, DType]] = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


# What a routine works on


def common_dtype(*values: Value) -> DType:
    """Return the dtype a LAPACK routine works in. Source: NumPy ``linalg._linalg._commonType``."""
    for value in values:
        if value.dtype.char not in "fdFD" and value.dtype.kind not in "biu":
            raise WouldRaise(f"array type {value.dtype} is unsupported in linalg")
    dtypes = [FLOAT64 if value.dtype.kind in "biu" else value.dtype for value in values]
    return np.result_type(*dtypes)


def real_dtype(dtype: DType) -> DType:
    """Return the dtype of the parts of complex numbers; any other one is itself."""
    return _REAL.get(dtype.char, dtype)


def _stack(e: Emitter, a: Operand) -> Value:
    value = e.array(a)
    if len(value.shape) < 2:
        raise WouldRaise("the array must be at least two-dimensional")
    return value


def square(e: Emitter, a: Operand) -> Value:
    """Return an array of square matrices."""
    value = _stack(e, a)
    if not equal(e, value.shape[-1], value.shape[-2]):
        raise WouldRaise("the last two dimensions of the array must be square")
    return value


def _call(
    e: Emitter,
    function: Callable[..., object],
    operands: tuple[Operand, ...],
    options: Mapping[str, object],
    *results: tuple[Shape, DType],
) -> tuple[Value, ...]:
    return tuple(e.scalar(value) for value in e.lib_call(function, operands, options, results))


# Equations


def inverse(e: Emitter, a: Operand) -> Value:
    """``np.linalg.inv``."""
    value = square(e, a)
    return _call(e, np.linalg.inv, (value,), {}, (value.shape, common_dtype(value)))[0]


def cholesky(e: Emitter, a: Operand, /, *, upper: Operand = False) -> Value:
    """``np.linalg.cholesky``."""
    value, options = square(e, a), {"upper": as_flag(upper, "upper")}
    return _call(e, np.linalg.cholesky, (value,), options, (value.shape, common_dtype(value)))[0]


def solve(e: Emitter, a: Operand, b: Operand) -> Value:
    """``np.linalg.solve``: b is a vector where it is 1-d, else a stack of matrices."""
    matrix, right = square(e, a), e.array(b)
    dtype = common_dtype(matrix, right)
    size = matrix.shape[-1]
    vector = len(right.shape) == 1
    if not right.shape or not equal(e, right.shape[-1 if vector else -2], size):
        raise WouldRaise("solve: the sizes do not match")
    if vector:
        shape: Shape = matrix.shape[:-1]
    else:
        batch = broadcast(e, matrix.shape[:-2], right.shape[:-2])
        shape = (*batch, size, right.shape[-1])
    return _call(e, np.linalg.solve, (matrix, right), {}, (shape, dtype))[0]


def tensorsolve(e: Emitter, a: Operand, b: Operand, axes: Operand = None) -> Value:
    """``np.linalg.tensorsolve``: as a matrix equation. Source: NumPy ``linalg/_linalg.py``."""
    value, right = e.array(a), e.array(b)
    ndim = len(value.shape)
    if axes is not None:
        if not isinstance(axes, tuple | list):
            raise Unsupported("axes is not a sequence")
        order = list(range(ndim))
        for axis in axes:
            moved = constant(e, axis, "axes")
            if moved not in order:
                raise WouldRaise("axes: no such axis")
            order.remove(moved)
            order.insert(ndim, moved)
        value = e.view(value, Permute(tuple(order)))
    shape = value.shape[-(ndim - len(right.shape)) :]
    size = product(shape)
    if not equal(e, size_of(value), size * size):
        raise WouldRaise("the arrays do not make a square matrix")
    matrix = e.view(value, Reshape((size, size)))
    solution = solve(e, matrix, e.view(right, Reshape((size_of(right),))))
    return e.view(solution, Reshape(shape))


def tensorinv(e: Emitter, a: Operand, ind: Operand = 2) -> Value:
    """``np.linalg.tensorinv``: as a matrix. Source: NumPy ``linalg/_linalg.py``."""
    value, count = e.array(a), constant(e, ind, "ind")
    if count <= 0:
        raise WouldRaise("invalid ind argument")
    if not value.shape:
        raise Unsupported("the inverse of a 0-d array")
    head, tail = value.shape[:count], value.shape[count:]
    size = product(tail)
    if not equal(e, product(head), size):
        raise WouldRaise("the array does not make a square matrix")
    # NumPy has -1 for the second size, which an array without elements does not tell.
    if equal(e, size, 0):
        raise WouldRaise("cannot reshape an array of size 0 into an unknown shape")
    flat = inverse(e, e.view(value, Reshape((size, size))))
    return e.view(flat, Reshape((*tail, *head)))


def lstsq(e: Emitter, a: Operand, b: Operand, rcond: Operand = None) -> tuple[Value, ...]:
    """``np.linalg.lstsq``: there are residuals where there are more equations than unknowns and the rank is full."""
    matrix, right = e.array(a), e.array(b)
    if len(matrix.shape) != 2 or len(right.shape) not in {1, 2}:
        raise WouldRaise("lstsq of arrays that are not matrices")
    rows, columns = matrix.shape
    if not equal(e, rows, right.shape[0]):
        raise WouldRaise("incompatible dimensions")
    dtype = common_dtype(matrix, right)
    real = real_dtype(dtype)
    residuals = e.unknown("residuals") if less(e, columns, rows) else 0
    given, _ = _tolerance(e, rcond)
    return _call(
        e,
        np.linalg.lstsq,
        (matrix, right, *given),
        {},
        ((columns, *right.shape[1:]), dtype),
        ((residuals,), real),
        ((), np.dtype(np.intc)),
        ((minimum(rows, columns),), real),
    )


# Decompositions

_QR_MODES: Final = frozenset({"reduced", "complete", "r", "raw"})


def qr(e: Emitter, a: Operand, mode: Operand = "reduced") -> Value | tuple[Value, ...]:
    """``np.linalg.qr``."""
    if not isinstance(mode, str) or mode not in _QR_MODES:
        raise Unsupported("this mode of a QR decomposition warns or raises")
    value = _stack(e, a)
    dtype = common_dtype(value)
    *batch, rows, columns = value.shape
    small = minimum(rows, columns)
    shapes: dict[str, tuple[tuple[Dim, ...], ...]] = {
        "reduced": ((rows, small), (small, columns)),
        "complete": ((rows, rows), (rows, columns)),
        "r": ((small, columns),),
        "raw": ((columns, rows), (small,)),
    }
    results = [((*batch, *shape), dtype) for shape in shapes[mode]]
    found = _call(e, np.linalg.qr, (value,), {"mode": mode}, *results)
    if mode == "r":
        return found[0]
    named: tuple[Value, ...] = found if mode == "raw" else QRResult(*found)
    return named


def svd(
    e: Emitter,
    a: Operand,
    full_matrices: Operand = True,
    compute_uv: Operand = True,
    hermitian: Operand = False,
) -> Value | tuple[Value, ...]:
    """``np.linalg.svd``."""
    full, vectors = as_flag(full_matrices, "full_matrices"), as_flag(compute_uv, "compute_uv")
    of_eigh = as_flag(hermitian, "hermitian")
    value = square(e, a) if of_eigh else _stack(e, a)
    dtype = common_dtype(value)
    *batch, rows, columns = value.shape
    small = minimum(rows, columns)
    singular = ((*batch, small), real_dtype(dtype))
    options = {"full_matrices": full, "compute_uv": vectors, "hermitian": of_eigh}
    if not vectors:
        return _call(e, np.linalg.svd, (value,), options, singular)[0]
    left, right = (rows, columns) if full and not of_eigh else (small, small)
    found = _call(
        e,
        np.linalg.svd,
        (value,),
        options,
        ((*batch, rows, left), dtype),
        singular,
        ((*batch, right, columns), dtype),
    )
    named: tuple[Value, ...] = SVDResult(*found)
    return named


def singular_values(e: Emitter, x: Operand, /) -> Value:
    """``np.linalg.svdvals``."""
    found = svd(e, x, compute_uv=False)
    assert not isinstance(found, tuple)
    return found


def _eig(e: Emitter, a: Operand) -> tuple[Value, DType]:
    value = square(e, a)
    dtype = common_dtype(value)
    if dtype.kind != "c" and not EIG_IS_COMPLEX:
        raise Unsupported("whether the eigenvalues of a real matrix are complex depends on them")
    return value, _COMPLEX.get(dtype.char, dtype)


def eig(e: Emitter, a: Operand) -> tuple[Value, ...]:
    """``np.linalg.eig``."""
    value, dtype = _eig(e, a)
    shape = value.shape
    results = ((shape[:-1], dtype), (shape, dtype))
    named: tuple[Value, ...] = EigResult(*_call(e, np.linalg.eig, (value,), {}, *results))
    return named


def eigvals(e: Emitter, a: Operand) -> Value:
    """``np.linalg.eigvals``."""
    value, dtype = _eig(e, a)
    return _call(e, np.linalg.eigvals, (value,), {}, (value.shape[:-1], dtype))[0]


def _triangle(UPLO: Operand) -> str:  # noqa: N803 - NumPy's name
    if not isinstance(UPLO, str) or UPLO.upper() not in {"L", "U"}:
        raise WouldRaise("UPLO argument must be 'L' or 'U'")
    return UPLO


def eigh(e: Emitter, a: Operand, UPLO: Operand = "L") -> tuple[Value, ...]:  # noqa: N803
    """``np.linalg.eigh``."""
    options = {"UPLO": _triangle(UPLO)}
    value = square(e, a)
    dtype, shape = common_dtype(value), value.shape
    results = ((shape[:-1], real_dtype(dtype)), (shape, dtype))
    named: tuple[Value, ...] = EighResult(*_call(e, np.linalg.eigh, (value,), options, *results))
    return named


def eigvalsh(e: Emitter, a: Operand, UPLO: Operand = "L") -> Value:  # noqa: N803
    """``np.linalg.eigvalsh``."""
    options = {"UPLO": _triangle(UPLO)}
    value = square(e, a)
    result = (value.shape[:-1], real_dtype(common_dtype(value)))
    return _call(e, np.linalg.eigvalsh, (value,), options, result)[0]


# Determinant, rank, condition, pseudo-inverse


def det(e: Emitter, a: Operand) -> Value:
    """``np.linalg.det``."""
    value = square(e, a)
    return _call(e, np.linalg.det, (value,), {}, (value.shape[:-2], common_dtype(value)))[0]


def slogdet(e: Emitter, a: Operand) -> tuple[Value, ...]:
    """``np.linalg.slogdet``."""
    value = square(e, a)
    dtype, shape = common_dtype(value), value.shape[:-2]
    results = ((shape, dtype), (shape, real_dtype(dtype)))
    named: tuple[Value, ...] = SlogdetResult(*_call(e, np.linalg.slogdet, (value,), {}, *results))
    return named


def _tolerance(e: Emitter, tolerance: Operand) -> tuple[tuple[Operand, ...], Shape]:
    """Return a tolerance as the operands that it adds to a call, and its shape."""
    if tolerance is None:
        return (), ()
    if e.is_value(tolerance):
        return (tolerance,), tolerance.shape
    if e.weak_type(tolerance) is None:
        raise Unsupported("a tolerance is not a number or an array")
    return (tolerance,), ()


def _relative(e: Emitter, rtol: Operand) -> dict[str, object]:
    """Return ``rtol`` as an option: it has no place among the operands."""
    if rtol is not None and type(rtol) not in {int, float}:
        if e.weak_type(rtol) in {int, float}:
            raise NotConstant("rtol")
        raise Unsupported("rtol is not a number")
    return {"rtol": rtol}


def matrix_rank(
    e: Emitter,
    A: Operand,  # noqa: N803 - NumPy's name
    tol: Operand = None,
    hermitian: Operand = False,
    *,
    rtol: Operand = None,
) -> Operand:
    """``np.linalg.matrix_rank``: a Python int of a vector. Source: NumPy ``linalg/_linalg.py``."""
    value = e.array(A)
    if tol is not None and rtol is not None:
        raise WouldRaise("`tol` and `rtol` can't be both set")
    given, shape = _tolerance(e, tol)
    options = {"hermitian": as_flag(hermitian, "hermitian"), **_relative(e, rtol)}
    operands = (value, *given)
    if len(value.shape) < 2:
        (rank,) = e.lib_call(np.linalg.matrix_rank, operands, options, [((), INTP)])
        return e.item(rank, int)
    common_dtype(value)
    result = (broadcast(e, value.shape[:-2], shape), INTP)
    return _call(e, np.linalg.matrix_rank, operands, options, result)[0]


def cond(e: Emitter, x: Operand, p: Operand = None) -> Value:
    """``np.linalg.cond``. Source: NumPy ``linalg/_linalg.py``."""
    if e.weak_type(p) in {int, float} and type(p) not in {int, float}:
        raise NotConstant("p")
    if e.is_value(p) or p not in _CONDITIONS:
        raise Unsupported("this kind of condition number")
    value = _stack(e, x) if p in {None, 2, -2} else square(e, x)
    dtype = common_dtype(value)
    if p in {None, 2, -2} or COND_IS_REAL:
        dtype = real_dtype(dtype)
    return _call(e, np.linalg.cond, (value,), {"p": p}, (value.shape[:-2], dtype))[0]


_CONDITIONS: Final = (None, 1, -1, 2, -2, float("inf"), float("-inf"), "fro", "f", "nuc")


def pinv(
    e: Emitter,
    a: Operand,
    rcond: Operand = None,
    hermitian: Operand = False,
    *,
    rtol: Operand = ABSENT,
) -> Value:
    """``np.linalg.pinv``. Source: NumPy ``linalg/_linalg.py``."""
    value = _stack(e, a)
    if rcond is not None and rtol is not ABSENT:
        raise WouldRaise("`rtol` and `rcond` can't be both set")
    given, _ = _tolerance(e, rcond)
    options: dict[str, object] = {"hermitian": as_flag(hermitian, "hermitian")}
    if rtol is not ABSENT:
        options |= _relative(e, rtol)
    *batch, rows, columns = value.shape
    dtype = value.dtype
    if dtype.char not in "fdFD" and not equal(e, rows * columns, 0):
        dtype = common_dtype(value)
    result = ((*batch, columns, rows), dtype)
    return _call(e, np.linalg.pinv, (value, *given), options, result)[0]


# The table


def define_linalg(table: Rows, expand: Any, sampler: Sampler, name: str, ulp: int = 0) -> None:
    """Add a function of ``np.linalg``."""
    table.define(f"linalg.{name}", functions(expand, sampler, name, module=np.linalg), ulp=ulp)


for _name, _expand, _sampler in (
    ("inv", inverse, example.squares),
    ("cholesky", cholesky, example.choleskys),
    ("solve", solve, example.solves),
    ("lstsq", lstsq, example.least_squares),
    ("tensorsolve", tensorsolve, example.tensorsolves),
    ("tensorinv", tensorinv, example.tensorinvs),
    ("qr", qr, example.qrs),
    ("svd", svd, example.svds),
    ("svdvals", singular_values, example.matrices),
    ("eig", eig, example.squares),
    ("eigvals", eigvals, example.squares),
    ("eigh", eigh, example.hermitians),
    ("eigvalsh", eigvalsh, example.hermitians),
    ("det", det, example.squares),
    ("slogdet", slogdet, example.squares),
    ("matrix_rank", matrix_rank, example.ranks),
    ("cond", cond, example.conds),
    ("pinv", pinv, example.pinvs),
):
    define_linalg(table, _expand, _sampler, _name)
