"""Functions of packages that nobody here wrote: compiled, they cannot be told from the plain ones, and none captures less than its floor.

By default a fixed slice of the functions that were found and a fresh one; all of them with ``BCJIT_FULL=1``. The table of what
is captured of each, new floors, and how the functions are found: ``python -m tests.realworld``.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from conftest import share
from realworld import finder, harness
from realworld.harness import Case, Counts, Result
from under_test import compile_eager

from bcjit.config import config
from bcjit.frame_hook import why_unsupported

FRESH_SEED = int(os.environ.get("BCJIT_FRESH_SEED", "0"))
# Of each package: functions of the fixed slice and of the fresh one; and how many, of the fixed slice, must return and be
# equal, and be captured, on whatever version of the package is installed.
FIXED = {"scipy": 40, "colour": 20, "ahrs": 25}
FRESH = {"scipy": 8, "colour": 5, "ahrs": 5}
EQUAL = {"scipy": 30, "colour": 17, "ahrs": 20}
CAPTURED = {"scipy": 25, "colour": 17, "ahrs": 20}
# Functions that turn out to read uninitialised memory: on another version than the one they were found on.
UNSTABLE = 3


def installed_cases(package: str) -> list[Case]:
    """Return the functions that the installed version has."""
    return [case for case in harness.load_cases(package) if case.function() is not None]


def fixed_slice(package: str) -> list[Case]:
    """Return functions from everywhere in a package: the same in every run with one Python."""
    cases = installed_cases(package)
    return share(cases, max(1, len(cases) // FIXED[package]))


def fresh_slice(package: str) -> list[Case]:
    """Return other functions in every run."""
    taken = {case.name for case in fixed_slice(package)}
    rest = [case for case in installed_cases(package) if case.name not in taken]
    return random.Random(FRESH_SEED).sample(rest, min(len(rest), FRESH[package]))


def run(cases: list[Case]) -> list[Result]:
    """Compare the functions under ``config.strict``."""
    was = config.strict
    try:
        return [harness.check(case, compile_eager) for case in cases]
    finally:
        config.strict = was


@pytest.fixture(scope="module", params=harness.PACKAGES)
def package(request):
    name = request.param
    if harness.version(name) is None:
        pytest.skip(f"{harness.PACKAGES[name]} is not installed")
    if why_unsupported() is not None:
        pytest.skip(f"nothing is compiled here: {why_unsupported()}")
    return name


@pytest.fixture(scope="module")
def fixed_results(package):
    return run(fixed_slice(package))


@pytest.fixture(scope="module")
def results(package, fixed_results):
    return fixed_results + run(fresh_slice(package))


@pytest.fixture(scope="module")
def floors(package):
    return harness.load_floors().get(harness.version(package), {})


def test_functions_cannot_be_told_from_plain(package, results):
    cases = {case.name: case for case in harness.load_cases(package)}
    different = [result for result in results if result.problem]
    unstable = {r.name for r in different if not finder.is_stable(cases[r.name])}
    if unstable:
        print(f"different from themselves, uncompiled: {sorted(unstable)}")
    assert [r.problem for r in different if r.name not in unstable] == []
    assert len(unstable) <= UNSTABLE


def test_no_function_captures_less_than_its_floor(package, results, floors):
    counts = {result.name: result.counts for result in results}
    print(f"{harness.version(package)}\n{harness.table(counts)}")
    if not floors:
        print(f"floors.json has none for {harness.version(package)}")
    assert harness.below_floor(counts, floors) == []


def test_enough_functions_return_and_are_captured(package, fixed_results):
    equal = [result for result in fixed_results if result.returned and not result.problem]
    assert len(equal) >= EQUAL[package]
    assert sum(result.counts.nodes > 0 for result in equal) >= CAPTURED[package]


def test_identity_transform_fails_the_floors(package, floors):
    if not floors:
        pytest.skip(f"floors.json has none for {harness.version(package)}")
    chosen = [case for case in fixed_slice(package) if case.name in floors][:20]
    counts = {case.name: harness.check(case, harness.identity).counts for case in chosen}
    assert set(counts.values()) == {Counts()}
    above_zero = [name for name in counts if floors[name].nodes > 0]
    assert len(harness.below_floor(counts, floors)) == len(above_zero) > 0


def test_floors_are_those_of_found_functions():
    names = {
        package: {case.name for case in harness.load_cases(package)} for package in harness.PACKAGES
    }
    for key, rows in harness.load_floors().items():
        assert rows.keys() <= names[key.partition(" ")[0]], key
        captured = sum(counts.nodes > 0 for counts in rows.values())
        assert captured >= CAPTURED[key.partition(" ")[0]], key


def test_importing_the_packages_leaves_numpys_settings(package, results):
    assert len(results) > 0
    assert str(np.ones(2)) == "[1. 1.]"
    assert np.geterr()["divide"] == "warn"


# ---------------------------------------------------------------------- the rule that finds them
def test_found_functions_are_found_again_by_the_rule(package):
    for case in fixed_slice(package)[::20]:
        fn = case.function()
        assert type(fn).__name__ == "function", case.name
        assert case.kinds in {tried.kinds for tried in finder.cases_for(case.name, fn)}, case.name


def _doubled(x, *, rng=None):
    return x * 2


def _constant(x):
    return 1.5


def _names(x):
    return type(x).__name__


def _counting(x, calls=[]):  # noqa: B006 - the subject
    calls.append(1)
    return x * len(calls)


def _only_lists(x):
    return sum(x.append(1))


def test_rule_takes_what_computes_from_its_arguments(monkeypatch):
    def found(fn):
        monkeypatch.setattr(Case, "function", lambda self: fn)
        return finder.search("a.b", fn)

    assert found(_doubled) == Case("a.b", ("vector",), (("rng", "generator"),), takes_complex=True)
    for refused in (_constant, _names, _counting, _only_lists):
        assert found(refused) is None, refused


def test_floors_only_rise(tmp_path, monkeypatch, capsys):
    from realworld.__main__ import update

    monkeypatch.setattr(harness, "FLOORS_FILE", tmp_path / "floors.json")
    update([{"p 1.0": {"f": Counts(5, 2, 1), "g": Counts(3, 1, 0)}}])
    update([{"p 1.0": {"f": Counts(9, 1, 0), "g": Counts(2, 1, 0)}}, {"p 1.0": {"f": Counts(7, 3, 2), "g": Counts(8, 1, 0)}}])  # fmt: skip
    assert harness.load_floors() == {"p 1.0": {"f": Counts(7, 3, 2), "g": Counts(3, 1, 0)}}
    assert "g: 2 captured, below the floor of 3" in capsys.readouterr().out
