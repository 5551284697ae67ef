"""Calls that give no array, a list, or several results that share memory with different arguments: inferred and compiled."""

import numpy as np
import pytest

import bcjit
from bcjit.dims import ShapeEnv
from bcjit.meta import ArrayMeta
from bcjit.ops import infer, lookup, lookup_attribute

F8 = np.dtype(np.float64)


def facts(target, *args, env=None, **kwargs):
    return infer(lookup(target), target, args, kwargs, env or ShapeEnv())


def array(*shape, dtype=F8):
    return ArrayMeta(shape, dtype)


def test_facts_keep_sizes_symbolic():
    env = ShapeEnv()
    n = env.symbol("n", "input", 5).expr
    assert facts(np.shape, array(n, 3), env=env).fact.value == (n, 3)
    assert facts(np.size, array(n, 3), env=env).fact.value == 3 * n
    op, target = lookup_attribute("nbytes")
    assert infer(op, target, (array(n),), {}, env).fact.value == 8 * n
    assert facts(np.broadcast_shapes, (n, 1), 3, env=env).fact.value == (n, 3)
    assert not env.facts


def test_a_dtype_that_is_known_is_a_fact():
    assert facts(np.result_type, array(2), np.float32).fact.value == F8
    assert facts(np.finfo, np.float32).fact.value is np.finfo(np.float32)
    assert facts(np.result_type, array(2)).results == ()


def test_each_of_several_results_has_an_argument_of_its_own():
    got = facts(np.atleast_2d, array(3), array(2, 2), 1.5)
    assert got.shares == (("view", 0), ("same", 1), ("fresh", None))
    assert not got.is_list


def test_sections_of_a_symbolic_length_ask_whether_they_divide_it():
    env = ShapeEnv()
    n = env.symbol("n", "input", 6).expr
    got = facts(np.split, array(n), 2, env=env)
    assert got.is_list
    assert [env.hint(meta.shape[0]) for meta in got.results] == [3, 3]
    assert [str(fact) for fact in env.facts] == ["n % 2 == 0"]
    uneven = facts(np.array_split, array(n), 4, env=ShapeEnv())
    assert [uneven.shares[i] for i in range(4)] == [("view", 0)] * 4


def test_layout_decides_what_a_reading_in_order_of_memory_shares():
    assert facts(np.ravel, array(2, 3), order="K").alias == "maybe"
    assert facts(np.asfortranarray, array(2, 3)).alias == "maybe"
    assert facts(np.ndarray.view, array(2), np.int64).alias == "view"
    assert facts(np.ndarray.flatten, array(2, 3), "A").alias == "fresh"


def split_and_write(x):
    left, right = np.split(x, 2)
    left[0] = 7
    return left, right


def grow_the_list(x):
    parts = np.array_split(x, 3)
    parts.append(x + 1)
    return parts, len(parts)


def write_through_both(x):
    a, b = np.atleast_2d(x, x[None])
    a[0, 0] = 5
    return a, b


def broadcast_together(x):
    a, b = np.broadcast_arrays(x, np.ones((2, 1)))
    return a + b


def one_of_the_arguments(x):
    (y,) = np.broadcast_arrays(x, subok=True)
    return y is x, y, y + 1


def limits(x):
    return x + np.finfo(x.dtype).eps, x * np.iinfo(np.int8).max, np.finfo(x.dtype).bits


def described(x):
    kind = np.result_type(x, np.float32)
    floating = np.issubdtype(x.dtype, np.floating)
    return np.zeros(np.broadcast_shapes(x.shape, (2, 1)), kind) + np.ndim(x), floating


def grids(x):
    u, v = np.ogrid[0 : x.shape[0], -1:1:5j]
    return np.mgrid[: x.shape[0]] + x, u + v


def indexed_objects(x):
    rows = np.r_[x, 0, 1 : x.shape[0]]
    keys = np.s_[1:], np.index_exp[2]
    return np.c_[x, x], rows, x[keys[0]], x[keys[1]], np.s_[::2], np.index_exp[::2]


def out_of_joining(x):
    out = np.empty(2 * x.shape[0])
    joined = np.concatenate([x, x], out=out)
    return joined is out, joined


def in_memory_order(x):
    flat = np.ravel(x, order="K")
    flat[0] = 3
    return x, flat


def as_bits(x):
    bits = x.view(np.int64)
    bits += 1
    return x


def of_a_class(x):
    return np.float32(x.shape[0]) * x, np.int64(2), np.float64(x) is x


def nothing_at_all(x):
    none = np.atleast_1d(), np.broadcast_arrays(), np.meshgrid(), np.ogrid[()]
    return none, np.indices((), sparse=True), np.atleast_2d(*()), x + len(none[0])


def of_unknown_size(x):
    steps = np.arange(0.0, x.sum(), x.mean())
    return np.repeat(x, x.astype(int) % 3), steps * 2, steps.shape


@pytest.mark.parametrize(
    "function",
    [
        split_and_write,
        grow_the_list,
        write_through_both,
        broadcast_together,
        one_of_the_arguments,
        limits,
        described,
        grids,
        indexed_objects,
        out_of_joining,
        in_memory_order,
        as_bits,
        of_a_class,
        nothing_at_all,
        of_unknown_size,
    ],
)
def test_compiled_is_plain_in_one_graph(function):
    compiled = bcjit.compile(function)
    for size in (6, 4, 10):
        args = np.arange(size, dtype=float), np.arange(size, dtype=float)
        assert repr(compiled(args[0])) == repr(function(args[1]))
        assert args[0].tolist() == args[1].tolist()
    found = bcjit.explain(function, np.arange(6.0))
    assert len(found.graphs) == 1
    assert not found.breaks


def only_checked(x):
    y = np.asarray_chkfinite(x)
    return y is x


def test_a_check_that_gives_its_argument_back_is_made():
    compiled = bcjit.compile(only_checked)
    for _ in range(2):
        assert compiled(np.ones(3))
        with pytest.raises(ValueError, match="infs or NaNs"):
            compiled(np.array([1.0, np.nan]))


def keeps_a_description(x):
    limits = np.iinfo(np.int16)
    y = x + 1
    print(limits.max)
    return limits, y


def test_an_iinfo_that_lives_on_is_a_new_object_for_each_call(capsys):
    compiled = bcjit.compile(keeps_a_description)
    one, other = (compiled(np.ones(2))[0] for _ in range(2))
    assert type(one) is np.iinfo
    assert one is not other
    assert str(one) == str(np.iinfo(np.int16))
    assert capsys.readouterr().out == "32767\n32767\n"
