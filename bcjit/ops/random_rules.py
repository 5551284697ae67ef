"""What calls of NumPy's random generators give: rules that rows of `random` name; the real generator draws.

A rule is ``rule(e, call)`` and returns what the call returns. It may draw only by a call that checks its arguments
before it draws: a draw that raises or warns is made again by plain code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.dims import Dim, Expr
from bcjit.ops.elementwise import store, whole
from bcjit.ops.emitter import DType, Emitter, Operand, Shape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    FLOAT64,
    as_dtype,
    axis_index,
    broadcast,
    is_array,
    less,
    shape_argument,
)

__all__ = ["Call", "Constructor", "Draw", "Rule"]

_INT64: Final[DType] = np.dtype(np.int64)
_LONG: Final[DType] = np.dtype("l")  # what RandomState's integers are

# Arguments that say how a draw is made, not what its distribution is.
_SETTINGS: Final = frozenset({"size", "dtype", "out", "method", "axis", "shuffle", "endpoint"})


class Call:
    """One call of a random function with its arguments bound."""

    __slots__ = ("function", "given", "legacy", "operands", "values")

    def __init__(
        self,
        function: Callable[..., object],
        operands: tuple[Operand, ...],
        given: dict[str, Operand],
        values: Mapping[str, Operand],
        *,
        legacy: bool,
    ) -> None:
        self.function = function
        self.operands = operands  # the generator, if it is an argument, and positional sizes
        self.given = given  # the other arguments that the call has
        self.values = values  # all of them, with defaults
        self.legacy = legacy  # RandomState's

    @property
    def parameters(self) -> tuple[Operand, ...]:
        """The parameters of the distribution."""
        return tuple(value for name, value in self.values.items() if name not in _SETTINGS)

    def size(self, e: Emitter) -> Shape | None:
        """Return ``size=``, None if it is not given."""
        size = self.values.get("size")
        if size is None:
            return None
        dims: list[Dim] = []
        for item in size if isinstance(size, tuple | list) else (size,):
            dim = e.integer(item)
            # A negative one is refused before anything is drawn, so nothing needs to be known of a symbol.
            dims += (dim,) if isinstance(dim, Expr) else shape_argument(e, (item,))
        return tuple(dims)

    def draw(self, e: Emitter, shape: Shape, dtype: DType, **changed: Operand) -> Value:
        """Draw an array."""
        options = {**self.given, **changed}
        return e.draw(self.function, self.operands, options, [(shape, dtype)])[0]


Rule: TypeAlias = Callable[[Emitter, Call], object]


class Draw:
    """The expand of a function that draws: bound by NumPy's own signature, described by a rule.

    Parameters
    ----------
    target
        The function.
    rule
        What it gives.
    owner
        The class of which it is a method; None for a function of the module, of NumPy's own RandomState.
    """

    __slots__ = ("_owner", "_rule", "_target")

    def __init__(
        self,
        target: Callable[..., object],
        rule: Rule,
        owner: type | None,
    ) -> None:
        self._target = target
        self._rule = rule
        self._owner = owner

    @property
    def __signature__(self) -> inspect.Signature:
        """The emitter, and the parameters of NumPy's function."""
        emitter = inspect.Parameter("e", inspect.Parameter.POSITIONAL_ONLY)
        found = list(inspect.signature(self._target).parameters.values())
        if [parameter.name for parameter in found] == ["args", "kwargs"]:  # ranf and sample
            found = [
                inspect.Parameter("size", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
            ]
        if self._owner is not None:
            found[0] = inspect.Parameter("generator", inspect.Parameter.POSITIONAL_ONLY)
        return inspect.Signature([emitter, *found])

    def __call__(self, e: Emitter, /, *args: Operand, **kwargs: Operand) -> object:
        """Expand a call."""
        bound = self.__signature__.bind(e, *args, **kwargs)
        del bound.arguments["e"]
        given = dict(bound.arguments)
        bound.apply_defaults()
        values = dict(bound.arguments)
        operands: tuple[Operand, ...] = ()
        if self._owner is not None:
            generator = given.pop("generator")
            values.pop("generator")
            if e.object_type(generator) is not self._owner:
                raise Unsupported("the generator is none of NumPy's own")
            operands = (generator,)
        sizes = given.pop("args", ())
        assert isinstance(sizes, tuple)
        if "args" in values:
            values = {"size": sizes or None}
        legacy = self._owner is None or self._owner.__name__ == "RandomState"
        return self._rule(e, Call(self._target, operands + sizes, given, values, legacy=legacy))


class Constructor:
    """The expand of a function or class that makes a generator of a seed."""

    __slots__ = ("__signature__", "_target", "_type")

    def __init__(self, target: Callable[..., object], made: type, seed: str) -> None:
        self._target = target
        self._type = made
        emitter = inspect.Parameter("e", inspect.Parameter.POSITIONAL_ONLY)
        parameter = inspect.Parameter(seed, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        self.__signature__ = inspect.Signature([emitter, parameter])

    def __call__(self, e: Emitter, /, *args: Operand, **kwargs: Operand) -> object:
        """Expand a call."""
        seed, *_ = (*args, *kwargs.values(), None)
        given = e.object_type(seed)
        if given is not None and given is self._type:
            if inspect.isclass(self._target):
                raise Unsupported("a generator is made of another one")
            return seed  # default_rng(rng)
        wanted = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "SeedSequence")
        if given is not None and given.__name__ not in wanted:
            raise Unsupported(f"a {self._type.__name__} is made of a {given.__name__}")
        return e.make(self._target, () if seed is None else (seed,), self._type)


# Rules


def _parameter_shape(e: Emitter, parameter: Operand) -> Shape:
    if e.is_value(parameter):
        return parameter.shape
    if isinstance(parameter, tuple | list):
        return e.array(parameter).shape
    if e.weak_type(parameter) is None:
        raise Unsupported(f"a parameter is {type(parameter).__name__}")
    return ()


def _parameters_shape(e: Emitter, parameters: tuple[Operand, ...]) -> Shape:
    shape: Shape = ()
    for parameter in parameters:
        shape = broadcast(e, shape, _parameter_shape(e, parameter))
    return shape


def _fill(e: Emitter, call: Call, dtype: DType, pytype: type | None) -> object:
    """Give an array of ``size``, or of the parameters' shape, or one number: a Python one, or (None) NumPy's."""
    shape = _parameters_shape(e, call.parameters)
    size = call.size(e)
    if size is not None:
        # Sizes that do not fit the parameters are refused before anything is drawn.
        return call.draw(e, size, dtype)
    drawn = call.draw(e, shape, dtype)
    if shape:
        return drawn
    return e.scalar(drawn) if pytype is None else e.item(drawn, pytype)


def floats(e: Emitter, call: Call) -> object:
    """Continuous distributions: float64."""
    return _fill(e, call, FLOAT64, float)


def counts(e: Emitter, call: Call) -> object:
    """Discrete distributions: integers."""
    return _fill(e, call, _LONG if call.legacy else _INT64, int)


def typed_floats(e: Emitter, call: Call) -> object:
    """Continuous distributions with ``dtype`` and ``out``: float64 or float32."""
    dtype = as_dtype(call.values["dtype"]) or FLOAT64
    if dtype not in (FLOAT64, np.dtype(np.float32)):
        raise WouldRaise(f"Unsupported dtype {dtype}")
    out = call.values["out"]
    if out is None:
        return _fill(e, call, dtype, float)
    if not is_array(e, out):
        raise WouldRaise("out: an array is expected")
    assert e.is_value(out)
    if out.dtype != dtype:
        raise WouldRaise("out: an array of the dtype drawn is expected")
    _parameters_shape(e, call.parameters)
    function = call.function

    def filled_copy(*operands: Any, out: Any, **options: Any) -> object:
        copy = np.empty_like(out)  # filled in the order of memory, so of the same layout
        function(*operands, out=copy, **options)
        return copy

    results = [(out.shape, out.dtype)]
    (drawn,) = e.draw(filled_copy, call.operands, call.given, results)
    return store(e, out, drawn)


def integers(e: Emitter, call: Call) -> object:
    """Uniform integers of a range."""
    wanted = call.values["dtype"]
    given = as_dtype(wanted)
    if given is None or given.kind not in "biu":
        raise WouldRaise("dtype: an integer dtype is expected")
    dtype = _LONG if call.legacy and wanted is int else np.dtype(given.str)  # long long is int64
    bounds = tuple(call.values[name] for name in ("low", "high") if call.values[name] is not None)
    shape = _parameters_shape(e, bounds)
    size = call.size(e)
    drawn = call.draw(e, shape if size is None else size, dtype)
    if size is not None or shape:
        return drawn
    return e.item(drawn, wanted) if wanted is int or wanted is bool else e.scalar(drawn)


def choice(e: Emitter, call: Call) -> object:
    """Elements of an array, or of a range."""
    population, replace = call.values["a"], call.values["replace"]
    if type(replace) is not bool:
        raise Unsupported("replace is not a constant bool")
    if call.values["p"] is not None and not replace:
        raise Unsupported("a choice by weights without replacement divides between draws")
    if call.values["p"] is not None:
        _parameter_shape(e, call.values["p"])
    size = call.size(e)
    if _parameter_shape(e, population) == ():
        if e.weak_type(population) not in {int, None} or (
            e.is_value(population) and population.dtype.kind not in "iu"
        ):
            raise WouldRaise("a must be an integer or a sequence")
        drawn = call.draw(e, size or (), _LONG if call.legacy else _INT64)
        return drawn if size is not None else e.item(drawn, int)
    elements = e.array(population)
    ndim = len(elements.shape)
    if call.legacy and ndim != 1:
        raise WouldRaise("a must be 1-dimensional")
    axis = 0 if call.legacy else axis_index(e, call.values["axis"], ndim)
    before, after = elements.shape[:axis], elements.shape[axis + 1 :]
    shape = (*before, *(size or ()), *after)
    drawn = call.draw(e, shape, elements.dtype)
    return drawn if shape or size is not None else e.scalar(drawn)


def permutation(e: Emitter, call: Call) -> object:
    """A shuffled copy, or a shuffled range."""
    items = call.values["x"]
    axis = call.values.get("axis", 0)
    if e.weak_type(items) is int:
        length = e.integer(items)
        if length is None or type(axis) is not int or axis != 0:
            raise Unsupported("the length of the permutation is not known")
        if less(e, length, 0):
            length = 0
        return call.draw(e, (length,), _LONG if call.legacy else _INT64)
    return _shuffled(e, call, axis)


def permuted(e: Emitter, call: Call) -> object:
    """A copy, shuffled along an axis."""
    axis, out = call.values["axis"], call.values["out"]
    if out is None:
        return _shuffled(e, call, axis)
    if not is_array(e, out) or not is_array(e, call.values["x"]):
        raise Unsupported("out: arrays are supported")
    assert e.is_value(out)
    call.given.pop("out")
    drawn = _shuffled(e, call, axis)
    if not np.can_cast(drawn.dtype, out.dtype, "safe"):
        raise WouldRaise("out: the elements cannot be cast safely")
    if drawn.dtype != out.dtype:
        raise Unsupported("out has another dtype")
    return store(e, out, drawn)


def _shuffled(e: Emitter, call: Call, axis: Operand) -> Value:
    items = call.values["x"]
    _parameter_shape(e, items)
    if not (is_array(e, items) or isinstance(items, tuple | list)):
        raise Unsupported("what is shuffled is not an array")
    value = e.array(items)
    if not value.shape:
        raise WouldRaise("a 0-d array cannot be shuffled")
    if axis is not None:
        axis_index(e, axis, len(value.shape))
    return call.draw(e, value.shape, value.dtype)


def shuffle(e: Emitter, call: Call) -> None:
    """Shuffle an array in place."""
    items = call.values["x"]
    if not is_array(e, items):
        raise Unsupported("what is shuffled is not an array")
    assert e.is_value(items)
    if not items.shape:
        raise WouldRaise("a 0-d array cannot be shuffled")
    axis_index(e, call.values.get("axis", 0), len(items.shape))
    function = call.function

    def shuffled_copy(*operands: Any, x: Any, **options: Any) -> object:
        copy = np.array(x, order="K")
        function(*operands, copy, **options)
        return copy

    options = {**call.given, "x": items}
    results = [(items.shape, items.dtype)]
    (drawn,) = e.draw(shuffled_copy, call.operands, options, results)
    e.scatter(items, drawn, whole(items))


def dirichlet(e: Emitter, call: Call) -> object:
    """Vectors of fractions, as long as alpha."""
    return _vectors(e, call, call.values["alpha"], FLOAT64)


def hypergeometric_vectors(e: Emitter, call: Call) -> object:
    """Vectors of counts, as long as colors."""
    _parameter_shape(e, call.values["nsample"])
    return _vectors(e, call, call.values["colors"], _INT64)


def multinomial(e: Emitter, call: Call) -> object:
    """Vectors of counts, as long as the last axis of pvals."""
    trials = _parameter_shape(e, call.values["n"])
    if call.legacy:
        if trials:
            raise Unsupported("n is an array")
        return _vectors(e, call, call.values["pvals"], _LONG)
    _parameter_shape(e, call.values["pvals"])
    chances = e.array(call.values["pvals"]).shape
    if not chances:
        raise WouldRaise("pvals must have at least 1 dimension")
    size = call.size(e)
    batch = broadcast(e, trials, chances[:-1]) if size is None else size
    return call.draw(e, (*batch, chances[-1]), _INT64)


def _vectors(e: Emitter, call: Call, vector: Operand, dtype: DType) -> Value:
    _parameter_shape(e, vector)
    shape = e.array(vector).shape
    if len(shape) != 1:
        raise WouldRaise("a parameter must be 1-dimensional")
    length: Dim = shape[0]
    return call.draw(e, (*(call.size(e) or ()), length), dtype)


def seed(e: Emitter, call: Call) -> None:
    """Begin a stream anew."""
    value = call.values["seed"]
    if value is not None:
        _parameter_shape(e, value)
    e.draw(call.function, call.operands, call.given, [])
