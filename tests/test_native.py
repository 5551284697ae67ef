"""Machine code against NumPy, bit for bit: values, dtypes, layout, and the flags of which NumPy would speak.

By default a slice: each function at all its special values, several loops to a kernel. With ``BCJIT_FULL=1`` each loop alone, with its flags at
each combination of values.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from conftest import FULL
from native_kit import (
    CHARS,
    FUNCTIONS,
    FellBack,
    applied,
    apply,
    bits,
    combinations,
    flags_of_kernels,
    flags_of_numpy,
    interpret,
    kernel_of,
    loops,
    program_of,
    random_program,
    same,
    special,
)

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.backends.native.build import build
from bcjit.backends.native.compiled import compiled
from bcjit.backends.native.division import QUOTIENTS
from bcjit.backends.native.program import can_compute
from bcjit.backends.native.rules import has_rule
from bcjit.backends.native.scalars import Apply, Constant, Element, Number
from bcjit.ops.scalar_functions import CAST, SELECT

pytestmark = [
    pytest.mark.skipif(not has_llvm(), reason="needs llvmlite"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
]
F8, F4, I8, B1 = map(np.dtype, ("f8", "f4", "i8", "?"))
f8_add, f8_multiply, f8_exp = (FUNCTIONS[name] for name in ("add", "multiply", "exp"))


def cases_of(name):
    """Return the loops of one function that are tested."""
    if name == "cast":
        pairs = [tuple(map(np.dtype, pair)) for pair in itertools.permutations(CHARS, 2)]
        return [(CAST, pair) for pair in pairs if can_compute(apply(CAST, pair))]
    if name == "select":
        kinds = [(B1, np.dtype(c), np.dtype(c), np.dtype(c)) for c in CHARS]
        return [(SELECT, kind) for kind in kinds if can_compute(apply(SELECT, kind))]
    return [case for case in loops() if case[0].name == name]


def together(cases):
    """Return a program of several loops and operands for it, all equally long."""
    items, operands = [], []
    for function, dtypes in cases:
        items.append(apply(function, dtypes, len(operands)))
        operands += combinations(dtypes[:-1])
    size = max(map(len, operands))
    return program_of(*items), [np.resize(one, size) for one in operands]


def chunks(cases):
    """Split loops so that each piece fits a kernel."""
    return [cases[i : i + 8] for i in range(0, len(cases), 8)]


def in_range(given, dtype):
    """Return which floats an integer dtype has room for."""
    info = np.iinfo(dtype)
    cut = np.trunc(given)
    return (cut >= float(info.min)) & (cut < float(info.max) + (1 if dtype.itemsize < 8 else 0))


# Of quotients some are left to NumPy: see test_native_division.
NAMES = (
    sorted({*(function.name for function, _ in loops()), "cast", "select"} - QUOTIENTS)
    if has_llvm()
    else []
)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_gives_numpys_bits_in_all_its_loops(name):
    for cases in chunks(cases_of(name)):
        program, operands = together(cases)
        with flags_of_kernels(), np.errstate(all="ignore"):
            made = kernel_of(program)(*operands)
            wanted = interpret(program, *operands)
        made, wanted = ((one,) if isinstance(one, np.ndarray) else one for one in (made, wanted))
        for case, one, other in zip(cases, made, wanted, strict=True):
            # Which of two NaN comes through is left open.
            any_nan = case[0].nin > 1 and name != "select"
            if name == "cast" and case[1][0].kind == "f" and case[1][1].kind in "iu":
                # What is out of range raises a flag, and NumPy does it.
                given = operands[cases.index(case)].astype(float)
                inside = in_range(given, case[1][1])
                one, other = one[inside], other[inside]
            assert same(one, other, any_nan=any_nan), case


def flag_cases():
    """Yield loops whose flags are compared: by default one of each function that has a rule, of float64 if there is one."""
    for name in NAMES:
        cases = [case for case in cases_of(name) if FULL or has_rule(*case)]
        cases = [case for case in cases if "f" in {dtype.kind for dtype in case[1]} or FULL]
        if not FULL:
            cases = sorted(cases, key=lambda case: F8 not in case[1])[:1]
        for function, dtypes in cases:
            yield pytest.param(function, dtypes, id=f"{name}-{''.join(d.char for d in dtypes)}")


@pytest.mark.parametrize(("function", "dtypes"), list(flag_cases()))
def test_a_function_raises_the_flags_of_which_numpy_speaks_and_no_other(function, dtypes):
    program = program_of(apply(function, dtypes))
    kernel = kernel_of(program)
    operands = combinations(dtypes[:-1])
    step = 1 if FULL else max(len(operands[0]) // 60, 1)
    for i in range(0, len(operands[0]), step):
        one = [operand[i : i + 1] for operand in operands]
        allowed = flags_allowed(dtypes, program, *one)
        if function.name == "clip" and any(map(twins, *zip(*itertools.combinations(one, 2)))):
            allowed |= {found | 8 for found in allowed}  # which of two is taken, NumPy says
        assert flags(kernel, *one) in allowed, one


def twins(one, other):
    """Say whether what is equal, or both NaN, has other bits: zeros of both signs."""
    alike = one == other if not np.isnan(one).all() else np.isnan(other)
    return bool(alike.all()) and one.tobytes() != other.tobytes()


def flags(kernel, *given):
    """Return the flags that a kernel raises."""
    with flags_of_kernels() as raised:
        kernel(*given)
    return raised[0] if raised else 0


def flags_allowed(dtypes, program, *given):
    """Return what a kernel may raise: the flags of NumPy's; of float16 underflow too, wherever it is near.

    An element alone, unlike several, raises none where it is too large for uint32.
    """
    with flags_of_numpy() as spoken:
        interpret(program, *given)
    found = spoken[0] if spoken else 0
    if dtypes[-1].char == "I" and dtypes[0].kind == "f":
        return {found, found | 8}
    return {found, found | 4} if dtypes[-1].char == "e" else {found}


@pytest.mark.parametrize("char", "ef")
def test_float16_underflows_where_numpy_says_so(char):
    # Just below the smallest normal number NumPy speaks of underflow although the result is normal once it is rounded.
    half = np.dtype("e")
    program = program_of(
        apply(FUNCTIONS["multiply"], (half,) * 3)
        if char == "e"
        else apply(CAST, (np.dtype("f"), half))
    )
    kernel = kernel_of(program)
    given = np.array([6.1e-5, 6.1035e-5, 6.10e-5, 1.0, 0.0, 1e-8], "e" if char == "e" else "f")
    for one in given:
        operands = [np.full(3, one)] * len(program.operands)
        with flags_of_numpy() as spoken:
            interpret(program, *operands)
        raised = flags(kernel, *operands)
        assert raised & (spoken[0] if spoken else 0) == (spoken[0] if spoken else 0)


def mixed_program():
    """Return a program with a rule, a loop, a second stage, a number and a constant: three results of two widths."""
    x, y, k = Element(0, F8), Element(1, F8), Number(0, F8)
    total = Apply(f8_add, (F8, F8, F8), (x, Apply(f8_multiply, (F8, F8, F8), (y, k))))
    grown = Apply(f8_exp, (F8, F8), (Apply(FUNCTIONS["negative"], (F8, F8), (total,)),))
    last = Apply(f8_add, (F8, F8, F8), (grown, Constant(np.float64(0.25))))
    low = Apply(FUNCTIONS["less"], (F8, F8, B1), (grown, y))
    return program_of(last, low, Apply(CAST, (F8, F4), (last,)), numbers=(F8,))


def test_lengths_around_a_vector_and_a_block():
    program = mixed_program()
    kernel, code = kernel_of(program), compiled(program)
    w, block = code.width, code.block
    rng = np.random.default_rng(1)
    for n in (
        0,
        1,
        w - 1,
        w,
        w + 1,
        2 * w + 3,
        block - 1,
        block,
        block + 1,
        2 * block + w - 1,
        1500,
    ):
        x, y = rng.standard_normal((2, n + 1))[:, :n]
        for one, other in zip(kernel(x, y, 3), interpret(program, x, y, 3.0), strict=True):
            assert same(one, other), n


@pytest.mark.parametrize("seed", range(400 if FULL else 12))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, int(rng.choice([2, 5, 12, 30])))
    if program is None:
        return
    code = compiled(program)
    numbers = [1.25] * len(program.numbers)
    for n in (code.width + 1, 3, min(code.block, 2000) + 5):
        given = [rng.choice(special(dtype), n) for dtype in program.operands]
        with flags_of_kernels(), np.errstate(all="ignore"):
            made = kernel_of(program)(*given, *numbers)
            wanted = interpret(program, *given, *numbers)
        made, wanted = ((one,) if isinstance(one, np.ndarray) else one for one in (made, wanted))
        for one, other in zip(made, wanted, strict=True):
            other = np.broadcast_to(other, one.shape).copy()  # of constants alone
            assert same(one, other, any_nan=True), program.key


def layouts():
    """Yield pairs of operands, by how they lie."""
    rng = np.random.default_rng(2)

    def new(*shape):
        return rng.standard_normal(shape)

    def strided(*shape, step=2):
        return new(*shape[:-1], shape[-1] * step)[..., ::step]

    def misaligned(*shape):
        raw = np.zeros(8 * int(np.prod(shape)) + 1, "u1")[1:].view("f8").reshape(shape)
        raw[...] = new(*shape)
        return raw

    read_only = new(3, 40)
    read_only.flags.writeable = False
    window = np.lib.stride_tricks.sliding_window_view(new(60), 20)
    yield "strided", strided(37), new(37)
    yield "strided both ways", strided(37), strided(37, step=5)
    yield "reversed", new(37)[::-1], new(37)
    yield "both reversed", new(37)[::-1], new(37)[::-1]
    yield "rows reversed", new(5, 40)[::-1], new(5, 40)
    yield "Fortran", np.asfortranarray(new(5, 40)), np.asfortranarray(new(5, 40))
    yield "Fortran and C", np.asfortranarray(new(5, 40)), new(5, 40)
    yield "transposed", new(40, 5).T, new(40, 5).T
    yield "axes turned", new(3, 4, 5).transpose(1, 2, 0), new(3, 4, 5).transpose(1, 2, 0)
    yield "inner axes turned", new(3, 4, 50).transpose(0, 2, 1), new(3, 50, 4)
    yield "row", new(4, 130), new(130)
    yield "row, Fortran", np.asfortranarray(new(4, 130)), new(130)
    yield "column", new(4, 130), new(4, 1)
    yield "column, long rows", new(3, 2100), new(3, 1)
    yield "column and row", new(6, 1), new(7)
    yield "outer, long", new(3, 1), new(1200)
    yield "one element", new(3, 7), new(1)
    yield "one element of two axes", new(7), new(1, 1)
    yield "0-d", new(3, 7), np.array(1.5)
    yield "middle axis", new(3, 5, 7), new(3, 1, 7)
    yield "many repeats", new(4, 1, 300), new(1, 5, 1)
    yield "broadcast", np.broadcast_to(new(7), (6, 7)), new(6, 7)
    yield "both broadcast", np.broadcast_to(new(7), (6, 7)), np.broadcast_to(new(7), (6, 7))
    yield "misaligned", misaligned(3, 7), new(3, 7)
    yield "byte order", new(3, 7).astype(">f8"), new(3, 7)
    yield "windows", window, new(41, 20)
    yield "windows and a column of them", window, window[:, 3:4]
    yield "read-only", read_only, new(3, 40)
    yield "part of rows", new(9, 50)[2:7, 3:45], new(5, 42)
    yield "axes of one element", new(1, 40, 1), new(1, 40, 1)[:, ::2].repeat(2, 1)
    yield "Fortran, axis of one element", np.asfortranarray(new(1, 40)), new(1, 40)
    yield "Fortran in three axes", np.asfortranarray(new(3, 4, 5)), np.asfortranarray(new(3, 4, 5))
    yield "empty", new(0, 7), new(1, 7)
    yield "no axis of elements", new(3, 0), new(3, 1)
    yield "six axes", new(2, 1, 3, 1, 2, 5), new(3, 1, 2, 1, 1)
    yield "structure's field", np.zeros(30, [("a", "f8"), ("b", "i4")])["a"], new(30)


@pytest.mark.parametrize(("x", "y"), [pytest.param(*c[1:], id=c[0]) for c in layouts()])
def test_layouts_of_operands(x, y):
    program = mixed_program()
    wanted = interpret(program, x, y, 2.0)
    made = kernel_of(program, lambda *given: interpret(program, *given))(x, y, 2.0)
    for one, other in zip(made, wanted, strict=True):
        assert same(one, other)
    swapped = interpret(program, y, x, 2.0)
    made = kernel_of(program, lambda *given: interpret(program, *given))(y, x, 2.0)
    for one, other in zip(made, swapped, strict=True):
        assert same(one, other)


def compile_native(fn):
    bcjit.config.strict = True  # a mistake of ours is not run plainly
    return bcjit.compile(fn, backend=Native(smallest=1))


NUMBERS = (
    0, 1, -1, 2, 127, 128, 255, 256, -128, -129, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63),
    10**40, 0.5, -0.0, 1e300, 1e39, 3.4028235677973366e38, 1e-46, 65520.0, float("inf"), float("nan"),
    True, False, 2j, complex(1e300, -0.0), np.complex64(1 - 2j), np.complex128(3j), np.float64(1e300), np.float32(0.1), np.int64(3), np.uint8(200), np.bool_(True),
)  # fmt: skip


def outcome(fn, *given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = fn(*given)
        except Exception as raised:
            return type(raised), str(raised), []
    return result, None, [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("char", "?BbQqefdFD" if FULL else "BqefFD")
def test_numbers_as_operands(char):
    def fn(x, k):
        return x * k, x < k

    compiled_fn = compile_native(fn)
    x = np.resize(np.array([0, 1, 2, 100]), 20).astype(char)
    for k in NUMBERS:
        plain, made = outcome(fn, x, k), outcome(compiled_fn, x, k)
        assert plain[1:] == made[1:], k
        if plain[1] is not None:
            assert plain[0] is made[0]
            continue
        for one, other in zip(made[0], plain[0], strict=True):
            assert same(one, other, any_nan=True), k


def test_what_numpy_gives_as_a_view_is_one():
    def fn(x, y):
        return np.isclose(x, y), np.isclose(x, 0.0) | (y > 1)

    x = np.arange(5.0)
    assert all(map(same, compile_native(fn)(x, x[::-1].copy()), fn(x, x[::-1].copy())))


def test_exponents_are_read_as_numpy_reads_them():
    # NumPy's loop for powers takes another way where all exponents are one.
    def fn(x, y):
        return x**y + 1.0

    made = compile_native(fn)
    x = np.linspace(0.1, 3.0, 120).reshape(4, 30)
    for y in (np.array(0.5), np.full((4, 1), 0.5), np.full((4, 30), 0.5), 0.5, np.float64(-1.5)):
        assert same(made(x, y), fn(x, y))


def test_operands_of_large_complex_products_are_swapped_where_numpy_swaps_them():
    def fn(x, y):
        return x * (x + y)

    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 20_000)) + 1j * rng.standard_normal((2, 20_000))
    assert same(compile_native(fn)(x, y), fn(x, y))


def test_float16_that_lies_apart_goes_numpys_other_way():
    def fn(x):
        return np.arcsin(x) + np.expm1(x)

    x = np.linspace(-1, 1, 2000).astype("f2")
    made = compile_native(fn)
    for given in (x, x[::2], x[::3]):
        assert same(made(given), fn(given))


def test_floats_beyond_the_range_of_integers():
    def fn(x):
        return (x + 0.5).astype(np.uint32), (x * 2).astype(np.int8)

    made = compile_native(fn)
    fine, beyond = np.arange(20.0), np.array([1e30, np.nan, -1.5, 300.0, 4e9] * 4)
    for given in (fine, beyond, fine):
        for state in ("warn", "ignore", "raise"):
            with np.errstate(invalid=state):
                plain, kernel = outcome(fn, given), outcome(made, given)
            assert plain[1:] == kernel[1:]
            if plain[1] is None:
                assert all(map(same, plain[0], kernel[0]))


@pytest.mark.parametrize("state", ["raise", "call", "log", "warn", "print", "ignore"])
def test_what_numpy_says_of_flags(state, capsys):
    def fn(x, y):
        a = x / y
        b = np.sqrt(a - 1)
        return np.where(b > 1, a, b) * 1e200

    class Log:
        def __init__(self):
            self.said = []

        def write(self, text):
            self.said.append(text)

    def run(function, x, y):
        log, called = Log(), []
        handler = log if state == "log" else lambda *given: called.append(given)
        with np.errstate(all=state, call=handler):
            return outcome(function, x, y), log.said, called, capsys.readouterr()

    x = np.array([1.0, 0.0, 3.0, -2.0, 1e200, np.nan] * 4)
    y = np.array([2.0, 0.0, 0.0, 4.0, 1e-200, 1.0] * 4)
    made = compile_native(fn)
    for given in ((x, y), (x[:1], y[:1]), (x, y)):
        plain, kernel = run(fn, *given), run(made, *given)
        assert plain[1:] == kernel[1:]
        assert plain[0][1:] == kernel[0][1:]
        if plain[0][1] is None:
            assert same(kernel[0][0], plain[0][0], any_nan=True)


@pytest.mark.parametrize(
    ("function", "dtypes"),
    [case for case in loops() if not has_rule(*case)][:: 1 if FULL else 9] if has_llvm() else [],
)
def test_no_loop_takes_back_the_flags_of_what_came_before(function, dtypes):
    # Some clear the processor's flags when they are done, those of others too.
    divided = Apply(FUNCTIONS["divide"], (F8, F8, F8), (Element(0, F8), Element(1, F8)))
    program = program_of(divided, apply(function, dtypes, 2))
    operands = [np.ones(2500, dtype) for dtype in dtypes[:-1]]
    zeros = np.arange(2500.0) != 3  # in one block only
    assert flags(kernel_of(program), np.ones(2500), zeros.astype(F8), *operands) & 1


def test_tanh_does_not_hide_what_was_wrong_before():
    def fn(x):
        return np.tanh(np.sqrt(x))

    made = compile_native(fn)
    for function in (fn, made):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
            function(np.array([-1.0] * 9))


def test_warnings_that_are_errors():
    def fn(x):
        return np.log(x) + 1

    made = compile_native(fn)
    for function in (fn, made, made):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
                function(np.zeros(9))


def test_compiling_leaves_what_was_warned_of_once():
    # Entering `warnings.catch_warnings` makes Python forget which warnings it has given.
    def fn(x):
        warnings.warn("said", stacklevel=1)
        return x * 0 + 1

    made = compile_native(fn)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        made(np.ones(3))
        made(np.ones(3))
    assert len(caught) == 1


def test_comparisons_of_nan_are_no_reason_to_ask_numpy():
    def fn(x, y):
        return np.where(x < y, np.sqrt(x), np.maximum(x, y))

    x, y = np.array([1.0, np.nan, 2.0] * 7), np.array([2.0, 1.0, np.nan] * 7)
    program = program_of(
        Apply(
            SELECT,
            (B1, F8, F8, F8),
            (
                apply(FUNCTIONS["less"], (F8, F8, B1)),
                Apply(FUNCTIONS["sqrt"], (F8, F8), (Element(0, F8),)),
                apply(FUNCTIONS["maximum"], (F8, F8, F8)),
            ),
        )
    )
    with pytest.raises(FellBack):
        kernel_of(program)(-x, y)
    assert same(kernel_of(program)(x, y), fn(x, y), any_nan=True)


def test_a_scalar_function_is_interpreted_as_numpy_does():
    x = np.array([1.5, -2.0])
    assert applied(CAST, (F8, I8), [x]).tolist() == [1, -2]
    assert bits(np.array([1 + 2j, np.nan]), any_nan=True).shape == (4,)


TRACED = {
    "where": lambda x, y: np.where(x > 0, x, y),
    "where of numbers": lambda x, y: np.where(x > y, 1.0, -1),
    "clip": lambda x, y: np.clip(x, -0.5, y),
    "clip, named": lambda x, y: np.clip(x, a_min=y, a_max=None),
    "ndarray.clip": lambda x, y: x.clip(max=0.5) + y,
    "astype": lambda x, y: x.astype(np.float32) + y.astype("i8"),
    "round": lambda x, y: np.round(x, 2) + y.round() + np.around(y, -1),
    "angle": lambda x, y: np.angle(x, deg=True) + np.angle(y),
    "infinities": lambda x, y: np.isposinf(x) | np.isneginf(y / 0.0),
    "nan_to_num": lambda x, y: np.nan_to_num(x, nan=-1.0) + np.nan_to_num(y / x, posinf=3),
    "sinc": lambda x, y: np.sinc(x) * y,
    "trunc": lambda x, y: np.trunc(x * 3) - np.trunc(y),
    "dtype": lambda x, y: np.add(x, y, dtype="f4") * np.multiply(x, 2, dtype=np.float64),
    "conj": lambda x, y: x.conj() - np.conj(y),
    "square": lambda x, y: np.square(x) + np.sign(y) + np.rint(x * 7) + np.heaviside(x, y),
}


@pytest.mark.parametrize("name", TRACED)
def test_functions_that_are_traced(name):
    fn, left = TRACED[name], set()

    def backend(graph, example_inputs):
        calls = build(graph, smallest=1).graph.all_calls
        left.update(str(node.target) for node in calls if node.op is not None)
        return Native(smallest=1)(graph, example_inputs)

    bcjit.config.strict = True
    made = bcjit.compile(fn, backend=backend)
    x = np.array([0.25, -0.0, 0.0, np.nan, np.inf, -np.inf, 1.5, -2.5, 1e300, 0.5]).repeat(2)
    x = x.reshape(4, 5)
    y = x[::-1].copy()
    turned = np.arange(24.0).reshape(2, 3, 4)
    pairs = [
        (x, y),
        (np.asfortranarray(x), np.asfortranarray(y)),
        (x.T, y.T),
        (x[:, ::2], y[:, ::2]),
    ]
    pairs += [(x, y[0]), (turned.transpose(1, 2, 0),) * 2, (np.asfortranarray(turned), turned)]
    for one, other in pairs:
        plain, kernel = outcome(fn, one, other), outcome(made, one, other)
        assert plain[1:] == kernel[1:]
        assert same(kernel[0], plain[0], any_nan=True), (one.strides, other.strides)
    assert left == set()  # all is in kernels


@pytest.mark.parametrize("char", "fd")
def test_what_is_too_large_for_uint32_is_numpys_value_and_warning(char):
    # NumPy says so of elements in its vectors, and not of those behind the last one, which get another value.
    def cast(x):
        return (x * 1).astype(np.uint32)

    ours = bcjit.compile(cast, backend=Native(smallest=1))
    for odd in (2.0**32, 2.0**40, -5.0, -(2.0**31) - 1024, np.nan, 1.0):
        for at in (0, 8):
            x = np.arange(9).astype(char)
            x[at] = odd
            seen = []
            for function in (cast, ours):
                with warnings.catch_warnings(record=True) as said, np.errstate(invalid="warn"):
                    warnings.simplefilter("always")
                    seen.append((function(x).tolist(), [str(one.message) for one in said]))
                with np.errstate(invalid="ignore"):
                    seen[-1] += (function(x).tolist(),)
            assert seen[0] == seen[1], (odd, at)
