"""The facts recorded by infer are enough: at any other sizes that satisfy them, the shapes inferred are NumPy's."""

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bcjit.dims import Expr, ShapeEnv, evaluate, symbols
from bcjit.meta import ArrayMeta
from bcjit.ops import OpFailure, all_ops, infer
from tests.test_ops_dtypes import called


class Sizes:
    """Symbols for the sizes of real arguments, and arguments of other sizes."""

    def __init__(self, one):
        self.env = ShapeEnv()
        self.hints = {}
        self.args = [self.meta(arg) for arg in one.args]
        self.kwargs = {name: self.meta(value) for name, value in one.kwargs.items()}

    def meta(self, value):
        if isinstance(value, np.ndarray):
            return ArrayMeta(tuple(map(self.symbol, value.shape)), value.dtype)
        if isinstance(value, tuple):
            return tuple(map(self.meta, value))
        if isinstance(value, list):
            return list(map(self.meta, value))
        return value

    def symbol(self, size):
        symbol = self.env.symbol(f"s{len(self.hints)}", "input", size)
        self.hints[symbol] = size
        return symbol.expr

    def resized(self, meta, bindings):
        if isinstance(meta, ArrayMeta):
            return np.ones(tuple(evaluate(dim, bindings) for dim in meta.shape), meta.dtype)
        if isinstance(meta, tuple):
            return tuple(self.resized(item, bindings) for item in meta)
        if isinstance(meta, list):
            return [self.resized(item, bindings) for item in meta]
        return meta


def evaluated(fact, bindings):
    if isinstance(fact, tuple):
        return tuple(evaluated(item, bindings) for item in fact)
    return evaluate(fact, bindings) if isinstance(fact, Expr) else fact


def cases():
    for op in all_ops():
        for spelling in op.spellings:
            for one in spelling.samples(np.dtype(np.float32)):
                arrays = [arg for arg in one.args if isinstance(arg, np.ndarray)]
                scalar = bool(one.args) and isinstance(one.args[0], np.generic)
                if arrays and (not spelling.method or spelling.of_scalar == scalar):
                    yield op, spelling, one


CASES = list(cases())


@given(case=st.sampled_from(CASES), sizes=st.lists(st.integers(0, 7), min_size=7, max_size=7))
@settings(
    max_examples=1500,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much],
)
def test_other_sizes_that_satisfy_the_facts_give_numpys_shapes(case, sizes):
    op, spelling, one = case
    abstract = Sizes(one)
    try:
        facts = infer(op, spelling.target, abstract.args, abstract.kwargs, abstract.env)
    except OpFailure:
        assume(False)
        return
    # Sizes that were equal stay equal: others are mostly ruled out by the facts.
    bindings = {
        symbol: sizes[hint] if hint < len(sizes) else hint
        for symbol, hint in abstract.hints.items()
    }
    assume(all(fact.holds(bindings) for fact in abstract.env.facts))
    args = [abstract.resized(arg, bindings) for arg in abstract.args]
    kwargs = {name: abstract.resized(arg, bindings) for name, arg in abstract.kwargs.items()}
    result = called(lambda: spelling.target(*args, **kwargs))
    where = (op.name, spelling.target, one, bindings, abstract.env.facts, result)
    if isinstance(result, Exception):
        assert facts.can_fail, where
        return
    if facts.fact is not None:
        assert evaluated(facts.fact.value, bindings) == result, where
        return
    values = result if isinstance(result, tuple | list) else () if result is None else (result,)
    metas = facts.results if isinstance(facts.results, tuple) else (facts.results,)
    for value, meta in zip(values, metas, strict=True):
        if isinstance(meta, ArrayMeta):
            for dim, size in zip(meta.shape, value.shape, strict=True):
                # A size that depends on data is what it is.
                bindings |= {s: size for s in symbols(dim) if s.kind == "data" and s.expr == dim}
            assert value.shape == tuple(evaluate(dim, bindings) for dim in meta.shape), where
            assert isinstance(value, np.generic) == meta.is_scalar, where
