"""The op table against NumPy: every spelling, every sample, every dtype."""

import copy
import warnings

import numpy as np
import pytest

from bcjit.dims import Expr, ShapeEnv, evaluate, symbols
from bcjit.meta import ArrayMeta, ObjectMeta, ScalarMeta
from bcjit.ops import Fact, Unsupported, WouldRaise, all_ops, infer, lookup
from bcjit.ops.emitter import Reshape
from bcjit.ops.refusals import Refused
from bcjit.ops.samples.values import DTYPES
from bcjit.ops.warning_twins import refusing
from tests.ops_emitter import GENERATORS, NumpyEmitter

SPELLINGS = [
    pytest.param(op, spelling, id=f"{op.name}-{i}")
    for op in all_ops()
    for i, spelling in enumerate(op.spellings)
]


# Shapes do not depend on dtypes, and symbols are slow: these stand for all.
SYMBOLIC = (np.dtype("f4"), np.dtype("i8"))


class Abstraction:
    """Metas of real arguments, with a symbol for each size or with the sizes themselves."""

    def __init__(self, symbolic):
        self.env = ShapeEnv()
        self.bindings = {}
        self.symbolic = symbolic

    def dim(self, size):
        if not self.symbolic:
            return size
        symbol = self.env.symbol(f"s{len(self.bindings)}", "input", size)
        self.bindings[symbol] = size
        return symbol.expr

    def of(self, value):
        if isinstance(value, np.ndarray):
            return ArrayMeta(tuple(self.dim(size) for size in value.shape), value.dtype)
        if isinstance(value, tuple):
            return tuple(self.of(item) for item in value)
        if isinstance(value, list):
            return [self.of(item) for item in value]
        return ObjectMeta(type(value)) if isinstance(value, GENERATORS) else value

    def learn(self, meta, value):
        """Bind sizes that depend on data to those of a result: the first that has them as an axis decides."""
        if isinstance(meta, ArrayMeta):
            for dim, size in zip(meta.shape, np.shape(value), strict=False):
                for symbol in symbols(dim):
                    if symbol.kind == "data" and symbol.expr == dim:
                        self.bindings.setdefault(symbol, size)

    def shape(self, shape):
        return tuple(evaluate(dim, self.bindings) for dim in shape)


def duplicate(value, memo):
    """Copy arrays with their strides, views of one base staying views of one base."""
    if isinstance(value, np.ndarray):
        base = value
        while isinstance(base.base, np.ndarray):
            base = base.base
        if id(base) not in memo:
            memo[id(base)] = np.frombuffer(bytearray(base.tobytes("A")), base.dtype)
        fresh = memo[id(base)]
        offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return np.ndarray(value.shape, value.dtype, fresh, offset, value.strides)
    if isinstance(value, tuple):
        return tuple(duplicate(item, memo) for item in value)
    if isinstance(value, list):
        return [duplicate(item, memo) for item in value]
    return copy.deepcopy(value) if isinstance(value, GENERATORS) else value


def stream(generator=None):
    """Return where a generator's stream stands, without one NumPy's own."""
    if generator is None:
        return frozen(np.random.get_state())
    if isinstance(generator, np.random.RandomState):
        return frozen(generator.get_state(legacy=False))
    return frozen(getattr(generator, "bit_generator", generator).state)


def frozen(state):
    if isinstance(state, dict):
        return {name: frozen(value) for name, value in state.items()}
    if isinstance(state, tuple):
        return tuple(map(frozen, state))
    return state.tobytes() if isinstance(state, np.ndarray) else state


COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
NUMPY_BEFORE_2_1 = np.lib.NumpyVersion(np.__version__) < "2.1.0"


def crashes_numpy(name, args):
    """Whether the call must be left out: NumPy 2.0 loses a reference to a Python int that does not fit the array.

    Some calls later the process dies (numpy/_core/src/umath/special_integer_comparisons.cpp of 2.0).
    """
    numbers = [arg for arg in args if type(arg) is int]
    return NUMPY_BEFORE_2_1 and name in COMPARISONS and any(not 0 <= n <= 127 for n in numbers)


def call(target, args, kwargs):
    """Return result, exception and what was warned or flagged."""
    problems = []
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="call", call=lambda kind, flag: problems.append(kind)),
    ):
        warnings.simplefilter("always")
        try:
            return target(*args, **kwargs), None, problems
        except Exception as error:
            problems.append(error)
            return None, error, problems
        finally:
            problems.extend(caught)


def run(target, one):
    memo = {}
    args = duplicate(one.args, memo)
    kwargs = {name: duplicate(value, memo) for name, value in one.kwargs.items()}
    before = duplicate(args, {})
    np.random.seed(5)
    result, error, noisy = call(target, args, kwargs)
    return args, kwargs, before, result, error, noisy


def check_result(value, meta, abstraction, where):
    if isinstance(meta, ScalarMeta | ObjectMeta):
        assert type(value) is meta.pytype, where
        return
    assert isinstance(value, np.generic) == meta.is_scalar, (where, type(value))
    assert abstraction.shape(meta.shape) == value.shape, where
    assert meta.dtype == value.dtype, where


def at_place(args, kwargs, place):
    """Return the argument at a place as infer names it."""
    if isinstance(place, tuple):
        return at_place(args, kwargs, place[0])[place[1]]
    return args[place] if isinstance(place, int) else kwargs[place]


def check_alias(value, share, args, kwargs, where):
    alias, place = share
    if isinstance(value, np.generic):
        return
    if isinstance(value, GENERATORS):
        assert any(value is arg for arg in args) == (alias == "same"), where
        return
    if alias == "fresh":
        for other in [*args, *kwargs.values()]:
            if isinstance(other, np.ndarray):
                assert not np.may_share_memory(value, other) or not value.size, where
        return
    source = at_place(args, kwargs, place)
    if alias == "same":
        assert value is source, where
    elif alias == "view":
        assert value is not source, where
        assert np.shares_memory(value, source) or not value.size, where


def check_sample(op, spelling, one, symbolic):
    """Compare one call; returns the kind of answer."""
    where = (op.name, spelling.target, one)
    if crashes_numpy(op.name, one.args):
        return "unsupported"
    args, kwargs, before, result, error, noisy = run(spelling.target, one)
    abstraction = Abstraction(symbolic)
    metas = [abstraction.of(arg) for arg in one.args]
    named = {name: abstraction.of(value) for name, value in one.kwargs.items()}
    try:
        inferred = infer(op, spelling.target, metas, named, abstraction.env)
    except Unsupported:
        return "unsupported"
    except WouldRaise as refusal:
        assert error is not None, (where, refusal)
        return "raises"
    assert inferred.can_fail or not noisy, (where, error)
    if refusing(spelling.target) is spelling.target:
        # A graph goes on behind a warning that NumPy attributes to its own code.
        inner = [
            w for w in noisy if isinstance(w, warnings.WarningMessage) and w.filename != __file__
        ]
        assert not inner, (where, list(map(str, inner)))
    if error is not None:
        check_expand_raises(spelling, one, where)
        return "may raise"
    if inferred.fact is not None:
        check_fact(result, inferred.fact.value, abstraction, where)
    else:
        check_results(result, inferred, abstraction, args, kwargs, where)
    for i, (now, then) in enumerate(zip(args, before, strict=True)):
        if isinstance(now, np.ndarray) and i not in inferred.writes:
            assert now.tobytes() == then.tobytes(), where
    try:
        check_expand(op, spelling, one, args, kwargs, result, where)
    except (Refused, TypeError) as refusal:
        assert isinstance(refusal, Refused) or "'registry'" in str(refusal), where
        assert noisy, where
        return "refused"
    return "ok"


def check_fact(result, fact, abstraction, where):
    if isinstance(fact, tuple):
        assert type(result) is tuple and len(result) == len(fact), where
        for one, other in zip(result, fact, strict=True):
            check_fact(one, other, abstraction, where)
        return
    (value,) = abstraction.shape((fact,)) if isinstance(fact, Expr) else (fact,)
    assert type(result) is type(value), where
    assert str(result) == str(value), where


def check_results(result, inferred, abstraction, args, kwargs, where):
    several = isinstance(result, tuple | list)
    values = result if several else (result,) if result is not None else ()
    listed = inferred.results if isinstance(inferred.results, tuple) else (inferred.results,)
    assert several == (isinstance(inferred.results, tuple) and result is not None), where
    assert isinstance(result, list) == inferred.is_list, where
    assert not isinstance(result, tuple) or type(result) is inferred.tuple_type, where
    assert len(values) == len(listed), where
    for value, meta, share in zip(values, listed, inferred.shares, strict=True):
        abstraction.learn(meta, value)
        check_result(value, meta, abstraction, where)
        check_alias(value, share, args, kwargs, where)


def check_expand(op, spelling, one, args, kwargs, result, where):
    memo = {}
    again = duplicate(one.args, memo)
    named = {name: duplicate(value, memo) for name, value in one.kwargs.items()}
    state = stream()
    np.random.seed(5)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = spelling.expand(NumpyEmitter(), *again, **named)
    if op.name.startswith("empty"):
        return  # whatever memory holds
    if isinstance(got, Fact):
        check_fact(result, got.value, None, where)
        return
    assert_same(got, result, op.ulp, where)
    for mine, theirs in zip([*again, *named.values()], [*args, *kwargs.values()], strict=True):
        if isinstance(theirs, np.ndarray):
            assert_same(mine, theirs, op.ulp, where)
        if isinstance(theirs, GENERATORS):
            assert stream(mine) == stream(theirs), where
    assert stream() == state, where


class LoweringEmitter(NumpyEmitter):
    """Refuses what `bcjit.primitives` refuses."""

    def view(self, value, how):
        if isinstance(how, Reshape) and how.by == "flags":
            raise Unsupported("decided by flags")
        return super().view(value, how)


def check_expand_raises(spelling, one, where):
    """What NumPy rejects must fail at the primitive level too: only then is NumPy asked to raise."""
    if spelling.method and not isinstance(one.args[0], np.ndarray | np.generic):
        return  # no call of the method
    memo = {}
    args = duplicate(one.args, memo)
    named = {name: duplicate(value, memo) for name, value in one.kwargs.items()}
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            got = spelling.expand(LoweringEmitter(), *args, **named)
    except Exception:
        return
    if any(got is arg for arg in args):
        return  # no primitive: what only looks at values stays captured
    raise AssertionError(f"NumPy raises, expand gives {got!r}: {where}")


def assert_same(got, want, ulp, where):
    if isinstance(want, tuple | list):
        assert type(got) is type(want) and len(got) == len(want), where
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, ulp, where)
        return
    assert type(got) is type(want), where
    if isinstance(want, GENERATORS):
        assert stream(got) == stream(want), where
        return
    if want is None or not isinstance(want, np.ndarray | np.generic):
        assert got == want or repr(got) == repr(want) == "nan", where
        return
    assert got.dtype == want.dtype and got.shape == want.shape, where
    if want.dtype.kind not in "fc":
        assert np.array_equal(got, want), where
        return
    with np.errstate(all="ignore"):
        if ulp == 0:
            assert np.array_equal(got, want, equal_nan=True), where
            return
        finite = np.abs(np.where(np.isfinite(want), want, 0))
        limit = ulp * np.finfo(want.dtype).eps * np.max(finite, initial=0.0)
        assert np.allclose(got, want, rtol=0, atol=limit, equal_nan=True), where


@pytest.mark.parametrize(("op", "spelling"), SPELLINGS)
def test_facts_and_expansion_equal_numpy(op, spelling):
    answers = set()
    for dtype in DTYPES:
        for one in spelling.samples(dtype):
            if spelling.method and spelling.of_scalar != isinstance(one.args[0], np.generic):
                continue
            answers.add(check_sample(op, spelling, one, symbolic=dtype in SYMBOLIC))
    assert "ok" in answers, f"{op.name}: no sample is supported and succeeds"


@pytest.mark.parametrize(("op", "spelling"), SPELLINGS)
def test_a_target_is_found_in_the_table(op, spelling):
    assert lookup(spelling.target) is op
