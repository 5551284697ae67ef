"""Generated graphs and the values NumPy gave when each call was made: for tests of what runs or edits graphs."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from bcjit.dims import Symbol
from bcjit.fx_graph import Graph, Interpreter, NodeKind
from bcjit.meta import meta_of
from bcjit.ops import lookup, lookup_attribute

SEED = 7
ROWS, COLUMNS = Symbol("s0"), Symbol("s1")


@dataclass
class Program:
    """A graph, inputs for it, and what NumPy gave when each call was made as the graph was built."""

    graph: Graph
    inputs: list
    values: dict
    outputs: tuple
    inputs_after: list

    def __repr__(self):  # with the values Hypothesis finds it too long to show
        return f"<program {self.graph.text()}>"


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
    (lookup_attribute("T")[1], None),
    (np.ravel, None),
    (np.ndarray.reshape, -1),
]
COPY_PERHAPS = (np.ravel, np.ndarray.reshape)
IN_PLACE = [operator.iadd, operator.imul, operator.isub]


def is_array(node):
    return len(node.meta) == 1 and not node.multi and getattr(node.meta[0], "ndim", 0) > 0


class Builder:
    """Builds a graph and makes every call at once, on its own copy of the inputs."""

    def __init__(self, inputs):
        np.random.seed(SEED)
        self.graph = Graph()
        self.run = Interpreter(self.graph)
        for index, value in enumerate(inputs):
            node = self.graph.input(f"x{index}", meta_of(value))
            self.run.values[node] = value
        self.graph.bind_symbol(ROWS, self.graph.nodes[0], 0)
        self.graph.bind_symbol(COLUMNS, self.graph.nodes[0], 1)

    def arrays(self):
        return [node for node in self.graph.nodes if is_array(node)]

    def call(self, target, *args, view_of=None, alias="fresh", writes=(), draws=False, **kwargs):
        """Append the call if NumPy accepts it."""
        values = [self.run.fetch(arg) for arg in args]
        named = {key: self.run.fetch(arg) for key, arg in kwargs.items()}
        try:
            value = target(*values, **named)
        # RuntimeWarning: the mean of nothing; OverflowError: infinity into an integer
        except (ValueError, TypeError, IndexError, OverflowError, RuntimeWarning):
            return
        meta = None if value is None else meta_of(value)
        if value is not None and meta is None:
            return
        node = self.graph.call(
            target, args, kwargs, meta=meta, view_of=view_of, alias=alias, writes=writes,
            draws=draws, can_fail=False, op=lookup(target),
        )  # fmt: skip
        if value is not None:
            self.run.values[node] = value


CONSTANTS = [
    (np.arange, 3), (np.sqrt, 2.0), (np.linspace, 0, 1, 3), (np.zeros, (2, 3)), (np.add, 1, -0.0), (np.divide, 1.0, 0.0),
]  # fmt: skip


def again(builder, node):
    """Make a call once more, or negate a value twice: what passes look for."""
    if node.kind is NodeKind.CALL and not node.has_effect:
        builder.call(node.target, *node.args, view_of=node.view_of, alias=node.alias, **node.kwargs)
    elif is_array(node):
        builder.call(operator.neg, node)


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
        alias = "maybe" if target in COPY_PERHAPS else "view"
        builder.call(target, *args, view_of=base, alias=alias)
    elif step == "draw":
        builder.call(np.random.standard_normal, (ROWS.expr, COLUMNS.expr), draws=True)
    elif step == "constant":
        builder.call(*draw(st.sampled_from(CONSTANTS)))
    elif step == "again":
        again(builder, draw(st.sampled_from(builder.graph.nodes)))
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


PURE = ["elementwise", "unary", "reduce", "view", "create", "constant", "again", "again"]
WRITES = ["set", "in place", "out", "draw"]


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


def start(program):
    """Set the random stream to where the program found it, and return fresh inputs."""
    np.random.seed(SEED)
    return [v.copy() if isinstance(v, np.ndarray) else v for v in program.inputs]


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
