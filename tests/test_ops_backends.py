"""The op table over backends: what a call gives when it is compiled, under eager, through the primitive level, and between buffers.

A sample becomes a function of one call, written as a user writes it; for the backend that plans buffers, of one call whose operands are temporaries
and whose result goes on into some. By default a thin slice of samples and dtypes; all of them with ``BCJIT_FULL=1``,
the third tenth of those with ``BCJIT_PART=2/10`` besides.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import FULL, WHOLE, part_of

import bcjit
from bcjit.backends import Fused
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.fx_graph import source_of
from bcjit.ops import all_ops
from bcjit.ops.samples.values import DTYPES
from bcjit.primitives import ReferenceBackend
from tests.ops_emitter import GENERATORS
from tests.test_ops_table import assert_same, crashes_numpy, duplicate, run

SPELLINGS = [
    pytest.param(op, spelling, id=f"{op.name}-{i}")
    for op in all_ops()
    for i, spelling in enumerate(op.spellings)
]
SLICE = (np.dtype("f8"), np.dtype("i8"))
OF_FIRST_SPELLING = (np.dtype("c8"),)
PER_DTYPE = 3  # samples of a spelling, of different kinds

# Whether these copy is decided by flags of the array, or they only look at values: they stay captured.
BY_FLAGS = frozenset({"require", "asarray_chkfinite"})
# What is writeable with a warning is read-only at the primitive level.
WARN_OF_WRITES = frozenset({"broadcast_arrays", "meshgrid"})
NATIVE = [(Native(smallest=1), 0)] if has_llvm() else []
REACHED: dict[object, bool] = {}  # whether some graph of a spelling was lowered
BUFFERED: dict[object, bool] = {}  # whether some graph of a spelling had buffers


def kind_of(value):
    """Return what decides which branches of a rule a value takes, roughly."""
    if isinstance(value, np.ndarray):
        contiguous = value.flags.c_contiguous or value.flags.f_contiguous
        return value.ndim, min(value.size, 2), contiguous, value.dtype.kind
    if isinstance(value, tuple | list):
        return type(value), tuple(map(kind_of, value))
    return type(value)


def chosen(op, spelling, dtype):
    """Return the samples of a dtype that are compiled: a few that succeed, of different kinds, and one that raises."""
    found, failing = {}, []
    for one in spelling.samples(dtype):
        if spelling.method and spelling.of_scalar != isinstance(one.args[0], np.generic):
            continue
        if crashes_numpy(op.name, one.args):
            continue
        if (
            isinstance(spelling.target, np.ufunc)
            and "where" in one.kwargs
            and "out" not in one.kwargs
        ):
            continue  # elements are undefined
        key = (kind_of(one.args), tuple((k, kind_of(v)) for k, v in one.kwargs.items()))
        if not FULL and key in found:
            continue
        if run(spelling.target, one)[4] is None:
            found[len(found) if FULL else key] = one
        else:
            failing.append(one)
    samples = list(found.values())
    if FULL:
        return samples + failing
    # From everywhere in the list.
    return samples[:: -(-len(samples) // PER_DTYPE) or 1] + failing[-1:]


def owner_of(spelling):
    """Return the ufunc whose method a spelling is."""
    return getattr(spelling.target, "__self__", None)


class Writer:
    """The source of a call: arrays, NumPy scalars and generators are parameters, other objects that have no literal are globals."""

    def __init__(self, *, temporaries=False):
        self.names = {"np": np, "bcjit": bcjit}
        self.parameters = []
        self.known = {}
        self.temporaries = temporaries

    def text(self, value):
        if isinstance(value, (np.ndarray, np.generic, *GENERATORS)):
            if id(value) not in self.known:
                self.known[id(value)] = f"a{len(self.parameters)}"
                self.parameters.append(value)
            return self.passed_on(self.known[id(value)], value)
        if type(value) in {tuple, list}:
            inner = "".join(f"{self.text(item)}, " for item in value)
            return f"({inner})" if type(value) is tuple else f"[{inner}]"
        if type(value) is slice:
            return (
                f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
            )
        if value is None or type(value) in {bool, int, str}:
            return repr(value)
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def passed_on(self, text, value):
        """Return an array as what three calls make of it: none of them changes it, or is left out by a pass."""
        plain = type(value) is np.ndarray and value.ndim > 0 and value.dtype.isnative
        if not self.temporaries or not plain or value.dtype.kind not in "biufc":
            return text
        same = "np.logical_or(%s, False)" if value.dtype.kind == "b" else "np.positive(%s)"
        return same % (same % (same % text))

    def call(self, spelling, one):
        args = [self.text(arg) for arg in one.args]
        named = [f"{key}={self.text(value)}" for key, value in one.kwargs.items()]
        owner = owner_of(spelling)
        if spelling.method:
            name = f"{args.pop(0)}.{spelling.method}"
            if spelling.is_attribute:
                return name
        elif isinstance(owner, np.ufunc):
            self.names["owner"] = owner
            name = f"owner.{spelling.target.__name__}"
        else:
            self.names["target"] = spelling.target
            name = "target"
        return f"{name}({', '.join(args + named)})"

    def function(self, spelling, one):
        call = self.call(spelling, one)
        names = [self.known[id(value)] for value in self.parameters]
        source = f"def f({', '.join(names)}):\n    return {call}\n"
        if self.temporaries:
            result = run(spelling.target, one)[3]
            source = f"def f({', '.join(names)}):\n    r = {call}\n    return {self.passed_on('r', result)}\n"
        exec(source, self.names)
        return self.names["f"], source


def outcome(fn, arguments):
    """Return result, exception type, and what was warned."""
    np.random.seed(5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Sets C's errno to 0: for NaN, abs of a complex number raises what it finds there (CPython 3.11).
        abs(1j)
        try:
            result, error = fn(*arguments), None
        except Exception as raised:
            result, error = None, raised
    return result, error and type(error), [(w.category, str(w.message)) for w in caught]


def relations(result, arguments):
    """Return how each array of a result relates to each argument and to the other results."""
    results = result if isinstance(result, tuple | list) else (result,)
    arrays = [value for value in results if isinstance(value, np.ndarray)]
    others = [value for value in arguments if isinstance(value, np.ndarray)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of looking at this flag of what np.broadcast_arrays gives
        return [
            (one is other, np.shares_memory(one, other), one.flags.writeable)
            for place, one in enumerate(arrays)
            for other in (*others, *arrays[:place])
        ]


class CountingFused(Fused):
    """Buffers for arrays of every size; counts the graphs that have some."""

    def __init__(self):
        super().__init__(smallest=0, block=5)
        self.planned = 0

    def __call__(self, graph, examples):
        function = super().__call__(graph, examples)
        self.planned += "buffer" in source_of(function)
        return function


def check(op, spelling, one, backend, ulp):
    """Compare one call, compiled twice over, with plain NumPy."""
    writer = Writer(temporaries=isinstance(backend, Fused))
    fn, source = writer.function(spelling, one)
    where = (source, one, spelling.target)
    compiled = bcjit.compile(fn, backend=backend)
    mine, theirs = (list(duplicate(tuple(writer.parameters), {})) for _ in range(2))
    want, error, warned = outcome(fn, theirs)
    got, raised, said = outcome(compiled, mine)
    assert (raised, said) == (error, warned), where
    if isinstance(want, np.iinfo | np.finfo):
        assert repr(got) == repr(want)
        return
    objects = isinstance(want, np.ndarray) and want.dtype.hasobject
    if error is None and (objects or op.name.startswith("empty")):
        assert got.shape == want.shape and got.dtype == want.dtype, where
        return
    if type(got) is not type(want) or repr(got) != repr(want) or isinstance(want, np.ndarray):
        assert_same(got, want, ulp, where)
    if op.name not in WARN_OF_WRITES:
        assert relations(got, mine) == relations(want, theirs), where
    for changed, expected in zip(mine, theirs, strict=True):
        assert_same(changed, expected, ulp, where)


@pytest.mark.parametrize(("op", "spelling"), SPELLINGS)
def test_compiled_calls_equal_numpy(op, spelling):
    bcjit.config.strict = True
    reference, fused = ReferenceBackend(), CountingFused()
    first = spelling is op.spellings[0]
    dtypes = DTYPES if FULL else SLICE + OF_FIRST_SPELLING * first
    samples = [pair for dtype in dtypes for pair in enumerate(chosen(op, spelling, dtype))]
    for number, one in part_of(samples, f"{op.name}-{op.spellings.index(spelling)}"):
        for backend, ulp in (("eager", 0), (reference, op.ulp), (fused, 0), *NATIVE):
            if backend is not fused or number % 2 == 0 or FULL:
                check(op, spelling, one, backend, ulp)
    REACHED[spelling.target] = bool(reference.lowered)
    BUFFERED[spelling.target] = bool(fused.planned)
    # Some give no array, some are not captured (floors of captured nodes ask for those); but what is a graph is lowered.
    lowered = reference.lowered or not reference.refused or op.name in BY_FLAGS
    assert lowered or not WHOLE, (op.name, spelling.target, reference.refused)


def test_most_calls_reach_the_primitive_level():
    if len(REACHED) == len(SPELLINGS) and WHOLE:  # not where only some were asked for
        assert sum(REACHED.values()) > 0.75 * len(SPELLINGS)
        assert sum(BUFFERED.values()) > 0.5 * len(SPELLINGS)
