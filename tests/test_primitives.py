"""The primitive level: what is lowered to what, what is refused, and that each rule of verify fires."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest

import bcjit
from bcjit.backends.testing import RecordingBackend, assert_text
from bcjit.dims import ShapeEnv
from bcjit.errors import BackendError, InternalError
from bcjit.fx_graph import Graph, Interpreter
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import lookup
from bcjit.ops.emitter import Basic, Range
from bcjit.ops.scalar_functions import row
from bcjit.primitives import PRIMITIVES, CannotLower, Primitive, ReferenceBackend, bufferise, lower
from bcjit.primitives import kinds as p
from bcjit.primitives.kinds import _routine
from bcjit.primitives.verify import RULES, problems, verify
from bcjit.primitives.views import split_views

F8 = np.dtype("f8")
I8 = np.dtype("i8")


def captured(fn, *args):
    """Return the first graph of a call and example inputs for it."""
    recording = RecordingBackend()
    bcjit.config.strict = True
    with np.errstate(all="ignore"):
        bcjit.compile(fn, backend=recording)(*args)
    return recording.graphs[0], recording.example_inputs[0]


def lowered(fn, *args):
    graph, examples = captured(fn, *args)
    found = lower(graph, examples)
    verify(found.graph, found.env)
    return found


def in_place(fn, *args, restarts=True):
    found = lowered(fn, *args)
    graph = bufferise(found.graph, found.env, restarts=restarts)
    verify(graph, found.env)
    return graph


def run(graph, **inputs):
    return graph.to_callable()(*(inputs[node.name] for node in graph.inputs))


# Lowering


def add_one(x):
    x += 1


def through_views(x, y):
    head = x[:3]
    tail = x[1:]
    head[...] = y
    tail *= 2
    return head, x


def test_a_write_is_a_claim_a_version_and_a_commit():
    assert_text(
        lowered(add_one, np.arange(3)).graph,
        """
        graph(x: int64[x_0]):
          x_1 = primitive.claim(x)            int64[x_0], same as x
          iadd = primitive.map_add(x, 1)      int64[x_0]
          iadd_1 = primitive.scatter(x_1, iadd)  int64[x_0]
          x_2 = primitive.commit(x, iadd_1)   int64[x_0], same as x, writes x
          return ()
        """,
    )


def test_later_reads_of_any_view_are_of_the_new_version():
    assert_text(
        lowered(through_views, np.arange(5), np.zeros(3, int)).graph,
        """
        graph(x: int64[x_0], y: int64[y_0]):
          x_1 = primitive.claim(x)                                       int64[x_0], same as x
          setitem_1 = primitive.scatter(x_1, y, dims=(0, 1, 3))          int64[x_0]
          imul = primitive.view_basic(setitem_1, (1, 1, x_0 - 1))        int64[x_0 - 1], view of setitem_1
          imul_1 = primitive.map_multiply(imul, 2)                       int64[x_0 - 1]
          imul_2 = primitive.scatter(setitem_1, imul_1, dims=(1, 1, x_0 - 1)) int64[x_0]
          x_2 = primitive.commit(x, imul_2)                              int64[x_0], same as x, writes x
          getitem_2 = primitive.view_basic(x_2, (0, 1, 3))               int64[3], view of x_2
          return (getitem_2,)
        """,
    )


def test_nodes_have_the_line_of_what_they_come_from():
    graph, examples = captured(through_views, np.arange(5), np.zeros(3, int))
    lines = {node.line for node in graph.calls}
    made = lower(graph, examples).graph
    assert {node.line for node in made.calls if not isinstance(node.target, p.Commit)} <= lines


def test_numbers_of_python_stay_as_they_are():
    def fn(x, r):
        return x * (r * 2.0 + 1.0)

    found = lowered(fn, np.arange(3.0), 2.5).graph
    assert [node.target for node in found.calls][:2] == [operator.mul, operator.add]


def test_sizes_are_symbolic():
    def fn(x):
        return np.concatenate([x, x]).reshape(2, -1) + np.arange(x.shape[0])

    graph = lowered(fn, np.arange(4)).graph
    for size in (2, 7):
        (got,) = graph.to_callable()(np.arange(size))
        assert np.array_equal(got, fn(np.arange(size)))


def test_an_unknown_index_is_an_operand():
    def fn(x, i):
        x[i.argmax()] = 7.0
        return x[i.sum()]

    graph = lowered(fn, np.arange(4.0), np.array([-2, 1])).graph
    x = np.arange(4.0)
    assert run(graph, x=x, i=np.array([-3, 2])) == (3.0,)
    assert x.tolist() == [0.0, 7.0, 2.0, 3.0]
    with pytest.raises(IndexError):
        run(graph, x=x, i=np.array([9, 0]))


def draws():
    """A graph that draws twice, with another node behind."""
    graph = Graph()
    x = graph.input("x", ArrayMeta((2,), F8))
    meta = x.meta[0]
    drawn = [
        graph.call(target, (2,), meta=meta, draws=True, op=lookup(target))
        for target in (np.random.standard_normal, np.random.random)
    ]
    first = graph.call(np.add, (x, drawn[0]), meta=meta, op=lookup(np.add))
    graph.output((graph.call(np.subtract, (first, drawn[1]), meta=meta, op=lookup(np.subtract)),))
    return graph


def test_draws_are_effects_in_their_order():
    x = np.zeros(2)
    found = lower(draws(), [x])
    verify(found.graph, found.env)
    assert [node.draws for node in found.graph.calls] == [True, True, False, False]
    np.random.seed(3)
    (got,) = Interpreter(found.graph).run(x)
    np.random.seed(3)
    assert np.array_equal(got, x + np.random.standard_normal(2) - np.random.random(2))


def test_what_fails_behind_a_draw_runs_as_captured():
    backend = ReferenceBackend()
    backend(draws(), [np.zeros(2)])
    assert list(backend.refused) == ["a node behind a draw can fail"]


# Bufferisation


def test_adding_in_place_is_one_map():
    assert_text(
        in_place(add_one, np.arange(3)),
        """
        graph(x: int64[x_0]):
          x_1 = primitive.claim(x)                     int64[x_0], same as x
          iadd_1 = primitive.map_add(x, 1, out=x_1)    int64[x_0], same as x_1, writes x_1
          return ()
        """,
    )


def test_what_can_fail_is_computed_before_an_input_is_written():
    # An overflow of floats is found when all is computed: whoever starts again must find x as it was.
    def kinds_of(graph):
        return [type(node.target) for node in graph.calls]

    assert kinds_of(in_place(add_one, np.zeros(3))) == [p.Claim, p.Map, p.Scatter]
    assert kinds_of(in_place(add_one, np.zeros(3), restarts=False)) == [p.Claim, p.Map]

    def first_write(x, y):
        x += 1
        return y / x

    assert p.Commit in kinds_of(in_place(first_write, np.arange(3), np.arange(3)))


def test_an_array_of_the_graph_is_written_in_place():
    def fn(y):
        x = y * 2
        old = x + 0
        x[0] = x[1:].sum()
        return old, x

    graph = in_place(fn, np.arange(4))
    assert node_of(graph, p.Scatter).target.in_place
    old, x = graph.to_callable()(np.arange(4))
    assert (old.tolist(), x.tolist()) == ([0, 2, 4, 6], [12, 2, 4, 6])


def test_a_scatter_stays_a_copy_where_the_old_version_is_read():
    graph, env = versions_read_behind()
    verify(graph, env)
    found = bufferise(graph, env)
    verify(found, env)
    assert not node_of(found, p.Scatter).target.in_place
    old, new = found.to_callable()()
    assert (old.tolist(), new.tolist()) == ([1.0, 1.0], [5.0, 5.0])


def versions_read_behind():
    """Return a graph that gives an array as it was before and after a write: no program has it, a pass may."""
    graph = Graph()
    meta = ArrayMeta((2,), F8)
    base = graph.call(p.Fill(F8), ((2,), 1.0), meta=meta, can_fail=False)
    new = graph.call(p.Scatter(()), (base, 5.0), meta=meta, can_fail=False)
    graph.output((base, new))
    return graph, ShapeEnv()


# What is refused


def overlapping(x, y):
    x[0] = 1
    return y.sum()


def reshape_written(x):
    x.reshape(-1)[0] = 1


def reshape_read(x):
    flat = x.reshape(-1)
    x[0] = 1
    return flat


def copies(arrays):
    """Copy views of one array as views of one array."""
    base = ARRAY.copy()
    return [base[6 - array.size :].reshape(array.shape) for array in arrays]


ARRAY = np.arange(6.0)


def by_flags(x):
    return np.require(x, requirements="O")


def looks_at_values(x):
    return np.asarray_chkfinite(x)


REFUSED = {
    "a call looks at values and computes nothing": (looks_at_values, ARRAY),
    "whether a result is a copy is decided by what no primitive knows": (by_flags, ARRAY),
    "an input is written that may overlap another one": (overlapping, ARRAY, ARRAY[2:]),
    "a write through a reshape": (reshape_written, ARRAY.reshape(2, 3)),
    "an array is written that a reshape may be a view of": (reshape_read, ARRAY.reshape(2, 3)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_versions_stays_captured(reason):
    fn, *args = REFUSED[reason]
    with pytest.raises(CannotLower, match=reason):
        lowered(fn, *args)
    backend = ReferenceBackend()
    bcjit.config.strict = True
    mine, theirs = copies(args), copies(args)
    got, want = bcjit.compile(fn, backend=backend)(*mine), fn(*theirs)
    assert np.array_equal(got, want) if want is not None else got is None
    assert all(map(np.array_equal, mine, theirs))
    assert backend.refused[reason] == 1
    assert not backend.lowered


def call_without_op():
    graph = Graph()
    x = graph.input("x", ArrayMeta((2,), F8))
    graph.output((graph.call(np.add, (x, 1.0), meta=ArrayMeta((2,), F8)),))
    return graph


def constant_written():
    graph = Graph()
    meta = ArrayMeta((2,), F8)
    x = graph.const(np.zeros(2), meta)
    graph.call(operator.setitem, (x, 0, 1.0), meta=None, writes=(x,), op=lookup(operator.setitem))
    graph.output((x,))
    return graph


def no_expansion():
    graph = Graph()
    x = graph.input("x", ArrayMeta((2,), F8))
    graph.output((graph.call(np.sum, (x, 5), meta=ArrayMeta((), F8, True), op=lookup(np.sum)),))
    return graph


def out_by_position():
    graph = Graph()
    x = graph.input("x", ArrayMeta((2,), F8))
    graph.call(
        np.maximum, (x, 1.0, x), meta=x.meta[0], view_of=x, alias="same", writes=(x,),
        op=lookup(np.maximum),
    )  # fmt: skip
    graph.output(())
    return graph


GRAPHS = {
    "NumPy warns of how the call is made": out_by_position,
    "a call is not in the op table": call_without_op,
    "a constant array is written": constant_written,
    "a call has no expansion here": no_expansion,
}


@pytest.mark.parametrize("reason", GRAPHS)
def test_a_graph_without_a_meaning_is_refused(reason):
    graph = GRAPHS[reason]()
    with pytest.raises(CannotLower, match=reason):
        lower(graph, [np.zeros(2) for _ in graph.inputs])


def test_an_expansion_that_is_not_what_was_captured_is_an_internal_error():
    graph, examples = captured(lambda x: np.exp(x), np.zeros(3))
    (node,) = graph.calls
    node.meta = (ArrayMeta(node.meta[0].shape, np.dtype("f4")),)
    with pytest.raises(InternalError, match="lowering exp gives"):
        lower(graph, examples)


# Claims, at run time


def test_an_array_that_has_an_element_twice_runs_plain():
    def fn(x):
        x[:2] += x[1:3]
        return x.sum()

    backend = ReferenceBackend()
    bcjit.config.strict = True
    compiled = bcjit.compile(fn, backend=backend)
    for make in (
        lambda: np.arange(4),
        lambda: np.lib.stride_tricks.as_strided(np.arange(4), (2, 3), (8, 8))[0:2, 0:3],
        lambda: np.lib.stride_tricks.as_strided(np.arange(4), (4,), (0,)),
    ):
        mine, theirs = make(), make()
        try:
            want = fn(theirs)
        except ValueError:
            with pytest.raises(ValueError):
                compiled(mine)
            continue
        assert compiled(mine) == want
        assert np.array_equal(mine, theirs)
    assert backend.lowered


def test_numpys_scalars_report_overflow():
    def fn(x):
        return x.sum() * x.max() + 1

    def outcome(f):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return f(np.array([2**62, 1])), [str(w.message) for w in caught]

    backend = ReferenceBackend()
    bcjit.config.strict = True
    assert outcome(bcjit.compile(fn, backend=backend)) == outcome(fn)
    assert outcome(fn)[1] and backend.lowered


# The set


def test_a_missing_guard_is_not_hidden():
    graph, examples = captured(lambda x, y: x + y, np.zeros(3), np.zeros(3))
    function = ReferenceBackend()(graph, examples)
    assert function(np.zeros(2), np.ones(2))[0].tolist() == [1.0, 1.0]
    with pytest.raises(BackendError, match="a guard is missing"):
        function(np.zeros(2), np.zeros(1))


def test_the_set_is_closed():
    assert set(PRIMITIVES) == set(Primitive.__subclasses__())
    for kind in PRIMITIVES:
        assert "__call__" in vars(kind) and "facts" in vars(kind), kind


@pytest.mark.parametrize(
    ("labels", "routine"),
    [
        ("y,y->", np.matmul), ("xy,y->x", np.matmul), ("y,yz->z", np.matmul), ("xy,yz->xz", np.matmul),
        ("axy,ayz->axz", np.matmul), ("xy,ayz->axz", np.matmul), ("axy,yz->axz", np.matmul),
        ("axy,byz->axbz", np.dot), ("ay,by->ab", np.inner), ("aby,cy->abc", np.inner),
        ("yx,yz->xz", None), ("xy,yz->zx", None), ("aby,ab->y", None), ("xy,xy->", None),
    ],
)  # fmt: skip
def test_a_contraction_is_numpys_own_where_it_has_one(labels, routine):
    operands, result = labels.split("->")
    left, right = operands.split(",")
    assert _routine(left, right, result) is routine
    sizes = dict(zip("axyzbc", (2, 3, 4, 5, 3, 2), strict=True))
    arrays = [
        np.arange(np.prod([sizes[n] for n in names], dtype=int)).reshape([sizes[n] for n in names])
        for names in (left, right)
    ]
    got = p.Contract((left, right, result), I8)(*arrays)
    assert np.array_equal(got, np.einsum(labels, *arrays))


# Verify: a good graph, and ways to break it


def good():
    """Return a graph with a write of an input, views, two results of one node, and a Python number."""

    def fn(x, y, r):
        x[1:] = y[1:] * r
        whole, part = np.divmod(y, 2.0)
        return x[::2], whole, part

    return lowered(fn, np.arange(4.0), np.ones(4), 2.0)


def node_of(graph, kind):
    return next(node for node in graph.calls if isinstance(node.target, kind))


def broken(breakage):
    """Return a graph broken so, with its effects numbered as they stand."""
    found = good()
    breakage(found.graph)
    effects = 0
    for node in found.graph.nodes:
        node.epoch = effects
        effects += node.has_effect
        node.effect_order = effects if node.has_effect else 0
    return found


def unknown_primitive(graph):
    class Stranger(Primitive):
        __slots__ = ()

    node_of(graph, p.Map).target = Stranger()


def captured_call(graph):
    node = node_of(graph, p.Map)
    node.target, node.op = np.multiply, lookup(np.multiply)


def no_number(graph):
    node_of(graph, p.Map).target = np.multiply


def wrong_item(graph):
    node = next(node for node in graph.calls if node.target is operator.getitem)
    graph.set_operands(node, (node.args[0], 7))


def too_few_operands(graph):
    node = node_of(graph, p.Commit)
    graph.set_operands(node, node.args[:1])
    node.writes = node.writes[:1]


def wrong_view(graph):
    node = node_of(graph, p.View)
    graph.set_operands(node, (node.args[0], (1,)))


def wrong_dtype(graph):
    node = node_of(graph, p.Map)
    node.meta = (ArrayMeta(node.meta[0].shape, np.dtype("f4")),)


def wrong_shape(graph):
    node = node_of(graph, p.Map)
    node.meta = (ArrayMeta((3,), F8),)


def wrong_scalar(graph):
    node = node_of(graph, p.Map)
    node.meta = (ScalarMeta(float),)


def impure(graph):
    node = node_of(graph, p.Map)
    node.writes = (node.args[0],)


def silent_commit(graph):
    node = node_of(graph, p.Commit)
    node.writes = ()


def drawing_map(graph):
    node = node_of(graph, p.Map)
    node.draws = True


def sharing_map(graph):
    node = node_of(graph, p.Map)
    node.view_of, node.alias = node.args[0], "view"


def unshared_view(graph):
    node = node_of(graph, p.View)
    node.view_of, node.alias = None, "fresh"


def claims_twice(graph):
    claim = node_of(graph, p.Claim)
    graph.call(
        p.Claim(), claim.args, meta=claim.meta[0], view_of=claim.args[0], alias="same", before=claim
    )


def claims_no_input(graph):
    node, claim = node_of(graph, p.Map), node_of(graph, p.Claim)
    graph.set_operands(claim, (node,))
    claim.view_of = node
    graph.nodes.remove(claim)
    graph.nodes.insert(graph.nodes.index(node) + 1, claim)


def not_claimed(graph):
    claim = node_of(graph, p.Claim)
    graph.replace_uses(claim, claim.args[0])
    graph.erase(claim)


def claimed_for_nothing(graph):
    commit = node_of(graph, p.Commit)
    graph.replace_uses(commit, commit.args[0])
    graph.erase(commit)


def commits_twice(graph):
    commit = node_of(graph, p.Commit)
    graph.call(
        p.Commit(), commit.args, meta=commit.meta[0], view_of=commit.args[0], alias="same",
        writes=commit.writes, before=graph.output_node,
    )  # fmt: skip


def computes_behind_commit(graph):
    x = graph.inputs[1]
    graph.call(p.Map(row("negative"), (F8, F8)), (x,), meta=x.meta[0], before=graph.output_node)


def reads_after_write(graph):
    scatter = node_of(graph, p.Scatter)
    scatter.target = p.Scatter(scatter.target.forms, in_place=True)
    scatter.writes, scatter.view_of, scatter.alias = (scatter.args[0],), scatter.args[0], "same"
    x = scatter.args[0]
    claim = node_of(graph, p.Claim)
    graph.call(
        p.Map(row("negative"), (F8, F8)), (claim,), meta=x.meta[0], before=node_of(graph, p.Commit)
    )


def gives_input_as_it_was(graph):
    (x,) = (node for node in graph.inputs if node.name == "x")
    graph.set_operands(graph.output_node, (x,))


BREAKAGES = {
    unknown_primitive: "mul is a Stranger, which is not in the closed set",
    captured_call: "mul is a call of the captured level",
    no_number: "mul is no primitive and does not give a Python number",
    wrong_item: "is no primitive and does not give a Python number",
    too_few_operands: "x_2: the operands are not those of commit",
    wrong_view: "the operands are not those of view_basic",
    wrong_dtype: "mul is said to give",
    wrong_shape: "mul is said to give",
    wrong_scalar: "mul is said to give",
    impure: "mul is said to write",
    silent_commit: "x_2 is said to write",
    drawing_map: "mul draws, or does not",
    sharing_map: "mul shares memory with an operand, or does not",
    unshared_view: "getitem shares memory with an operand, or does not",
    claims_twice: "x_1 claims x, which claim did before",
    claims_no_input: "x_1 claims mul, which is no input",
    not_claimed: "x is written, but not claimed",
    claimed_for_nothing: "x_1 claims x, which no version is put into",
    commits_twice: "commit commits to x, as x_2 did before",
    computes_behind_commit: "map_negative comes behind x_2",
    reads_after_write: "map_negative reads x_1, whose memory has been overwritten",
    gives_input_as_it_was: "output gives x, the caller's array as it was before it was written",
}


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
def test_a_broken_graph_is_told_by_its_node(breakage):
    found = broken(breakage)
    with pytest.raises(InternalError) as caught:
        verify(found.graph, found.env)
    assert BREAKAGES[breakage] in str(caught.value)


def test_lint_comes_first():
    found = good()
    found.graph.nodes.append(found.graph.nodes.pop(0))
    found.graph.nodes[0].name = found.graph.nodes[1].name
    assert any("two nodes are named" in problem for problem in problems(found.graph, found.env))


def test_every_rule_has_a_breakage():
    found = set()
    for breakage in BREAKAGES:
        one = broken(breakage)
        found |= {rule for rule in RULES if list(rule(one.graph, one.env))}
    assert found == set(RULES)


def test_views_of_views_are_split_and_joined():
    chain = (Basic((Range(1, 1, 3),)), Basic((Range(2, -1, 2),)))
    forms, dims = split_views(chain)
    assert dims == (1, 1, 3, 2, -1, 2)
    version = p.Scatter(forms)(np.zeros(4), 9.0, dims)
    assert version.tolist() == [0.0, 0.0, 9.0, 9.0]
