"""Generated graphs: direct NumPy, the interpreter and the generated code agree bit for bit, also after a failure."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcjit.dims import Expr, Symbol
from bcjit.fx_graph import Graph, Interpreter, NodeKind, eliminate_dead_code, locate_failure
from bcjit.fx_graph.codegen import ForcedFailure
from bcjit.meta import meta_of

ROWS, COLUMNS = Symbol("s0"), Symbol("s1")


@dataclass
class Program:
    """A graph, inputs for it, and what NumPy gave when each call was made as the graph was built."""

    graph: Graph
    inputs: list
    values: dict
    outputs: tuple
    inputs_after: list


def fresh_inputs(rows, columns, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, columns))
    matrix[0, 0] = rng.choice([np.nan, -0.0, np.inf, 1.0])
    counts = rng.integers(-3, 4, size=(rows, columns))
    return [matrix, rng.normal(size=columns), counts, float(rng.normal()), np.float32(0.5)]


ELEMENTWISE = [
    np.add, np.multiply, np.subtract, np.maximum, operator.add, operator.mul, operator.sub,
    operator.truediv, operator.lt, operator.eq, np.where,
]  # fmt: skip
UNARY = [np.sin, np.exp, np.abs, operator.neg, np.sign, np.isnan]
REDUCE = [np.sum, np.ndarray.max, np.mean, np.ndarray.any]
VIEWS = [
    (operator.getitem, slice(None, None, -1)),
    (operator.getitem, slice(1, None)),
    (operator.getitem, (slice(None), None)),
    (operator.getitem, slice(0, ROWS - 1)),
    (operator.getitem, (..., 0)),
    (np.transpose, None),
    (operator.attrgetter("T"), None),
    (np.ravel, None),
    (np.ndarray.reshape, -1),
]
IN_PLACE = [operator.iadd, operator.imul, operator.isub]


def is_array(node):
    return len(node.meta) == 1 and not node.multi and getattr(node.meta[0], "ndim", 0) > 0


class Builder:
    """Builds a graph and makes every call at once, on its own copy of the inputs."""

    def __init__(self, inputs):
        self.graph = Graph()
        self.run = Interpreter(self.graph)
        for index, value in enumerate(inputs):
            node = self.graph.input(f"x{index}", meta_of(value))
            self.run.values[node] = value
        self.graph.bind_symbol(ROWS, self.graph.nodes[0], 0)
        self.graph.bind_symbol(COLUMNS, self.graph.nodes[0], 1)

    def arrays(self):
        return [node for node in self.graph.nodes if is_array(node)]

    def call(self, target, *args, view_of=None, alias="fresh", writes=(), **kwargs):
        """Append the call if NumPy accepts it."""
        values = [self.run.fetch(arg) for arg in args]
        named = {key: self.run.fetch(arg) for key, arg in kwargs.items()}
        try:
            value = target(*values, **named)
        except (ValueError, TypeError, IndexError, RuntimeWarning):  # mean of nothing
            return
        meta = None if value is None else meta_of(value)
        if value is not None and meta is None:
            return
        node = self.graph.call(
            target, args, kwargs, meta=meta, view_of=view_of, alias=alias, writes=writes,
            can_fail=False,
        )  # fmt: skip
        if value is not None:
            self.run.values[node] = value


def add_step(draw, builder, step):
    arrays = builder.arrays()
    pick = st.sampled_from(arrays)
    anything = st.one_of(
        pick, st.sampled_from([node for node in builder.graph.nodes if node.has_value]),
        st.sampled_from([0, 2, -1.5, ROWS.expr, ROWS * COLUMNS]),
    )  # fmt: skip
    if step == "elementwise":
        target = draw(st.sampled_from(ELEMENTWISE))
        args = (draw(pick), *(draw(anything) for _ in range(2 if target is np.where else 1)))
        builder.call(target, *args)
    elif step == "unary":
        builder.call(draw(st.sampled_from(UNARY)), draw(pick))
    elif step == "reduce":
        axis = draw(st.sampled_from([None, 0, -1]))
        builder.call(draw(st.sampled_from(REDUCE)), draw(pick), axis=axis)
    elif step == "view":
        (target, key), base = draw(st.sampled_from(VIEWS)), draw(pick)
        args = (base,) if key is None else (base, key)
        builder.call(target, *args, view_of=base, alias="maybe")
    elif step == "create":
        builder.call(np.ones, draw(st.sampled_from([(ROWS.expr, COLUMNS.expr), COLUMNS.expr])))
    elif step == "set":
        base, key = draw(pick), draw(st.sampled_from([0, slice(None), slice(1, None)]))
        builder.call(operator.setitem, base, key, draw(anything), writes=(base,))
    elif step == "in place":
        base = draw(pick)
        target = draw(st.sampled_from(IN_PLACE))
        builder.call(target, base, draw(anything), view_of=base, alias="same", writes=(base,))
    else:
        base = draw(pick)
        builder.call(np.add, draw(pick), draw(anything), out=base, view_of=base, alias="same",
                     writes=(base,))  # fmt: skip


PURE = ["elementwise", "unary", "reduce", "view", "create"]
WRITES = ["set", "in place", "out"]


@st.composite
def programs(draw, writes=True):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 3)))
    seed = draw(st.integers(0, 100))
    builder = Builder(fresh_inputs(*shape, seed))
    steps = draw(
        st.lists(st.sampled_from(PURE + WRITES if writes else PURE), min_size=1, max_size=14)
    )
    with np.errstate(all="ignore"):
        for step in steps:
            add_step(draw, builder, step)
    graph = builder.graph
    candidates = [node for node in graph.nodes if node.has_value]
    outputs = draw(st.lists(st.sampled_from([*candidates, ROWS * 2, 3.5]), max_size=4))
    graph.output(tuple(outputs))
    graph.lint()
    results = tuple(builder.run.fetch(output) for output in outputs)
    after = [builder.run.values[node] for node in graph.inputs]
    return Program(graph, fresh_inputs(*shape, seed), builder.run.values, results, after)


def copies(values):
    return [value.copy() if isinstance(value, np.ndarray) else value for value in values]


def same(left, right):
    if isinstance(left, np.ndarray | np.generic):
        assert type(left) is type(right)
        assert (left.dtype, left.shape, left.strides) == (right.dtype, right.shape, right.strides)
        assert left.tobytes() == right.tobytes()
    else:
        assert (type(left), repr(left)) == (type(right), repr(right))


def sharing(outputs, inputs):
    """Which outputs share memory with which inputs and outputs."""
    things = [*outputs, *inputs]
    return [
        [
            isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
            and np.shares_memory(one, other)
            for other in things
        ]
        for one in things
    ]  # fmt: skip


def agree(program, outputs, inputs):
    assert type(outputs) is tuple
    assert len(outputs) == len(program.outputs)
    for got, wanted in zip(
        [*outputs, *inputs], [*program.outputs, *program.inputs_after], strict=True
    ):
        same(got, wanted)
    assert sharing(outputs, inputs) == sharing(program.outputs, program.inputs_after)


@given(programs())
def test_code_interpreter_and_numpy_agree(program):
    with np.errstate(all="ignore"):
        inputs = copies(program.inputs)
        agree(program, Interpreter(program.graph).run(*inputs), inputs)
        function = program.graph.to_callable()
        for _ in range(2):
            inputs = copies(program.inputs)
            agree(program, function(*inputs), inputs)
        inputs = copies(program.inputs)
        agree(program, program.graph.to_callable(keep=program.graph.calls)(*inputs), inputs)


@given(programs())
def test_dead_code_elimination_changes_nothing_visible(program):
    count = program.graph.count
    erased = eliminate_dead_code(program.graph)
    program.graph.lint()
    assert program.graph.count == count - erased
    with np.errstate(all="ignore"):
        inputs = copies(program.inputs)
        agree(program, program.graph.to_callable()(*inputs), inputs)


@given(programs(), st.data())
def test_run_can_be_resumed_from_the_values_of_a_failure(program, data):
    graph = program.graph
    at = data.draw(st.integers(0, graph.count))
    step = (*graph.calls, graph.output_node)[at]
    function = graph.to_callable(force_failure_at=at, keep=graph.calls)
    inputs = copies(program.inputs)
    with np.errstate(all="ignore"):
        with pytest.raises(ForcedFailure) as caught:
            function(*inputs)
        node, values = locate_failure(caught.value, function)
        assert node is step
        rest = Interpreter(graph)
        rest.values = values
        for later in graph.nodes[graph.nodes.index(node) :]:
            if later.kind is NodeKind.CALL:
                args = tuple(rest.fetch(arg) for arg in later.args)
                kwargs = {key: rest.fetch(arg) for key, arg in later.kwargs.items()}
                rest.values[later] = rest.run_node(later, args, kwargs)
        agree(program, tuple(rest.fetch(output) for output in graph.outputs), inputs)


@given(programs(), st.data())
def test_truncated_graph_is_the_shorter_graph(program, data):
    graph = program.graph
    where = data.draw(st.integers(0, len(graph.nodes)))
    again, twins, marks = Graph(), {}, []

    def twin(leaf):
        return twins.get(leaf, leaf) if not isinstance(leaf, list | dict | np.ndarray) else leaf

    for node in graph.nodes:
        marks.append((again.mark(), again.text()))
        if node.kind is NodeKind.INPUT:
            twins[node] = again.input(node.name, node.meta[0])
        elif node.kind is NodeKind.CALL and not any(isinstance(arg, Expr) for arg in node.args):
            twins[node] = again.call(
                node.target, tuple(twins.get(a, a) if not isinstance(a, tuple | slice) else a for a in node.args),
                meta=node.meta, multi=False,
            )  # fmt: skip
    marks.append((again.mark(), again.text()))
    mark, text = marks[where]
    again.truncate(mark)
    assert again.text() == text
    assert all(user in again.nodes for node in again.nodes for user in node.users)


def test_generated_programs_have_writes_views_and_nesting():
    """A floor under the generator: it must not drift to programs that test nothing."""
    found = set()

    @given(programs())
    def look(program):
        source = program.graph.source()
        found.update(
            name
            for name, is_there in {
                "effect": any(node.has_effect for node in program.graph.calls),
                "view": any(node.view_of for node in program.graph.calls),
                "symbol": ".shape[" in source,
                "del": "; del " in source,
                "nested": source.count("\n") - 2 - source.count(".shape[") < program.graph.count,
                "long": program.graph.count >= 8,
            }.items()
            if is_there
        )

    look()
    assert found == {"effect", "view", "symbol", "del", "nested", "long"}
