"""The cost model: what it decides of given times, that it decides nothing that can be told from outside, and what it says."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.code_cache import CacheEntry, Verdict, duration
from bcjit.config import config

NS, US, MS = 1e-9, 1e-6, 1e-3


ORDER = "CPPCCCPP"  # compiled and plain calls of the first eight that are timed


# times of compiled and plain calls -> plain?, calls of each until it is decided
DECISIONS = {
    "much slower, short": (3 * US, 1 * US, True, 4, 4),
    "much faster, short": (1 * US, 3 * US, False, 4, 4),
    "a little slower, short": (1.1 * US, 1 * US, True, 16, 16),
    "a little faster, short": (1 * US, 1.1 * US, False, 16, 16),
    "no faster by what the guards cost": (0.5 * US, 0.5 * US, True, 16, 16),
    "equal, so long that guards do not count": (100 * US, 100 * US, False, 6, 6),
    "a little slower, longer": (110 * US, 100 * US, True, 6, 6),
    "within two in a hundred": (1.015 * MS, 1 * MS, False, 4, 4),
    "long and much faster: one plain call is enough": (1.0, 3.0, False, 1, 1),
    "long and much slower": (3.0, 1.0, True, 3, 2),
    "long and faster by a third": (3.0, 4.0, False, 3, 2),
    "not so long and much faster": (2 * MS, 10 * MS, False, 3, 2),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_what_is_decided_of_times(case):
    compiled, plain, is_plain, *used = DECISIONS[case]
    decided = _core.judge_samples((compiled,) * 40, (plain,) * 40)
    assert decided is not None
    assert decided[0] is is_plain
    assert max(decided[1:]) == max(used)
    assert min(decided[1:]) >= max(used) - 1


def test_least_times_decide_and_too_few_decide_nothing():
    noisy = tuple(1 * US * (1 + i % 5) for i in range(3, 40))
    assert _core.judge_samples(noisy, (2 * US,) * 40)[0] is False  # the least is 1 µs
    assert _core.judge_samples((1 * US,) * 3, (9 * US,) * 3) is None
    with pytest.raises(TypeError):
        _core.judge_samples((1.0, "soon"), (1.0, 1.0))


class Clock:
    """Says that compiled and plain calls take what it was told."""

    def __init__(self, compiled: float, plain: float) -> None:
        self.times = (compiled, plain)
        self.now = 0.0

    def __call__(self, plain: bool) -> float:
        self.now += self.times[plain]
        return self.now


@pytest.fixture
def judged() -> Iterator[Callable[[float, float], Clock]]:
    """Turn the cost model on, with a clock that says what compiled and plain calls take."""

    def start(compiled: float, plain: float) -> Clock:
        clock = Clock(compiled, plain)
        _core.set_clock(clock)
        return clock

    with config.override(cost_model=True):
        yield start
    _core.set_clock(None)


def entries_of(compiled) -> list[CacheEntry]:
    return list(compiled._compiler.cache.entries)


def verdicts_of(compiled) -> list[Verdict]:
    return [verdict for entry in entries_of(compiled) for verdict in entry.verdicts]


seen: list[bool] = []


def step(x, k):
    looks()
    x *= k
    return x.sum() + np.random.random()


@bcjit.disable
def looks():
    seen.append(sys._getframe(1).f_code is step.__code__)


def runs(compiled, x, calls: int) -> list[bool]:
    """Return of each call whether the plain function ran."""
    seen.clear()
    for _ in range(calls):
        compiled(x, 1.0)
    return list(seen)


def test_slower_code_is_switched_off_and_tried_again(judged):
    clock = judged(3 * US, 1 * US)
    compiled = bcjit.compile(step)
    x = np.ones(10)
    compiled(x, 1.0)  # captures
    assert runs(compiled, x, 9) == [ran == "P" for ran in ORDER] + [True]
    assert all(runs(compiled, x, 8 * 64 - 2))
    (verdict,) = verdicts_of(compiled)
    assert verdict == Verdict(1, 15, True, pytest.approx(1 * US), pytest.approx(3 * US), 8)
    # by now it is the other way round
    clock.times = clock.times[::-1]
    again = runs(compiled, x, 200)
    assert not all(again)
    assert not any(again[-100:])
    (verdict,) = verdicts_of(compiled)
    assert not verdict.plain


def test_faster_code_is_kept(judged):
    judged(1 * US, 3 * US)
    compiled = bcjit.compile(step)
    x = np.ones(10)
    compiled(x, 1.0)
    assert sum(runs(compiled, x, 8)) == 4
    assert not any(runs(compiled, x, 500))


def test_each_range_of_sizes_has_its_own_verdict(judged):
    clock = judged(3 * US, 1 * US)
    compiled = bcjit.compile(step)
    small, large = np.ones(10), np.ones(1000)
    compiled(small, 1.0)
    assert all(runs(compiled, small, 30)[8:])
    clock.times = clock.times[::-1]
    assert not any(runs(compiled, large, 30)[8:])
    assert all(runs(compiled, small, 30))
    assert [(v.low, v.high, v.plain) for v in verdicts_of(compiled)] == [
        (1, 15, True),
        (256, 4095, False),
    ]


class Body:
    def __init__(self, size: int) -> None:
        self.u = np.ones(size)

    def turn(self):
        total = self.u.sum()
        looks_on()
        return total


@bcjit.disable
def looks_on():
    seen.append(sys._getframe(1).f_code is Body.turn.__code__)


def test_arrays_in_attributes_have_sizes_too(judged):
    clock = judged(3 * US, 1 * US)
    compiled = bcjit.compile(Body.turn)
    small, large = Body(3), Body(1000)
    for body, times in ((small, (3 * US, 1 * US)), (large, (1 * US, 3 * US))):
        clock.times = times
        for _ in range(60):
            compiled(body)
    seen.clear()
    compiled(small)
    compiled(large)
    assert seen == [True, False]
    assert {v.low for entry in entries_of(compiled) for v in entry.verdicts} == {1, 256}


def test_what_was_plain_many_times_over_is_not_even_checked(judged):
    judged(3 * US, 1 * US)
    compiled = bcjit.compile(lambda x: x + 1)
    x = np.ones(3)
    for _ in range(3000):
        assert compiled(x).tolist() == [2.0] * 3
    (entry,) = entries_of(compiled)
    assert entry.entry().hits < 2900
    assert entry.hits < 20
    assert entry.hits + entry.plain_calls >= 2999
    assert compiled(np.ones(3, np.float32)).dtype == np.float32  # whatever comes meanwhile
    for _ in range(3000):
        compiled(np.ones((2, 2)))
    assert len(entries_of(compiled)) >= 2  # a new kind is met in the end


def test_a_call_that_raises_or_compiles_is_no_sample(judged):
    judged(3 * US, 1 * US)
    compiled = bcjit.compile(step)
    compiled(np.ones(2), 1.0)
    frozen = np.ones(2)
    frozen.flags.writeable = False
    for _ in range(40):
        with pytest.raises(ValueError, match="read-only"):
            compiled(frozen, 1.0)
    assert verdicts_of(compiled) == []


def test_a_call_within_one_of_its_own_is_no_sample(judged):
    judged(3 * US, 1 * US)

    def countdown(x, n):
        if n:
            return compiled_countdown(x, n - 1) + 1
        return x * 1

    compiled_countdown = bcjit.compile(countdown)
    for _ in range(40):
        assert compiled_countdown(np.ones(2), 5).tolist() == [6.0, 6.0]


@pytest.mark.parametrize("unit", [1 * US, 100 * US, 3 * MS])
@pytest.mark.parametrize("gain", [0.6, 1.6, 5.0])
@pytest.mark.parametrize("kinds", [(1, 9), (9, 9, 1), (1, 4, 9), (9, 1, 9, 9), (1, 1, 1, 30)])
def test_calls_that_come_in_rounds_are_judged_by_their_like(kinds, gain, unit, judged):
    for shift in range(len(kinds)):
        clock = judged(0, 0)

        def work(x, k, clock=clock):
            takes(k)
            return x * 2

        @bcjit.disable
        def takes(k, clock=clock, code=work.__code__):
            plain = sys._getframe(1).f_code is code
            clock.now += unit * k if plain else unit * k / gain

        compiled = bcjit.compile(work)
        compiled(np.ones(2), 3)
        for call in range(40):
            compiled(np.ones(2), kinds[(call + shift) % len(kinds)])
        (verdict,) = verdicts_of(compiled)
        assert verdict.plain is (gain < 1.0)


def test_a_call_of_what_is_being_tried_itself_is_no_sample(judged):
    clock = judged(0, 0)

    @bcjit.disable
    def takes(code, compiled, plain):
        clock.now += plain if sys._getframe(1).f_code is code else compiled

    def part(x):
        takes(part.__code__, 0.9 * MS, 1 * MS)
        return x * 2

    def whole(x):
        takes(whole.__code__, 0.3 * MS, 0)
        return part(x) + part(x) + part(x)

    compiled = bcjit.compile(whole)
    for _ in range(60):
        assert compiled(np.ones(2)).tolist() == [6.0, 6.0]
    # In each call one of the three at least is tried plain: 3.1 ms beside 3. Once that is over it takes 3.
    (verdict,) = verdicts_of(compiled)
    assert not verdict.plain
    assert verdict.compiled_time == pytest.approx(3 * MS)


@pytest.mark.parametrize(
    ("options", "on"),
    [({"backend": "eager"}, True), ({}, False), ({"fullgraph": True}, True)],
)
def test_who_is_judged(options, on, judged):
    judged(3 * US, 1 * US)
    with config.override(cost_model=on):
        compiled = bcjit.compile(lambda x: x * 2, **options)
        for _ in range(100):
            compiled(np.ones(2))
    assert verdicts_of(compiled) == []
    assert entries_of(compiled)[0].hits == 99


def programs() -> list[Callable[..., object]]:
    def writes(x, k):
        x[1:] += k
        return x[::-1]

    def warns(x, k):
        return np.log(x - k)

    def branches(x, k):
        return x + k if x.sum() > 3 else -x

    def loops(x, k):
        for i in range(len(x)):
            x = x + i * k
        return x

    def draws(x, k):
        return x + np.random.standard_normal(x.shape) * k

    def prints(x, k):
        print("sum", x.sum())
        return x.astype(np.float32) * np.float32(k)

    def raises(x, k):
        return x.reshape(k, -1)

    return [writes, warns, branches, loops, draws, prints, raises]


@pytest.mark.parametrize("program", programs(), ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("times", [(3 * US, 1 * US), (1 * US, 3 * US)], ids=["slower", "faster"])
def test_no_call_can_be_told_from_a_plain_one(program, times, judged, capsys):
    judged(*times)
    compiled = bcjit.compile(program)
    draw = random.Random(3)
    kinds = [lambda n: np.arange(float(n)), lambda n: np.arange(n), lambda n: np.ones((n, 2))]
    for turn in range(400):
        made = (
            draw.choice(kinds[: 1 + turn // 100]),
            draw.choice([2, 3, 40]),
            draw.choice([1, 2, 3]),
        )
        told = []
        for function in (program, compiled):
            make, n, k = made
            x = make(n)
            np.random.seed(turn)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    result: object = function(x, k)
                except Exception as error:
                    result = error
            said = [(str(w.message), w.category, w.lineno) for w in caught]
            state = np.random.get_state()[2]
            told.append((repr(result), repr(x), said, state, capsys.readouterr().out))
        assert told[0] == told[1]
    assert any(verdicts_of(compiled)) or program.__name__ == "raises"


def test_words():
    plain = Verdict(1, 15, True, 1.304e-6, 2.1e-6, 32)
    assert plain.text() == (
        "switched back to plain Python for arrays of 1 to 15 elements: 1.3 µs plain, 2.1 µs compiled (least of 32 calls)"
    )
    close = Verdict(1, 15, True, 557e-9, 551e-9, 32).text()
    assert "557 ns plain, 551 ns compiled and the guards besides, so nothing is gained" in close
    kept = Verdict(1, 15, False, 557e-9, 561e-9, 32).text()
    assert "561 ns compiled, which is no real difference" in kept
    assert (
        Verdict(1, 15, False, 5e-6, 4e-6, 32).text().endswith("4 µs compiled (least of 32 calls)")
    )
    assert "arrays of 16,777,216 elements and more" in Verdict(1 << 24, None, False, 1, 1, 2).text()
    assert "without array elements" in Verdict(0, 0, False, 1, 1, 2).text()
    assert [duration(s) for s in (0.0, 5e-9, 2.5e-5, 0.25, 12.0)] == [
        "0 ns", "5 ns", "25 µs", "250 ms", "12 s",
    ]  # fmt: skip
