"""Rules for the functions of ``math``; a table, one small function a row.

Importing this module fills the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import bcjit.symbolic_vm.break_reasons as because
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.builtin_calls import Args, Kwargs, each_of, is_one_number, plain, positional
from bcjit.symbolic_vm.calls import builtin
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import call_scalar
from bcjit.symbolic_vm.operators import as_dim, binary, fold
from bcjit.symbolic_vm.values import Known, SymScalar, SymValue

__all__: list[str] = []


@builtin(math.prod)
def _prod(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("math.prod", args, kwargs, 1, 1)
    total: SymValue = Known(None, 1)
    for item in each_of(vm, args[0], "math.prod"):
        if as_dim(vm, item) is None:
            break_graph(because.NO_RULE, "math.prod of other than ints")
        total = binary(vm, "*", total, item)
    return total


def _math(function: Callable[..., float]) -> None:
    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        if kwargs:
            break_graph(because.NO_RULE, f"math.{function.__name__} with keywords")
        values = [vm.realize(arg) for arg in args]
        if all(isinstance(v, Known) for v in values):
            return fold(function, *[plain(v) for v in values if isinstance(v, Known)])
        if all(isinstance(v, Known | SymScalar) or is_one_number(v, "biuf") for v in values):
            return call_scalar(vm, function, tuple(values), float)
        return break_graph(because.NO_RULE, f"math.{function.__name__} of these arguments")

    builtin(function)(rule)


for _name in (
    "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "hypot", "fabs",
    "fmod", "copysign", "degrees", "radians", "erf", "erfc", "gamma", "lgamma", "pow",
):  # fmt: skip
    _math(getattr(math, _name))
