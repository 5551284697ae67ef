"""Every corpus function under every backend: cannot be told from plain, and is really captured."""

from __future__ import annotations

import pytest
from corpus import ENTRIES
from differential import STANDARD_SETTINGS, assert_same, observe
from under_test import TRANSFORMS, captured_nodes

IDS = [entry.name for entry in ENTRIES]

# What only differs in the memory of new arrays, which the primitive level does not fix: whether a result owns its memory, and the
# strides of axes of one element.
LAYOUT = {
    "reference": {
        "creates_like_its_argument",
        "empty_and_single_arrays",
        "integer_array_indexing",
        "joins_and_splits",
        "reshapes_and_transposes",
    }
}


@pytest.mark.parametrize("backend", TRANSFORMS)
@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_function_cannot_be_told_from_plain(entry, backend):
    if entry.name in LAYOUT.get(backend, ()):
        pytest.skip("the memory of new arrays is another one")
    settings = STANDARD_SETTINGS if backend == "eager" else STANDARD_SETTINGS[:1]
    assert_same(entry.make, TRANSFORMS[backend], settings, f"{entry.name} under {backend}")


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.expects_capture], ids=lambda e: e.name)
def test_function_is_captured(entry):
    world = entry.make()
    compiled = TRANSFORMS["eager"](world.fn)
    observe(compiled, world.calls, world=world)
    assert captured_nodes(compiled) > 0
