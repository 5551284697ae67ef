"""`dataclass` for slotted classes, made in a tenth of the time; the fields and what is read of them are the standard library's.

The standard library compiles the source of each method of each class, and makes a description of each field: for a hundred classes that is
more than half of the time that ``import bcjit`` may take. Here classes with as many fields share compiled code, in which only the names
differ, and the standard library makes the descriptions when somebody asks for them.
"""

# ruff: noqa: F821, PLW0108 - the setters are globals, which each method has of its own

from __future__ import annotations

import dataclasses
import functools
import reprlib
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass", "fields", "replace"]

if TYPE_CHECKING:
    # What type checkers know of dataclasses holds for these.
    from dataclasses import dataclass, fields, replace
else:

    def fields(record: object) -> tuple[_Field, ...]:
        """Return the fields of a record, or of a class of records, with their names."""
        return tuple(_description(record).fields.values())

    def replace(record: object, **changes: object) -> object:
        """Return a record like another one, but for some fields."""
        for name, field in _description(record).fields.items():
            if field.init and name not in changes:
                changes[name] = getattr(record, name)
        return record.__class__(**changes)

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
            body = {k: v for k, v in vars(cls).items() if k not in _MADE_BY_TYPE}
            own = _Description(cls.__module__, body, init=init, repr=repr, eq=eq, frozen=frozen)
            inherited = {}
            for base in cls.__mro__[:0:-1]:
                if "__dataclass_fields__" in vars(base):
                    inherited |= vars(base)["__dataclass_fields__"].description.fields
            slots = [name for name in own.fields if name not in inherited]
            own.fields = {**inherited, **own.fields}
            body["__slots__"] = (*slots, "__weakref__") if weakref_slot else tuple(slots)
            body["__dataclass_fields__"] = _Described(own, "__dataclass_fields__")
            body["__dataclass_params__"] = _Described(own, "__dataclass_params__")
            body.setdefault("__match_args__", tuple(f.name for f in own.fields.values() if f.init))
            fields = list(own.fields.values())
            methods = _written(cls, fields, init=init, eq=eq)
            if not frozen and eq:
                methods["__hash__"] = None
            if repr:
                methods["__repr__"] = _repr
            if frozen:
                methods.update(_FROZEN)
            made = type(cls)(cls.__name__, cls.__bases__, methods | body)
            if init:
                for i, field in enumerate(field for field in fields if field.init):
                    methods["__init__"].__globals__[f"set{i}"] = getattr(made, field.name).__set__
            return made

        return wrap


# What `type` makes anew for the class with slots.
_MADE_BY_TYPE: Final = frozenset({"__dict__", "__weakref__"})


class _Field:
    """What the body of a class says of a field."""

    __slots__ = ("compare", "default", "factory", "init", "name", "repr", "said", "type")

    def __init__(self, name: str, annotation: object, said: object) -> None:
        self.name, self.type, self.said = name, annotation, said
        if isinstance(said, dataclasses.Field):
            self.default, self.factory = said.default, said.default_factory
            self.init, self.compare, self.repr = said.init, said.compare, said.repr
        else:
            self.default, self.factory = said, dataclasses.MISSING
            self.init = self.compare = self.repr = True


class _Description:
    """The fields and options of a class; takes the fields' defaults out of the body."""

    def __init__(self, module: str, body: dict[str, Any], **options: bool) -> None:
        self.module, self.options = module, options
        self.fields = {
            name: _Field(name, annotation, body.pop(name, dataclasses.MISSING))
            for name, annotation in body.get("__annotations__", {}).items()
            if not str(annotation).startswith("ClassVar")
        }

    @functools.cached_property
    def twin(self) -> type:
        """A class with these fields, made by the standard library, which takes a few hundred microseconds."""
        fields = self.fields.values()
        body = {f.name: f.said for f in fields if f.said is not dataclasses.MISSING}
        body |= {"__annotations__": {f.name: f.type for f in fields}, "__module__": self.module}
        return dataclasses.dataclass(**self.options)(type("Twin", (), body))


class _Described:
    """An attribute that the standard library makes for a dataclass, made when it is first read."""

    __slots__ = ("description", "name")

    def __init__(self, description: _Description, name: str) -> None:
        self.description, self.name = description, name

    def __get__(self, instance: object, owner: type) -> object:
        return getattr(self.description.twin, self.name)


def _description(record: object) -> _Description:
    for cls in (record if isinstance(record, type) else type(record)).__mro__:
        described = vars(cls).get("__dataclass_fields__")
        if isinstance(described, _Described):
            return described.description
    raise TypeError(f"{record!r} is no record")


def _written(cls: type, fields: list[_Field], *, init: bool, eq: bool) -> dict[str, object]:
    """Return the methods that are made for a class."""
    methods: dict[str, object] = {}
    if init:
        methods["__init__"] = _init(cls, [field for field in fields if field.init])
    if eq:
        compared = [field.name for field in fields if field.compare]
        each = [f"f{i}" for i in range(len(compared))]
        mine, yours = ("".join(f"{owner}.{f}, " for f in each) for owner in ("self", "other"))
        same = f"({mine}) == ({yours}) if other.__class__ is self.__class__ else NotImplemented"
        methods["__eq__"] = _function(cls, "__eq__", f"lambda self, other: {same}", compared, {})
        source = f"lambda self: hash(({mine}))"
        methods["__hash__"] = _function(cls, "__hash__", source, compared, {})
    return methods


def _init(cls: type, fields: list[_Field]) -> FunctionType:
    """Return ``__init__``, which stores through the slots themselves, as classes may be frozen; its globals lack ``set0``..."""
    namespace: dict[str, object] = {"MISSING": dataclasses.MISSING}
    parameters, stores, defaults = ["_this"], [], []  # a field may have the name self
    for i, field in enumerate(fields):
        name = value = f"f{i}"
        parameters.append(name)
        if field.factory is not dataclasses.MISSING:
            namespace[f"make{i}"] = field.factory
            value = f"make{i}() if {name} is MISSING else {name}"
            defaults.append(dataclasses.MISSING)
        elif field.default is not dataclasses.MISSING:
            defaults.append(field.default)
        elif defaults:
            problem = f"{field.name} needs a default, as one before it has"
            raise TypeError(f"{cls.__qualname__}: {problem}")
        stores.append(f"set{i}(_this, {value})")
    kind = "__init__"
    if hasattr(cls, "__post_init__"):
        kind = "__post_init__"
        stores.append("_this.__post_init__()")
    # Setting an attribute gives None, so ``or`` goes on.
    source = f"lambda {', '.join(parameters)}: {' or '.join(stores) or None}"
    if any(field.factory is not dataclasses.MISSING for field in fields):
        kind = "with factories"
    names = [field.name for field in fields]
    function = _function(cls, "__init__", source, names, namespace, kind=kind)
    function.__defaults__ = tuple(defaults)
    return function


def _function(
    cls: type,
    name: str,
    source: str,
    fields: list[str],
    namespace: dict[str, object],
    *,
    kind: str | None = None,
) -> FunctionType:
    """Return a function whose source has ``f0``, ``f1``... for the names of the fields; rare ones are compiled when they are called."""
    namespace["__name__"] = cls.__module__

    def compiled() -> FunctionType:
        function.__code__ = _renamed(_compiled(source), qualname, fields)
        return function

    qualname = f"{cls.__qualname__}.{name}"
    written = _WRITTEN.get(name if kind is None else kind, ())
    if len(fields) < len(written):
        code = _renamed(written[len(fields)].__code__, qualname, fields)
    else:
        namespace["compiled"] = compiled
        code = _first_call.__code__
    function = FunctionType(code, namespace, name)
    function.__qualname__ = qualname
    return function


def _first_call(*args: object, **kwargs: object) -> object:
    return globals()["compiled"]()(*args, **kwargs)


def _renamed(code: CodeType, qualname: str, fields: list[str]) -> CodeType:
    given = {f"f{i}": field for i, field in enumerate(fields)}
    return code.replace(
        co_name=qualname.rpartition(".")[2],
        co_names=tuple(given.get(name, name) for name in code.co_names),
        co_varnames=tuple(given.get(name, name) for name in code.co_varnames),
        co_qualname=qualname,
    )


@functools.cache
def _compiled(source: str) -> CodeType:
    """Return the code of a lambda; classes with as many fields share it, but for the names."""
    (code,) = (c for c in compile(source, __file__, "eval").co_consts if isinstance(c, CodeType))
    return code


@reprlib.recursive_repr()
def _repr(self: object) -> str:
    fields = _description(self).fields.values()
    values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields if f.repr)
    return f"{type(self).__qualname__}({values})"


def _setattr(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: object) -> list[object]:
    return [getattr(self, name) for name in _description(self).fields]


def _setstate(self: object, state: list[object]) -> None:
    for name, value in zip(_description(self).fields, state, strict=True):
        object.__setattr__(self, name, value)


_FROZEN: Final = {
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}

# The methods of most classes by their number of fields, so that their code comes with this module's.
# fmt: off
_WRITTEN: Final[dict[str, tuple[FunctionType, ...]]] = {}
if not TYPE_CHECKING:
    _WRITTEN["__init__"] = (
        lambda _this: None,
        lambda _this, f0: set0(_this, f0),
        lambda _this, f0, f1: set0(_this, f0) or set1(_this, f1),
        lambda _this, f0, f1, f2: set0(_this, f0) or set1(_this, f1) or set2(_this, f2),
        lambda _this, f0, f1, f2, f3: (
            set0(_this, f0) or set1(_this, f1) or set2(_this, f2) or set3(_this, f3)
        ),
        lambda _this, f0, f1, f2, f3, f4: (
            set0(_this, f0) or set1(_this, f1) or set2(_this, f2) or set3(_this, f3)
            or set4(_this, f4)
        ),
        lambda _this, f0, f1, f2, f3, f4, f5: (
            set0(_this, f0) or set1(_this, f1) or set2(_this, f2) or set3(_this, f3)
            or set4(_this, f4) or set5(_this, f5)
        ),
        lambda _this, f0, f1, f2, f3, f4, f5, f6: (
            set0(_this, f0) or set1(_this, f1) or set2(_this, f2) or set3(_this, f3)
            or set4(_this, f4) or set5(_this, f5) or set6(_this, f6)
        ),
    )
    _WRITTEN["__post_init__"] = (
        lambda _this: _this.__post_init__(),
        lambda _this, f0: set0(_this, f0) or _this.__post_init__(),
        lambda _this, f0, f1: set0(_this, f0) or set1(_this, f1) or _this.__post_init__(),
        lambda _this, f0, f1, f2: (
            set0(_this, f0) or set1(_this, f1) or set2(_this, f2) or _this.__post_init__()
        ),
        lambda _this, f0, f1, f2, f3: (
            set0(_this, f0) or set1(_this, f1) or set2(_this, f2) or set3(_this, f3)
            or _this.__post_init__()
        ),
    )
    _WRITTEN["__eq__"] = (
        lambda self, other: (
            ()
            == ()
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0,)
            == (other.f0,)
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0, self.f1)
            == (other.f0, other.f1)
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0, self.f1, self.f2)
            == (other.f0, other.f1, other.f2)
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0, self.f1, self.f2, self.f3)
            == (other.f0, other.f1, other.f2, other.f3)
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0, self.f1, self.f2, self.f3, self.f4)
            == (other.f0, other.f1, other.f2, other.f3, other.f4)
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0, self.f1, self.f2, self.f3, self.f4, self.f5)
            == (other.f0, other.f1, other.f2, other.f3, other.f4, other.f5)
            if other.__class__ is self.__class__ else NotImplemented
        ),
        lambda self, other: (
            (self.f0, self.f1, self.f2, self.f3, self.f4, self.f5, self.f6)
            == (other.f0, other.f1, other.f2, other.f3, other.f4, other.f5, other.f6)
            if other.__class__ is self.__class__ else NotImplemented
        ),
    )
    _WRITTEN["__hash__"] = (
        lambda self: hash(()),
        lambda self: hash((self.f0,)),
        lambda self: hash((self.f0, self.f1)),
        lambda self: hash((self.f0, self.f1, self.f2)),
        lambda self: hash((self.f0, self.f1, self.f2, self.f3)),
        lambda self: hash((self.f0, self.f1, self.f2, self.f3, self.f4)),
        lambda self: hash((self.f0, self.f1, self.f2, self.f3, self.f4, self.f5)),
        lambda self: hash((self.f0, self.f1, self.f2, self.f3, self.f4, self.f5, self.f6)),
    )
# fmt: on
