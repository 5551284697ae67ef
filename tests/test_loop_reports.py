"""What the reports say of loops: captured whole, unrolled or left in Python, and why."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import bcjit

X = np.arange(40.0)


def whole(x, n):
    total = 0.0
    for i in range(n):
        total += x[i]
    return total


def backwards(x, n):
    for i in range(n, 0, -2):
        x[i] = x[i - 1]
    return x


def until(x, n):
    while x.sum() > n:
        x = x * 0.5
    return x


def rows(x, n):
    for value in x:
        n = n + value
    return n


def few(x, n):
    for k in range(3):
        x = x + k
    return x


def grows(x, n):
    found = []
    for value in x:
        found.append(value * 2)
    return found


def prints(x, n):
    for i in range(n):
        x = x + i
        print(x.sum())
    return x


def protected(x, n):
    try:
        for i in range(n):
            x = x + i
    except ValueError:
        return None
    return x


def nested(x, n):
    for i in range(n):
        for k in range(2):
            x[i] += k
        for j in range(i):
            x[j] -= 1
    return x


def inlined(x, n):
    return whole(x, n) + prints(x, 2).sum()


def texts(report, fn):
    """The sentences, with lines counted from the ``def``, whose file is this one."""
    first = fn.__code__.co_firstlineno
    return [
        (
            loop.line.lineno - first,
            re.sub(r"\d+ nodes? in its body", "n nodes", loop.text().split(": ", 1)[1]),
        )
        for loop in report.loops
    ]


SAID = [
    (whole, [(2, "loop over range(n) captured whole: n nodes")]),
    (backwards, [(1, "loop over range(n, 0, -2) captured whole: n nodes")]),
    (until, [(1, "loop captured whole: n nodes")]),
    (rows, [(1, "loop over range(x_0) captured whole: n nodes")]),
    (few, [(1, "loop unrolled: 3 turns")]),
    (
        nested,
        [
            (1, "loop over range(n) captured whole: n nodes"),
            (2, "loop unrolled: 2 turns"),
            (4, "loop over range(i) captured whole: n nodes"),
        ],
    ),
    (protected, [(2, "loop left in Python: it is in a try or with")]),
    (
        grows,
        [
            (
                2,
                "loop left in Python: a container changes its size or keys (put the values into an array made before the loop)",
            )
        ],
    ),
]


@pytest.mark.parametrize(("fn", "said"), SAID, ids=[fn.__name__ for fn, _ in SAID])
def test_a_loop_is_one_sentence(fn, said):
    compiled = bcjit.compile(fn)
    compiled(X.copy(), 20)
    assert texts(compiled.report(), fn) == said
    assert texts(bcjit.explain(fn, X.copy(), 20), fn) == said


def test_what_stops_a_loop_is_named_with_its_line(capsys):
    compiled = bcjit.compile(prints)
    compiled(X, 20)
    line = prints.__code__.co_firstlineno + 1
    assert (
        f"  test_loop_reports.py:{line}: loop left in Python: print or other output: print"
        f" (test_loop_reports.py:{line + 2})"
    ) in str(compiled.report()).splitlines()


def test_loops_of_inlined_functions_are_those_of_the_caller(capsys):
    compiled = bcjit.compile(inlined)
    compiled(X, 20)
    assert [(loop.line.function, loop.how) for loop in compiled.report().loops] == [
        ("whole", "rolled"),
        ("prints", "left"),
    ]


def test_the_data_say_what_the_text_does():
    compiled = bcjit.compile(nested)
    compiled(X.copy(), 20)
    report = compiled.report()
    data = json.loads(json.dumps(report.as_dict()))
    assert data["loops"] == sorted(
        data["parts"][0]["loops"], key=lambda loop: int(loop["where"].split(":")[1])
    )
    line = nested.__code__.co_firstlineno + 1
    assert data["loops"][0] == {
        "where": f"test_loop_reports.py:{line}",
        "how": "rolled",
        "why": report.loops[0].why,
        "trips": "range(n)",
    }
    found = bcjit.explain(nested, X.copy(), 20)
    assert json.loads(json.dumps(found.as_dict()))["loops"] == data["loops"]
    for loop in report.loops:
        assert f"  {loop.text()}" in str(report).splitlines()
        assert loop.text() in str(found).splitlines()


def test_variants_do_not_repeat_a_loop():
    compiled = bcjit.compile(whole)
    compiled(X, 20)
    compiled(X.astype("f4"), 20)
    assert len(compiled.report().parts) == 2
    assert len(compiled.report().loops) == 1


def test_settings_decide_what_is_unrolled_or_captured_whole():
    compiled = bcjit.compile(few)
    with bcjit.config.override(unroll_limit=2):
        compiled(X, 0)
        assert [loop.how for loop in compiled.report().loops] == ["rolled"]
        compiled.reset()
    with bcjit.config.override(unroll_instructions=10):
        compiled(X, 0)
        assert [loop.how for loop in compiled.report().loops] == ["rolled"]
    other = bcjit.compile(whole)
    with bcjit.config.override(loops=False):
        other(X, 20)
        assert texts(other.report(), whole) == [
            (2, "loop left in Python: bcjit.config.loops is False")
        ]
