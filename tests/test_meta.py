"""Metas of values: exact types only, and a text that says shape and dtype."""

import copy
import pickle

import numpy as np
import pytest

from bcjit.dims import Symbol
from bcjit.meta import (
    UNBOUND,
    ArrayMeta,
    ScalarMeta,
    SourceLine,
    UnboundMeta,
    UnboundType,
    UnionMeta,
    meta_of,
)


class Sub(np.ndarray):
    pass


class MyInt(int):
    pass


class MyFloat64(np.float64):
    pass


SAMPLES = {
    "float64[2, 3]": np.ones((2, 3)),
    "int64[]": np.array(2),
    ">f4[2]": np.zeros(2, ">f4"),
    "object[1]": np.array([None]),
    "scalar float32": np.float32(3),
    "scalar bool": np.True_,
    "scalar datetime64[Y]": np.datetime64("2020"),
    "scalar <U1": np.str_("a"),
    "bool": True,
    "int": 3,
    "float": 3.0,
    "complex": 3j,
}


@pytest.mark.parametrize("text", SAMPLES)
def test_meta_of_a_value_has_its_shape_dtype_and_type(text):
    value = SAMPLES[text]
    meta = meta_of(value)
    assert str(meta) == text
    if isinstance(meta, ArrayMeta):
        assert (meta.shape, meta.dtype, meta.ndim, meta.size) == (
            value.shape,
            value.dtype,
            value.ndim,
            value.size,
        )
        assert meta.is_scalar is isinstance(value, np.generic)
    else:
        assert meta.pytype is type(value)


@pytest.mark.parametrize(
    "value", ["x", None, [1], np.ones(2).view(Sub), np.ma.ones(2), MyInt(3), MyFloat64(2)], ids=repr
)
def test_subclasses_and_other_values_have_no_meta(value):
    assert meta_of(value) is None


def test_sizes_may_be_symbolic():
    n = Symbol("n").expr
    meta = ArrayMeta((n, 3, n + 1), np.dtype(np.float32))
    assert str(meta) == "float32[n, 3, n + 1]"
    assert meta.size == 3 * n * (n + 1)
    assert meta == ArrayMeta((n, 3, 1 + n), np.dtype("f4"))
    assert hash(meta) == hash(ArrayMeta((n, 3, 1 + n), np.dtype("f4")))


def test_wrong_fields_are_refused():
    with pytest.raises(TypeError, match="shape"):
        ArrayMeta((Symbol("n"),), np.dtype(float))
    with pytest.raises(TypeError, match="shape"):
        ArrayMeta((True,), np.dtype(float))
    with pytest.raises(ValueError, match="of a scalar"):
        ArrayMeta((1,), np.dtype(float), is_scalar=True)
    with pytest.raises(TypeError, match="pytype"):
        ScalarMeta(str)


def test_source_lines_are_short():
    assert str(SourceLine("/home/user/model.py", 12, "f")) == "model.py:12"
    assert SourceLine("C:\\src\\model.py", 3).text() == "model.py:3"
    assert str(SourceLine("<stdin>", 1)) == "<stdin>:1"


PYTHON_FLOAT, PYTHON_BOOL = ScalarMeta(float), ScalarMeta(bool)
FLOAT32, FLOAT64, BOOL = (
    ArrayMeta((), np.dtype(name), is_scalar=True) for name in ("float32", "float64", "bool")
)
VECTOR = ArrayMeta((3,), np.dtype(float))
EITHER = UnionMeta((FLOAT64, PYTHON_FLOAT))


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        (EITHER, "float|float64"),
        (UnionMeta((FLOAT64, FLOAT32)), "float32|float64"),
        (UnionMeta((BOOL, PYTHON_BOOL)), "bool|numpy.bool"),
        (UnboundMeta(FLOAT64), "float64?"),
        (UnboundMeta(PYTHON_FLOAT), "float?"),
        (UnboundMeta(VECTOR), "float64[3]?"),
        (UnboundMeta(EITHER), "(float|float64)?"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_metas_of_several_kinds_say_each(meta, text):
    assert str(meta) == text


def test_kinds_have_no_order():
    assert EITHER == UnionMeta((PYTHON_FLOAT, FLOAT64))
    assert hash(EITHER) == hash(UnionMeta((PYTHON_FLOAT, FLOAT64)))
    assert EITHER != UnionMeta((PYTHON_FLOAT, FLOAT32))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: UnionMeta((FLOAT64,)), ValueError),
        (lambda: UnionMeta((FLOAT64, FLOAT64)), ValueError),
        (lambda: UnionMeta((FLOAT64, VECTOR)), TypeError),
        (lambda: UnionMeta((EITHER, FLOAT32)), TypeError),
        (lambda: UnboundMeta(UnboundMeta(FLOAT64)), TypeError),
    ],
)
def test_wrong_kinds_are_refused(make, error):
    with pytest.raises(error, match="kind"):
        make()


def test_unbound_is_one_object():
    assert repr(UNBOUND) == "<unbound>"
    assert UnboundType() is UNBOUND
    assert copy.deepcopy(UNBOUND) is UNBOUND
    assert pickle.loads(pickle.dumps(UNBOUND)) is UNBOUND
