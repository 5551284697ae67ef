"""Which calls the native backend puts into one kernel, and that what comes of it is NumPy's."""

import warnings

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.backends.native.alone import MOST_ALONE
from bcjit.backends.native.backend import Native

pytest.importorskip("llvmlite")


def compiled(fn):
    """Return a compiled function, and the list of how many kernels each of its graphs has."""
    native, counts = Native(smallest=1), []

    def backend(graph, example_inputs):
        function = native(graph, example_inputs)
        counts.append(function.kernels)
        return function

    backend.optimizes = True
    return bcjit.compile(fn, backend=backend), counts


def products(a, b, c, d, e, f):
    return a * b + c * d - e / f


def test_terms_that_meet_are_one_kernel():
    arrays = [np.arange(1.0, 4.0) + i for i in range(6)]
    fn, counts = compiled(products)
    assert fn(*arrays).tobytes() == products(*arrays).tobytes()
    assert counts == [1]


def test_guards_say_that_sizes_are_equal():
    """Each array has a symbol of its own; a call in which they differ is another graph."""
    fn, counts = compiled(products)
    arrays = [np.arange(1.0, 4.0) + i for i in range(6)]
    fn(*arrays)
    arrays[2] = arrays[3] = np.full(1, 2.0)
    assert fn(*arrays).tobytes() == products(*arrays).tobytes()
    assert counts[0] == 1
    with pytest.raises(ValueError, match="broadcast"):
        fn(*arrays[:5], np.ones(4))


def test_a_call_between_two_groups_keeps_them_apart():
    def between(x, y):
        left = x * 2.0 + 1.0
        total = np.cumsum(left)
        right = y * total - 3.0
        return left + right

    x, y = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    fn, counts = compiled(between)
    assert fn(x, y).tobytes() == between(x, y).tobytes()
    assert counts == [2]


def test_values_needed_outside_are_results_of_the_one_kernel():
    def several(x, y):
        left = x * 2.0
        right = y * 3.0
        return left, right, left + right

    x, y = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    fn, counts = compiled(several)
    assert [one.tobytes() for one in fn(x, y)] == [one.tobytes() for one in several(x, y)]
    assert counts == [1]


def test_what_was_said_once_is_not_said_again_when_a_kernel_is_made():
    def said_once(x):
        warnings.warn("said", stacklevel=1)
        return x * 2.5 + 1.5

    registry = globals().setdefault("__warningregistry__", {})
    fn, counts = compiled(said_once)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        said_once(np.ones(3))
        fn(np.ones(3))
        fn(np.ones(3))
    registry.clear()
    assert counts == [1]
    assert len(seen) == 1


def test_a_graph_that_is_one_kernel_is_called_without_a_frame_and_fails_as_plain_code_does():
    only = []

    def backend(graph, example_inputs):
        function = Native(smallest=1)(graph, example_inputs)
        only.append(function.only_call)
        return function

    def divided(x, y):
        return x / y + 1.0

    fn = bcjit.compile(divided, backend=backend)
    x, y = np.arange(1.0, 4.0), np.array([2.0, 0.0, 4.0])
    fn(x, y + 1.0)
    with pytest.warns(RuntimeWarning, match="divide by zero") as seen:
        found = fn(x, y)
    assert found.tolist() == [1.5, np.inf, 1.75]
    line = divided.__code__.co_firstlineno + 1
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, line)]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as caught:
        fn(x, y)
    assert [(one.name, one.lineno) for one in caught.traceback[1:]] == [("divided", line - 1)]
    with pytest.raises(ValueError, match="broadcast"):
        fn(x, np.ones(2))
    assert len(only) == 1
    assert type(only[0]).__name__ == "Kernel"


def test_what_hands_on_more_than_a_kernel_has_a_frame():
    only = []

    def backend(graph, example_inputs):
        function = Native(smallest=1)(graph, example_inputs)
        only.append(function.only_call)
        return function

    x = np.arange(1.0, 4.0)
    for program in (lambda x: x.sum() + 1.0, lambda x: (x - 1.0, x + 1.0)):
        bcjit.compile(program, backend=backend)(x)
    assert only == [None] * 2


def test_what_a_kernel_cannot_hold_is_several():
    """More results, or more operands, than one has."""

    def results(x):
        return tuple(x * float(k) + 1.0 for k in range(2, 13))

    def operands(*arrays):
        total = arrays[0] * 2.0
        for array in arrays[1:]:
            total = total + array
        return total

    x = np.arange(1.0, 4.0)
    fn, counts = compiled(results)
    assert [one.tobytes() for one in fn(x)] == [one.tobytes() for one in results(x)]
    assert counts == [2]
    arrays = [x + k for k in range(40)]
    fn, counts = compiled(operands)
    assert fn(*arrays).tobytes() == operands(*arrays).tobytes()
    assert counts == [2]


def test_calls_that_share_operands_are_one_kernel():
    def apart(x, y):
        return x * 2.0, y * 3.0 + x

    x, y = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    fn, counts = compiled(apart)
    assert [one.tobytes() for one in fn(x, y)] == [one.tobytes() for one in apart(x, y)]
    assert counts == [1]


def with_a_number(x):
    return x - 1.5, np.sort(x) + 1.0


def test_single_calls_with_a_number_are_kernels_for_small_arrays():
    """NumPy takes long to get at the number. It may compute into a temporary, so that one is left to it."""
    native, functions = Native(), []

    def backend(graph, example_inputs):
        functions.append(native(graph, example_inputs))
        return functions[-1]

    backend.optimizes = True
    compiled = bcjit.compile(with_a_number, backend=backend)
    for size in (3, MOST_ALONE, MOST_ALONE + 1):
        x = np.arange(float(size))
        for one, other in zip(compiled(x), with_a_number(x), strict=True):
            assert one.tobytes() == other.tobytes()
        kernels = [
            value for value in functions[0].__globals__.values() if isinstance(value, _core.Kernel)
        ]
    assert functions[0].kernels == 1
    # a call that is NumPy's is not one that the kernel could not do
    assert [(one.calls, one.fell_back) for one in kernels] == [(2, 0)]
