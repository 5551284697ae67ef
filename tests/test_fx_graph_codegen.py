"""Generated source: how each operand and call is written, what lives how long, and how failures are located."""

from __future__ import annotations

import gc
import inspect
import linecache
import operator
import struct
import sys
import textwrap
import traceback
import types
import warnings
import weakref

import numpy as np
import pytest

from bcjit.dims import Symbol, maximum
from bcjit.errors import InternalError
from bcjit.fx_graph import (
    Graph,
    Interpreter,
    locate_failure,
    refuses_warnings,
    returning_value,
    to_source,
)
from bcjit.fx_graph.codegen import ForcedFailure
from bcjit.fx_graph.expressions import PYTHON_METHODS
from bcjit.meta import ArrayMeta, ScalarMeta, meta_of

N = Symbol("s0")
F8 = np.dtype(float)
VECTOR = ArrayMeta((N.expr,), F8)
SCALAR = ArrayMeta((), F8, is_scalar=True)
FLOAT = ScalarMeta(float)
INT = ScalarMeta(int)


def vector_graph(*names):
    graph = Graph()
    nodes = [graph.input(name, VECTOR) for name in names or ("x",)]
    graph.bind_symbol(N, nodes[0], 0)
    return graph, *nodes


def body_of(graph, **options):
    """The generated lines, without the header."""
    return textwrap.dedent(to_source(graph, **options).source.partition("\n")[2])


def assert_same_bits(left, right):
    assert type(left) is type(right)
    if isinstance(left, tuple | list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same_bits(one, other)
    elif isinstance(left, np.ndarray | np.generic):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert left.tobytes() == right.tobytes()
    elif isinstance(left, float):
        assert struct.pack("d", left) == struct.pack("d", right)
    else:
        assert left == right


# How calls are written

UNARY = [operator.neg, operator.pos, operator.invert, abs]
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.matmul,
]  # fmt: skip
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod, operator.ipow,
    operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
]  # fmt: skip


@pytest.mark.parametrize("function", UNARY + BINARY, ids=lambda function: function.__name__)
def test_operator_is_written_as_one_and_means_the_same(function):
    graph = Graph()
    x, y = np.array([5, 6, 7]), np.array([1, 2, 3])
    nodes = (graph.input("x", meta_of(x)), graph.input("y", meta_of(y)))
    count = 1 if function in UNARY else 2
    wanted = function(*(x, y)[:count])
    graph.output((graph.call(function, nodes[:count], meta=meta_of(wanted)),))
    graph.lint()
    (result,) = graph.to_callable()(x, y)
    assert_same_bits(result, wanted)
    assert (function.__name__ in graph.source()) == (function is abs)


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda function: function.__name__)
def test_in_place_operator_writes_the_operand(function):
    graph = Graph()
    x, y = np.array([5, 6, 7]), np.array([1, 2, 3])
    wanted = function(x.copy(), y)
    a, b = graph.input("x", meta_of(x)), graph.input("y", meta_of(y))
    node = graph.call(function, (a, b), meta=meta_of(x), view_of=a, alias="same", writes=(a,))
    graph.output((node,))
    graph.lint()
    (result,) = graph.to_callable()(x, y)
    assert result is x
    assert_same_bits(x, wanted)
    assert f"{node.name} = x; {node.name} " in graph.source()


def test_in_place_matmul_and_division_write_the_operand():
    graph = Graph()
    x, y = np.eye(2) * 3, np.array([[1.0, 2.0], [3.0, 4.0]])
    a, b = graph.input("x", meta_of(x)), graph.input("y", meta_of(y))
    for function in (operator.imatmul, operator.itruediv):
        graph.call(function, (a, b), meta=meta_of(x), view_of=a, alias="same", writes=(a,))
    graph.output(())
    graph.to_callable()(x, y)
    assert x.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_in_place_operator_on_a_number_rebinds_only():
    graph = Graph()
    x = graph.input("x", FLOAT)
    node = graph.call(operator.iadd, (x, 1.0), meta=FLOAT)
    graph.output((x, node))
    assert graph.to_callable()(1.0) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (0, "x[0]"),
        (-1, "x[-1]"),
        (slice(None), "x[:]"),
        (slice(1, None), "x[1:]"),
        (slice(None, None, -1), "x[::-1]"),
        (slice(0, N - 1, 2), "x[0:s0 - 1:2]"),
        ((slice(0, 2), None), "x[0:2, None]"),
        ((slice(0, 2),), "x[0:2,]"),
        ((...,), "x[...,]"),
        ((), "x[()]"),
        ([0, 1], "x[[0, 1]]"),
        (([0, 1],), "x[[0, 1],]"),
        (N - 2, "x[s0 - 2]"),
    ],
)
def test_subscript_is_written_as_in_python(key, text):
    graph, x = vector_graph()
    graph.output((graph.call(operator.getitem, (x, key), meta=VECTOR),))
    assert text in graph.source()
    assert_same_bits(graph.to_callable()(np.arange(4.0)), Interpreter(graph).run(np.arange(4.0)))


def test_item_assignment_is_a_statement():
    graph, x, y = vector_graph("x", "y")
    graph.call(operator.setitem, (x, (slice(1, None),), y), meta=None, writes=(x,))
    graph.output(())
    assert body_of(graph) == "x[1:,] = y\nreturn ()\n"
    x, y = np.zeros(3), np.ones(2)
    assert graph.to_callable()(x, y) == ()
    assert x.tolist() == [0.0, 1.0, 1.0]


def test_method_is_written_as_one_only_where_lookup_finds_it():
    graph, x = vector_graph()
    k = graph.input("k", FLOAT)
    total = graph.call(np.ndarray.mean, (x,), {"axis": 0, "keepdims": False}, meta=SCALAR)
    rounded = graph.call(np.float64.round, (total, 1), meta=SCALAR)
    other = graph.call(float.is_integer, (k,), meta=ScalarMeta(bool))
    graph.output((rounded, other))
    assert (
        body_of(graph) == "return (x.mean(axis=0, keepdims=False).round(1), float_is_integer(k))\n"
    )
    assert graph.to_callable()(np.array([0.25, 1.0]), 2.0) == (0.6, True)


REDUCED = np.array([[3.0, -0.5, 2.5], [0.25, np.inf, -1.0]])
REDUCTIONS = [
    np.ndarray.sum, np.ndarray.prod, np.ndarray.max, np.ndarray.min, np.sum, np.prod, np.max, np.min,
    np.amax, np.amin,
]  # fmt: skip


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__qualname__)
def test_reduction_is_written_as_the_ufunc_method_it_is(function):
    for args, kwargs in [((), {}), ((0,), {}), ((), {"axis": 1, "keepdims": True}), ((None,), {})]:
        for array in (REDUCED, np.array([[3, 1], [4, 1]], np.int8), REDUCED > 1):
            graph = Graph()
            x = graph.input("x", meta_of(array))
            expected = function(array, *args, **kwargs)
            graph.output((graph.call(function, (x, *args), kwargs, meta=meta_of(expected)),))
            assert "_reduce(x" in body_of(graph)
            assert_same_bits(graph.to_callable()(array), (expected,))


def test_reduction_of_something_else_than_an_array_is_left_as_it_is():
    graph = Graph()
    x = graph.input("x", SCALAR)
    graph.output(
        (
            graph.call(np.sum, (x,), meta=SCALAR),
            graph.call(np.sum, ([x, x],), meta=SCALAR),
            graph.call(np.max, ([x, x], 0, None), meta=SCALAR),
        )
    )
    assert "reduce" not in body_of(graph)
    assert graph.to_callable()(np.float64(2)) == (2.0, 4.0, 2.0)


def test_function_that_returns_its_value_does_what_the_graphs_function_does():
    graph, x, y = vector_graph("x", "y")
    total = graph.call(np.add, (x, y), meta=VECTOR)
    graph.output((graph.call(operator.truediv, (total, 2), meta=VECTOR),))
    function = graph.to_callable()
    single = returning_value(function)
    x, y = np.ones(2), np.arange(2.0)
    assert_same_bits((single(x, y),), function(x, y))
    assert inspect.getsource(single) == "def graph(x, y):\n    return np_add(x, y) / 2\n"
    with pytest.raises(ValueError) as caught:
        single(x, np.ones(3))
    assert locate_failure(caught.value, function) is None
    node, values = locate_failure(caught.value, single)
    assert node is graph.output_node
    assert set(values) == set(graph.inputs)


def test_only_functions_of_one_output_can_return_their_value():
    for count in (0, 2, 3):
        graph, x = vector_graph()
        graph.output((x,) * count)
        assert returning_value(graph.to_callable()) is None
    for constant in ((1,), ",)", (), [(2,)]):
        graph, x = vector_graph()
        graph.output((constant,))
        assert returning_value(graph.to_callable())(None) == constant
        graph, x = vector_graph()
        graph.output((x, constant))
        assert returning_value(graph.to_callable()) is None
    assert returning_value(len) is None
    assert returning_value(vector_graph) is None


# Where warnings go


def test_methods_of_arrays_that_run_python_code_are_known():
    found = set()

    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.endswith("_methods.py"):
            found.add(name)

    for name in dir(np.ndarray):
        method = getattr(np.ndarray, name)
        if not isinstance(method, types.MethodDescriptorType) or name in ("dump", "tofile"):
            continue
        for args in [(), (1,), (0, 1)]:
            sys.setprofile(profile)
            try:
                method(np.array([[1.0, 2.0], [3.0, 4.0]]), *args)
            except Exception:
                pass
            finally:
                sys.setprofile(None)
    assert found <= PYTHON_METHODS
    assert {"all", "clip", "mean", "sum", "var"} <= found


def test_warning_of_c_code_raises_in_the_graph_whatever_the_filters():
    calls = [
        (np.multiply, (0.0,)),
        (operator.mul, (0.0,)),
        (np.ndarray.sum, ()),
        (np.ndarray.astype, (np.int32,)),
        (np.add.reduce, (0,)),
    ]
    for target, rest in calls:
        graph, x = vector_graph()
        graph.output((graph.call(target, (x, *rest), meta=VECTOR),))
        function = graph.to_callable()
        assert refuses_warnings(function), target
        for action in ("ignore", "always", "error"):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter(action)
                with pytest.raises(TypeError, match="registry"), np.errstate(all="warn"):
                    function(np.array([np.inf, -np.inf]))
            assert seen == []


def test_graphs_that_do_not_refuse_warnings():
    graph, x = vector_graph()
    graph.output((graph.call(np.ndarray.mean, (x,), meta=SCALAR),))
    assert not refuses_warnings(graph.to_callable())
    graph, x = vector_graph()
    graph.call(operator.iadd, (x, 1.0), meta=VECTOR, writes=(x,))
    graph.output(())
    assert not refuses_warnings(graph.to_callable())
    assert not refuses_warnings(test_graphs_that_do_not_refuse_warnings)
    assert not refuses_warnings(np.add)


def test_graph_of_calls_that_cannot_fail_refuses_warnings_wherever_they_run():
    graph, x = vector_graph()
    graph.output((graph.call(np.ndarray.any, (x,), meta=SCALAR, can_fail=False),))
    assert refuses_warnings(graph.to_callable())


@pytest.mark.parametrize("target", [np.ndarray.T.__get__, operator.attrgetter("T")])
def test_attribute_is_written_as_one(target):
    graph, x = vector_graph()
    node = graph.call(target, (x,), meta=VECTOR, view_of=x, alias="view", name="T")
    graph.output((node,))
    assert body_of(graph) == "return (x.T,)\n"


def test_functions_are_globals_that_no_variable_hides():
    graph = Graph()
    x, hidden = graph.input("np_add", VECTOR), graph.input("slice", VECTOR)
    first = graph.call(np.add, (x, hidden), meta=VECTOR)
    second = graph.call(np.take, (first, [0]), {"mode": "clip"}, meta=VECTOR, name="np_take")
    third = graph.call(np.array, ([second, second],), {"copy": True}, meta=VECTOR)
    graph.output((third, slice(1, 2), {"k": (x,)}))
    values = np.arange(3.0), np.ones(3)
    assert_same_bits(graph.to_callable()(*values)[0], np.array([(values[0] + values[1])[[0]]] * 2))
    assert graph.to_callable()(*values)[1:] == (slice(1, 2), {"k": (values[0],)})


def test_list_operands_are_new_in_each_run():
    graph = Graph()
    x = graph.input("x", INT)
    graph.output((graph.call(list.copy, ([x, 1],), meta=(INT, INT)), [x]))
    function = graph.to_callable()
    assert function(1)[1] is not function(1)[1]


def test_keyword_that_is_no_identifier_is_passed():
    graph = Graph()
    x = graph.input("x", INT)
    graph.output((graph.call(dict, (), {"a b": x, "class": 1}, meta=(INT,)),))
    assert graph.to_callable()(3) == ({"a b": 3, "class": 1},)


SOMETHING = object()


@pytest.mark.parametrize(
    "value",
    [
        0, -3, 2**600, -(2**20_000), True, None, ..., 1.5, -2.5, 1e308, 5e-324, 0.0, -0.0,
        float("inf"), float("-inf"), float("nan"), 1j, complex(0.0, -0.0), "a'\"\n\0\ud800é", b"\x00'",
        (1, (2.0, "x")), (), [1, [-0.0]], {"k": (1,)}, slice(1, None), np.float64(2.5), np.int8(-1),
        np.dtype("f4"), np.float32, SOMETHING, frozenset({1}), range(3),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_constant_round_trips_exactly(value):
    graph = Graph()
    graph.output((value,))
    (result,) = graph.to_callable()()
    assert type(result) is type(value)
    if type(value) is float:
        assert struct.pack("d", result) == struct.pack("d", value)
    else:
        assert result == value
        assert type(value) is int or repr(result) == repr(value)
    if type(value) in (np.float64, np.dtype, object, range, frozenset):
        assert result is value


@pytest.mark.parametrize("constant", [-1, -2.0, 3, -0.0])
def test_constant_beside_an_operator_keeps_its_sign(constant):
    graph = Graph()
    x = graph.input("x", FLOAT)
    power = graph.call(operator.pow, (x, constant), meta=FLOAT)
    minus = graph.call(operator.sub, (x, constant), meta=FLOAT)
    negative = graph.call(operator.neg, (power,), meta=FLOAT)
    both = graph.call(operator.pow, (negative, 2), meta=FLOAT)
    graph.output((minus, both))
    assert graph.to_callable()(3.0) == (3.0 - constant, (-(3.0**constant)) ** 2)


def test_operator_on_constants_alone_is_a_call():
    # CPython would warn of `(1, 2)["a"]` when it compiles.
    graph = Graph()
    graph.output((graph.call(operator.getitem, ((1, 2), 0), meta=INT),))
    assert "operator_getitem((1, 2), 0)" in graph.source()
    assert graph.to_callable()() == (1,)


# Symbols


def test_symbol_is_read_once_at_first_use():
    graph, x = vector_graph()
    first = graph.call(np.zeros, (N * 2 + 1,), meta=VECTOR)
    second = graph.call(np.zeros, ((N.expr, 2),), meta=VECTOR)
    graph.output((x, first, second))
    assert body_of(graph) == (
        "s0 = x.shape[0]\nreturn (x, np_zeros(2*s0 + 1), np_zeros((s0, 2)))\n"
    )
    assert [value.shape for value in graph.to_callable()(np.zeros(3))] == [(3,), (7,), (3, 2)]


def test_symbol_of_an_int_is_the_variable():
    graph = Graph()
    k, s = graph.input("min", INT), Symbol("s")
    graph.bind_symbol(s, k)
    graph.output((graph.call(np.zeros, (maximum(s - 3, 1) + s,), meta=VECTOR),))
    assert graph.to_callable()(2)[0].shape == (3,)


def test_symbol_of_a_computed_int_keeps_its_variable():
    graph = Graph()
    k, s = graph.input("k", INT), Symbol("s")
    more = graph.call(operator.add, (k, 1), meta=INT)
    graph.bind_symbol(s, more)
    graph.output((graph.call(np.zeros, (s * 2,), meta=VECTOR),))
    assert body_of(graph) == "add = k + 1\nreturn (np_zeros(2*add),)\n"
    assert Interpreter(graph).run(2)[0].shape == graph.to_callable()(2)[0].shape == (6,)


def test_symbol_named_like_a_variable_gets_another_name():
    graph = Graph()
    x, s = graph.input("s0", VECTOR), Symbol("s0")
    graph.bind_symbol(s, x, 0)
    graph.output((x, s * 3))
    assert graph.to_callable()(np.zeros(2))[1] == 6


# Nesting and lifetimes


def test_value_used_once_is_nested_before_the_first_effect():
    graph, x, y = vector_graph("x", "y")
    add = graph.call(np.add, (x, 1.0), meta=VECTOR)
    mul = graph.call(operator.mul, (add, y), meta=VECTOR)
    twice = graph.call(operator.sub, (mul, y), meta=VECTOR)
    graph.output((graph.call(operator.truediv, (twice, twice), meta=VECTOR),))
    assert body_of(graph) == "sub = (np_add(x, 1.0) * y) - y\nreturn (sub / sub,)\n"


def test_calls_between_effects_nest():
    graph, x, y = vector_graph("x", "y")
    first = graph.call(operator.add, (x, y), meta=VECTOR)
    second = graph.call(operator.mul, (first, y), meta=VECTOR)
    graph.call(operator.setitem, (x, slice(None), second), meta=None, writes=(x,))
    third = graph.call(operator.add, (x, y), meta=VECTOR)
    fourth = graph.call(operator.mul, (third, y), meta=VECTOR)
    graph.output((graph.call(np.ndarray.sum, (fourth,), meta=SCALAR),))
    assert body_of(graph) == (
        "mul = (x + y) * y\n"
        "x[:] = mul; del mul\n"
        "sum = np_add_reduce((x + y) * y, None)\n"
        "return (sum,)\n"
    )


def test_nothing_nests_over_a_draw():
    graph, x = vector_graph()
    noise = graph.call(np.random.rand, (3,), meta=VECTOR, draws=True)
    shifted = graph.call(operator.add, (noise, x), meta=VECTOR)
    graph.output((graph.call(operator.mul, (shifted, 2.0), meta=VECTOR),))
    assert body_of(graph).splitlines()[1:] == ["mul = (rand + x) * 2.0", "return (mul,)"]


def test_kept_value_is_a_variable_to_the_end():
    graph, x, y = vector_graph("x", "y")
    first = graph.call(operator.add, (x, y), meta=VECTOR)
    second = graph.call(operator.mul, (first, y), meta=VECTOR)
    graph.call(operator.setitem, (x, 0, 1.0), meta=None, writes=(x,))
    third = graph.call(operator.mul, (second, second), meta=VECTOR)
    graph.output((graph.call(operator.add, (third, third), meta=VECTOR),))
    assert "add = x + y\n" in body_of(graph, keep={first})
    assert "del mul\n" in body_of(graph)
    assert "del mul\n" not in body_of(graph, keep={second})
    graph.keep.add(second)
    assert "del mul\n" not in body_of(graph)
    assert "del mul\n" in body_of(graph, keep=())


def test_value_nobody_uses_is_computed_and_dropped():
    graph, x = vector_graph()
    graph.call(np.sin, (x,), meta=VECTOR)
    dead = graph.call(np.cos, (x,), meta=VECTOR)
    graph.output((x,))
    assert body_of(graph, keep={dead}) == "np_sin(x)\ncos = np_cos(x)\nreturn (x,)\n"


def test_array_dies_after_its_last_use():
    seen = []

    def make(x):
        made = x.copy()
        seen.append(weakref.ref(made))
        return made

    def look(x):
        seen.append(seen[0]() is None)
        return x

    graph, x = vector_graph()
    made = graph.call(make, (x,), meta=VECTOR)
    graph.call(operator.setitem, (x, slice(None), made), meta=None, writes=(x,))
    last = twice = graph.call(operator.add, (made, made), meta=VECTOR)
    for _ in range(2):
        last = graph.call(look, (last,), meta=VECTOR)
    graph.output((last,))
    graph.lint()
    graph.to_callable(keep={twice})(np.zeros(1))
    assert seen[1:] == [True, True]


def test_deep_chain_is_cut_into_statements():
    graph, x = vector_graph()
    value = x
    for _ in range(500):
        value = graph.call(np.add, ((value), 1.0), meta=VECTOR)
    graph.output((value,))
    lines = body_of(graph).splitlines()
    assert 20 < len(lines) < 40
    assert graph.to_callable()(np.zeros(2))[0].tolist() == [500.0, 500.0]


def test_graph_without_output_has_no_source():
    graph, _ = vector_graph()
    with pytest.raises(InternalError, match="has no output"):
        graph.source()


# Warnings


def warning_in_python(x):
    warnings.warn("from Python", UserWarning, stacklevel=2)
    return x


@pytest.mark.parametrize("action", ["error", "always", "ignore", "default"])
@pytest.mark.parametrize(
    ("target", "value"),
    [
        (warning_in_python, np.ones(1)),
        (np.float64, np.array([1j])),  # ComplexWarning, from C
        (np.ndarray.astype, np.array([1j])),
    ],
    ids=["python", "numpy", "method"],
)
def test_warning_of_a_node_is_an_exception_and_is_not_shown(action, target, value):
    graph = Graph()
    x = graph.input("x", meta_of(value))
    args = (x, float) if target is np.ndarray.astype else (x,)
    graph.output((graph.call(target, args, meta=ArrayMeta((1,), F8)),))
    function = graph.to_callable()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter(action)
        with pytest.raises(TypeError, match="'registry' must be a dict or None") as caught:
            function(value)
    assert shown == []
    assert locate_failure(caught.value, function)[1] == {x: value}


# Failures


def failing_graph():
    """Inputs x and k; a write; a failure when k is 0."""
    graph, x = vector_graph()
    k = graph.input("k", INT)
    double = graph.call(operator.mul, (x, 2.0), meta=VECTOR)
    graph.call(operator.setitem, (x, 0, 7.0), meta=None, writes=(x,))
    bad = graph.call(operator.floordiv, (1, k), meta=INT)
    scaled = graph.call(operator.mul, (double, bad), meta=VECTOR)
    graph.output((scaled,))
    graph.lint()
    return graph, x, k, double, scaled


def test_failure_names_node_and_values_so_far():
    graph, x, k, double, scaled = failing_graph()
    function = graph.to_callable(keep={double})
    array = np.array([1.0, 2.0])
    with pytest.raises(ZeroDivisionError) as caught:
        function(array, 0)
    node, values = locate_failure(caught.value, function)
    assert node is scaled  # whose operand failed
    assert set(values) == {x, k, double}
    assert values[x] is array
    assert values[double].tolist() == [2.0, 4.0]
    assert array.tolist() == [7.0, 2.0]


def test_failure_inside_a_target_is_located_too():
    def fail(x):
        return fail_below(x)

    def fail_below(x):
        raise KeyError(x)

    graph = Graph()
    x = graph.input("x", INT)
    node = graph.call(fail, (x,), meta=INT)
    graph.output((node,))
    function = graph.to_callable(keep={node})
    with pytest.raises(KeyError) as caught:
        function(1)
    assert locate_failure(caught.value, function) == (node, {x: 1})


def test_failure_of_an_in_place_operator_does_not_bind_it():
    graph, x = vector_graph()
    k = graph.input("k", INT)
    node = graph.call(operator.iadd, (x, "no"), meta=VECTOR, view_of=x, alias="same", writes=(x,))
    graph.output((node, k))
    function = graph.to_callable()
    array = np.zeros(1)
    with pytest.raises(TypeError) as caught:
        function(array, 5)
    found, values = locate_failure(caught.value, function)
    assert (found, values) == (node, {x: array, k: 5})


def test_failure_of_another_function_is_not_located():
    graph, *_ = failing_graph()
    function, other = graph.to_callable(), graph.to_callable()
    with pytest.raises(ZeroDivisionError) as caught:
        function(np.zeros(1), 0)
    assert locate_failure(caught.value, other) is None
    assert locate_failure(caught.value, test_failure_of_another_function_is_not_located) is None
    assert locate_failure(caught.value, abs) is None
    assert locate_failure(KeyError(), function) is None


def test_wrong_number_of_inputs_is_not_located():
    graph, *_ = failing_graph()
    function = graph.to_callable()
    with pytest.raises(TypeError) as caught:
        function()
    assert locate_failure(caught.value, function) is None


def test_frame_of_a_located_failure_is_released():
    graph, *_ = failing_graph()
    function = graph.to_callable()
    array = np.zeros(2)
    alive = weakref.ref(array)
    try:
        function(array, 0)
    except ZeroDivisionError as error:
        caught = error.with_traceback(error.__traceback__.tb_next)
    _, values = locate_failure(caught, function)
    assert alive() is array
    del array, values
    gc.collect()
    assert caught.__traceback__ is not None
    assert alive() is None


@pytest.mark.parametrize("at", range(5))
def test_forced_failure_comes_just_before_its_node(at):
    graph, x, k, *_ = failing_graph()
    steps = (*graph.calls, graph.output_node)
    function = graph.to_callable(force_failure_at=at, keep=graph.calls)
    with pytest.raises(ForcedFailure) as caught:
        function(np.zeros(2), 1)
    node, values = locate_failure(caught.value, function)
    assert node is steps[at]
    assert set(values) == {x, k, *(node for node in steps[:at] if node.has_value)}


# The function


def test_source_is_in_tracebacks_while_the_function_lives():
    graph, *_ = failing_graph()
    function = graph.to_callable()
    filename = function.__code__.co_filename
    assert filename.startswith("<bcjit graph ")
    assert inspect.getsource(function) == graph.source()
    with pytest.raises(ZeroDivisionError) as caught:
        function(np.zeros(1), 0)
    linecache.checkcache()
    assert "mul_1 = mul * (1 // k)" in "".join(traceback.format_exception(caught.value))
    caught = None
    del function
    gc.collect()
    assert filename not in linecache.cache


def test_function_graph_and_constants_die():
    graph, x = vector_graph()
    constant = np.arange(3.0)
    node = graph.call(np.add, (x, graph.const(constant, meta_of(constant))), meta=VECTOR)
    graph.output((node,))
    function = graph.to_callable()
    assert function(np.zeros(3))[0].tolist() == [0.0, 1.0, 2.0]
    alive = [weakref.ref(thing) for thing in (function, graph, node, constant)]
    del function, graph, x, node, constant
    gc.collect()
    assert [ref() for ref in alive] == [None] * 4


def test_function_dies_without_the_collector():
    graph, x = vector_graph()
    graph.output((x,))
    function = graph.to_callable()
    alive = weakref.ref(function)
    gc.collect()
    gc.disable()
    try:
        del function
        assert alive() is None
    finally:
        gc.enable()


def test_functions_of_one_graph_are_independent():
    graph, x = vector_graph()
    graph.output((x,))
    first, second = graph.to_callable(), graph.to_callable()
    assert first.__code__.co_filename != second.__code__.co_filename
    assert first.__globals__ is not second.__globals__
