"""What infer says about single calls: aliasing, writes, failure, facts, refusals; and what lookup finds."""

import operator

import numpy as np
import pytest

from bcjit.dims import Relation, ShapeEnv
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import (
    OpDef,
    Unsupported,
    WouldRaise,
    all_ops,
    infer,
    lookup,
    lookup_attribute,
    lookup_method,
)
from bcjit.ops.opdef import Spelling
from bcjit.ops.samples.values import DTYPES
from bcjit.ops.table import Rows, add

F8 = np.dtype(np.float64)
F4 = np.dtype(np.float32)
I8 = np.dtype(np.int64)


def facts(target, *args, env=None, **kwargs):
    return infer(lookup(target), target, args, kwargs, env or ShapeEnv())


def array(*shape, dtype=F8):
    return ArrayMeta(shape, dtype)


def scalar(dtype=F8):
    return ArrayMeta((), dtype, is_scalar=True)


# Lookup


class Hostile:
    def __eq__(self, other):
        raise AssertionError

    def __hash__(self):
        raise AssertionError

    def __call__(self):
        raise AssertionError


def test_lookup_runs_no_code_of_the_callable():
    assert lookup(Hostile()) is None


def test_ufunc_methods_are_found_though_each_access_makes_a_new_object():
    assert np.add.reduce is not np.add.reduce
    assert lookup(np.add.reduce) is lookup(np.sum)
    assert lookup(np.add.outer) is lookup(np.add.outer)
    assert facts(np.add.reduce, array(2, 3)).results == array(3)


def test_operators_and_methods_are_the_same_op_as_the_function():
    assert lookup(operator.iadd) is lookup(operator.add) is lookup(np.add)
    assert lookup_method("sum") == (lookup(np.sum), np.ndarray.sum)
    assert lookup_method("sum", is_scalar=True) == (lookup(np.sum), np.generic.sum)
    assert lookup_method("no_such_method") is None


def test_attributes_are_apart_from_methods():
    assert lookup_method("T") is None
    op, target = lookup_attribute("T")
    x = np.arange(6).reshape(2, 3)
    assert target(x).tolist() == x.T.tolist()
    assert infer(op, target, (array(2, 3),), {}, ShapeEnv()).alias == "view"
    assert lookup_attribute("strides") is None


def test_a_callable_is_in_the_table_once():
    spelling = lookup(np.add).spellings[0]
    for name, problem in (("add", "already"), ("another", "as add and as another")):
        rows = Rows()
        rows.define(name, [spelling])
        with pytest.raises(ValueError, match=problem):
            add("some_module", rows)
    # Nothing of the failed definition is left to find.
    assert lookup(np.add) is lookup(operator.add)


def test_a_target_of_another_op_is_a_mistake_of_the_caller():
    with pytest.raises(KeyError):
        infer(lookup(np.add), np.multiply, (array(2), array(2)), {}, ShapeEnv())


# Sharing and writes


def test_views_name_their_argument():
    got = facts(operator.getitem, array(4, 3), (slice(1, None), None))
    assert (got.alias, got.view_of, got.writes) == ("view", 0, ())
    assert got.results == array(3, 1, 3)
    assert not got.can_fail


def test_reshape_may_be_a_view_or_a_copy():
    assert facts(np.reshape, array(4, 3), 12).alias == "maybe"
    assert facts(np.ravel, a=array(4, 3)).view_of == "a"


def test_a_copy_of_a_view_is_fresh():
    assert facts(np.flip, array(3)).alias == "view"
    assert facts(np.roll, array(3), 1).alias == "fresh"


def test_asarray_without_change_is_the_argument_itself():
    assert facts(np.asarray, array(3)).alias == "same"
    assert facts(np.asarray, array(3), dtype=F4).alias == "fresh"


def test_out_is_written_and_returned():
    got = facts(np.add, array(3), 1.0, out=array(2, 3))
    assert (got.alias, got.view_of, got.writes) == ("same", "out", ("out",))
    assert got.results == array(2, 3)


def test_arrays_in_a_tuple_of_out_have_places_of_their_own():
    got = facts(np.modf, array(3), out=(array(3), None))
    assert got.shares == (("same", ("out", 0)), ("fresh", None))
    assert got.writes == (("out", 0),)
    got = facts(np.divmod, array(3), array(3), array(3), array(3))
    assert (got.shares, got.writes) == ((("same", 2), ("same", 3)), (2, 3))
    got = facts(np.add, array(3), 1.0, out=(array(3),))
    assert (got.alias, got.view_of, got.writes) == ("same", ("out", 0), (("out", 0),))


def test_where_without_out_leaves_elements_undefined():
    mask = array(3, dtype=np.dtype(bool))
    with pytest.raises(Unsupported, match="undefined"):
        facts(np.add, array(3), 1, where=mask)
    with pytest.raises(Unsupported, match="undefined"):
        facts(np.modf, array(3), out=(array(3), None), where=mask)
    assert facts(np.add, array(3), 1, where=mask, out=array(3)).writes == ("out",)


def test_in_place_operators_write_arrays_and_not_scalars():
    assert facts(operator.iadd, array(3), array(3)).writes == (0,)
    got = facts(operator.iadd, scalar(), 1.0)
    assert (got.alias, got.writes, got.results) == ("fresh", (), scalar())


def test_setitem_gives_none_and_writes():
    got = facts(operator.setitem, array(3), 0, 1.0)
    assert (got.results, got.alias, got.writes) == ((), "fresh", (0,))


# Failure


def test_integer_addition_cannot_fail_and_float_addition_can():
    assert not facts(np.add, array(3, dtype=I8), array(3, dtype=I8)).can_fail
    assert facts(np.add, array(3), array(3)).can_fail


def test_comparisons_of_real_numbers_cannot_fail():
    assert not facts(operator.lt, array(3), array(3)).can_fail
    assert not facts(operator.lt, array(3, dtype=I8), ScalarMeta(int)).can_fail


def test_an_unknown_int_may_not_fit():
    assert facts(operator.add, array(3, dtype=I8), ScalarMeta(int)).can_fail
    assert not facts(operator.add, array(3, dtype=I8), 5).can_fail


def test_scalar_integer_arithmetic_can_warn():
    assert facts(operator.add, scalar(I8), scalar(I8)).can_fail
    assert not facts(np.add, scalar(I8), scalar(I8)).can_fail


def test_a_write_is_torn_if_a_flag_can_come_after_it():
    assert facts(operator.iadd, array(3), array(3)).torn
    assert not facts(operator.iadd, array(3, dtype=I8), array(3, dtype=I8)).torn
    assert not facts(operator.setitem, array(3), 0, ScalarMeta(float)).torn
    assert not facts(operator.setitem, array(3, dtype=F4), 0, scalar(F8)).torn
    assert facts(operator.setitem, array(3, dtype=F4), slice(None), array(3)).torn


def test_a_write_that_does_not_read_what_was_there_can_be_made_again():
    for target, args, kwargs in (
        (np.add, (array(3), 1.0), {"out": array(3)}),
        (np.cumsum, (array(3),), {"out": array(3)}),
        (np.mean, (array(3, 2),), {"axis": 1, "out": array(3)}),
    ):
        got = facts(target, *args, **kwargs)
        assert (got.torn, got.rereads) == (True, False)
    for target, args in (
        (operator.iadd, (array(3), 1.0)),
        (np.add.at, (array(3), [0], 1.0)),
        (np.ndarray.sort, (array(3, dtype=np.dtype(complex)),)),
    ):
        assert facts(target, *args).rereads


# Facts


def test_a_reduction_without_identity_asks_for_elements():
    env = ShapeEnv()
    n = env.symbol("n", "input", 5).expr
    assert facts(np.max, array(n), env=env).results == scalar()
    assert env.facts == (Relation("!=", n, 0),)


def test_nothing_is_asked_where_nothing_depends_on_it():
    env = ShapeEnv()
    n = env.symbol("n", "input", 5).expr
    x = array(n, 3)
    for target, args in (
        (np.add, (x, x)),
        (np.sum, (x,)),
        (operator.getitem, (x, (slice(None, None, -1), 1))),
        (np.transpose, (x,)),
        (np.ravel, (x,)),
        (np.zeros_like, (x,)),
    ):
        facts(target, *args, env=env)
    assert env.facts == ()


def test_the_warning_case_of_a_mean_is_guarded():
    env = ShapeEnv()
    n = env.symbol("n", "input", 5).expr
    facts(np.mean, array(n), env=env)
    assert env.facts == (Relation("!=", n, 0),)
    empty = env.symbol("m", "input", 0).expr
    with pytest.raises(Unsupported, match="warns"):
        facts(np.mean, array(empty), env=env)
    assert env.facts[-1] == Relation("==", empty, 0)


def test_a_size_that_depends_on_data_is_not_guessed():
    env = ShapeEnv()
    d = env.symbol("d", "data").expr
    assert facts(np.sum, array(d), env=env).results == scalar()
    with pytest.raises(Unsupported, match="depends on data"):
        facts(np.reshape, array(d), (3, 2), env=env)
    added = facts(np.add, array(d, dtype=I8), array(3, dtype=I8), env=env)
    assert added.results == array(3, dtype=I8)
    assert added.can_fail  # where d is neither 1 nor 3
    assert env.facts == ()


def test_sizes_that_depend_on_data_are_new_unless_it_is_known_what_they_broadcast_to():
    env = ShapeEnv()
    d, other = env.symbol("d", "data").expr, env.symbol("other", "data").expr
    n = env.symbol("n", "input", 1).expr
    assert facts(np.add, array(d), array(d), env=env).results == array(d)
    assert facts(np.add, array(d), array(1), env=env).results == array(d)
    assert facts(np.add, array(d, 1), array(n, 4), env=env).results == array(d, 4)
    (size,) = facts(np.add, array(d), array(other), env=env).results.shape
    assert size not in (d, other)
    assert facts(np.mean, array(d), env=env).requires == (Relation("!=", d, 0),)
    assert env.facts == (Relation("==", n, 1),)


def test_symbolic_shapes_and_slices_stay_symbolic():
    env = ShapeEnv()
    n = env.symbol("n", "input", 8).expr
    assert facts(operator.getitem, array(n), slice(1, -1), env=env).results == array(n - 2)
    assert facts(np.zeros, (n, 2), env=env).results == array(n, 2)
    assert facts(np.arange, n, env=env).results == array(n, dtype=I8)
    assert facts(np.reshape, array(n, 4), (-1, 2), env=env).results == array(2 * n, 2)
    assert facts(np.concatenate, [array(n), array(3)], env=env).results == array(n + 3)


# Refusals


def test_a_keyword_the_table_does_not_declare_is_unsupported():
    with pytest.raises(Unsupported, match="arguments"):
        facts(np.sum, array(3), no_such_keyword=1)
    with pytest.raises(Unsupported, match="arguments"):
        facts(np.argmax, array(3), where=array(3, dtype=np.dtype(bool)))


def test_what_numpy_rejects_would_raise():
    for target, args in (
        (np.add, (array(3), array(4))),
        (np.sum, (array(3), 5)),
        (operator.getitem, (array(3), 7)),
        (np.subtract, (array(3, dtype=np.dtype(bool)), array(3, dtype=np.dtype(bool)))),
        (operator.add, (array(3, dtype=np.dtype(np.uint8)), 300)),
        (operator.iadd, (array(3, dtype=I8), 0.5)),
        (operator.setitem, (scalar(), 0, 1)),
        (np.linalg.inv, (array(2, 3),)),
    ):
        with pytest.raises(WouldRaise):
            facts(target, *args)


@pytest.mark.parametrize("dtype", ["O", "S3", "U3", "M8[s]", "m8[s]", "V8", ">f8"])
def test_other_dtypes_are_unsupported(dtype):
    with pytest.raises(Unsupported, match="not supported"):
        facts(np.add, array(3, dtype=np.dtype(dtype)), 1)
    with pytest.raises(Unsupported, match="not supported"):
        facts(np.zeros, 3, np.dtype(dtype))


def test_a_class_as_dtype_is_not_asked_for_its_dtype():
    class Sneaky:
        @property
        def dtype(self):
            raise AssertionError

    with pytest.raises(Unsupported, match="dtype"):
        facts(np.zeros, 3, Sneaky)


def test_a_boolean_selection_has_a_new_size_that_its_mask_decides():
    env = ShapeEnv()
    mask = array(3, dtype=np.dtype(bool))
    found = facts(operator.getitem, array(3, 2), mask, env=env)
    ((symbol, place),) = found.sizes
    assert (symbol.kind, place) == ("data", 1)
    assert found.results == array(symbol.expr, 2)
    assert not found.can_fail
    assert facts(operator.setitem, array(3), mask, 0.0).writes == (0,)


def test_an_index_of_unknown_bounds_gives_a_view_of_unknown_length():
    env = ShapeEnv()
    found = facts(operator.getitem, array(3), slice(ScalarMeta(int), scalar(I8)), env=env)
    assert (found.alias, found.view_of) == ("view", 0)
    assert found.results.shape[0].symbols()


def test_a_zero_dimensional_array_as_index_gives_a_scalar_alone_and_a_copy_among_slices():
    index = array(dtype=I8)
    assert facts(operator.getitem, array(3), index).results == scalar()
    assert facts(operator.getitem, array(3, 3), index).alias == "fresh"
    assert facts(operator.getitem, array(3, 3), scalar(I8)).alias == "view"


def test_a_bool_array_to_an_unknown_power_has_no_known_dtype():
    with pytest.raises(Unsupported, match="power"):
        facts(operator.pow, array(3, dtype=np.dtype(bool)), ScalarMeta(int))


def test_operands_without_an_array_are_not_for_numpy():
    with pytest.raises(Unsupported, match="array"):
        facts(operator.add, ScalarMeta(float), 1.0)


def test_a_ufunc_of_python_numbers_gives_a_numpy_scalar_of_the_default_dtype():
    assert facts(np.add, 1, 2).results == scalar(I8)
    assert facts(np.sqrt, ScalarMeta(float)).results == scalar()
    with pytest.raises(Unsupported, match="int"):
        facts(np.add, ScalarMeta(int), 2)
    with pytest.raises(Unsupported, match="int"):
        facts(np.add, 2**70, 2)


# The table


def test_every_op_has_spellings_with_samples():
    for op in all_ops():
        assert isinstance(op, OpDef)
        assert op.spellings
        for spelling in op.spellings:
            assert isinstance(spelling, Spelling)
            assert any(any(True for _ in spelling.samples(dtype)) for dtype in DTYPES), op.name
            assert lookup(spelling.target) is op


# Indices


def test_an_unknown_int_picks_and_may_be_out_of_bounds():
    for index in (ScalarMeta(int), scalar(I8)):
        got = facts(operator.getitem, array(3, 4), index)
        assert (got.results, got.alias, got.can_fail) == (array(4), "view", True)
        got = facts(operator.getitem, array(3), index)
        assert (got.results, got.alias) == (scalar(), "fresh")
        assert facts(operator.setitem, array(3, 4), index, 1.0).writes == (0,)


def test_a_symbolic_int_in_range_cannot_fail():
    env = ShapeEnv()
    n = env.symbol("n", "input", 8).expr
    k = env.symbol("k", "input", 3).expr
    got = facts(operator.getitem, array(n), k, env=env)
    assert (got.results, got.can_fail) == (scalar(), False)
    assert env.facts == (Relation("<", k, n),)


REFUSALS = [
    (operator.getitem, (1.5, 0), Unsupported),
    (operator.setitem, (1.5, 0, 0), Unsupported),
    (operator.getitem, (array(3), ScalarMeta(float)), WouldRaise),
    (operator.getitem, (array(3), "a"), WouldRaise),
    (operator.getitem, (array(3), object()), Unsupported),
    (operator.getitem, (array(3), scalar()), WouldRaise),
    (operator.getitem, (array(3), array(2)), WouldRaise),
    (operator.getitem, (array(3), slice(1.5, None)), WouldRaise),
    (operator.getitem, (array(3), slice(array(2, dtype=I8), None)), Unsupported),
    (operator.setitem, (array(), True, 0), Unsupported),
    (operator.setitem, (array(3), 0, None), Unsupported),
    (operator.setitem, (array(2, 3), slice(None), array(2)), WouldRaise),
    (np.add, (array(3), None), Unsupported),
    (np.add, (array(3), [array(3)]), Unsupported),
    (np.add, (array(3), [[1], [2, 3]]), WouldRaise),
    (operator.iadd, ([1], array(1)), Unsupported),
    (operator.neg, (ScalarMeta(int),), Unsupported),
    (operator.add, (scalar(), [1.0]), Unsupported),
    (np.sum, (array(3), ScalarMeta(int)), Unsupported),
    (np.sum, (array(3), 1.5), WouldRaise),
    (np.zeros, (ScalarMeta(int),), Unsupported),
    (np.zeros, (3, "no such dtype"), WouldRaise),
    (np.zeros, (3, float, "X"), WouldRaise),
    (np.full, (3, ScalarMeta(int)), Unsupported),
    (np.full, (3, None), Unsupported),
    (np.array, ([ScalarMeta(int)],), Unsupported),
    (np.array, ([array(2), array(2, 2)],), Unsupported),
    (np.arange, (ScalarMeta(complex),), Unsupported),
    (np.linspace, (0, 1, ScalarMeta(int)), Unsupported),
    (np.eye, (3, 3, ScalarMeta(int)), Unsupported),
    (np.concatenate, (array(3),), WouldRaise),
    (np.roll, (array(3), ScalarMeta(int)), Unsupported),
    (np.repeat, (array(3), array(3)), Unsupported),
    (np.broadcast_to, (array(2, 3), (3,)), WouldRaise),
    (np.sort, (array(3), -1, "bubble"), Unsupported),
    (np.diff, (array(3), -1), WouldRaise),
    (np.isclose, (array(3), 1.0, array(3)), Unsupported),
    (np.copyto, (array(3), None), Unsupported),
    (np.linalg.solve, (array(3, 3), array(4)), WouldRaise),
    (np.linalg.norm, (array(3), "fro"), WouldRaise),
    (np.dot, (array(2), array(3)), WouldRaise),
    (operator.imatmul, (array(3), array(3)), Unsupported),
    (float, (array(3),), Unsupported),
    (float, (ScalarMeta(int),), Unsupported),
]


@pytest.mark.parametrize(("target", "args", "answer"), REFUSALS)
def test_refusal(target, args, answer):
    with pytest.raises(answer) as caught:
        facts(target, *args)
    assert type(caught.value) is answer
    assert caught.value.reason
