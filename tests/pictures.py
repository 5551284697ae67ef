"""Pictures: plain, comparable copies of everything a user can see of a set of objects.

A picture is a nest of tuples whose leaves are strings, ints and `Bits`; it keeps nothing alive. The
`Painter` gives each object with an identity a name (the path at which it was first met), so that
aliasing is part of the picture. This module must not know what a compiled function is.
"""

from __future__ import annotations

import collections
import dis
import hashlib
import itertools
import struct
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

import numpy as np

# A warm function runs these two at a time, and an unbound local in the second half is then reported
# at the columns of the first half (3.11: specialised LOAD_FAST__LOAD_FAST and its like).
_PAIRED_WHEN_WARM = frozenset({"LOAD_FAST", "STORE_FAST", "LOAD_CONST"})

# Where one of these is said to raise, it was the second half: on another line too, if a statement begins with it.
_NEVER_RAISE = frozenset({"STORE_FAST", "LOAD_CONST"})

Picture = object  # tuples, strings, ints, None and Bits, nested

_DEPTH_LIMIT = 25
_PAIR_LIMIT = 40  # arrays of one record that are compared pairwise for shared memory


@dataclass(frozen=True, slots=True)
class Bits:
    """The elements of an array or the bits of a float, compared bit by bit."""

    dtype: str
    raw: bytes

    def difference(self, other: Bits) -> str:
        """Return one sentence that names the first element that differs."""
        if self.dtype != other.dtype or len(self.raw) != len(other.raw):
            return f"{self} != {other}"
        dtype = np.dtype(self.dtype)
        mine, theirs = (np.frombuffer(side.raw, dtype) for side in (self, other))
        size = dtype.itemsize
        unequal = [
            i
            for i in range(len(mine))
            if self.raw[i * size : (i + 1) * size] != other.raw[i * size : (i + 1) * size]
        ]
        first = unequal[0]
        return (
            f"{len(unequal)} of {len(mine)} elements ({self.dtype}) differ, first at {first}: "
            f"{mine[first]!r} ({mine[first].tobytes().hex()}) != "
            f"{theirs[first]!r} ({theirs[first].tobytes().hex()})"
        )

    def __str__(self) -> str:
        values = np.frombuffer(self.raw, np.dtype(self.dtype))
        shown = ", ".join(repr(value) for value in values[:6].tolist())
        return f"{self.dtype}[{shown}{', ...' if len(values) > 6 else ''}]"


def bits_of(array: np.ndarray) -> Picture:
    """Return the elements of an array in C order; padding bytes are left out."""
    if array.dtype.names:
        return tuple((name, bits_of(np.asarray(array[name]))) for name in array.dtype.names)
    copy = np.array(array, order="C", copy=True, subok=False)
    if copy.dtype.kind in "gG" or copy.dtype.char in "gG":
        # The unused bytes of a long double are not defined: the value and sign are compared.
        return tuple(map(repr, copy.ravel())), tuple(np.signbit(copy.real).ravel().tolist())
    name = copy.dtype.str
    if copy.dtype.kind in "Mm":  # frombuffer takes them, but their repr needs the unit
        name = "<i8"
    return Bits(name, copy.tobytes())


_CONSTANTS = (bool, type(None), type(Ellipsis), type(NotImplemented))
_NAMED = (type, types.ModuleType, np.ufunc)


_WARN_ON_WRITE = 1 << 31  # NPY_ARRAY_WARN_ON_WRITE


class Painter:
    """Draws objects into pictures; one painter is used for all objects of one call.

    Parameters
    ----------
    known
        Names of objects that existed before the call, by identity, with the objects themselves.
    hidden_files
        File names whose frames are left out of tracebacks (the harness's own).
    """

    def __init__(
        self,
        known: Mapping[int, tuple[str, object]] | None = None,
        hidden_files: frozenset[str] = frozenset(),
    ) -> None:
        self.names: dict[int, tuple[str, object]] = dict(known or {})
        self.drawn: set[int] = set()
        self.arrays: list[tuple[str, np.ndarray]] = []
        self.hidden_files = hidden_files
        self._fresh = itertools.count()

    # -- identity -----------------------------------------------------------------------------

    def name(self, value: object, path: str) -> str:
        """Return the name of an object, given at its first sight."""
        found = self.names.get(id(value))
        if found is None:
            found = (path, value)  # holding the object keeps its id from being used again
            self.names[id(value)] = found
        return found[0]

    def paint(self, value: object, path: str, depth: int = 0) -> Picture:
        """Return the picture of a value; an object met before is shown by its name only."""
        if depth > _DEPTH_LIMIT:
            return "...deep..."
        if isinstance(value, _CONSTANTS):
            return repr(value)
        if isinstance(value, _NAMED):
            return type(value).__name__, getattr(value, "__name__", repr(value))
        if type(value) in (int, str, bytes):
            # Interning and small ints make identity of these an accident of the implementation.
            return type(value).__name__, repr(value)
        if type(value) is tuple and not value:
            return "()"
        name = self.name(value, path)
        if id(value) in self.drawn:
            return "is", name
        self.drawn.add(id(value))
        label = () if name == path else (("is", name),)
        return type(value).__qualname__, *label, *self._content(value, path, depth + 1)

    def _content(self, value: object, path: str, depth: int) -> tuple[Picture, ...]:
        for kinds, draw in _DRAWERS:
            if isinstance(value, kinds):
                return draw(self, value, path, depth)
        return self._plain_object(value, path, depth)

    # -- kinds of values ----------------------------------------------------------------------

    def _array(self, value: np.ndarray, path: str, depth: int) -> tuple[Picture, ...]:
        self.arrays.append((path, value))
        flags = value.flags
        # Of what np.broadcast_arrays gives, asking whether it may be written warns.
        writeable = "warns" if flags.num & _WARN_ON_WRITE else flags.writeable
        if value.dtype.hasobject:
            elements: Picture = tuple(
                self.paint(item, f"{path}.flat[{i}]", depth) for i, item in enumerate(value.flat)
            )
        else:
            elements = bits_of(value)
        base = None if value.base is None else self.paint(value.base, f"{path}.base", depth)
        extra = ()
        if type(value) is not np.ndarray:
            extra = (("attributes", self._attributes(value, path, depth)),)
            if isinstance(value, np.ma.MaskedArray):
                mask = np.array(np.ma.getmaskarray(value))
                extra += (("mask", bits_of(mask)), ("fill", repr(value.fill_value)))
        return (
            ("dtype", str(value.dtype), value.dtype.str),
            ("shape", value.shape),
            ("strides", value.strides),
            (
                "flags",
                f"owndata={flags.owndata} c={flags.c_contiguous} f={flags.f_contiguous} "
                f"writeable={writeable} aligned={flags.aligned}",
            ),
            ("base", base),
            ("elements", elements),
            *extra,
        )

    def _numpy_scalar(self, value: np.generic, path: str, depth: int) -> tuple[Picture, ...]:
        return (("dtype", value.dtype.str), ("value", bits_of(np.asarray(value))))

    def _float(self, value: float, path: str, depth: int) -> tuple[Picture, ...]:
        return (Bits("<f8", struct.pack("<d", value)),)

    def _complex(self, value: complex, path: str, depth: int) -> tuple[Picture, ...]:
        return (Bits("<f8", struct.pack("<dd", value.real, value.imag)),)

    def _sequence(self, value: object, path: str, depth: int) -> tuple[Picture, ...]:
        items = enumerate(value)  # type: ignore[arg-type]
        return tuple(self.paint(item, f"{path}[{i}]", depth) for i, item in items)

    def _mapping(self, value: dict[object, object], path: str, depth: int) -> tuple[Picture, ...]:
        return tuple(
            (self.paint(key, f"{path}.key{i}", depth), self.paint(item, f"{path}[{key!r}]", depth))
            for i, (key, item) in enumerate(value.items())
        )

    def _slice(self, value: slice, path: str, depth: int) -> tuple[Picture, ...]:
        parts = (("start", value.start), ("stop", value.stop), ("step", value.step))
        return tuple(self.paint(part, f"{path}.{name}", depth) for name, part in parts)

    def _range(self, value: range, path: str, depth: int) -> tuple[Picture, ...]:
        return (repr(value),)

    def _function(self, value: types.FunctionType, path: str, depth: int) -> tuple[Picture, ...]:
        code = value.__code__
        cells = []
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            try:
                held = cell.cell_contents
            except ValueError:
                cells.append((name, "empty"))
            else:
                cells.append((name, self.paint(held, f"{path}<{name}>", depth)))
        return (
            (value.__module__, value.__qualname__, code.co_filename, code.co_firstlineno),
            ("defaults", self.paint(value.__defaults__, f"{path}.__defaults__", depth)),
            ("kwdefaults", self.paint(value.__kwdefaults__, f"{path}.__kwdefaults__", depth)),
            ("annotations", repr(value.__annotations__)),
            ("closure", tuple(cells)),
            ("attributes", self._attributes(value, path, depth)),
        )

    def _method(self, value: types.MethodType, path: str, depth: int) -> tuple[Picture, ...]:
        return (
            self.paint(value.__self__, f"{path}.__self__", depth),
            self.paint(value.__func__, f"{path}.__func__", depth),
        )

    def _builtin(self, value: object, path: str, depth: int) -> tuple[Picture, ...]:
        owner = getattr(value, "__self__", None)
        owner = None if isinstance(owner, types.ModuleType) else owner
        return (
            getattr(value, "__qualname__", repr(value)),
            self.paint(owner, f"{path}.__self__", depth),
        )

    def _dtype(self, value: np.dtype, path: str, depth: int) -> tuple[Picture, ...]:
        return (repr(value), value.str)

    def _random(self, value: object, path: str, depth: int) -> tuple[Picture, ...]:
        state = (
            value.bit_generator.state
            if isinstance(value, np.random.Generator)
            else value.get_state()  # type: ignore[attr-defined]
        )
        return (hashlib.sha256(repr(state).encode()).hexdigest()[:16],)

    def _set(self, value: set[object], path: str, depth: int) -> tuple[Picture, ...]:
        # The order of iteration is visible, and the same for the same history of insertions.
        return tuple(self.paint(item, f"{path}{{{i}}}", depth) for i, item in enumerate(value))

    def _deque(
        self, value: collections.deque[object], path: str, depth: int
    ) -> tuple[Picture, ...]:
        return (("maxlen", repr(value.maxlen)), *self._sequence(value, path, depth))

    def _generator(self, value: types.GeneratorType, path: str, depth: int) -> tuple[Picture, ...]:
        frame = value.gi_frame
        return (value.__qualname__, "finished" if frame is None else ("line", frame.f_lineno))

    def _iterator(self, value: Iterator[object], path: str, depth: int) -> tuple[Picture, ...]:
        try:
            reduced = value.__reduce__()  # reads, and does not advance, the built-in iterators
        except TypeError:
            return (repr(type(value)),)
        return (self.paint(tuple(reduced[1:]), f"{path}.state", depth),)

    def _exception(self, value: BaseException, path: str, depth: int) -> tuple[Picture, ...]:
        return self.exception_facts(value, path, depth)

    def _attributes(self, value: object, path: str, depth: int) -> Picture:
        found: list[tuple[str, Picture]] = []
        if is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in fields(value) if hasattr(value, field.name)]
        else:
            names = list(getattr(value, "__dict__", {}))
            for owner in type(value).__mro__:
                slots = owner.__dict__.get("__slots__", ())
                slots = (slots,) if isinstance(slots, str) else slots
                names += [name for name in slots if hasattr(value, name)]
        for name in names:
            found.append((name, self.paint(getattr(value, name), f"{path}.{name}", depth)))
        return tuple(found)

    def _plain_object(self, value: object, path: str, depth: int) -> tuple[Picture, ...]:
        return (self._attributes(value, path, depth),)

    # -- exceptions ---------------------------------------------------------------------------

    def exception_facts(
        self, error: BaseException, path: str, depth: int = 0
    ) -> tuple[tuple[str, Picture], ...]:
        """Return type, arguments, text, traceback entries, causes, contexts and notes."""
        links = ("__cause__", "__context__")
        chain = tuple(
            (link, self.paint(getattr(error, link), f"{path}.{link}", depth + 1)) for link in links
        )
        attributes = [
            (name, self.paint(getattr(error, name, None), f"{path}.{name}", depth + 1))
            for name in ("name", "obj", "axis", "ndim", "ufunc", "code", "value", "errno")
            if hasattr(error, name)
        ]
        return (
            ("type", f"{type(error).__module__}.{type(error).__qualname__}"),
            ("args", self.paint(error.args, f"{path}.args", depth + 1)),
            ("str", _safe_text(error)),
            ("traceback", tuple(self.traceback_entries(error.__traceback__))),
            *chain,
            ("__suppress_context__", repr(error.__suppress_context__)),
            ("__notes__", tuple(getattr(error, "__notes__", ()))),
            ("attributes", tuple(attributes)),
            ("__dict__", self.paint(dict(vars(error)), f"{path}.__dict__", depth + 1)),
        )

    def traceback_entries(self, entry: types.TracebackType | None) -> Iterator[Picture]:
        """Yield file, function, line and columns of each entry, the harness's left out."""
        while entry is not None:
            code = entry.tb_frame.f_code
            if code.co_filename not in self.hidden_files:
                at, lineno = entry.tb_lasti, entry.tb_lineno
                if dis.opname[code.co_code[at]] in _NEVER_RAISE:
                    at, lineno = at + 2, None
                position = next(itertools.islice(code.co_positions(), at // 2, None))
                lineno = position[0] if lineno is None else lineno
                if dis.opname[code.co_code[at]] in _PAIRED_WHEN_WARM:
                    position = position[:2]
                yield (
                    code.co_filename,
                    code.co_qualname,
                    code.co_name,
                    f"first line {code.co_firstlineno}",
                    f"line {lineno}",
                    f"position {position}",
                )
            entry = entry.tb_next

    # -- memory -------------------------------------------------------------------------------

    def shared_memory(self) -> tuple[Picture, ...]:
        """Return each pair of drawn arrays that share memory, with the distance of their data."""
        found = []
        for (a_path, a), (b_path, b) in itertools.combinations(self.arrays[:_PAIR_LIMIT], 2):
            if a.size and b.size and np.may_share_memory(a, b):
                distance = a.__array_interface__["data"][0] - b.__array_interface__["data"][0]
                exact = np.shares_memory(a, b) if max(a.ndim, b.ndim) <= 3 else True
                found.append((a_path, b_path, f"distance {distance}", f"overlap {exact}"))
        return tuple(found)


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as inner:  # a user's __str__ may raise: that is part of the picture
        return f"<str() raised {type(inner).__name__}>"


_ITERATORS = tuple(
    type(iter(made)) for made in ([], (), {}, {}.values(), {}.items(), "", range(0), set())
) + (map, zip, enumerate, reversed, type(reversed([])))

_DRAWERS = (
    (np.ndarray, Painter._array),
    (np.generic, Painter._numpy_scalar),
    (float, Painter._float),
    (complex, Painter._complex),
    (BaseException, Painter._exception),
    ((list, tuple), Painter._sequence),
    (dict, Painter._mapping),
    ((set, frozenset), Painter._set),
    (collections.deque, Painter._deque),
    (slice, Painter._slice),
    (range, Painter._range),
    (types.FunctionType, Painter._function),
    (types.MethodType, Painter._method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Painter._builtin),
    (np.dtype, Painter._dtype),
    ((np.random.Generator, np.random.RandomState), Painter._random),
    (types.GeneratorType, Painter._generator),
    (_ITERATORS, Painter._iterator),
)


def differences(want: Picture, got: Picture, path: str = "") -> Iterator[str]:
    """Yield one line for each place at which two pictures differ."""
    if want == got and type(want) is type(got):
        return
    if isinstance(want, Bits) and isinstance(got, Bits):
        yield f"{path}: {want.difference(got)}"
    elif isinstance(want, tuple) and isinstance(got, tuple) and len(want) == len(got):
        for index, (left, right) in enumerate(zip(want, got, strict=True)):
            yield from differences(left, right, f"{path}{_label(left, index)}")
    elif isinstance(want, tuple) and isinstance(got, tuple):
        common = 0
        for left, right in zip(want, got, strict=False):
            if left != right:
                break
            common += 1
        yield (
            f"{path}: {len(want)} parts plain, {len(got)} transformed, from part {common} on: "
            f"{_short(want[common:])} != {_short(got[common:])}"
        )
    else:
        yield f"{path}: {_short(want)} != {_short(got)}"


def _label(part: Picture, index: int) -> str:
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str):
        return f".{part[0]}"
    return f"/{index}"


def _short(picture: Picture, limit: int = 600) -> str:
    if isinstance(picture, tuple):
        text = "(" + ", ".join(_short(part) for part in picture) + ")"
    else:
        text = str(picture)
    return text if len(text) <= limit else text[:limit] + "..."
