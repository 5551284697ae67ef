"""The op table itself: which callable or ndarray attribute is which op; never calls what it looks up.

Op modules call `define` when they are imported; ``bcjit.ops`` imports them all. Ufuncs without an entry, and ufunc methods, become
ops when they are looked up, by the rule of `define_unlisted`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from types import BuiltinFunctionType
from typing import Final

import numpy as np

from bcjit.ops.opdef import OpDef, Spelling

__all__ = ["all_ops", "define", "define_unlisted", "lookup", "lookup_attribute", "lookup_method"]

Target = Callable[..., object]
UfuncRule = Callable[[np.ufunc, str | None], OpDef | None]

_OPS: Final[dict[str, OpDef]] = {}
# Keyed by identity: hashing or comparing an unknown object would run its code. The spellings keep the targets alive.
_BY_IDENTITY: Final[dict[int, OpDef]] = {}
_BY_UFUNC_METHOD: Final[dict[tuple[int, str], OpDef]] = {}
_UNLISTED: Final[list[UfuncRule]] = []
_ATTRIBUTES: Final[dict[tuple[str, bool, bool], tuple[OpDef, Target]]] = {}
# Modules of NumPy that it imports when they are first used -> our module that has their rows, the name they define last, and
# classes whose methods are in the table.
_LATER: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "numpy.random": ("bcjit.ops.random", "test", ("Generator", "RandomState"))
}
_LATER_TARGETS: Final[
    dict[int, str]
] = {}  # id of what such a module and its classes hold -> its name


def define(name: str, spellings: Iterable[Spelling], ulp: int = 0) -> OpDef:
    """Add an op; a callable, like a name, can be in the table once."""
    op = OpDef(name, tuple(spellings), ulp)
    if name in _OPS:
        raise ValueError(f"{name}: the op table has this name already")
    for spelling in op.spellings:
        other = _listed(spelling.target)
        if other is not None:
            raise ValueError(
                f"{spelling.target!r} is in the op table as {other.name} and as {name}"
            )
    _OPS[name] = op
    for spelling in op.spellings:
        _add(op, spelling)
    return op


def _add(op: OpDef, spelling: Spelling) -> None:
    target = spelling.target
    owner = _ufunc_of(target)
    if owner is not None:
        _BY_UFUNC_METHOD[id(owner), target.__name__] = op
    else:
        _BY_IDENTITY[id(target)] = op
    if spelling.method is not None:
        key = (spelling.method, spelling.of_scalar, spelling.is_attribute)
        _ATTRIBUTES[key] = (op, target)


def _ufunc_of(target: object) -> np.ufunc | None:
    """Return the ufunc whose ``reduce`` or other method this is."""
    if type(target) is BuiltinFunctionType and type(target.__self__) is np.ufunc:
        return target.__self__
    return None


def _listed(target: object) -> OpDef | None:
    owner = _ufunc_of(target)
    if owner is not None:
        assert isinstance(target, BuiltinFunctionType)
        return _BY_UFUNC_METHOD.get((id(owner), target.__name__))
    found = _BY_IDENTITY.get(id(target))
    if found is None and _LATER:
        if not _LATER_TARGETS:
            _note_targets()
        name = _LATER_TARGETS.get(id(target))
        if name in _LATER:
            _load_rows(name)
            return lookup(target)
    return found


def _note_targets() -> None:
    """Remember what is in the modules of `_LATER` that the program has imported by now."""
    for name, (_, last, classes) in tuple(_LATER.items()):
        module = sys.modules.get(name)
        if module is not None and last in vars(module):
            for owner in (module, *(vars(module)[owner] for owner in classes)):
                _LATER_TARGETS.update((id(value), name) for value in vars(owner).values())


def _load_rows(name: str) -> None:
    """Add the rows of a module of NumPy that is imported when it is first used."""
    later = _LATER.pop(name, None)
    if later is not None:
        import_module(later[0])


def lookup(target: object) -> OpDef | None:
    """Return the op that a callable means, None for one that is not in the table; runs no code of the callable."""
    found = _listed(target)
    if found is not None:
        return found
    owner = _ufunc_of(target)
    if owner is not None:
        assert isinstance(target, BuiltinFunctionType)
        return _unlisted(owner, target.__name__)
    return _unlisted(target, None) if type(target) is np.ufunc else None


def define_unlisted(rule: UfuncRule) -> None:
    """Set how the op of a ufunc (or of its method of this name) is made that has no entry."""
    _UNLISTED.append(rule)


# They keep ufuncs alive, so there are not too many of them.
@lru_cache(maxsize=256)
def _unlisted(ufunc: np.ufunc, method: str | None) -> OpDef | None:
    for rule in _UNLISTED:
        return rule(ufunc, method)
    return None


def lookup_method(name: str, *, is_scalar: bool = False) -> tuple[OpDef, Target] | None:
    """Return op and target of an ndarray method (of ``np.generic``'s if ``is_scalar``): ``target(x, *args)``."""
    return _ATTRIBUTES.get((name, is_scalar, False))


def lookup_attribute(name: str, *, is_scalar: bool = False) -> tuple[OpDef, Target] | None:
    """Return op and target of an ndarray attribute that is read and not called: ``target(x)`` is ``x.name``."""
    return _ATTRIBUTES.get((name, is_scalar, True))


def all_ops() -> tuple[OpDef, ...]:
    """Return every entry, in the order of definition."""
    for name in tuple(_LATER):
        import_module(name)
        _load_rows(name)
    return tuple(_OPS.values())
