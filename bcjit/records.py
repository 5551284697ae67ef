"""`dataclass` for slotted classes, made in a fifth of the time; the fields and what is read of them are the standard library's.

The standard library compiles the source of each method of each class, which for a hundred classes is half of the time that ``import bcjit``
may take. Here classes with as many fields share compiled code, in which only the names differ.
"""

from __future__ import annotations

import dataclasses
import functools
import reprlib
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass"]

if TYPE_CHECKING:
    # What type checkers know of dataclasses holds for these.
    from dataclasses import dataclass
else:

    def dataclass(
        *,
        slots: bool,
        frozen: bool = False,
        init: bool = True,
        repr: bool = True,  # noqa: A002 - as in the standard library
        eq: bool = True,
        weakref_slot: bool = False,
    ) -> Callable[[type], type]:
        """Make a class a dataclass; like `dataclasses.dataclass`, for the options that are used in this package.

        ``fields``, ``replace`` and ``is_dataclass`` work. Methods that the class defines itself stay.
        """
        if not slots:
            raise TypeError("slots: only True is expected")

        def wrap(cls: type) -> type:
            own = {name for name in _METHODS if name in cls.__dict__}
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=True, weakref_slot=weakref_slot
            )(cls)
            methods = _written(made, init=init, eq=eq, frozen=frozen)
            if repr:
                methods["__repr__"] = _repr
            if frozen:
                methods.update(_FROZEN)
            for name in methods.keys() - own:
                setattr(made, name, methods[name])
            return made

        return wrap


_METHODS: Final = (
    "__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__",
    "__setstate__",
)  # fmt: skip


def _written(cls: type, *, init: bool, eq: bool, frozen: bool) -> dict[str, object]:
    """Return the methods that are made of source for a class."""
    fields = dataclasses.fields(cls)
    methods: dict[str, object] = {}
    if init:
        methods["__init__"] = _init(cls, [field for field in fields if field.init], frozen=frozen)
    if eq:
        compared = [field.name for field in fields if field.compare]
        mine, yours = (
            "".join(f"{owner}.f{i}, " for i in range(len(compared))) for owner in ("self", "other")
        )
        same = (
            f"return ({mine}) == ({yours}) if other.__class__ is self.__class__ else NotImplemented"
        )
        methods["__eq__"] = _function(cls, f"def __eq__(self, other): {same}", compared, {})
        methods["__hash__"] = None
        if frozen:
            source = f"def __hash__(self): return hash(({mine}))"
            methods["__hash__"] = _function(cls, source, compared, {})
    return methods


def _init(cls: type, fields: list[dataclasses.Field[Any]], *, frozen: bool) -> FunctionType:
    """Return ``__init__``; where classes are frozen it stores through the slots themselves."""
    namespace: dict[str, object] = {"MISSING": dataclasses.MISSING}
    parameters, body, defaults = ["_this"], [], []  # a field may have the name self
    for i, field in enumerate(fields):
        name = value = f"f{i}"
        parameters.append(name)
        if field.default_factory is not dataclasses.MISSING:
            namespace[f"make{i}"] = field.default_factory
            value = f"make{i}() if {name} is MISSING else {name}"
            defaults.append(dataclasses.MISSING)
        elif field.default is not dataclasses.MISSING:
            defaults.append(field.default)
        namespace[f"set{i}"] = getattr(cls, field.name).__set__
        body.append(f" set{i}(_this, {value})" if frozen else f" _this.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" _this.__post_init__()")
    source = "\n".join([f"def __init__({', '.join(parameters)}):", *body, " return"])
    function = _function(cls, source, [field.name for field in fields], namespace)
    function.__defaults__ = tuple(defaults)
    return function


def _function(
    cls: type, source: str, names: list[str], namespace: dict[str, object]
) -> FunctionType:
    """Return a function whose source has ``f0``, ``f1``... for the names of the fields."""
    code = _compiled(source)
    given = {f"f{i}": name for i, name in enumerate(names)}
    qualname = f"{cls.__qualname__}.{code.co_name}"
    code = code.replace(
        co_names=tuple(given.get(name, name) for name in code.co_names),
        co_varnames=tuple(given.get(name, name) for name in code.co_varnames),
        co_qualname=qualname,
    )
    return FunctionType(code, {"__name__": cls.__module__, **namespace})


@functools.cache
def _compiled(source: str) -> CodeType:
    """Return the code of a function; classes with as many fields share it, but for the names."""
    (code,) = (c for c in compile(source, __file__, "exec").co_consts if isinstance(c, CodeType))
    return code


@reprlib.recursive_repr()
def _repr(self: object) -> str:
    fields = dataclasses.fields(self)  # type: ignore[arg-type]
    values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields if f.repr)
    return f"{type(self).__qualname__}({values})"


def _setattr(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: object) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]


def _setstate(self: object, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):  # type: ignore[arg-type]
        object.__setattr__(self, field.name, value)


_FROZEN: Final = {
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
