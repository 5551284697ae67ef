"""Modules of bcjit that are read when they are first needed: `load` reads one, `Later` stands for one until then.

``import bcjit`` has a budget, and half of the package is for functions, pictures and reports that most programs never ask for. Layers
are not dodged by this: what is loaded here lies below or beside the module that loads it, and imports nothing of it.

The import statement is not good enough for a module that is first needed while a program's function is being compiled. It holds
locks, which a fork in another thread leaves locked for ever in the child; a signal handler in the middle of it sees half a
module; it asks the import hooks of the program. So `load` executes a module's code itself: nobody sees the module before it is whole, and who
is interrupted, or comes at the same time, does the same once more; the first one to end wins. Modules of the standard library are imported as
always, but apart: what a handler raised in the middle of it would leave locks behind. Where one is half a module, because the import of it is
what was interrupted, ours get one of their own.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType, TracebackType
from typing import Final

from bcjit.apart import apart

__all__ = ["Later", "Unreadable", "is_whole", "load"]

_PLAIN_IMPORT: Final = builtins.__import__
_MODULES: Final = sys.modules


class Unreadable(ImportError):
    """A module cannot be read now: no file can be opened, the files are out of reach or no longer those of this version."""


def load(name: str) -> ModuleType:
    """Return a module of this package by its full name, after having read it if nobody has.

    Its imports are resolved in the same way. Modules of others must have been imported by ``import bcjit``, unless the program itself
    has asked for something: one of the standard library is imported as always.

    Raises
    ------
    Unreadable
        It cannot be read; later it may be.
    """
    try:
        return _loaded(name) if name.startswith("bcjit.") else _of_others(name, ("",))
    except (OSError, ImportError) as error:
        # A signal handler of the program may raise an OSError too (TimeoutError is one).
        if isinstance(error, Unreadable) or not _is_of_import(error.__traceback__):
            raise
        message = f"{name} cannot be read: {type(error).__name__}: {error}"
        raise Unreadable(message, name=name) from error


def _is_of_import(traceback: TracebackType | None) -> bool:
    """Whether an exception was raised by what finds and reads modules, or by an import statement of ours."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = None if traceback is None else traceback.tb_frame.f_globals.get("__name__")
    return str(module).partition(".")[0] in {"bcjit", "importlib"}


def _loaded(name: str) -> ModuleType:
    module = _MODULES.get(name)
    if module is not None and is_whole(module):
        return module
    made = _executed(name)
    found = _MODULES.setdefault(name, made)
    if not is_whole(found):
        return made
    parent, _, child = name.rpartition(".")
    setattr(_MODULES[parent], child, found)
    return found


class Later:
    """A module, to be read when an attribute of it is first asked for.

    It takes the place of an import, which type checkers and the layer contract must see::

        if TYPE_CHECKING:
            from bcjit.fx_graph import dot
        else:
            dot = Later("bcjit.fx_graph.dot")
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        return getattr(load(self._name), attribute)


def is_whole(module: ModuleType) -> bool:
    """Whether no import statement is at work on a module (CPython, ``_bootstrap.py``, says so in its spec)."""
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _executed(name: str) -> ModuleType:
    package = name.rpartition(".")[0]
    parent = load(package) if package.startswith("bcjit.") else _MODULES.get(package)
    spec = PathFinder.find_spec(name, None if parent is None else parent.__path__)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = module_from_spec(spec)
    namespace = vars(module)
    namespace["__builtins__"] = {**vars(builtins), "__import__": _import}
    exec(spec.loader.get_code(name), namespace)  # type: ignore[attr-defined]  # every loader of files has it
    return module


def _of_others(name: str, fromlist: Sequence[str]) -> ModuleType:
    """Return what an import statement gives for a module that is not ours."""
    found = _MODULES.get(name)
    if found is None or (is_whole(found) and not all(hasattr(found, x) for x in fromlist if x)):
        apart(lambda: _PLAIN_IMPORT(name, None, None, fromlist))
        found = _MODULES[name]
    if not is_whole(found):
        # Its import is under way, perhaps in the main thread, which would wait for itself: whoever asks gets one of their own.
        return _executed(name)
    return found if fromlist else _MODULES[name.partition(".")[0]]


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - as the built-in function has it
    locals: Mapping[str, object] | None = None,  # noqa: A002
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> ModuleType:
    """Do what import statements of a loaded module ask for."""
    if not name.startswith("bcjit"):
        return _of_others(name, fromlist or ())
    module = load(name) if "." in name else _MODULES[name]
    for item in fromlist or ():
        if not hasattr(module, item):
            load(f"{name}.{item}")
    return module if fromlist else _MODULES["bcjit"]
