"""The emitter of the tests: carries out an op's expansion on real arrays at once, by calling the primitives themselves."""

import numpy as np

from bcjit.dims import ShapeEnv
from bcjit.primitives import kinds
from bcjit.primitives.views import follow, split_view

GENERATORS = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    np.random.SeedSequence,
)
PYTHON_SCALARS = (bool, int, float, complex)


class NumpyEmitter:
    """See ``bcjit.ops.emitter.Emitter``."""

    def __init__(self):
        self.env = ShapeEnv()

    def is_value(self, operand):
        return isinstance(operand, np.ndarray | np.generic)

    def is_scalar(self, value):
        return isinstance(value, np.generic)

    def weak_type(self, operand):
        return type(operand) if type(operand) in PYTHON_SCALARS else None

    def integer(self, operand):
        if type(operand) is int or isinstance(operand, np.integer):
            return int(operand)
        return None

    def array(self, operand):
        return np.asanyarray(operand)

    def scalar(self, value):
        return kinds.ToScalar()(value) if not value.shape else value

    def item(self, value, pytype):
        return kinds.ToItem(pytype)(value)

    def object_type(self, operand):
        return type(operand) if isinstance(operand, GENERATORS) else None

    def may_fail(self):
        pass

    def require(self, relation):
        pass

    def unknown(self, name, of=None):
        return 0  # results have the sizes that they have

    def map(self, function, operands, dtypes, mask=None):
        results = kinds.Map(function, tuple(dtypes))(*operands, mask=mask)
        return results if isinstance(results, tuple) else (results,)

    def reduce(self, function, value, axes, dtype, initial=None, mask=None):
        return kinds.Reduce(function, axes, dtype)(value, initial, mask)

    def arg_reduce(self, name, value, axis):
        return kinds.ArgReduce(name, axis)(value)

    def scan(self, function, value, axis, dtype):
        return kinds.Scan(function, axis, dtype)(value)

    def contract(self, left, right, labels, dtype):
        return kinds.Contract(labels, dtype)(left, right)

    def view(self, value, how):
        return follow(value, how)

    def concat(self, values, axis, dtype):
        return kinds.Concat(axis, dtype)(*values)

    def gather(self, value, indices):
        return kinds.Gather()(value, *indices)

    def scatter(self, base, item, where, mask=None):
        """Write at once: `base` may be a view of the array whose new version this is."""
        if isinstance(where, tuple):
            return kinds.Scatter((), in_place=True)(base, item, indices=where)
        form, dims = split_view(where)
        return kinds.Scatter((form,), in_place=True)(base, item, dims, mask=mask)

    def fill(self, shape, item, dtype):
        return kinds.Fill(dtype)(shape, item)

    def iota(self, length, dtype):
        return kinds.Iota(dtype)(length)

    def sort(self, value, axis, kind, *, indices):
        return kinds.Sort(axis, kind, indices)(value)

    def lib_call(self, function, operands, options, results, *, can_fail=True, sets_flags=True):
        called = kinds.LibCall(function, tuple(dtype for _, dtype in results), can_fail)
        got = called(*operands, **options)
        return got if isinstance(got, tuple) else (got,)

    def draw(self, function, operands, options, results):
        gives = "array" if results else "nothing"
        got = kinds.Rng(function, gives)(*operands, **options)
        return (got,) if results else ()

    def make(self, function, operands, pytype):
        return kinds.Rng(function, "object")(*operands)
