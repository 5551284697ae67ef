"""Calls: which callable it is, binding of arguments, inlining of Python functions.

A Python function is inlined by interpreting its code in a frame of its own. What cannot be captured inside it gives up the whole call:
the caller breaks there, and the callee runs as a frame of its own (and is captured by itself).
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn, cast

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit._core import Dispatcher
from bcjit.bytecode import decode
from bcjit.errors import GraphBreak
from bcjit.guards import Source, SourceKind
from bcjit.lazy import Later
from bcjit.symbolic_vm.attributes import bind_call, get_attribute, wrapped_function
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.half_known import is_untouched
from bcjit.symbolic_vm.instances import construct, is_plain_class
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import call_op, describe
from bcjit.symbolic_vm.refusals import refusal
from bcjit.symbolic_vm.state import Frame, State
from bcjit.symbolic_vm.subscripts import dict_items, write_contents
from bcjit.symbolic_vm.unions import has_union, over_kinds
from bcjit.symbolic_vm.values import (
    UNBOUND,
    DictItem,
    Known,
    Lazy,
    SymArray,
    SymFunction,
    SymInstance,
    SymMethod,
    SymObject,
    SymTuple,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.ops import unsupported
else:
    # It is the text of graph breaks.
    unsupported = Later("bcjit.ops.unsupported")

__all__ = [
    "BUILTINS",
    "builtin",
    "call",
    "call_property",
    "call_setter",
    "marked",
    "only_cuts",
    "use_of_frame",
]

BuiltinRule = Callable[[Machine, tuple[SymValue, ...], Mapping[str, SymValue]], SymValue]
# Rules for builtin functions, types and methods of builtin types; filled by ``builtin_calls``, ``math_calls`` and ``method_calls``.
BUILTINS: Final[dict[object, BuiltinRule]] = {}
# Functions with a meaning of their own to bcjit: fn -> code of the break reason. Filled by ``api`` through `mark`.
MARKED: Final[dict[int, tuple[object, str, object]]] = {}
_OUTPUT: Final = (print, input, open)


def builtin(*callables: object) -> Callable[[BuiltinRule], BuiltinRule]:
    """Register the rule of some builtin callables."""

    def register(rule: BuiltinRule) -> BuiltinRule:
        for target in callables:
            BUILTINS[target] = rule
        return rule

    return register


def mark(function: object, reason: str) -> None:
    """Make each call of `function` a break for `reason`."""
    MARKED[id(function)] = (function, reason, getattr(function, "__code__", None))


def marked(function: object) -> str | None:
    """Return the reason why calls of `function` always break, None if they do not."""
    found = MARKED.get(id(function))
    return found[1] if found is not None and found[0] is function else None


def only_cuts(function: types.FunctionType) -> bool:
    """Whether a call of `function` asks for a cut and does nothing else: it still has the code that it was marked with."""
    found = MARKED.get(id(function))
    if found is None or found[0] is not function:
        return False
    return found[1] == because.ASKED and found[2] is function.__code__


def call(
    vm: Machine,
    function: SymValue,
    args: Sequence[SymValue],
    kwargs: Mapping[str, SymValue] | None = None,
) -> SymValue:
    """``function(*args, **kwargs)``."""
    kwargs = kwargs or {}
    function = vm.realize(function)
    if isinstance(function, SymMethod):
        return call(vm, function.func, (function.self, *args), kwargs)
    if isinstance(function, SymFunction):
        if _gives_frames(function.obj):
            use_of_frame(vm, function.qualname)
        reason = marked(function.obj) if function.obj is not None else None
        if reason is not None:
            break_graph(reason, function.qualname)
        return inline(vm, function, tuple(args), kwargs)
    if isinstance(function, Known):
        target = function.value
        if is_plain_class(target) and marked(target) is None and ops.lookup(target) is None:
            return construct(vm, function, tuple(args), kwargs, call)
        return _call_known(vm, function.value, tuple(args), kwargs)
    if isinstance(function, SymInstance):
        return _call_instance(vm, function, args, kwargs)
    return break_graph(because.UNKNOWN_CALL, f"an object of type {describe(function)}")


def _call_instance(
    vm: Machine,
    function: SymInstance,
    args: Sequence[SymValue],
    kwargs: Mapping[str, SymValue],
) -> SymValue:
    if issubclass(function.pytype, Dispatcher):
        if not vm.settings.inlines_compiled:
            break_graph(because.NOT_INLINED, "a compiled function")
        return call(vm, wrapped_function(vm, function), args, kwargs)
    if function.pytype is np.vectorize:
        break_graph(because.UNKNOWN_CALL, "np.vectorize calls Python code for each element")
    if function.pytype is functools.partial:
        return _call_partial(vm, function, args, kwargs)
    bound = bind_call(vm, function)
    if bound is not None:
        return call(vm, bound, args, kwargs)
    if function.pytype is types.BuiltinFunctionType:
        built_in = cast("types.BuiltinFunctionType", function.obj)
        break_graph(because.UNKNOWN_CALL, f"the built-in {built_in.__name__}")
    return break_graph(because.UNKNOWN_CALL, f"an object of type {describe(function)}")


def _gives_frames(function: object) -> bool:
    """Whether a Python function gives frames of its callers away, the innermost first."""
    module = sys.modules.get("traceback")  # imported by the program, else it has nothing of it
    walk = None if module is None else vars(module).get("walk_stack")
    return function is not None and any(function is taker for taker in (*_FRAME_TAKERS, walk))


_FRAME_TAKERS: Final = (inspect.currentframe, inspect.stack)


def use_of_frame(vm: Machine, what: str, depth: int = 0) -> NoReturn:
    """Break at a call that takes the frame `depth` calls up, or its namespace.

    Parts of a function are frames of their own, so what a function takes of its frame lasts only if that part is the last: it is
    run plain. A frame of an inlined call becomes the outermost when it is called by itself. What a callee takes of its caller's is
    right while the callee runs, and is not followed further: that is how loggers and warnings find lines.
    """
    own = len(vm.positions) == 1 and depth == 0
    break_graph(because.OWN_FRAME if own else because.UNKNOWN_CALL, what)


def _call_partial(
    vm: Machine, partial: SymInstance, args: Sequence[SymValue], kwargs: Mapping[str, SymValue]
) -> SymValue:
    """Mirror ``partial_call`` (Modules/_functoolsmodule.c)."""
    function, *others = (
        vm.present(Source(SourceKind.ATTR, name, partial.source), read(partial.obj))
        for name, read in _PARTIAL_MEMBERS.items()
    )
    given, named = map(vm.realize, others)
    assert isinstance(given, SymTuple)
    if not isinstance(named, SymObject) or any(_is_placeholder(item) for item in given.items):
        break_graph(because.UNKNOWN_CALL, "a partial with placeholders")
    keywords = {str(item.key): item.value for item in dict_items(vm, named)}
    return call(vm, function, (*given.items, *args), {**keywords, **kwargs})


_PARTIAL_MEMBERS: Final[Mapping[str, Callable[[object], object]]] = {
    name: vars(functools.partial)[name].__get__ for name in ("func", "args", "keywords")
}
_PLACEHOLDER: Final = getattr(functools, "Placeholder", None)  # 3.14


def _is_placeholder(item: SymValue) -> bool:
    return _PLACEHOLDER is not None and isinstance(item, Lazy) and item.obj is _PLACEHOLDER


def _call_known(
    vm: Machine,
    target: object,
    args: tuple[SymValue, ...],
    kwargs: Mapping[str, SymValue],
) -> SymValue:
    reason = marked(target)
    name = getattr(target, "__qualname__", None) or type(target).__name__
    if reason is not None:
        return break_graph(reason, str(name))
    if isinstance(target, _METHODS):
        _check_owner(vm, target.__objclass__, str(name), args)
    if _is_hashable_builtin(target):
        rule = BUILTINS.get(target)
        if rule is not None:
            given = [arg if is_untouched(arg) else vm.realize(arg) for arg in args]
            if has_union(given):
                return over_kinds(vm, given, lambda args: rule(vm, tuple(args), kwargs))
            return rule(vm, args, kwargs)
    op = ops.lookup(target)
    if op is not None:
        assert callable(target)
        return call_op(vm, op, target, args, kwargs)
    ufunc = target.__self__ if type(target) is types.BuiltinFunctionType else target
    if type(ufunc) is np.ufunc:
        break_graph(because.NUMPY_UNSUPPORTED, f"{name}: {_no_numbers(ufunc)}")
    if any(target is output for output in _OUTPUT):
        return break_graph(because.OUTPUT, str(name))
    module = getattr(target, "__module__", None) or ""
    owner = target.__objclass__ if isinstance(target, types.MethodDescriptorType) else None
    if module.split(".")[0] == "numpy" or owner in (np.ndarray, np.generic):
        public = f"np.{name}" if owner is not None else f"{module}.{name}".replace("numpy", "np", 1)
        why = unsupported.UNSUPPORTED.get(public)
        return break_graph(
            because.NUMPY_UNSUPPORTED, f"{public}: {why}" if why else f"{module}.{name}".lstrip(".")
        )
    return break_graph(because.UNKNOWN_CALL, f"{module}.{name}".lstrip("."))


_METHODS: Final = (types.MethodDescriptorType, types.WrapperDescriptorType)


def _check_owner(vm: Machine, owner: type, name: str, args: tuple[SymValue, ...]) -> None:
    """Break where a method that was found in its class is called with nothing, or with what it is no method of."""
    if not args:
        break_graph(because.WOULD_RAISE, f"{name}() without an object")
    if owner in (np.ndarray, np.generic):
        value = vm.realize(args[0])
        if isinstance(value, SymArray) and value.meta.is_scalar != (owner is np.generic):
            break_graph(because.WOULD_RAISE, f"{name}() of {describe(value)}")


def _no_numbers(ufunc: np.ufunc) -> str:
    """Return why a ufunc is not in the op table."""
    if ufunc.signature is not None:
        return "a generalised ufunc that is not NumPy's"
    if any("O" in loop for loop in ufunc.types):
        return "a ufunc that calls Python code for each element"
    return "a ufunc that has no loop for numbers"


def _is_hashable_builtin(target: object) -> bool:
    return type(target) in _BUILTIN_KINDS


_BUILTIN_KINDS: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    type,
    np.ufunc,
    type(np.sum),
)


def call_property(vm: Machine, getter: SymValue, owner: SymValue) -> SymValue:
    """Inline the getter of a property."""
    return call(vm, getter, (owner,))


def call_setter(vm: Machine, setter: SymValue, owner: SymValue, item: SymValue) -> None:
    """Inline the setter of a property."""
    call(vm, setter, (owner, item))


# ---------------------------------------------------------------------- Python functions
def inline(
    vm: Machine,
    function: SymFunction,
    args: tuple[SymValue, ...],
    kwargs: Mapping[str, SymValue],
) -> SymValue:
    """Interpret the function's code on these arguments, as part of the caller."""
    code = function.code
    why = refusal(code)
    if why is not None and not _is_simple_generator(code):
        _give_up(vm, function, f"{function.qualname}: {because.REASONS[why.reason].title}")
    bound = bind(vm, function, args, kwargs)
    if bound is None:
        break_graph(because.WOULD_RAISE, f"arguments of {function.qualname}")
    frame = Frame(
        decode(code), function.globals, function.globals_source, function.qualname, inlined=True
    )
    free = (None,) * len(code.co_cellvars) + function.closure
    state = State(0, (), bound, free)
    try:
        return vm.call_region(state, frame).value
    except GraphBreak as cause:
        if cause.reason.code in _ABOUT_THE_CALLER:
            raise
        if cause.reason.code == because.WRITE_IN_INLINED and not vm.at_call():
            raise
        vm.callee = function
        context = f": {cause.context}" if cause.context else ""
        # Not kept in a variable: its traceback holds this frame, and with it the user's objects.
        raise GraphBreak(
            because.REASONS[because.NOT_INLINED],
            f"{function.qualname} ({cause.reason.title}{context})",
        ) from cause


_ABOUT_THE_CALLER: Final = (because.INLINE_DEPTH, because.CAPTURE_LIMIT, because.OWN_FRAME)


def _is_simple_generator(code: types.CodeType) -> bool:
    """Whether it is a generator with nothing to clean up where it is left unfinished."""
    if code.co_flags & _SUSPENDS != inspect.CO_GENERATOR:
        return False
    listing = decode(code)
    return listing.has_try() is None and listing.has_with() is None


_SUSPENDS: Final = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


def _give_up(vm: Machine, function: SymFunction, context: str) -> None:
    vm.callee = function
    break_graph(because.NOT_INLINED, context)


def bind(
    vm: Machine,
    function: SymFunction,
    args: tuple[SymValue, ...],
    kwargs: Mapping[str, SymValue],
) -> tuple[SymValue, ...] | None:
    """Bind arguments to locals as CPython's ``initialize_locals`` (Python/ceval.c); None if it would raise."""
    code = function.code
    positional = code.co_argcount
    total = positional + code.co_kwonlyargcount
    names = code.co_varnames
    slots: list[SymValue] = [UNBOUND] * len(names)
    slots[: min(len(args), positional)] = args[:positional]
    place = total
    if code.co_flags & 0x04:
        slots[place] = SymTuple(None, args[positional:])
        place += 1
    elif len(args) > positional:
        return None
    extra: list[DictItem] = []
    for name, value in kwargs.items():
        accepted = names[code.co_posonlyargcount : total]
        if name in accepted:
            index = code.co_posonlyargcount + accepted.index(name)
            if slots[index] is not UNBOUND:
                return None
            slots[index] = value
        elif code.co_flags & 0x08:
            extra.append(DictItem(name, value, Known(None, name)))
        else:
            return None
    if code.co_flags & 0x08:
        made = SymObject(None, dict, vm.new_id(), ())
        write_contents(vm, made, tuple(extra), "")
        slots[place] = made
    return tuple(slots) if _fill_defaults(function, slots) else None


def _fill_defaults(function: SymFunction, slots: list[SymValue]) -> bool:
    code = function.code
    defaults = function.defaults or ()
    first = code.co_argcount - len(defaults)
    for index in range(code.co_argcount):
        if slots[index] is UNBOUND:
            if index < first:
                return False
            slots[index] = defaults[index - first]
    keyword = dict(function.kwdefaults or ())
    for index in range(code.co_argcount, code.co_argcount + code.co_kwonlyargcount):
        if slots[index] is UNBOUND:
            name = code.co_varnames[index]
            if name not in keyword:
                return False
            slots[index] = keyword[name]
    return True


def get(vm: Machine, value: SymValue, name: str) -> SymValue:
    """``value.name``, inlining properties."""
    return get_attribute(vm, value, name, call_property)
