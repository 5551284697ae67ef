"""The behaviour cases: compiled and plain cannot be told apart, and no case captures less than its floor.

Falling back everywhere would pass the first half, so the second half must fail for the identity transform.
"""

from __future__ import annotations

import pytest
from conformance import behaviour_cases, harness

from bcjit.backends.choice import has_llvm

# The case of subclasses makes an np.matrix.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

TRANSFORMS = {
    "eager": harness.compile_eager,
    "print": harness.compile_print,
    "reference": harness.compile_reference,
    "fused": harness.compile_fused,
}
if has_llvm():
    TRANSFORMS["native"] = harness.compile_native


def _name(case: harness.Case) -> str:
    return case["name"]


@pytest.fixture(scope="module")
def floors() -> dict[str, harness.Floor]:
    return harness.load_floors()


@pytest.mark.parametrize("backend", TRANSFORMS)
@pytest.mark.parametrize("case", harness.CASES, ids=_name)
def test_case_cannot_be_told_from_plain(case, backend):
    assert behaviour_cases.compare(case, TRANSFORMS[backend], soft=harness.SOFT) == []


@pytest.mark.parametrize("case", harness.CASES, ids=_name)
def test_case_captures_at_least_its_floor(case, floors):
    name = case["name"]
    counts = {name: harness.captured_nodes(case)}
    assert harness.below_floor(counts, {name: floors[name]}) == []


def test_every_case_has_a_floor_and_every_floor_a_case(floors):
    assert list(floors) == [case["name"] for case in harness.CASES]


def test_case_without_blocks_has_a_positive_floor_or_a_reason(floors):
    for case in harness.CASES:
        floor = floors[case["name"]]
        if floor.nodes == 0 and not harness.has_blocks(case):
            assert floor.reason, (
                f"{case['name']}: nothing is captured and floors.json says no reason"
            )
            print(f"{case['name']}: {floor.reason}")


def test_identity_transform_fails_the_floors(floors):
    counts = {
        case["name"]: harness.captured_nodes(case, harness.identity) for case in harness.CASES
    }
    failing = harness.below_floor(counts, floors)
    assert set(counts.values()) == {0}
    assert len(failing) == sum(floor.nodes > 0 for floor in floors.values())
    assert failing
