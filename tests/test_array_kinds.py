"""Arrays that are no plain numeric ndarrays, and objects that NumPy asks before it works: results, types and every call of a hook as in plain Python.

Each kind goes through each program four times, between plain arrays too, so that entries made for plain arrays are there and must not be used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bcjit
from bcjit.config import config


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


CALLS: list[tuple[object, ...]] = []  # what hooks were called with


class Finalized(np.ndarray):
    """Counts ``__array_finalize__`` and carries an attribute."""

    def __array_finalize__(self, obj):
        CALLS.append(("finalize", type(obj).__name__, self.shape))
        self.unit = getattr(obj, "unit", "none")


class Overrides(np.ndarray):
    """Counts what NumPy asks it to do instead."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        CALLS.append(("ufunc", ufunc.__name__, method, len(inputs), out is None, sorted(kwargs)))
        plain = [i.view(np.ndarray) if isinstance(i, Overrides) else i for i in inputs]
        if out is not None:
            kwargs["out"] = tuple(
                o.view(np.ndarray) if isinstance(o, Overrides) else o for o in out
            )
        result = getattr(ufunc, method)(*plain, **kwargs)
        return result.view(Overrides) if isinstance(result, np.ndarray) else result

    def __array_function__(self, func, types, args, kwargs):
        CALLS.append(("function", func.__name__, len(args), sorted(kwargs)))
        return super().__array_function__(func, types, args, kwargs)

    def __getitem__(self, key):
        CALLS.append(("getitem", str(key)))
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        CALLS.append(("setitem", str(key)))
        super().__setitem__(key, value)


class Wrapped(np.ndarray):
    """Counts what older NumPy called."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        CALLS.append(("wrap", array.shape))
        return super().__array_wrap__(array, context, return_scalar)

    def sum(self, *args, **kwargs):
        CALLS.append(("sum",))
        return super().sum(*args, **kwargs)


class Duck:
    """No array, but NumPy asks it."""

    def __init__(self, values):
        self.values = values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        CALLS.append(("duck ufunc", ufunc.__name__, method))
        if "out" in kwargs:  # else this is asked again without end, in which NumPy 2.0 dies
            kwargs["out"] = tuple(getattr(o, "values", o) for o in kwargs["out"])
        return Duck(getattr(ufunc, method)(*(getattr(i, "values", i) for i in inputs), **kwargs))

    def __array_function__(self, func, types, args, kwargs):
        CALLS.append(("duck function", func.__name__))
        return func(*(getattr(a, "values", a) for a in args), **kwargs)

    def __array__(self, dtype=None, copy=None):
        CALLS.append(("duck array",))
        return np.asarray(self.values, dtype)


class Refuses:
    """Operators of its own: arrays leave the work to it."""

    __array_ufunc__ = None

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        CALLS.append(("add",))
        return "added"

    def __radd__(self, other):
        CALLS.append(("radd", type(other).__name__))
        return "added from the right"

    __mul__ = __rmul__ = __sub__ = __rsub__ = __radd__


class Prefers(np.ndarray):
    __array_priority__ = 100.0

    def __radd__(self, other):
        CALLS.append(("radd of a subclass", type(other).__name__))
        return NotImplemented


def memory_mapped(path):
    mapped = np.memmap(path / "values.bin", dtype="f8", mode="w+", shape=(6,))
    mapped[:] = np.arange(6.0)
    return mapped


def subclass(kind, dtype="f8"):
    return lambda _path: np.arange(6, dtype=dtype).view(kind)


def finalized(_path):
    array = np.arange(6.0).view(Finalized)
    array.unit = "m"
    return array


KINDS: dict[str, Callable[[Any], Any]] = {
    "memmap": memory_mapped,
    "finalized": finalized,
    "overrides": subclass(Overrides),
    "wrapped": subclass(Wrapped),
    "prefers": subclass(Prefers),
    "matrix": lambda _path: _matrix(np.arange(9.0).reshape(3, 3) + 1),
    "masked": lambda _path: np.ma.MaskedArray(np.arange(6.0), mask=[0, 1, 0, 0, 1, 0]),
    "masked, shared mask": lambda _path: np.ma.masked_greater(np.arange(6), 3),
    "object": lambda _path: np.array([1, 2.5, 3 + 1j, 10**30, True, -4], dtype=object),
    "object of arrays": lambda _path: np.array(
        [np.arange(2), np.ones(2), None][:2] + [3], dtype=object
    ),
    "records": lambda _path: np.rec.fromarrays([np.arange(3), np.ones(3)], names="a,b"),
    "structured": lambda _path: np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "datetime": lambda _path: np.array(["2020-01-01", "2021-05-04", "NaT"], dtype="M8[D]"),
    "timedelta": lambda _path: np.array([1, 2, 3], dtype="m8[s]"),
    "text": lambda _path: np.array(["a", "bc", ""]),
    "bytes": lambda _path: np.array([b"a", b"bc"]),
    "void": lambda _path: np.zeros(2, dtype="V3"),
    "other byte order": lambda _path: np.arange(6.0).astype(">f8"),
    "read-only": lambda _path: _frozen(np.arange(6.0)),
    "unaligned": lambda _path: np.frombuffer(b"\0" + np.arange(6.0).tobytes(), dtype=np.uint8)[
        1:
    ].view("f8"),
    "duck": lambda _path: Duck(np.arange(6.0)),
    "refuses": lambda _path: Refuses(3),
    "datetime scalar": lambda _path: np.datetime64("2020-02-29"),
    "void scalar": lambda _path: np.array([(1, 2.0)], dtype="i4,f8")[0],
    "list of arrays": lambda _path: [np.arange(3.0), np.arange(3.0)],
}


def _matrix(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(values)


def _frozen(array):
    array.flags.writeable = False
    return array


def arithmetic(v):
    w = v + v
    return w, v * 2, w - 1


def from_the_left(v):
    return 2.0 * v, np.ones(6) + v


def products(v):
    return v @ v, v * v, np.dot(v, v)


def reductions(v):
    return v.sum(), np.mean(v), v.max(axis=0), np.sum(v, axis=-1)


def shapes(v):
    return v.T, v.ravel(), np.reshape(v, -1), v.shape, v.ndim, v[::2], v[1], v[..., None]


def functions(v):
    return np.sqrt(v), np.where(v > 2, v, 0), np.concatenate([v, v]), np.zeros_like(v)


def comparisons(v):
    return v == v, v > 1, np.isnan(v)


def writes(v):
    v[0] = v[1]
    v += 1
    v[1:] *= 2
    return v


def output(v):
    return np.add(v, 1, out=v)


def views(v):
    w = v[1:]
    w[0] = 0
    return w, np.asarray(v), np.asanyarray(v), v.view(np.ndarray) + 1


def attributes(v):
    return getattr(v, "unit", None), type(v) is np.ndarray, isinstance(v, np.ndarray), v.dtype


PROGRAMS = [
    arithmetic, from_the_left, products, reductions, shapes, functions, comparisons, writes, output, views, attributes,
]  # fmt: skip


def picture(value: object) -> object:
    if isinstance(value, tuple | list):
        return type(value), [picture(item) for item in value]
    if isinstance(value, np.ma.MaskedArray):
        return (
            type(value),
            value.dtype,
            picture(value.filled(0)),
            picture(np.ma.getmaskarray(value)),
            str(value),
        )
    if isinstance(value, np.ndarray | np.generic):
        plain = np.asarray(value)
        flags = (
            (value.flags.writeable, value.flags.owndata, value.strides)
            if isinstance(value, np.ndarray)
            else ()
        )
        contents = (
            [picture(i) for i in plain.ravel().tolist()]
            if plain.dtype.hasobject
            else plain.tobytes()
        )
        return type(value), plain.dtype, plain.shape, flags, contents, getattr(value, "unit", None)
    if isinstance(value, Duck):
        return Duck, picture(value.values)
    if isinstance(value, Refuses):
        return Refuses, value.value
    return type(value), repr(value)


def outcome(fn: Callable[..., Any], value: Any) -> object:
    """Return the value or exception, the argument as it is then, the warnings, and the hooks that were called."""
    CALLS.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = fn(value)
        except Exception as error:  # noqa: BLE001 - compared
            found = error
    hooks = list(CALLS)
    seen = (type(found), str(found)) if isinstance(found, Exception) else picture(found)
    shown = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
    return seen, picture(value), shown, hooks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_kinds_of_arrays_run_as_in_plain_python(fn, kind, tmp_path):
    compiled = bcjit.compile(fn)
    for _ in range(2):
        for make in (KINDS[kind], lambda _path: np.arange(6.0), KINDS[kind]):
            assert outcome(compiled, make(tmp_path)) == outcome(fn, make(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_among_plain_arrays_runs_as_in_plain_python(kind, tmp_path):
    def fn(pair):
        x, v = pair
        y = x * 2 + 1
        z = y[: x.shape[0]] + 1
        w = z + v
        return w, y

    compiled = bcjit.compile(fn)
    for _ in range(3):
        x = np.arange(6.0)
        assert outcome(compiled, (x, KINDS[kind](tmp_path))) == outcome(
            fn, (x, KINDS[kind](tmp_path))
        )
    assert compiled.graphs or kind == "matrix"


def test_a_memory_mapped_array_is_written_through(tmp_path):
    def fn(mapped, k):
        mapped[:] = mapped * k
        mapped[0] += 1
        return mapped.flush, mapped[1:3]

    contents = []
    for name, f in (("plain", fn), ("compiled", bcjit.compile(fn))):
        path = tmp_path / name
        mapped = np.memmap(path, dtype="f8", mode="w+", shape=(4,))
        mapped[:] = np.arange(4.0)
        for k in (2.0, 3.0, 2.0):
            flush, view = f(mapped, k)
            assert type(view) is np.memmap
            flush()
        contents.append(path.read_bytes())
        assert np.shares_memory(view, mapped)
    assert contents[0] == contents[1]
    assert np.frombuffer(contents[0])[0] == ((0 * 2 + 1) * 3 + 1) * 2 + 1


def test_a_read_only_map_refuses_writes_as_in_plain_python(tmp_path):
    path = tmp_path / "values"
    np.arange(4.0).tofile(path)

    def fn(mapped):
        y = mapped + 1
        mapped[0] = 5
        return y

    compiled = bcjit.compile(fn)
    for _ in range(2):
        for mode in ("r", "c"):
            wanted = outcome(fn, np.memmap(path, dtype="f8", mode=mode))
            assert outcome(compiled, np.memmap(path, dtype="f8", mode=mode)) == wanted


def test_an_override_given_later_to_a_class_is_asked():
    class Late(np.ndarray):
        pass

    def fn(v):
        return v + 1, np.sum(v)

    compiled = bcjit.compile(fn)
    v = np.arange(3.0).view(Late)
    assert outcome(compiled, v) == outcome(fn, v)
    Late.__array_ufunc__ = lambda self, ufunc, method, *inputs, **kwargs: (ufunc.__name__, method)
    assert compiled(v) == fn(v) == (("add", "__call__"), ("add", "reduce"))


def test_shape_and_dtype_changed_in_place_are_seen():
    def fn(v):
        return v.sum(axis=0), v.shape

    compiled = bcjit.compile(fn)
    v = np.arange(6.0)
    for change in (
        lambda: None,
        lambda: setattr(v, "shape", (2, 3)),
        lambda: setattr(v, "dtype", "i8"),
        lambda: setattr(v, "dtype", "M8[s]"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5: setting them
            change()
        assert outcome(compiled, v) == outcome(fn, v)
