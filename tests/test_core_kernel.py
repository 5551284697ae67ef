"""`_core.Kernel` alone: machine code made by hand, and all the ways in which a call is not what it was compiled for."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
import tracemalloc
import weakref
from functools import cache

import numpy as np
import pytest

from bcjit import _core
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.engine import in_turn, machine

pytestmark = pytest.mark.skipif(not has_llvm(), reason="needs llvmlite")

F8, I8 = np.dtype("f8").num, np.dtype("i8").num
WIDTH = 4
# result = operand / scalar, four at a time, the last four once more.
DIVIDE = """
define void @kernel(ptr noalias %data, ptr %scalars, ptr %loops, i64 %n, ptr %scratch) {
entry:
  %x = load ptr, ptr %data
  %at = getelementptr ptr, ptr %data, i64 1
  %out = load ptr, ptr %at
  %k = load double, ptr %scalars
  %one = insertelement <4 x double> poison, double %k, i64 0
  %all = shufflevector <4 x double> %one, <4 x double> poison, <4 x i32> zeroinitializer
  %end = sub i64 %n, 4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr double, ptr %x, i64 %i
  %v = load <4 x double>, ptr %from, align 8
  %r = fdiv <4 x double> %v, %all
  %to = getelementptr double, ptr %out, i64 %i
  store <4 x double> %r, ptr %to, align 8
  %later = add i64 %i, 4
  %beyond = icmp sgt i64 %later, %end
  %next = select i1 %beyond, i64 %end, i64 %later
  %more = icmp slt i64 %i, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@cache
def code():
    return in_turn(lambda: machine().load(machine().compile(DIVIDE)))


class Fallback:
    """What NumPy would do; remembers what it was given."""

    def __init__(self, result="numpy"):
        self.given = []
        self.result = result

    def __call__(self, *args, **kwargs):
        self.given.append((args, kwargs))
        return self.result


def made(fallback=None, **changes):
    arguments = {
        "run": code().address,
        "owner": code(),
        "fallback": fallback or Fallback(),
        "n_arguments": 2,
        "n_fallback": 2,
        "operands": ((0, F8),),
        "scalars": ((1, F8, False),),
        "results": (F8,),
        "loops": (),
        "width": WIDTH,
        "block": 1 << 40,
        "scratch": 0,
        "checks_flags": 1,
        "warns_here": False,
    }
    return _core.Kernel(**(arguments | changes))


def test_it_divides():
    kernel = made()
    for n in (0, 1, 3, 4, 5, 8, 11, 100):
        x = np.arange(float(n))
        assert kernel(x, 4.0).tolist() == (x / 4).tolist()
    assert (kernel.calls, kernel.fell_back, kernel.off) == (8, 0, False)


def test_no_elements_are_left_to_numpy_where_numbers_are_computed():
    asked = []
    kernel = made(computes_numbers=True, fallback=lambda x, k: asked.append(x.size) or x / k)
    for _ in range(40):
        assert kernel(np.empty(0), 4.0).shape == (0,)
    assert (asked, kernel.calls, kernel.fell_back, kernel.off) == ([0] * 40, 0, 0, False)
    assert kernel(np.ones(3), 4.0).tolist() == [0.25] * 3
    assert (len(asked), kernel.calls) == (40, 1)


class Sub(np.ndarray):
    pass


class MyFloat(float):
    pass


@pytest.mark.parametrize(
    "args",
    [
        (),
        (np.ones(3),),
        (np.ones(3), 2.0, 3.0),
        ([1.0, 2.0], 2.0),
        (None, 2.0),
        (np.ones(3, "f4"), 2.0),
        (np.ones(3, ">f8"), 2.0),
        (np.ones(3).view(Sub), 2.0),
        (np.zeros(25, "u1")[1:].view("f8"), 2.0),
        (np.array(1.0), 2.0),
        (np.float64(1.0), 2.0),
        (np.ones((2,) * 18)[..., :1], 2.0),
        (np.ones(3), "2"),
        (np.ones(3), None),
        (np.ones(3), MyFloat(2.0)),
        (np.ones(3), np.float64(2.0)),
        (np.ones(3), 10**400),
        (np.ones(3), 2j),
        (np.ones(3), 0.0),
    ],
    ids=repr,
)
def test_what_it_was_not_made_for_is_handed_on(args):
    fallback = Fallback()
    assert made(fallback)(*args) == "numpy"
    ((given, named),) = fallback.given
    assert named == {}
    assert len(given) == len(args)
    assert all(one is other for one, other in zip(given, args, strict=True))


def test_keywords_are_handed_on():
    fallback = Fallback()
    made(fallback)(np.ones(3), k=2.0)
    assert fallback.given[0][1] == {"k": 2.0}


def test_sizes_behind_the_arguments_are_not_handed_on():
    fallback = Fallback()
    kernel = made(fallback, n_arguments=2, n_fallback=1)
    assert kernel(np.ones(4), 2).tolist() == [0.5] * 4
    kernel([1.0], 2)
    assert len(fallback.given[0][0]) == 1


def test_an_exception_of_the_fallback_comes_through():
    def fallback(*_args):
        raise LookupError("no")

    kernel = made(fallback)
    for _ in range(3):
        with pytest.raises(LookupError, match="no"):
            kernel(None, 1.0)


def test_a_flag_is_no_reason_where_it_does_not_matter():
    said = []

    def matters(flags):
        said.append(flags)
        return False

    fallback = Fallback()
    kernel = made(fallback)
    _core.set_flags_test(matters)
    try:
        assert kernel(np.ones(5), 0.0).tolist() == [np.inf] * 5
        assert np.isnan(kernel(np.zeros(1), 0.0)).all()
    finally:
        _core.set_flags_test(None)
    assert said == [1, 8]
    assert fallback.given == []
    assert made(fallback, checks_flags=0)(np.ones(5), 0.0).tolist() == [np.inf] * 5
    assert made(fallback, checks_flags=2)(np.zeros(5), 0.0) == "numpy"


def test_an_exception_of_the_flags_test_comes_through():
    def matters(_flags):
        raise LookupError("flags")

    _core.set_flags_test(matters)
    try:
        with pytest.raises(LookupError, match="flags"):
            made()(np.ones(5), 0.0)
    finally:
        _core.set_flags_test(None)


def test_it_gives_up_when_it_falls_back_too_often():
    fallback = Fallback()
    kernel = made(fallback)
    for _ in range(16):
        kernel(None, 1.0)
    assert kernel.off
    assert kernel(np.ones(4), 2.0) == "numpy"
    assert kernel.calls == 16


@pytest.mark.parametrize(
    "changes",
    [
        {"operands": ()},
        {"operands": ((0, F8),) * 33},
        {"operands": ((2, F8),)},
        {"operands": ((-1, F8),)},
        {"operands": ((0, 9999),)},
        {"scalars": ((2, F8, False),)},
        {"scalars": ((1, F8, False),) * 33},
        {"results": ()},
        {"results": (F8,) * 9},
        {"results": (9999,)},
        {"results": ("f8",)},
        {"loops": ("a",)},
        {"run": 0},
        {"run": None},
        {"fallback": 3},
        {"width": 0},
        {"block": 1},
        {"scratch": -1},
        {"n_fallback": 3},
        {"n_fallback": -1},
        {"mask": (0, 0)},  # and nothing to store into
        {"mask": (7, 0), "destination": (0, F8)},
        {"tables": (((7, F8), 1),)},
        {"tables": (((0, F8), 4),)},
        {"tables": (((0, F8), 1),) * 5},
    ],
    ids=repr,
)
def test_what_it_cannot_be_made_of(changes):
    with pytest.raises((ValueError, TypeError)):
        made(**changes)


def test_it_holds_and_drops_what_it_is_made_of():
    class Owner:
        pass

    owner, fallback = Owner(), Fallback()
    kernel = made(fallback, owner=owner)
    assert kernel.fallback is fallback
    refs = [weakref.ref(owner), weakref.ref(fallback)]
    fallback.kernel = kernel  # a cycle
    del owner, fallback, kernel
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_a_call_leaks_nothing():
    kernel = made(scalars=((1, F8, True),))
    x, k, wrong = np.ones(100), np.float64(2.0), np.ones(3, "f4")
    counted = (x, k, wrong, np.dtype("f8"), np.float64, kernel, kernel.fallback)
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(50):
        kernel(x, k)
        kernel(x[::2], k)
        kernel(wrong, k)
        kernel(x, 2.0)
    kernel.fallback.given.clear()
    assert [sys.getrefcount(one) for one in counted] == before


def test_memory_of_results_goes_when_they_go():
    kernel, x = made(), np.ones(1000)
    kernel(x, 2.0), kernel(x, 0.0), kernel(x[::2], 2.0)
    kernel.fallback.given.clear()
    tracemalloc.start()
    try:
        for _ in range(30):
            kernel(x, 2.0)
            kernel(x, 0.0)
            kernel(x[::2], 2.0)
            kernel.fallback.given.clear()
        assert tracemalloc.get_traced_memory()[0] < 8000
    finally:
        tracemalloc.stop()


def test_results_are_their_owners():
    result = made()(np.ones((3, 4)), 2.0)
    assert result.base is None
    assert result.flags.owndata
    assert result.flags.writeable
    assert result.flags.aligned


def test_ctrl_c_ends_a_long_run():
    x = np.ones(9 << 20)

    def interrupt(*_args):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    fallback = Fallback()
    kernel = made(fallback)
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100_000):
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                kernel(x, 2.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fallback.given == []
    assert kernel(x[:5], 2.0).tolist() == [0.5] * 5


def test_a_kernel_within_a_kernel():
    # The flags test and the fallback run Python, which may call the kernel again.
    inner = []

    def fallback(x, _k):
        inner.append(kernel(x, 4.0).tolist())
        return x

    def matters(_flags):
        inner.append(kernel(np.ones(4), 8.0).tolist())
        return True

    kernel = made(fallback)
    _core.set_flags_test(matters)
    try:
        kernel(np.ones(4), 0.0)
    finally:
        _core.set_flags_test(None)
    assert inner == [[0.125] * 4, [0.25] * 4]


def test_threads_share_a_kernel():
    kernel, wrong = made(), []
    rng = np.random.default_rng(4)

    def work(n):
        x = rng.standard_normal(n)
        wanted = (x / 3.0).tolist()
        turned = (x[::2] / 3.0).tolist()
        for _ in range(30):
            if kernel(x, 3.0).tolist() != wanted or kernel(x[::2], 3.0).tolist() != turned:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (7, 3000, 3001, 40_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_ufuncs_loops_are_found():
    index = np.add.types.index("dd->d")
    address, data = _core.ufunc_loop(np.add, index)
    x, y, out = np.ones(3), np.ones(3), np.zeros(3)
    loop = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )(address)
    places = (ctypes.c_void_p * 3)(*(one.ctypes.data for one in (x, y, out)))
    loop(places, (ctypes.c_ssize_t * 1)(3), (ctypes.c_ssize_t * 3)(8, 8, 8), data)
    assert out.tolist() == [2.0] * 3
    for wrong in ((np.add, 999), (np.add, -1)):
        with pytest.raises(ValueError, match="no such loop"):
            _core.ufunc_loop(*wrong)
    with pytest.raises(TypeError, match="a ufunc is expected"):
        _core.ufunc_loop(len, 0)
