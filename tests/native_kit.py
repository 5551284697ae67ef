"""Programs of kernels run two ways: as machine code, and item by item by NumPy."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from bcjit import _core
from bcjit.backends.native.compiled import compiled
from bcjit.backends.native.program import Program, can_compute, loop_of
from bcjit.backends.native.scalars import Apply, Constant, Element, Number
from bcjit.ops.scalar_functions import CAST, CLIP, SCALAR_FUNCTIONS, SELECT

CHARS = "?bhilqBHILQefdFD"
FUNCTIONS = {**SCALAR_FUNCTIONS, "clip": CLIP}


class FellBack(Exception):
    """The kernel asked NumPy to do it."""


def _refuse(*_args):
    raise FellBack


def loops(chars=CHARS):
    """Yield each function and the dtypes of each of its loops that a kernel can compute."""
    for function in FUNCTIONS.values():
        seen = set()
        for text in function.ufunc.types:
            given, made = text.split("->")
            dtypes = tuple(map(np.dtype, given + made))
            if not set(given + made) <= set(chars) or len(made) != 1 or dtypes in seen:
                continue
            seen.add(dtypes)
            if can_compute(apply(function, dtypes)):
                yield function, dtypes


def apply(function, dtypes, first=0):
    """Return a function of elements of operands, from a first one on."""
    operands = [Element(first + i, dtype) for i, dtype in enumerate(dtypes[:-1])]
    return Apply(function, tuple(dtypes), tuple(operands))


def program_of(*items, numbers=()):
    """Return the program whose results are some items."""
    probe = Program(items, (), ())
    elements = {item.operand: item.dtype for item in probe.items if isinstance(item, Element)}
    return Program(items, tuple(elements[i] for i in range(len(elements))), tuple(numbers))


def kernel_of(program, fallback=_refuse, *, checks_flags=1):
    """Return a program as a callable of arrays, then Python numbers."""
    code = compiled(program)
    n = len(program.operands)
    addresses = [
        address for item in program.by_loop for address in loop_of(item.function, item.dtypes)
    ]
    return _core.Kernel(
        code.loaded.address,
        code.loaded,
        fallback,
        n + len(program.numbers),
        n + len(program.numbers),
        tuple((i, dtype.num) for i, dtype in enumerate(program.operands)),
        tuple((n + i, dtype.num, False) for i, dtype in enumerate(program.numbers)),
        tuple(item.dtype.num for item in program.results),
        tuple(addresses),
        code.width,
        code.block,
        code.scratch,
        checks_flags,
        False,
    )


def interpret(program, *given):
    """Return what NumPy makes of a program: one call for each item."""
    arrays, numbers = given[: len(program.operands)], given[len(program.operands) :]
    values = {}
    for item in program.items:
        if isinstance(item, Element):
            values[item] = arrays[item.operand]
        elif isinstance(item, Number):
            values[item] = np.asarray(numbers[item.slot]).astype(item.dtype)[()]
        elif isinstance(item, Constant):
            values[item] = item.value
        else:
            operands = [values[operand] for operand in item.operands]
            values[item] = applied(item.function, item.dtypes, operands)
    results = tuple(values[item] for item in program.results)
    return results if len(results) > 1 else results[0]


def applied(function, dtypes, operands):
    """Return a function of arrays."""
    if function.name == "cast":
        return operands[0].astype(dtypes[-1])
    if function.name == "select":
        return np.where(*operands)
    return function.ufunc(*operands, signature=dtypes)


@contextmanager
def flags_of_kernels():
    """Give what flags kernels raise; these keep their results."""
    raised = []

    def noted(flags):
        raised.append(flags)
        return False

    _core.set_flags_test(noted)
    try:
        yield raised
    finally:
        _core.set_flags_test(None)


@contextmanager
def flags_of_numpy():
    """Give what flags NumPy speaks of, as kernels number them."""
    raised = []
    with np.errstate(all="call", call=lambda _kind, flags: raised.append(flags)):
        yield raised


def special(dtype):
    """Return the values of a dtype at which functions have their cases."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, info.max - 1, info.max, info.max // 2 + 1]
        values += [info.min, info.min + 1, -1, -2, -3, -7] if info.min else []
        return np.array([value for value in values if value <= info.max], dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        values = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 1e-3, 100.7, 254.9, np.pi, np.inf, np.nan]
        values += [float(info.tiny), float(info.smallest_subnormal), float(info.max), 6e4]
        values += [float(info.tiny) * (1 - float(info.epsneg)), 0.49999999999999994]
        if dtype.itemsize > 2:
            values += [2.0**31, 2.0**31 - 0.5, 2.0**52 + 1.0, 2.0**63, 1e30, 1e19, 32768.5]
        if dtype.itemsize > 4:
            values += [1e300, 7e-46, 3.5e38]
        return np.array(values + [-value for value in values], dtype)
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1e-3, float(np.finfo(dtype).max)]
    made = np.empty(len(parts) ** 2, dtype)
    made.real = np.repeat(parts, len(parts))
    made.imag = np.tile(parts, len(parts))
    return made


def combinations(dtypes):
    """Return operands in which each special value meets each of the others (of three operands, some)."""
    values = [special(dtype) for dtype in dtypes]
    if dtypes[0].kind == "c" and len(dtypes) > 1:
        values = [one[:: 3 - i] for i, one in enumerate(values)]
    if len(dtypes) == 3:
        values = [one[:: 2 if len(one) > 12 else 1] for one in values]
    grid = np.meshgrid(*(np.arange(len(one)) for one in values), indexing="ij")
    return [one[index.ravel()] for one, index in zip(values, grid, strict=True)]


def bits(array, *, any_nan=False):
    """Return an array as integers; with `any_nan` all NaN are one."""
    array = np.array(array, copy=True)
    if array.dtype.kind == "c":
        array = array.view(f"f{array.dtype.itemsize // 2}")
    if array.dtype.kind == "f" and any_nan:
        array[np.isnan(array)] = np.nan
    return array.view(f"u{array.dtype.itemsize}")


def same(one, other, *, any_nan=False):
    """Whether two arrays cannot be told apart: dtype, shape, layout, flags, bits."""
    return (
        type(one) is type(other)
        and one.dtype == other.dtype
        and one.shape == other.shape
        and one.strides == other.strides
        and repr(one.flags) == repr(other.flags)
        and (getattr(one, "base", None) is None) == (getattr(other, "base", None) is None)
        and bool(
            (bits(one.ravel("K"), any_nan=any_nan) == bits(other.ravel("K"), any_nan=any_nan)).all()
        )
    )


# Functions of random programs, by the loops they are taken with.
_BINARY = {
    "d": ("add", "subtract", "multiply", "maximum", "arctan2", "hypot", "copysign"),
    "f": ("add", "subtract", "multiply", "minimum", "arctan2"),
    "q": ("add", "multiply", "bitwise_xor", "left_shift", "minimum"),
    "e": ("add", "multiply", "maximum"),
    "D": ("add", "subtract", "multiply"),
    "?": ("logical_and", "bitwise_xor"),
}
_UNARY = {
    "d": ("negative", "exp", "sqrt", "tanh", "rint", "sign"),
    "f": ("absolute", "sin", "floor"),
    "q": ("negative", "sign", "invert"),
    "e": ("negative", "sqrt"),
    "D": ("conjugate", "negative", "exp"),
    "?": ("logical_not",),
}
_CASTS = ("df", "fd", "qd", "?q", "?d", "fe", "ef", "dD", "qf", "?f", "bq", "qb")


def random_program(rng, size):
    """Return a program of random items, some used several times, of rules and loops in any order."""
    chars = rng.choice(list("ddfqeD?"), rng.integers(1, 4))
    items = [Element(i, np.dtype(str(char))) for i, char in enumerate(chars)]
    items += [
        Constant(np.dtype(char).type(value)) for char, value in (("d", 0.75), ("q", 3), ("f", -2))
    ]
    items += [Number(0, np.dtype("d"))]
    made = []

    def of(char):
        found = [item for item in items if item.dtype.char == char]
        # Rather what was made last.
        return found[-1 - min(int(rng.exponential(2)), len(found) - 1)]

    while len(made) < size:
        kind = rng.random()
        char = items[rng.integers(len(items))].dtype.char
        if kind < 0.25:
            casts = [pair for pair in _CASTS if pair[0] == char]
            if not casts:
                continue
            pair = casts[rng.integers(len(casts))]
            item = Apply(CAST, tuple(map(np.dtype, pair)), (of(char),))
        elif kind < 0.4 and char in "dfq":
            row = FUNCTIONS[str(rng.choice(["less", "equal", "greater_equal"]))]
            item = Apply(row, (np.dtype(char), np.dtype(char), np.dtype("?")), (of(char), of(char)))
        elif kind < 0.5 and any(one.dtype.char == "?" for one in items) and char in "dfqe":
            dtypes = tuple(map(np.dtype, "?" + char * 3))
            item = Apply(SELECT, dtypes, (of("?"), of(char), of(char)))
        else:
            table, count = (_UNARY, 1) if kind < 0.7 else (_BINARY, 2)
            if char not in table:
                continue
            row = FUNCTIONS[str(rng.choice(table[char]))]
            operands = tuple(of(char) for _ in range(count))
            item = Apply(row, (np.dtype(char),) * (count + 1), operands)
        if not can_compute(item):
            continue
        items.append(item)
        made.append(item)
    results = dict.fromkeys([made[-1], *rng.choice(np.array(made, object), min(len(made), 5))])
    used = program_of_results(tuple(results))
    return used


def program_of_results(results):
    """Return the program of some results, with the operands that it has left numbered anew."""
    probe = Program(results, (), ())
    elements = [item for item in probe.items if isinstance(item, Element)]
    if not elements:
        return None
    places = {item: Element(i, item.dtype) for i, item in enumerate(elements)}
    for item in probe.items:
        if isinstance(item, Apply):
            given = tuple(places.get(operand, operand) for operand in item.operands)
            places[item] = Apply(item.function, item.dtypes, given)
    numbers = [item.dtype for item in probe.items if isinstance(item, Number)]
    return Program(
        tuple(places[item] for item in results),
        tuple(item.dtype for item in elements),
        tuple(numbers),
    )
