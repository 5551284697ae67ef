"""The native backend with ``fast``: how far functions are from the true values, what NumPy says of which operands, and how the option gets there."""

from __future__ import annotations

import copy
import pickle
import types
import warnings

import numpy as np
import pytest
from conftest import FULL

import bcjit
from bcjit import _core, backends, errors
from bcjit.backends import choice

pytest.importorskip("llvmlite")

from bcjit.backends.native import build
from bcjit.backends.native import compiled as kernels
from bcjit.backends.native import fast as fast_module
from bcjit.backends.native.backend import NATIVE, Native
from bcjit.backends.native.engine import machine
from bcjit.backends.native.fast_rules import POWERS

# The reference for float64 has 11 bits more, so that its own error is a thousandth of what is measured.
WIDE = np.finfo(np.longdouble).nmant >= 63
DTYPES = [
    pytest.param(np.float64, id="float64", marks=pytest.mark.skipif(not WIDE, reason="no wider float")),
    pytest.param(np.float32, id="float32"),
]  # fmt: skip
COUNT = 200_000 if FULL else 1_000
SEEDS = range(3 if FULL else 1)
FAST = Native(smallest=1, fast=True)


@pytest.fixture(autouse=True)
def _every_polynomial(monkeypatch):
    """What is left to NumPy on some processors is not left to it here."""
    monkeypatch.setattr(fast_module, "LEFT_TO_NUMPY", {"f": frozenset(), "d": frozenset()})


def between(low, high):
    return lambda rng, dtype: rng.uniform(low, high, COUNT).astype(dtype)


def magnitudes(low, high, sign=1):
    """Numbers whose exponents are even."""

    def sample(rng, dtype):
        info = np.finfo(dtype)
        ends = (info.tiny * 4 if low is None else low), (info.max / 8 if high is None else high)
        return (sign * np.exp(rng.uniform(*map(np.log, np.array(ends, np.float64)), COUNT))).astype(
            dtype
        )

    return sample


def around(step, most):
    """Numbers next to multiples of a step, where a zero or a pole is."""

    def sample(rng, dtype):
        most_here = most[dtype is np.float32]
        near = (np.round(rng.uniform(-most_here, most_here, COUNT) / step) * step).astype(dtype)
        ends = np.array([[0], [np.inf]], dtype)
        return np.concatenate([near, *np.nextafter(near, ends)])

    return sample


def up_to(wide, narrow, low=None):
    """Numbers as far as a function goes in each precision."""

    def sample(rng, dtype):
        most = narrow if dtype is np.float32 else wide
        return rng.uniform(-most if low is None else low, most, COUNT).astype(dtype)

    return sample


ANGLES = [between(-0.9, 0.9), between(-10, 10), up_to(1.7e6, 6.2e3), around(np.pi / 2, (1.6e6, 6e3)), magnitudes(None, 1e6)]  # fmt: skip
GROWTH = [between(-0.4, 0.4), between(-3, 3), between(-30, 30), magnitudes(None, 80), magnitudes(None, 80, -1)]  # fmt: skip
RATIOS = [between(0.5, 2), between(0.69, 0.73), between(0.999, 1.001), between(0.01, 100), magnitudes(None, None)]  # fmt: skip
SAMPLES = {
    "sin": ANGLES,
    "cos": ANGLES,
    "tan": ANGLES,
    "exp": [*GROWTH, up_to(709, 88)],
    "exp2": [*GROWTH, up_to(1022, 126)],
    "expm1": [*GROWTH, up_to(709, 88)],
    "sinh": [*GROWTH, up_to(709, 88)],
    "cosh": [*GROWTH, up_to(709, 88)],
    "tanh": GROWTH,
    "log": RATIOS,
    "log2": RATIOS,
    "log10": RATIOS,
    "log1p": [between(-0.999, 1), between(-0.4, 0.5), magnitudes(None, None), magnitudes(None, 0.99, -1)],
}  # fmt: skip
# Units in the last place.
MOST = 4.0


def compiled(name, nin=1, backend=FAST):
    function = getattr(np, name)
    one, two = (lambda x: function(x)), (lambda x, y: function(x, y))
    return bcjit.compile(one if nin == 1 else two, backend=backend)


def ulps(got, wanted):
    """Return by how many units in the last place numbers differ from longer ones."""
    dtype = got.dtype
    unit = np.spacing(np.minimum(abs(wanted).astype(dtype), np.finfo(dtype).max))
    return abs(got.astype(wanted.dtype) - wanted) / unit.astype(wanted.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_function_is_at_most_4_units_off(name, dtype):
    function, call = getattr(np, name), compiled(name)
    longer = np.longdouble if dtype is np.float64 else np.float64
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for sample in SAMPLES[name]:
            x = sample(rng, dtype)
            got = call(x)
            assert got.dtype == dtype
            off = ulps(got, function(x.astype(longer)))
            worst = off.argmax()
            assert off[worst] <= MOST, (x[worst], got[worst])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_hypotenuse_is_at_most_4_units_off(dtype):
    call = compiled("hypot", 2)
    longer = np.longdouble if dtype is np.float64 else np.float64
    rng = np.random.default_rng(0)
    for sample in (between(-3, 3), magnitudes(1e-9, 1e9), magnitudes(None, None)):
        x, y = sample(rng, dtype), sample(rng, dtype)
        assert ulps(call(x, y), np.hypot(x.astype(longer), y.astype(longer))).max() <= MOST
        assert ulps(call(x, x), np.hypot(x.astype(longer), x.astype(longer))).max() <= MOST


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_of_sums_are_at_most_4_units_off(dtype):
    call = compiled("logaddexp", 2)
    longer = np.longdouble if dtype is np.float64 else np.float64
    rng = np.random.default_rng(0)
    for low, high in ((-0.9, 5), (-30, -1.3), (0, 1e-3), (-2000, 2000)):
        x, y = between(low, high)(rng, dtype), between(low, high)(rng, dtype)
        wanted = np.logaddexp(x.astype(longer), y.astype(longer))
        off = ulps(call(x, y), wanted)
        # Where the sum is nearly 1 it is NumPy's, which is not near the true value.
        assert off[(x > 0) | (y > 0) | (np.maximum(x, y) < -1.4)].max() <= MOST
        assert (off <= np.maximum(ulps(np.logaddexp(x, y), wanted), MOST)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [*POWERS])
def test_a_power_by_a_constant_is_at_most_4_units_off(exponent, dtype):
    longer = np.longdouble if dtype is np.float64 else np.float64
    call = bcjit.compile(lambda x: x**exponent, backend=FAST, dynamic=False)
    rng = np.random.default_rng(0)
    for sample in (between(0.1, 3), magnitudes(1e-9, 1e9), magnitudes(None, None)):
        x = sample(rng, dtype) * (1 if exponent % 1 else rng.choice([-1, 1], COUNT).astype(dtype))
        with np.errstate(all="ignore"):
            got, wanted = call(x), x.astype(longer) ** exponent
            fits = (abs(wanted) <= np.finfo(dtype).max) & (abs(wanted) >= np.finfo(dtype).tiny)
            assert ulps(got, wanted)[fits].max() <= MOST
            assert same(got[~fits], (x**exponent)[~fits])
    for special in specials(dtype):
        x = np.full(49, 0.75, dtype)
        x[20] = special
        with np.errstate(all="ignore"):
            assert same(call(x), x**exponent), special
        assert said(call, x)[1] == said(lambda x: x**exponent, x)[1], special


def specials(dtype):
    info = np.finfo(dtype)
    return [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, info.tiny, info.smallest_subnormal, -info.smallest_subnormal, info.max, -info.max, info.eps, 1e4, -1e4, 1e22, 100.0, -100.0, 800.0, -800.0]  # fmt: skip


def said(function, *operands):
    """Return what a function gives, and what NumPy says of it."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        result = function(*operands)
    return result, [str(one.message) for one in caught]


def same(got, wanted):
    """Whether numbers are the same kind of number, and nearly equal."""
    near = np.isnan(got) & np.isnan(wanted) | (got == wanted)
    with np.errstate(all="ignore"):
        near |= abs(got - wanted) <= 8 * np.spacing(abs(wanted))
    signs = np.isnan(wanted) | (np.signbit(got) == np.signbit(wanted))
    return bool((near & signs).all())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*SAMPLES, "hypot", "logaddexp"])
def test_of_special_numbers_all_is_as_numpy_has_it(name, dtype):
    function = getattr(np, name)
    call = compiled(name, function.nin)
    usual = np.full(3 * 16 + 1, 0.75, dtype)
    for special in specials(dtype):
        x = usual.copy()
        x[20] = special
        operands = (x,) if function.nin == 1 else (x, usual)
        with np.errstate(all="ignore"):
            got, wanted = call(*operands), function(*operands)
        assert same(got, wanted), (special, got[20], wanted[20])
        assert said(call, *operands)[1] == said(function, *operands)[1], special


def test_a_flag_that_is_to_raise_raises_what_numpy_raises():
    x = np.full(9, 1e-200)
    for under in ("raise", "ignore"):
        with np.errstate(all="raise", under=under):
            for name in ("sin", "log1p", "expm1", "tanh"):
                assert same(compiled(name)(x), getattr(np, name)(x))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow.*exp"):
        compiled("exp")(x + 1000)
    with (
        np.errstate(divide="raise"),
        pytest.raises(FloatingPointError, match="divide by zero.*log"),
    ):
        compiled("log")(x * 0)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid.*sin"):
        compiled("sin")(x + np.inf)


@pytest.mark.parametrize("name", [*SAMPLES, "hypot", "logaddexp"])
def test_usual_numbers_are_computed_by_polynomials(name):
    function = getattr(np, name)
    x = np.random.default_rng(0).uniform(0.01, 9, (function.nin, 1_000))
    assert compiled(name, function.nin)(*x).tobytes() != function(*x).tobytes()


def test_nan_and_tails_are_usual(monkeypatch):
    made = []

    def kernel(*arguments, **others):
        made.append(_core.Kernel(*arguments, **others))
        return made[-1]

    makers = types.SimpleNamespace(Kernel=kernel, ReduceKernel=_core.ReduceKernel)
    monkeypatch.setattr(build, "_core", makers)
    x = np.linspace(0.1, 0.9, 50)
    x[[7, 30]] = np.nan, -np.nan
    for name in SAMPLES:
        call = compiled(name)
        assert np.isnan(call(x))[[7, 30]].all()
        call(x)
    tails = bcjit.compile(lambda x: np.exp(-x * x), backend=FAST)
    assert tails(np.linspace(-60, 60, 99))[0] == 0.0
    assert len(made) == len(SAMPLES) + 1
    assert [one.fell_back for one in made] == [0] * len(made)


def test_many_unusual_numbers_are_no_reason_to_give_up():
    call = compiled("sin")
    x = np.linspace(1e7, 1e9, 100)
    for _ in range(40):
        assert call(x).tolist() == np.sin(x).tolist()


@pytest.mark.parametrize("size", [16, 32])
def test_with_shorter_vectors_results_are_as_good(monkeypatch, size):
    if size >= machine().vector_bytes:
        pytest.skip("no shorter ones")
    monkeypatch.setattr(machine(), "vector_bytes", size)
    monkeypatch.setattr(kernels, "_known", {})
    monkeypatch.setattr(bcjit.config, "disk_cache", False)
    x = np.linspace(0.01, 4, 101)
    for name in SAMPLES:
        assert ulps(compiled(name)(x), getattr(np, name)(x.astype(np.longdouble))).max() <= MOST


# ---------------------------------------------------------------------- exact mode, and the option
def chain(x, y):
    return np.sin(x) * np.exp(-y) + 1


X, Y = np.linspace(-2, 2, 40), np.linspace(0, 3, 40)


def texts(backend, function=chain, *operands):
    """Return what kernels a backend makes of a function, and what it gives."""
    made = []

    def spy(graph, inputs):
        made.append(backend(graph, inputs))
        return made[-1]

    result = bcjit.compile(function, backend=spy)(*(operands or (X, Y)))
    return "".join(one.source for one in made), result


def test_exact_mode_is_untouched():
    fast_text, _ = texts(FAST)
    text, result = texts(NATIVE)
    assert "fast sin dd" in fast_text
    assert "fast exp dd" in fast_text
    assert "fast" not in text
    assert result.tobytes() == chain(X, Y).tobytes()


@pytest.mark.parametrize("count", [3, 40, 2_500])
def test_polynomials_over_polynomials_are_what_each_is(count):
    def nested(x):
        inner = np.log(x) * 2
        return np.tanh(inner) + np.exp(np.sin(inner)) * np.cos(x), inner

    x = np.linspace(0.01, 9, count)
    got, got_inner = bcjit.compile(nested, backend=FAST)(x)
    inner = compiled("log")(x) * 2
    wanted = compiled("tanh")(inner) + compiled("exp")(compiled("sin")(inner)) * compiled("cos")(x)
    assert got.tobytes() == wanted.tobytes()
    assert got_inner.tobytes() == inner.tobytes()


def test_what_is_folded_is_fast_too():
    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    x = np.random.default_rng(0).uniform(-3, 3, (4, 33))
    text, result = texts(FAST, softmax, x)
    assert "fast exp dd" in text
    assert (abs(result - softmax(x)) <= 8 * np.spacing(result)).all()
    text, result = texts(NATIVE, softmax, x)
    assert "fast" not in text
    assert result.tobytes() == softmax(x).tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_an_element_is_does_not_depend_on_its_neighbours(dtype):
    call = compiled("exp")
    x = np.linspace(-5, 5, 200).astype(dtype)
    alone = call(x)
    for place in range(0, 200, 7):
        y = x.copy()
        y[place] = 5000
        with np.errstate(all="ignore"):
            beside = call(y)
        assert np.delete(beside, place).tobytes() == np.delete(alone, place).tobytes()


def test_what_numpy_computes_faster_is_left_to_it(monkeypatch):
    def two(x):
        return np.tanh(x) + np.exp(x)

    x = np.linspace(-2, 2, 40, dtype=np.float32)
    for quick, tanh in ((True, "loop tanh ff"), (False, "fast tanh ff")):
        monkeypatch.setattr(fast_module, "LEFT_TO_NUMPY", {"f": frozenset({"tanh"})})
        monkeypatch.setattr(fast_module, "_has_fast_loop", lambda name, char: quick)  # noqa: B023 - used in this turn
        text, result = texts(FAST, two, x)
        assert tanh in text
        assert "fast exp ff" in text
        assert ulps(result, two(x.astype(np.float64))).max() <= 2 * MOST


def test_the_option_reaches_native_and_only_where_it_is_given():
    def sine_and_more(x):
        return np.sin(x) + 0

    x = np.random.default_rng(0).uniform(-9, 9, 2_000)
    plain = sine_and_more(x).tobytes()
    for backend in ("native", "auto"):
        for options in ({"fast": False}, {}, None):
            call = bcjit.compile(sine_and_more, backend=backend, options=options)
            assert call(x).tobytes() == plain
        fast = bcjit.compile(sine_and_more, backend=backend, options={"fast": True})
        with_others = fast(x)
        assert with_others.tobytes() != plain
        assert ulps(with_others, sine_and_more(x)).max() <= MOST + 1


def test_without_llvmlite_auto_says_once_that_nothing_is_fast(monkeypatch, caplog):
    monkeypatch.setattr(choice, "has_llvm", lambda: False)
    bcjit.reset()
    for _ in range(2):
        call = bcjit.compile(chain, options={"fast": True})
        assert call(X, Y).tobytes() == chain(X, Y).tobytes()
    assert caplog.text.count("'fast'") == 1


def test_a_backend_of_ones_own_gets_its_options():
    class Loud:
        def __init__(self, words=()):
            self.words = list(words)

        def with_options(self, options):
            return Loud(f"{key} {value}" for key, value in options.items())

        def __call__(self, graph, inputs):
            heard.extend(self.words)
            return graph.to_callable()

    heard = []
    call = bcjit.compile(chain, backend=Loud(), options={"volume": 11})
    assert call(X, Y).tobytes() == chain(X, Y).tobytes()
    assert heard == ["volume 11"]
    call.explain(X, Y)
    assert heard == ["volume 11"] * 2
    broken = Loud()
    broken.with_options = lambda options: 3
    with pytest.raises(errors.BackendError, match="with_options returned int"):
        bcjit.compile(chain, backend=broken, options={"a": 1})


def test_options_stay_with_what_is_compiled():
    options = {"fast": True}
    call = bcjit.compile(chain, backend="native", options=options)
    options["fast"] = False
    for made in (call, copy.copy(call), pickle.loads(pickle.dumps(call))):
        assert made._options()["options"] == {"fast": True}
    again = bcjit.compile(call, backend="native")
    assert again._options()["options"] == {}
    call(X, Y)
    assert "fast=True" in str(call.report())
    assert [part.options for part in call.report().parts] == ["fast=True"]
    assert call.report().as_dict()["parts"][0]["options"] == "fast=True"


def test_options_in_words():
    assert backends.options_text({}) == ""
    assert backends.options_text({"a": True, "b": "c"}) == "a=True, b='c'"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_number_for_each_row_divides_as_numpys_does(dtype):
    """One division for each row, and products: also where the inverse would be subnormal, or not finite."""

    def shares(x):
        return x / x.sum(axis=-1, keepdims=True)

    info = np.finfo(dtype)
    tiny, most = info.smallest_subnormal, info.max
    rows = [[0.25, 0.5, 3, 7], [tiny, 0, 0, tiny], [info.tiny, 0, 0, -tiny], [0, 0, 0, 0], [1, -1, 0, 0], [most / 2, 1, 0, -most / 8]]  # fmt: skip
    rows += [[most / 4, most / 4, 1, -1], [np.inf, 1, 2, 0], [np.nan, 1, 0, 0], [-info.tiny, 0, 0, -info.tiny]]  # fmt: skip
    call = bcjit.compile(shares, backend=FAST)
    for row in rows:
        x = np.random.default_rng(0).uniform(1, 2, (12, 4)).astype(dtype)
        x[5] = row
        got, said_of = said(call, x)
        wanted, said_plainly = said(shares, x)
        assert same(got, wanted), row
        assert said_of == said_plainly, row
        with np.errstate(all="ignore"):
            assert same(call(x), wanted), row
    text, _ = texts(FAST, shares, x)
    assert "inverse" in text
