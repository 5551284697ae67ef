"""`dataclass` for slotted classes, made in a fifth of the time; the fields and what is read of them are the standard library's.

The standard library compiles the source of each method of each class by itself, which for a hundred classes is half of the time that
``import bcjit`` may take. Here one source holds the methods whose speed matters, and the others are shared.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
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
    """Return the methods that are compiled for a class."""
    fields = dataclasses.fields(cls)
    names: dict[str, object] = {"MISSING": dataclasses.MISSING}
    lines = _init_lines(cls, fields, names, frozen=frozen) if init else []
    if eq:
        mine, yours = (
            "".join(f"{owner}.{field.name}, " for field in fields if field.compare)
            for owner in ("self", "other")
        )
        lines += [
            "def __eq__(self, other):",
            " if other.__class__ is not self.__class__: return NotImplemented",
            f" return ({mine}) == ({yours})",
        ]
        lines += ["def __hash__(self):", f" return hash(({mine}))"] if frozen else []
    methods: dict[str, object] = {}
    exec("\n".join(lines), names, methods)
    for name, method in methods.items():
        method.__qualname__ = f"{cls.__qualname__}.{name}"  # type: ignore[attr-defined]
    if eq and not frozen:
        methods["__hash__"] = None
    return methods


def _init_lines(
    cls: type, fields: tuple[dataclasses.Field[Any], ...], names: dict[str, object], *, frozen: bool
) -> list[str]:
    """Return the source of ``__init__``; where classes are frozen it stores through the slots themselves."""
    parameters, body = ["_this"], []  # a field may have the name self
    for field in fields:
        name = field.name
        if not field.init:
            continue
        value, default = name, ""
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            value, default = f"_make_{name}() if {name} is MISSING else {name}", "=MISSING"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
        parameters.append(name + default)
        if frozen:
            names[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f" _set_{name}(_this, {value})")
        else:
            body.append(f" _this.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" _this.__post_init__()")
    return [f"def __init__({', '.join(parameters)}):", *(body or [" pass"])]


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
