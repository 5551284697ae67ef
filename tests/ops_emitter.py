"""The emitter of the tests: carries out an op's expansion with NumPy, one primitive at a time, on real arrays."""

import numpy as np

from bcjit.dims import ShapeEnv
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    Diagonal,
    MemoryOrder,
    NewAxis,
    Part,
    Permute,
    Pick,
    Reinterpret,
    Reshape,
    Slice,
    Window,
)
from bcjit.ops.scalar_functions import CAST, SELECT

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
        return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value

    def item(self, value, pytype):
        return pytype(value[()])

    def object_type(self, operand):
        return type(operand) if isinstance(operand, GENERATORS) else None

    def may_fail(self):
        pass

    def require(self, relation):
        pass

    def unknown(self, name, of=None):
        return 0  # results have the sizes that they have

    def map(self, function, operands, dtypes, mask=None):
        if function is CAST:
            return (np.array(operands[0]).astype(dtypes[1]),)
        cast = [self.converted(x, d, function) for x, d in zip(operands, dtypes)]
        if function is SELECT:
            return (np.array(np.where(*cast)),)
        # Python ints that no dtype holds are compared as they are.
        typed = all(isinstance(x, np.ndarray | np.generic) for x in cast)
        options = {"signature": tuple(dtypes)} if typed else {}
        if mask is not None:
            shape = np.broadcast_shapes(mask.shape, *(np.shape(x) for x in cast))
            options["where"] = mask
            options["out"] = tuple(np.zeros(shape, d) for d in dtypes[len(operands) :])
        results = function.ufunc(*cast, **options)
        return tuple(map(np.asarray, results if isinstance(results, tuple) else (results,)))

    def converted(self, operand, dtype, function):
        if isinstance(operand, np.ndarray | np.generic):
            return operand if operand.dtype == dtype else operand.astype(dtype)
        return operand if function.compares else dtype.type(operand)

    def reduce(self, function, value, axes, dtype, initial=None, mask=None):
        extra = {} if initial is None else {"initial": initial}
        if mask is not None:
            extra["where"] = mask
        return np.asarray(function.ufunc.reduce(value, axis=axes, dtype=dtype, **extra))

    def arg_reduce(self, name, value, axis):
        return np.asarray(getattr(np, name)(value, axis=axis))

    def scan(self, function, value, axis, dtype):
        return function.ufunc.accumulate(value, axis=axis, dtype=dtype)

    def contract(self, left, right, labels, dtype):
        spec = f"{labels[0]},{labels[1]}->{labels[2]}"
        return np.asarray(np.einsum(spec, left.astype(dtype), right.astype(dtype)))

    def view(self, value, how):
        match how:
            case Basic(items):
                index = []
                for item in items:
                    if isinstance(item, NewAxis):
                        index.append(None)
                    elif isinstance(item, Pick):
                        index.append(int(item.index))
                    elif isinstance(item, Slice):
                        index.append(slice(item.start, item.stop, item.step))
                    elif item.length == 0:
                        index.append(slice(0, 0))
                    else:
                        stop = item.start + item.step * item.length
                        index.append(slice(item.start, None if stop < 0 else stop, item.step))
                return value[(*index, ...)]
            case Permute(axes):
                return value.transpose(axes)
            case Reshape(shape):
                return value.reshape(shape)
            case MemoryOrder(order):
                return value.ravel(order)
            case Reinterpret(dtype, _):
                return value.view(dtype)
            case Broadcast(shape):
                return np.broadcast_to(value, shape)
            case Part(name):
                return getattr(value, name)
            case Window(axes, sizes):
                return np.lib.stride_tricks.sliding_window_view(value, sizes, axes)
            case Diagonal():
                return np.diagonal(value, how.offset, how.axis1, how.axis2)

    def concat(self, values, axis, dtype):
        return np.concatenate([v.astype(dtype) for v in values], axis)

    def gather(self, value, indices):
        return value[indices]

    def scatter(self, base, item, where, mask=None):
        if isinstance(where, tuple):
            base[where] = item
        elif mask is not None:
            np.copyto(self.view(base, where), item, where=mask, casting="unsafe")
        else:
            self.view(base, where)[...] = item
        return base

    def fill(self, shape, item, dtype):
        if item is None:
            return np.zeros(shape, dtype)
        return np.full(shape, item, dtype)

    def iota(self, length, dtype):
        return np.arange(length).astype(dtype)

    def sort(self, value, axis, kind, *, indices):
        return (np.argsort if indices else np.sort)(value, axis=axis, kind=kind)

    def lib_call(self, function, operands, options, results, *, can_fail=True, sets_flags=True):
        got = function(*operands, **options)
        return tuple(np.asarray(g) for g in got) if isinstance(got, tuple) else (np.asarray(got),)

    def draw(self, function, operands, options, results):
        got = function(*operands, **options)
        return (np.asarray(got),) if results else ()

    def make(self, function, operands, pytype):
        return function(*operands)
