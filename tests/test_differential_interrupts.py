"""Capture interrupted at every instruction: whatever point it stops at, results are those of plain.

`capture_limit=k` makes each capture break at its k-th instruction, so parts end and continuations
begin everywhere: in the middle of expressions, between the arguments of calls, in inlined callees.
"""

from __future__ import annotations

import pytest
from conftest import FULL, share
from corpus import ENTRIES
from differential import PLAIN, Setting, compare, observe
from under_test import TRANSFORMS, code_length

from bcjit.config import config

# Without BCJIT_FULL every eighth function, and of its limits all small ones and every fifth.
CHOSEN = share(ENTRIES, 8)
SMALL = 6
STRIDE = 1 if FULL else 5


def limits(entry):
    """Return the limits to try: up to one at which no capture of the function stops early."""
    most = code_length(entry.make().fn)
    # Large functions are there for their size, not for their forms.
    stride = max(most // 12, 1) if "large" in entry.tags else STRIDE
    return [k for k in range(1, most + 1) if k % stride == 0 or (k <= SMALL and stride == STRIDE)]


@pytest.mark.parametrize("entry", CHOSEN, ids=lambda e: e.name)
def test_interrupted_capture_cannot_be_told_from_plain(entry):
    settings = (PLAIN, Setting("default", in_except=True)) if FULL else (Setting(in_except=True),)
    problems = []
    for setting in settings:
        world = entry.make()
        plain = observe(world.fn, world.calls, setting, world)
        for limit in limits(entry):
            world = entry.make()
            with config.override(capture_limit=limit, part_limit=10_000, cache_limit=100):
                compiled = TRANSFORMS["eager"](world.fn)
                found = compare(plain, observe(compiled, world.calls, setting, world))
            problems += [f"limit {limit} [{setting}] {line}" for line in found]
    assert not problems, "\n".join(problems[:20])
