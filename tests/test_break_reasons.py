"""Every row of the table of break reasons is raised by a sample here, at the user's line, and changes nothing else.

A sample says with a comment ``# here`` where its break is. A row without a sample fails; so does a sample whose code is not in
what `report` and `explain` say. The page docs/graph_breaks.md, which is made from the table, is held to be up to date.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bcjit
from bcjit.config import config
from bcjit.errors import BreakReason, GraphBreakError
from bcjit.symbolic_vm import REASONS

DOCS = Path(__file__).parents[1] / "docs"
REFUSED = (
    "BRK019",
    "BRK022",
    "BRK026",
)  # the whole frame runs plain: said as a problem, no part ends there
LEFT = (
    "BRK025",
)  # a part is left to Python after it was captured: said as a problem, the part ends as it did


@dataclass(frozen=True)
class Sample:
    """A function, what makes its arguments, and the settings to compile it under."""

    fn: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    settings: dict[str, int] = field(default_factory=dict)


def vector() -> np.ndarray:
    return np.arange(1.0, 5.0)


class Dynamic:
    def __getattr__(self, name):
        return len(name)


class Counted:
    def __init__(self):
        self.counts = np.zeros(3)

    @property
    def next(self):
        counts = self.counts
        counts[0] += 1.0
        return counts[0]


@bcjit.disable
def left_alone(v):
    return v - 1


def announces(v):
    print("announced")
    return v


def nested(v, n):
    if n == 0:
        return v
    return nested(v + 1, n - 1)


def watched(x, trace):  # here
    if trace is not None:
        sys.settrace(trace)
    return x * 2


def own_frame(x):
    y = x + 1
    names = locals()  # here
    return y, sorted(names)


def data_branch(x):
    if x.sum() > 0:  # here
        return x + 1
    return x - 1


def unknown_call(x):
    y = x + 1
    order = sorted([3, 1])  # here
    return y, order


def output(x):
    y = x + 1
    print("output")  # here
    return y * 2


def asked(x):
    y = x + 1
    bcjit.graph_break()  # here
    return y * 2


def disabled(x):
    y = x + 1
    return left_alone(y)  # here


def not_inlined(x):
    y = x + 1
    return announces(y)  # here


def too_deep(x):
    return nested(x, 5)  # here


def unsupported(x):
    y = x + 1
    return np.apply_along_axis(np.sum, 0, y)  # here


def would_raise(x):
    y = x + 1
    return y + np.zeros(3)  # here


def dynamic_attribute(thing, x):
    y = x + 1
    return y + thing.name  # here


def outside_write(x):
    y = x + 1
    Counted.limit = 3  # here
    return y


def without_rule(x):
    y = x + 1
    return y, [1] < [2]  # here


def must_know(x):
    pair = [x, x + 1]
    return pair[int(x[0])]  # here


def raises(x):
    y = x + 1
    raise ValueError("refused", y.shape)  # here


def unbound(x, ask=False):
    if ask:
        late = x
    y = x + 1
    return y + late  # here


def imports(x):
    y = x + 1
    import math  # here

    return y * math.pi


def loops(x):
    found = []
    for _ in range(len(x)):  # here
        x = x + 1
        found.append(x)
    return found


def idle(x):
    found = []
    for i in range(len(x)):  # here
        found.append(i)
    return x + found[-1]


def handles(x):
    try:
        raise ValueError
    except ValueError:  # here
        x = x + 1
    return x


def enters(x, manager):
    with manager:  # here
        x = x + 1
    return x


def limited(x):
    y = x + 1
    return (
        y * 2  # here
    )


def suspends(x):  # here
    yield x + 1


def special_array(x):
    return x + 1  # here


def writes_in_property(counted, x):
    y = x + 1
    return y * counted.next  # here


SAMPLES: dict[str, Sample] = {
    "BRK001": Sample(data_branch, lambda: (vector(),)),
    "BRK002": Sample(unknown_call, lambda: (vector(),)),
    "BRK003": Sample(output, lambda: (vector(),)),
    "BRK004": Sample(asked, lambda: (vector(),)),
    "BRK005": Sample(disabled, lambda: (vector(),)),
    "BRK006": Sample(not_inlined, lambda: (vector(),)),
    "BRK007": Sample(too_deep, lambda: (vector(),), {"inline_depth": 3}),
    "BRK008": Sample(unsupported, lambda: (vector(),)),
    "BRK009": Sample(would_raise, lambda: (vector(),)),
    "BRK010": Sample(dynamic_attribute, lambda: (Dynamic(), vector())),
    "BRK011": Sample(outside_write, lambda: (vector(),)),
    "BRK012": Sample(without_rule, lambda: (vector(),)),
    "BRK013": Sample(must_know, lambda: (vector(),)),
    "BRK014": Sample(raises, lambda: (vector(),)),
    "BRK015": Sample(unbound, lambda: (vector(),)),
    "BRK016": Sample(imports, lambda: (vector(),)),
    "BRK017": Sample(loops, lambda: (vector(),)),
    "BRK018": Sample(limited, lambda: (vector(),), {"capture_limit": 5}),
    "BRK019": Sample(suspends, lambda: (vector(),)),
    "BRK020": Sample(special_array, lambda: (np.ma.array([1.0, 2.0], mask=[True, False]),)),
    "BRK021": Sample(writes_in_property, lambda: (Counted(), vector())),
    "BRK022": Sample(watched, lambda: (vector(), None)),
    "BRK023": Sample(handles, lambda: (vector(),)),
    "BRK024": Sample(enters, lambda: (vector(), contextlib.nullcontext())),
    "BRK025": Sample(idle, lambda: (vector(),)),
    "BRK026": Sample(own_frame, lambda: (vector(),)),
}


def line_of(fn: Callable[..., Any]) -> int:
    lines, first = inspect.getsourcelines(fn)
    (found,) = [first + i for i, text in enumerate(lines) if "# here" in text]
    return found


def outcome(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[object, ...]:
    """Return what can be seen of a call: the value or exception, the arguments, the text printed."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            value = fn(*arguments)
        except Exception as error:
            seen: object = (type(error), str(error))
        else:
            seen = picture(list(value) if inspect.isgenerator(value) else value)
    return (
        seen,
        picture([vars(a) if hasattr(a, "__dict__") else a for a in arguments]),
        text.getvalue(),
    )


def picture(value: object) -> object:
    if isinstance(value, np.ma.MaskedArray):
        return "masked", value.dtype, value.shape, value.mask.tolist(), value.compressed().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value), [picture(item) for item in value]
    if isinstance(value, dict):
        return [(key, picture(item)) for key, item in value.items()]
    return type(value), value


def test_every_row_has_a_sample_and_every_sample_a_row() -> None:
    assert list(SAMPLES) == list(REASONS)


@pytest.mark.parametrize("code", SAMPLES)
def test_row_is_raised_at_the_line_of_its_sample(code):
    sample = SAMPLES[code]
    config.strict = True
    with config.override(**sample.settings):
        compiled = bcjit.compile(sample.fn, backend="eager")
        plain = outcome(sample.fn, sample.arguments())
        assert outcome(compiled, sample.arguments()) == plain  # while it is captured
        assert outcome(compiled, sample.arguments()) == plain  # from the cache
    where = f"{Path(__file__).name}:{line_of(sample.fn)}"
    report = compiled.report()
    if code in LEFT:
        assert [(p.code, p.line.text()) for p in report.problems] == [(code, where)]
        return
    if code in REFUSED:
        assert [(p.code, p.line.text()) for p in report.problems] == [(code, where)]
        assert not compiled.graphs
        return
    wanted = f"{code} {REASONS[code].title} at {where}"
    assert any(part.ends.startswith(wanted) for part in report.parts), report
    assert wanted in str(report)


@pytest.mark.parametrize("code", [c for c in SAMPLES if c not in ("BRK009", "BRK014", "BRK015")])
def test_explain_names_the_row(code):
    """Samples that raise are left out: `explain` of a call that raises raises."""
    sample = SAMPLES[code]
    config.strict = True
    with config.override(**sample.settings), contextlib.redirect_stdout(io.StringIO()):
        found = bcjit.explain(sample.fn, *sample.arguments())
    where = f"{Path(__file__).name}:{line_of(sample.fn)}"
    if code in (*REFUSED, *LEFT):
        assert found.as_dict()["problems"] == [
            {
                "where": where,
                "code": code,
                "title": REASONS[code].title,
                "context": found.problems[0].context,
                "explanation": REASONS[code].explanation,
                "hint": REASONS[code].hint,
            }
        ]
    else:
        assert any(
            text.startswith(f"{code} {REASONS[code].title} at {where}") for text in found.breaks
        )
    assert code in str(found)


@pytest.mark.parametrize("code", [c for c in SAMPLES if c not in (*REFUSED, *LEFT)])
def test_fullgraph_raises_the_row_where_it_is_not_the_program_that_raises(code):
    sample = SAMPLES[code]
    config.strict = True
    with config.override(**sample.settings):
        compiled = bcjit.compile(sample.fn, backend="eager", fullgraph=True)
        if code in ("BRK009", "BRK014", "BRK015"):
            # The graph ends because the program raises: it is whole.
            assert outcome(compiled, sample.arguments()) == outcome(sample.fn, sample.arguments())
            return
        with pytest.raises(GraphBreakError) as caught:
            compiled(*sample.arguments())
    assert caught.value.reason is REASONS[code]
    assert caught.value.line is not None
    assert caught.value.line.lineno == line_of(sample.fn)


def test_codes_are_numbered_in_order_and_worded_as_sentences() -> None:
    assert list(REASONS) == [f"BRK{number:03}" for number in range(1, len(REASONS) + 1)]
    for code, row in REASONS.items():
        assert isinstance(row, BreakReason)
        assert row.code == code
        assert row.title
        assert not row.title.endswith(".")
        assert row.explanation.endswith(".")
        assert not row.hint or row.hint.endswith(".")
        assert "not implemented" not in f"{row.title} {row.explanation}".lower()
    titles = [row.title for row in REASONS.values()]
    assert len(set(titles)) == len(titles)


def test_hints_name_only_what_there_is() -> None:
    for row in REASONS.values():
        for name in re.findall(r"bcjit\.([\w.]+\w)", f"{row.title} {row.explanation} {row.hint}"):
            found: object = bcjit
            for part in name.split("."):
                assert hasattr(found, part), f"{row.code} names bcjit.{name}"
                found = getattr(found, part)


def generator_of_pages():
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_built_in_method_that_was_read_before_a_break_is_named() -> None:
    def collects(x, found):
        found.append(print(end="") or x.sum())

    explained = bcjit.explain(collects, vector(), [])
    assert "BRK002 call of an unknown function" in str(explained)
    assert ": the built-in append" in str(explained)


def test_page_of_graph_breaks_is_what_the_table_gives() -> None:
    written = (DOCS / "graph_breaks.md").read_text(encoding="utf-8")
    assert written == generator_of_pages().graph_breaks(), (
        "run: python docs/generate.py graph_breaks"
    )
    for code in REASONS:
        assert f"## {code}: " in written


def test_unknown_page_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "nowhere"],
        capture_output=True,
        text=True,
        check=False,
        cwd=DOCS.parent,
        env={"PYTHONPATH": str(DOCS.parent)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "no page is called 'nowhere'; the pages are benchmarks, graph_breaks, op_support, readme\n"
    )


def test_a_key_that_each_turn_counts_is_not_said_to_depend_on_contents():
    def collects(x, n):
        found = {}
        for k in range(n):
            x = x + 1
            if k % 9 == 0:
                found[k] = x.copy()
        return found

    compiled = bcjit.compile(collects, backend="eager")
    assert picture(compiled(vector(), 20)) == picture(collects(vector(), 20))
    (cut,) = {
        part.cut for part in compiled.report().parts if part.cut and part.cut.code == "BRK013"
    }
    assert cut.context == "key of a dict, which may be another in each turn"
    assert "another in each call or turn" in cut.explanation
    assert "before the loop" in cut.hint
