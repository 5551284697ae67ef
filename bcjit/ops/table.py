"""The op table itself: which callable or ndarray attribute is which op; never calls what it looks up.

Op modules make `Rows`. Those of `EAGER` are in the table from the start; the others are read when an op of theirs is first looked up, which
`index` tells. Ufuncs without an entry, and ufunc methods, become ops when they are looked up (``ufunc_methods``).
"""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.lazy import Later, is_whole, load
from bcjit.ops.index import NAMES, UNTIL_IMPORTED
from bcjit.ops.opdef import OpDef, Spelling

if TYPE_CHECKING:
    from bcjit.ops import ufunc_methods
else:
    # Few functions call a ufunc that NumPy does not name, or another method of one than its own functions do.
    ufunc_methods = Later("bcjit.ops.ufunc_methods")

__all__ = [
    "Rows",
    "add",
    "all_ops",
    "lookup",
    "lookup_attribute",
    "lookup_method",
    "named",
]

Target = Callable[..., object]
Attribute = tuple[str, bool, bool]  # name, of scalars, read and not called


class Rows:
    """The ops of one module, in the order of definition."""

    def __init__(self) -> None:
        self.ops: list[OpDef] = []

    def define(self, name: str, spellings: Iterable[Spelling], ulp: int = 0) -> OpDef:
        """Add an op."""
        op = OpDef(name, tuple(spellings), ulp)
        self.ops.append(op)
        return op


# Keyed by identity: hashing or comparing an unknown object would run its code. The spellings keep the targets alive.
_BY_IDENTITY: Final[dict[int, OpDef]] = {}
_BY_UFUNC_METHOD: Final[dict[tuple[int, str], OpDef]] = {}
_ATTRIBUTES: Final[dict[Attribute, tuple[OpDef, Target]]] = {}
_MODULES: Final[dict[str, str]] = {}  # name of an op -> the module that has it
_READ: Final[dict[str, tuple[OpDef, ...]]] = {}  # module -> its ops, once they are in the table

# Where the row of a target, or of an attribute, is that has not been read. The targets are those of the moment when bcjit was
# imported: what a program puts in their places later is no function of NumPy.
_HOMES: Final[dict[int, tuple[object, str]]] = {}
_HOMES_OF_UFUNC_METHODS: Final[dict[tuple[int, str], str]] = {}
_HOMES_OF_ATTRIBUTES: Final[dict[Attribute, str]] = {}
_NOTED: Final[set[str]] = set()  # modules whose names are in them


def add(module: str, rows: Rows, *, anything: bool = True) -> None:
    """Put the ops of a module into the table; a callable, like a name, can be there once.

    Doing it twice does no harm, and lookups see an op when all of the module are there.

    Parameters
    ----------
    anything
        Whether targets count that were not NumPy's when bcjit was imported.
    """
    ops = tuple(rows.ops if anything else _of_numpy(rows.ops))
    names: dict[str, str] = {}
    targets: dict[int, OpDef] = {}
    methods: dict[tuple[int, str], OpDef] = {}
    attributes: dict[Attribute, tuple[OpDef, Target]] = {}
    for op in ops:
        if op.name in names or _MODULES.get(op.name, module) != module:
            raise ValueError(f"{op.name}: the op table has this name already")
        names[op.name] = module
        for spelling in op.spellings:
            target = spelling.target
            owner = _ufunc_of(target)
            other = targets.get(id(target)) or _in_table(target)
            if other is not None and other.name != op.name:
                raise ValueError(f"{target!r} is in the op table as {other.name} and as {op.name}")
            if owner is not None:
                methods[id(owner), target.__name__] = op
            else:
                targets[id(target)] = op
            if spelling.method is not None:
                key = (spelling.method, spelling.of_scalar, spelling.is_attribute)
                attributes[key] = (op, target)
    _MODULES.update(names)
    _BY_UFUNC_METHOD.update(methods)
    _BY_IDENTITY.update(targets)
    _ATTRIBUTES.update(attributes)
    _READ[module] = ops


def _of_numpy(ops: Iterable[OpDef]) -> Iterator[OpDef]:
    for op in ops:
        kept = tuple(s for s in op.spellings if s.is_attribute or _where(s.target) is not None)
        if len(kept) == len(op.spellings):
            yield op
        elif kept:
            yield OpDef(op.name, kept, op.ulp)


def _ufunc_of(target: object) -> np.ufunc | None:
    """Return the ufunc whose ``reduce`` or other method this is."""
    if type(target) is BuiltinFunctionType and type(target.__self__) is np.ufunc:
        return target.__self__
    return None


def _in_table(target: object) -> OpDef | None:
    owner = _ufunc_of(target)
    if owner is not None:
        assert isinstance(target, BuiltinFunctionType)
        return _BY_UFUNC_METHOD.get((id(owner), target.__name__))
    return _BY_IDENTITY.get(id(target))


def _read(module: str) -> None:
    """Put the ops of a module into the table that is read when one of them is first asked for."""
    if module not in _READ:
        anything = module in UNTIL_IMPORTED.values()  # they look for themselves
        add(module, load(f"bcjit.ops.{module}").table, anything=anything)


def named(name: str) -> object:
    """Return what a name of the index means in this NumPy, None if it has no such name.

    Modules that NumPy imports when they are first asked for are not imported.
    """
    first, *rest = name.split(".")
    found = _ROOTS[first] if first in _ROOTS else vars(np).get(first)
    if first in _NUMPY_MODULES:
        found = sys.modules.get(f"numpy.{first}")
    for attribute in rest:
        # Not a module's __getattr__, which may warn.
        found = (
            vars(found).get(attribute)
            if isinstance(found, ModuleType)
            else getattr(found, attribute, None)
        )
    return found


_ROOTS: Final[dict[str, object]] = {"builtins": builtins, "operator": operator}
_NUMPY_MODULES: Final = frozenset({"fft", "linalg", "random"})


def _note(module: str) -> None:
    """Note where the rows of a module are."""
    for name in NAMES[module].split():
        owner, _, attribute = name.rpartition(".")
        if name.startswith("."):
            for of_scalar in (False, True):
                _HOMES_OF_ATTRIBUTES[attribute, of_scalar, True] = module
            continue
        target = named(name)
        if target is not None:
            ufunc = _ufunc_of(target)
            if ufunc is None:
                _HOMES[id(target)] = (target, module)
            else:
                _HOMES_OF_UFUNC_METHODS[id(ufunc), attribute] = module
            if owner in {"ndarray", "generic"}:
                _HOMES_OF_ATTRIBUTES[attribute, owner == "generic", False] = module
    _NOTED.add(module)


def _home(target: object) -> str | None:
    """Return the module that has the row of a target, None if none has or it has been read."""
    if len(_NOTED) < len(NAMES):
        for name, module in UNTIL_IMPORTED.items():
            imported = sys.modules.get(name)
            if module not in _NOTED and imported is not None and is_whole(imported):
                _note(module)
    return _where(target)


def _where(target: object) -> str | None:
    owner = _ufunc_of(target)
    if owner is not None:
        assert isinstance(target, BuiltinFunctionType)
        return _HOMES_OF_UFUNC_METHODS.get((id(owner), target.__name__))
    _, home = _HOMES.get(id(target), (None, None))
    return home


def lookup(target: object) -> OpDef | None:
    """Return the op that a callable means, None for one that is not in the table; runs no code of the callable."""
    found = _in_table(target)
    if found is None:
        home = _home(target)
        if home is not None:
            _read(home)
            found = _in_table(target)
    if found is not None:
        return found
    owner = _ufunc_of(target)
    if owner is not None:
        assert isinstance(target, BuiltinFunctionType)
        return _unlisted(owner, target.__name__)
    return _unlisted(target, None) if type(target) is np.ufunc else None


# They keep ufuncs alive, so there are not too many of them.
@lru_cache(maxsize=256)
def _unlisted(ufunc: np.ufunc, method: str | None) -> OpDef | None:
    return ufunc_methods.unlisted(ufunc, method)


def lookup_method(name: str, *, is_scalar: bool = False) -> tuple[OpDef, Target] | None:
    """Return op and target of an ndarray method (of ``np.generic``'s if ``is_scalar``): ``target(x, *args)``."""
    return _lookup_attribute((name, is_scalar, False))


def lookup_attribute(name: str, *, is_scalar: bool = False) -> tuple[OpDef, Target] | None:
    """Return op and target of an ndarray attribute that is read and not called: ``target(x)`` is ``x.name``."""
    return _lookup_attribute((name, is_scalar, True))


def _lookup_attribute(key: Attribute) -> tuple[OpDef, Target] | None:
    found = _ATTRIBUTES.get(key)
    if found is None:
        home = _HOMES_OF_ATTRIBUTES.get(key)
        if home is not None:
            _read(home)
            found = _ATTRIBUTES.get(key)
    return found


def all_ops() -> tuple[OpDef, ...]:
    """Return every entry: read all modules, and import those of NumPy that they are for."""
    for name in UNTIL_IMPORTED:
        import_module(name)
    for module in NAMES:
        _read(module)
    return tuple(op for module in sorted(_READ) for op in _READ[module])


for _module in NAMES.keys() - UNTIL_IMPORTED.values():
    _note(_module)
