"""A failure forced before every node of every graph: the plain code takes over, and nothing shows."""

from __future__ import annotations

import pytest
from conftest import FULL
from corpus import ENTRIES
from differential import PLAIN, Setting, compare, observe
from under_test import TRANSFORMS, compile_failing, most_nodes

CHOSEN = [e for e in ENTRIES if e.expects_capture]
if not FULL:
    CHOSEN = CHOSEN[1::2]


@pytest.mark.parametrize("entry", CHOSEN, ids=lambda e: e.name)
def test_failure_at_each_node_cannot_be_told_from_plain(entry):
    settings = (PLAIN, Setting("default", in_except=True)) if FULL else (PLAIN,)
    world = entry.make()
    compiled = TRANSFORMS["eager"](world.fn)
    observe(compiled, world.calls, world=world)
    count = most_nodes(compiled)
    problems = []
    for setting in settings:
        world = entry.make()
        plain = observe(world.fn, world.calls, setting, world)
        for node in range(0, count + 1, count // 25 + 1 if "large" in entry.tags else 1):
            world = entry.make()
            compiled = compile_failing(world.fn, node)
            found = compare(plain, observe(compiled, world.calls, setting, world))
            problems += [f"node {node} [{setting}] {line}" for line in found]
    assert not problems, "\n".join(problems[:20])
