"""Says where two worlds differ, bit by bit; it runs no code of the program's (no ``__eq__``, no ``__class__``, no ``repr`` of its classes)."""

from __future__ import annotations

import array
import collections
import itertools
import reprlib
import struct
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from bcjit.errors import BcjitError

__all__ = ["differences", "is_a", "show", "text_of"]

_Array = np.ndarray[Any, Any]

_DEEPEST: Final = 50
# Arrays of one world that are compared pair by pair for shared memory.
_PAIRED: Final = 40
_PLAIN: Final = (int, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented))
# The same object in both worlds, or another thing.
_IDENTICAL: Final = (
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    np.ufunc,
)

# Not through a metaclass of the program, which may have its own way to look attributes up.
_MRO: Final = type.__dict__["__mro__"].__get__
_NAMESPACE: Final = type.__dict__["__dict__"].__get__
_PARTS: Final = complex.__dict__["__getnewargs__"]
_QUALNAME: Final = type.__dict__["__qualname__"].__get__
_MODULE: Final = type.__dict__["__module__"].__get__


class _Short(reprlib.Repr):
    """Shows instances of the program's classes by the class alone."""

    def repr1(self, x: object, level: int) -> str:
        if type(x) in (float, complex, *_PLAIN, tuple, list, dict, set, frozenset):
            return super().repr1(x, level)
        return show(x)


_short = _Short()
_short.maxother = _short.maxstring = 60


def differences(
    pairs: Iterable[tuple[str, object, object]], runs: tuple[str, str] = ("plain", "compiled")
) -> Iterator[str]:
    """Yield a sentence for each place at which two worlds differ: kinds, values, which objects are one, which arrays share memory.

    Parameters
    ----------
    pairs
        How each thing is called in the sentences, as the plain world has it, and as the other has it.
    runs
        What the two worlds are called.
    """
    comparison = _Comparison(runs)
    for name, plain, other in pairs:
        yield from comparison.pair(plain, other, name, 0)
    yield from comparison.memory()


def is_a(value: object, kinds: Any) -> bool:
    """Whether a value is an instance of classes, whatever its ``__class__`` pretends, or does when it is asked for."""
    return issubclass(type(value), kinds)


def text_of(error: BaseException) -> str:
    """Return an exception's message; where its class makes one by itself, what it was made with."""
    args = BaseException.args.__get__(error)  # type: ignore[attr-defined]  # a descriptor
    plain = all(type(one) in (float, complex, *_PLAIN) for one in args)
    builtin = type(type(error).__str__) is types.WrapperDescriptorType
    if plain and (builtin or is_a(error, BcjitError)):
        return str(error)
    return show(args[0] if len(args) == 1 else args)


def show(value: object) -> str:
    """Return a short text of a value, with dtype and shape of arrays."""
    if type(value) is np.ndarray:
        text = np.array2string(value, threshold=8, edgeitems=3, max_line_width=10_000)
        return f"{value.dtype}{list(value.shape)} {text.replace(chr(10), '')}"
    if is_a(value, np.generic) and _MODULE(type(value)) == "numpy":
        return f"{type(value).__name__}({value!s})"
    if type(value) in (tuple, list) and any(is_a(v, np.ndarray) for v in value):  # type: ignore[attr-defined]  # a sequence
        return f"({', '.join(show(v) for v in value)})"  # type: ignore[attr-defined]  # as above
    if type(value) in (float, complex, *_PLAIN, tuple, list, dict):
        return _short.repr(value)
    for base in (int, float, complex, str, bytes):
        if is_a(value, base):
            return f"{_kind(value)}({_short.repr(base.__repr__(value))[1:-1]})"
    return f"<{_kind(value)}>"


class _Comparison:
    """Compares pair by pair; an object met again must be the partner of the same object."""

    def __init__(self, runs: tuple[str, str]) -> None:
        self.one, self.two = runs
        # The objects are held, so that no identity is used again.
        self.partners: dict[int, tuple[object, object]] = {}
        self.taken: dict[int, object] = {}
        self.arrays: list[tuple[str, _Array, _Array]] = []

    def pair(self, plain: object, other: object, path: str, depth: int) -> Iterator[str]:
        """Yield where two objects differ."""
        if type(plain) is not type(other):
            yield f"{path}: {_kind(plain)} {show(plain)} is {self.one}, {_kind(other)} {show(other)} is {self.two}"
            return
        if type(plain) in _PLAIN:
            if plain != other:
                yield self.unlike(path, plain, other)
            return
        if is_a(plain, _IDENTICAL):
            if plain is not other:
                yield self.unlike(path, plain, other)
            return
        known = self.partners.get(id(plain))
        if known is not None or id(other) in self.taken:
            if known is None or known[1] is not other:
                if not is_a(plain, _VALUES):
                    yield f"{path}: is one object with another value in one run, and not in the other"
                    return
            else:
                return
        self.partners[id(plain)] = plain, other
        self.taken[id(other)] = other
        if depth <= _DEEPEST:
            compare = next((c for kinds, c in _COMPARERS if is_a(plain, kinds)), None)
            if _is_stream(plain):
                compare = _Comparison.of_generator
            if compare is not None:
                yield from compare(self, plain, other, path, depth + 1)
                return
            yield from self.of_attributes(plain, other, path, depth + 1)

    def unlike(self, path: str, plain: object, other: object) -> str:
        """Return the sentence on two values that are not equal."""
        return f"{path}: {show(plain)} is {self.one}, {show(other)} is {self.two}{_bits_of(plain, other)}"

    def memory(self) -> Iterator[str]:
        """Yield pairs of arrays that share memory, or lie in it, otherwise in the two worlds."""
        for (name, a, x), (other, b, y) in itertools.combinations(self.arrays[:_PAIRED], 2):
            if not (a.size and b.size and x.size and y.size):
                continue
            plain, compiled = (_distance(p, q) for p, q in ((a, b), (x, y)))
            if plain != compiled:
                words = ["do not share memory" if d is None else f"share memory {d} bytes apart" for d in (plain, compiled)]  # fmt: skip
                yield f"{name} and {other}: {words[0]} {self.one}, {words[1]} {self.two}"

    def of_ndarray(self, plain: _Array, other: _Array, path: str, depth: int) -> Iterator[str]:
        if type(plain) is not np.ndarray:
            yield from self.of_attributes(plain, other, path, depth)
            plain, other = (np.ndarray.view(one, np.ndarray) for one in (plain, other))
        self.arrays.append((path, plain, other))
        for what, a, b in _layout(plain, other):
            if a != b:
                yield f"{path}: {what} is {a} {self.one}, {b} {self.two}"
        if plain.dtype != other.dtype or plain.shape != other.shape:
            return
        if plain.dtype.hasobject:
            pairs = zip(plain.flat, other.flat, strict=True)
            for place, (a, b) in enumerate(pairs):
                yield from self.pair(a, b, f"{path}.flat[{place}]", depth)
            return
        unlike = np.flatnonzero(_bits(plain) != _bits(other))
        if unlike.size:
            first = int(unlike[0])
            index = tuple(map(int, np.unravel_index(first, plain.shape)))
            a, b = plain[index], other[index]
            where = f"[{', '.join(map(str, index))}]" if index else ""
            yield (
                f"{path}: {unlike.size} of {plain.size} elements differ, first {path}{where}:"
                f" {a!r} is {self.one}, {b!r} is {self.two}{_bits_of(a, b)}"
            )

    def of_scalar(self, plain: np.generic, other: np.generic, path: str, _d: int) -> Iterator[str]:
        a, b = np.asarray(plain), np.asarray(other)
        if a.dtype != b.dtype or (not a.dtype.hasobject and (_bits(a) != _bits(b)).any()):
            yield self.unlike(path, plain, other)

    def of_float(self, plain: float, other: float, path: str, _depth: int) -> Iterator[str]:
        if struct.pack("d", plain) != struct.pack("d", other):
            yield self.unlike(path, plain, other)

    def of_complex(self, plain: complex, other: complex, path: str, _depth: int) -> Iterator[str]:
        a, b = (struct.pack("dd", *_PARTS(value)) for value in (plain, other))
        if a != b:
            yield self.unlike(path, plain, other)

    def of_sequence(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        base = next(kind for kind in _SEQUENCES if is_a(plain, kind))
        items, others = list(base.__iter__(plain)), list(base.__iter__(other))
        if len(items) != len(others):
            yield f"{path}: {len(items)} items are {self.one}, {len(others)} {self.two}"
        for place, (a, b) in enumerate(zip(items, others, strict=False)):
            yield from self.pair(a, b, f"{path}[{place}]", depth)
        if base is not type(plain):
            yield from self.of_attributes(plain, other, path, depth)

    def of_set(self, plain: Any, other: Any, path: str, _depth: int) -> Iterator[str]:
        # Of other elements the order is that of their identities.
        base = set if is_a(plain, set) else frozenset
        held = [[v for v in base.__iter__(one) if type(v) in _PLAIN] for one in (plain, other)]
        if base.__len__(plain) != base.__len__(other) or held[0] != held[1]:
            yield self.unlike(path, set(held[0]), set(held[1]))

    def of_bytes(self, plain: Any, other: Any, path: str, _depth: int) -> Iterator[str]:
        a, b = (bytes(_items(one)) for one in (plain, other))
        if a != b:
            yield self.unlike(path, a, b)

    def of_value(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        base = next(kind for kind in (int, str, bytes) if is_a(plain, kind))
        if not base.__eq__(plain, other):
            yield self.unlike(path, plain, other)
        yield from self.of_attributes(plain, other, path, depth)

    def of_exception(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        get = BaseException.args.__get__  # type: ignore[attr-defined]  # a descriptor
        yield from self.pair(get(plain), get(other), f"{path}.args", depth)
        yield from self.of_attributes(plain, other, path, depth)

    def of_mapping(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        count, others = dict.__len__(plain), dict.__len__(other)
        if count != others:
            yield f"{path}: {count} keys are {self.one}, {others} {self.two}"
        pairs = zip(dict.items(plain), dict.items(other), strict=False)
        for place, ((key, a), (also, b)) in enumerate(pairs):
            yield from self.pair(key, also, f"key {place} of {path}", depth)
            yield from self.pair(a, b, f"{path}[{show(key)}]", depth)

    def of_function(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        if plain is not other:
            yield from self.pair(plain.__code__, other.__code__, f"{path}.__code__", depth)
            cells, others = (tuple(map(_contents, f.__closure__ or ())) for f in (plain, other))
            yield from self.pair(cells, others, f"{path}.__closure__", depth)

    def of_method(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        yield from self.pair(plain.__func__, other.__func__, f"{path}.__func__", depth)
        yield from self.pair(plain.__self__, other.__self__, f"{path}.__self__", depth)

    def of_generator(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        state, found = random_state(plain), random_state(other)
        yield from self.pair(state, found, f"{path}: its stream", depth)

    def of_dtype(self, plain: Any, other: Any, path: str, _depth: int) -> Iterator[str]:
        if plain != other:
            yield self.unlike(path, plain, other)

    def of_slice(self, plain: Any, other: Any, path: str, depth: int) -> Iterator[str]:
        a, b = ((s.start, s.stop, s.step) for s in (plain, other))
        yield from self.pair(a, b, path, depth)

    def of_attributes(self, plain: object, other: object, path: str, depth: int) -> Iterator[str]:
        """Compare what instances hold, without asking their classes."""
        a, b = _held(plain), _held(other)
        if list(a) != list(b):
            yield f"{path}: has attributes {', '.join(a)} {self.one}, {', '.join(b)} {self.two}"
        for name in a.keys() & b.keys():
            yield from self.pair(a[name], b[name], f"{path}.{name}", depth)


def _kind(value: object) -> str:
    return str(_QUALNAME(type(value)))


def _items(value: Any) -> Any:
    """Return the bytes of a value of these classes, by the methods of the class that it derives from."""
    if is_a(value, bytearray):
        return bytearray.__getitem__(value, slice(None))
    return value.tobytes() if type(value) is memoryview else array.array.tobytes(value)


def _bits_of(plain: object, other: object) -> str:
    """Return the bits of two numbers that look the same, NaNs of different signs, else nothing."""
    if not is_a(plain, (float, complex, np.generic)) or show(plain) != show(other):
        return ""
    one, two = (np.asarray(value).tobytes().hex(" ", 8) for value in (plain, other))
    return f" (bytes {one} and {two})"


def _contents(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return NotImplemented  # empty


def _is_stream(value: object) -> bool:
    """Whether a value is a random generator of NumPy's, whose package is loaded only where somebody draws."""
    module = _MODULE(type(value))
    known = type(module) is str and module.startswith("numpy.random")
    return known and _kind(value) in ("Generator", "RandomState")


def random_state(generator: Any) -> object:
    """Return the state of a random stream as plain data."""
    if type(generator).__name__ == "Generator":
        return generator.bit_generator.state
    return generator.get_state(legacy=False)


def _layout(plain: _Array, other: _Array) -> Iterator[tuple[str, object, object]]:
    yield "dtype", str(plain.dtype), str(other.dtype)
    yield "shape", plain.shape, other.shape
    long = [axis for axis, length in enumerate(plain.shape) if length > 1]
    if plain.shape == other.shape and plain.size:
        a, b = (tuple(one.strides[axis] for axis in long) for one in (plain, other))
        yield "strides", a, b
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE"):
        yield f"flag {flag}", plain.flags[flag], other.flags[flag]


def _bits(values: _Array) -> _Array:
    """Return one value an element, in C order; they are equal where the elements' bits are."""
    if values.dtype.names:
        fields = [_bits(np.asarray(values[name])) for name in values.dtype.names]
        return np.array([hash(tuple(f[i].tobytes() for f in fields)) for i in range(values.size)])
    flat = np.array(values, order="C", copy=True, subok=False).ravel()
    if flat.dtype.char in "gG":  # the unused bytes of a long double are not defined
        texts = [f"{value!r}{np.signbit(value.real)}{np.signbit(value.imag)}" for value in flat]
        return np.array(texts, dtype=object)
    if not flat.itemsize:
        return np.zeros(flat.size, bool)
    return flat.view(np.dtype((np.void, flat.itemsize)))


def _distance(a: _Array, b: _Array) -> int | None:
    """Return how far apart two arrays begin that share memory."""
    if not np.may_share_memory(a, b):
        return None
    start, other = (one.__array_interface__["data"][0] for one in (a, b))
    return int(start - other)


def _held(value: object) -> dict[str, object]:
    """Return the attributes that an instance holds itself."""
    found: dict[str, object] = {}
    owners = _MRO(type(value))
    for owner in owners:
        for name, member in _NAMESPACE(owner).items():
            if type(member) is types.MemberDescriptorType and _MODULE(owner) != "builtins":
                try:
                    found[name] = member.__get__(value)
                except AttributeError:
                    continue  # a slot that is empty
    getter = next((_NAMESPACE(o)["__dict__"] for o in owners if "__dict__" in _NAMESPACE(o)), None)
    if type(getter) is not types.GetSetDescriptorType:
        return found  # none, or one that the program computes
    namespace = getter.__get__(value)
    return {**found, **namespace} if type(namespace) is dict else found


# What is equal where its value is, whatever objects hold it.
_VALUES: Final = (float, complex, np.generic, tuple, frozenset, slice, range, types.MethodType)

_SEQUENCES: Final = (list, tuple, collections.deque, range)

_COMPARERS: Final[tuple[tuple[Any, Callable[..., Iterator[str]]], ...]] = (
    (np.ndarray, _Comparison.of_ndarray),
    (np.generic, _Comparison.of_scalar),
    (float, _Comparison.of_float),
    (complex, _Comparison.of_complex),
    ((int, str, bytes), _Comparison.of_value),
    (_SEQUENCES, _Comparison.of_sequence),
    ((set, frozenset), _Comparison.of_set),
    ((bytearray, memoryview, array.array), _Comparison.of_bytes),
    (BaseException, _Comparison.of_exception),
    (dict, _Comparison.of_mapping),
    (types.FunctionType, _Comparison.of_function),
    (types.MethodType, _Comparison.of_method),
    (np.dtype, _Comparison.of_dtype),
    (slice, _Comparison.of_slice),
)
