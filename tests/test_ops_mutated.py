"""The op table against NumPy with arguments that nobody wrote a sample for: each is a sample with one argument changed.

Arrays become 0-d, scalars, empty, longer, of another dtype; numbers become others, NumPy's, none, tuples. The facts must be
NumPy's, or the call refused: a refusal breaks the graph, so it is right whatever NumPy does. All changes of all samples:
``BCJIT_FULL=1``; else a fixed slice.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import FIXED_SEED, FULL

from bcjit.ops import Unsupported, WouldRaise, infer
from bcjit.ops.opdef import Sample
from tests import test_ops_table
from tests.test_ops_table import SPELLINGS, Abstraction, check_sample

EACH = 6  # changes of each spelling

CAST_TO = ("?", "u1", "f2", "D")


def changed(value: object) -> Iterator[object]:
    """Yield other values for an argument."""
    if isinstance(value, np.ndarray):
        if value.size:
            yield np.array(value.ravel()[0])
            yield value.ravel()[0]
        if value.ndim:
            yield value[:0].copy()
            yield value[..., :0].copy()
            yield value[:1].copy()
            yield value[..., :1].copy()
            yield value[::-1]
            yield np.stack([value, value])
        yield value.ravel().copy()
        for dtype in CAST_TO:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield value.astype(dtype)
    elif type(value) is bool:
        yield not value
    elif type(value) is int:
        yield from (number for number in (0, 1, -1, 2, -3, 100) if number != value)
        yield from ((value,), None)
        if abs(value) < 2**62:
            yield from (np.int64(value), float(value))
    elif type(value) is float:
        yield -value
        if abs(value) < 1e9:
            yield from (int(value), np.float32(value))
    elif type(value) is tuple and value:
        yield from (value[:1], list(value))


def samples_of(spelling) -> Iterator[Sample]:
    for dtype in (np.dtype("f8"), np.dtype("i4")):
        yield from spelling.samples(dtype)


def variants_of(spelling) -> Iterator[Sample]:
    for one in samples_of(spelling):
        for place, value in enumerate(one.args):
            for other in changed(value):
                yield Sample((*one.args[:place], other, *one.args[place + 1 :]), one.kwargs)
        for name, value in one.kwargs.items():
            for other in changed(value):
                yield Sample(one.args, {**one.kwargs, name: other})


def belongs(spelling, one) -> bool:
    """Whether the call is one of this spelling: the method of an array is not that of a scalar."""
    if spelling.method is None:
        return True
    owner = np.generic if spelling.of_scalar else np.ndarray
    return isinstance(one.args[0], owner)


def is_refused(op, spelling, one) -> bool:
    abstraction = Abstraction(symbolic=False)
    args = [abstraction.of(arg) for arg in one.args]
    kwargs = {name: abstraction.of(value) for name, value in one.kwargs.items()}
    try:
        infer(op, spelling.target, args, kwargs, abstraction.env)
    except (Unsupported, WouldRaise):
        return True
    return False


def ignore_what_is_not_the_subject(monkeypatch):
    # What an expansion computes of values for which NumPy promises nothing (casts of NaN) is not the subject.
    monkeypatch.setattr(test_ops_table, "check_expand", lambda *_: None)
    monkeypatch.setattr(test_ops_table, "check_expand_raises", lambda *_: None)
    # Nor are warnings that NumPy's Python code gives of its own lines (see the limits in design note 0004).
    monkeypatch.setattr(test_ops_table, "refusing", lambda _: None)


@pytest.mark.parametrize(("op", "spelling"), SPELLINGS)
def test_facts_of_a_changed_sample_are_numpys_or_the_call_is_refused(op, spelling, monkeypatch):
    ignore_what_is_not_the_subject(monkeypatch)
    variants = [one for one in variants_of(spelling) if belongs(spelling, one)]
    if not FULL:
        few = min(EACH, len(variants))
        variants = random.Random(f"{FIXED_SEED}/{op.name}").sample(variants, few)
    for number, one in enumerate(variants):
        if not is_refused(op, spelling, one):
            check_sample(op, spelling, one, symbolic=number % 2 == 0)


# What whole sweeps have found, which a slice may leave out.
FOUND = {
    "pad of one number": Sample((np.pad, np.array(2.0), 1), {"constant_values": ((1, 2), (3, 4))}),
    "points to a tuple": Sample((np.linspace, np.float32(0), (1,), 5), {}),
    "counts of nothing": Sample((np.bincount, np.zeros(0, int), np.arange(3.0)), {}),
    "complex weights": Sample(
        (np.quantile, np.arange(4.0), 0.5), {"weights": np.ones(4) * 1j, "method": "inverted_cdf"}
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once_is_numpys_or_refused(name, monkeypatch):
    target, *args = FOUND[name].args
    one = Sample(tuple(args), FOUND[name].kwargs)
    (pair,) = (pair for pair in map(_pair, SPELLINGS) if pair[1].target is target)
    ignore_what_is_not_the_subject(monkeypatch)
    with warnings.catch_warnings(action="error"):
        refused = is_refused(*pair, one)
    for symbolic in (False, True):
        if not refused:
            check_sample(*pair, one, symbolic=symbolic)


def _pair(spelling):
    return getattr(spelling, "values", spelling)
