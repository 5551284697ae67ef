"""Metas of values: exact types only, and a text that says shape and dtype."""

import numpy as np
import pytest

from bcjit.dims import Symbol
from bcjit.meta import ArrayMeta, ScalarMeta, SourceLine, meta_of


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
