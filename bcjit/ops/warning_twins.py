"""Twins of NumPy functions, in which a warning that NumPy attributes to its own Python code raises.

A graph raises where a warning would be attributed to it (see ``codegen``), so that the original code can be run in its place and warns.
These functions warn, for some values, from so deep that the warning is attributed to a function of NumPy's module: the
graph would go on behind a warning already given, and give it a second time if it failed later. A twin runs the same code
objects, its module's functions having globals of their own whose ``__warningregistry__`` is no dict.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np

__all__ = ["refusing"]

_WARN_INSIDE: Final[tuple[Callable[..., object], ...]] = (
    np.mean, np.nanmedian, np.nanpercentile, np.nanquantile, np.nanstd, np.var,
)  # fmt: skip
_twins: Final[dict[object, FunctionType]] = {}


def refusing(target: Any) -> Any:
    """Return what a graph calls for a target: its twin, or the target itself where it needs none."""
    if not any(target is function for function in _WARN_INSIDE):
        return target
    if target not in _twins:
        _twins[target] = _twin(target)
    return _twins[target]


def _twin(target: Any) -> FunctionType:
    function = target.__wrapped__  # behind NumPy's dispatch, which exact arrays do not need
    assert isinstance(function, FunctionType)
    home = function.__globals__
    namespace = {**home, "__warningregistry__": 0}
    for name, value in home.items():
        if isinstance(value, FunctionType) and value.__globals__ is home:
            namespace[name] = _moved(value, namespace)
    return _moved(function, namespace)


def _moved(function: FunctionType, namespace: dict[str, object]) -> FunctionType:
    copy = FunctionType(
        function.__code__,
        namespace,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
