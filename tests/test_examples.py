"""The examples run, and show what they claim: the three probes' counts, and that the demo's jobs equal plain NumPy."""

from __future__ import annotations

import re
from pathlib import Path

import loops
import numpy as np
import probe_branch
import probe_random
import probe_shape
import pytest


def test_probe_branch_captures_judge_and_else_side_then_nothing_then_the_other_side(capsys):
    facts = probe_branch.main()
    assert facts.captured == [2, 0, 1]
    for result, expected in zip(facts.results, (-1.0, 0.0, 0.0), strict=True):
        np.testing.assert_array_equal(result, np.full(3, expected))


def test_probe_branch_prints_what_it_captures_and_only_then(capsys):
    first, second, third = probe_branch.main().printed
    judge, other, one = "operator.lt", "operator.sub", "operator.add"
    assert judge in first
    assert other in first
    assert one not in first
    assert not second
    assert one in third
    assert judge not in third
    assert other not in third


def test_probe_shape_captures_once_for_all_lengths(capsys):
    facts = probe_shape.main()
    assert facts.shapes == [(n, n) for n in probe_shape.LENGTHS]
    assert facts.captured == [1, 0, 0, 0]
    assert facts.equal == [True] * 4


def test_probe_random_draws_the_plain_streams_call_by_call(capsys):
    facts = probe_random.main()
    assert facts.compiled == facts.plain
    assert facts.same_state == [True] * probe_random.CALLS
    assert len(set(facts.compiled)) == probe_random.CALLS


def test_loops_are_captured_whole_unrolled_or_left_and_equal_to_plain(capsys):
    facts = loops.main()
    assert facts.equal == [True] * 4
    assert facts.became == [["rolled"], ["rolled", "unrolled"], ["left"], ["rolled"]]
    assert [facts.graphs[k] for k in (0, 1, 3)] == [1, 1, 1]
    text = capsys.readouterr().out
    page = Path(__file__).parent.parent / "docs" / "loops.md"
    shown = re.findall(r"```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(shown) == 2
    for part in shown:
        assert part in text.replace("\n  loops.py", "\nloops.py")


def test_demo_jobs_equal_plain_numpy_bit_for_bit(capsys):
    pytest.importorskip("matplotlib", reason="the photograph is matplotlib's")
    import demo

    jobs = demo.main()
    assert [job.equal for job in jobs] == [True] * 4
    assert all(job.graphs > 0 for job in jobs)
    text = capsys.readouterr().out
    assert "probe (a)" in text
    assert text.count("equal to plain NumPy bit for bit") == 4
