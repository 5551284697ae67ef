"""Fixtures of all tests: global state is as found after each, seeds are fixed and told; it holds no samples.

Groups by what a test needs (markers of pyproject.toml): nothing; `browser`; `valgrind`; `gpu`; `full`, minutes and hours rather than seconds; `days`.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import random
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import numpy as np
import pytest
from hypothesis import settings

import bcjit
from bcjit import api
from bcjit.config import FIELDS, config
from bcjit.frame_hook import measure_own_coverage

_T = TypeVar("_T")
FIXED_SEED: Final = 20_261
FULL: Final = os.environ.get("BCJIT_FULL", "") not in {"", "0"}
DAYS: Final = os.environ.get("BCJIT_FULL") == "2"
# Which part of the longest sweeps a full run takes, as "3/10": several machines or evenings share them. All of it unless told.
_PART: Final = os.environ.get("BCJIT_PART", "0/1").partition("/")
WHOLE: Final = _PART[2] == "1"
# The folder of the disk cache, where this process made it.
_made: Final[list[str]] = []


def part_of(samples: list[_T], name: str) -> list[_T]:
    """Return the samples of a sweep that this run takes: those of different parts are different ones, and together all."""
    if WHOLE:
        return samples
    mixed = random.Random(f"{FIXED_SEED}/{name}").sample(samples, len(samples))
    return mixed[int(_PART[0]) :: int(_PART[2])]


def share(items: Iterable[_T], of: int) -> list[_T]:
    """Return every n-th of some cases, with each Python other ones: five Pythons run what one alone takes long for."""
    return list(items) if FULL else list(items)[sys.version_info.minor % of :: of]


def pytest_configure() -> None:
    # In the environment, so that the workers of pytest-xdist draw the same fresh slice and the header tells how to repeat it.
    os.environ.setdefault("BCJIT_FRESH_SEED", str(secrets.randbelow(2**31)))
    # What is captured is tested whether it pays or not; in the environment for the processes that tests start.
    os.environ["BCJIT_COST_MODEL"] = "0"
    bcjit.config.cost_model = False
    if "BCJIT_CACHE_DIR" not in os.environ:  # the workers of pytest-xdist use the same one
        folder = tempfile.mkdtemp(prefix="bcjit-tests-")
        _made.append(folder)
        os.environ["BCJIT_CACHE_DIR"] = bcjit.config.disk_cache_folder = folder
    # No deadline: the machine may be busy. Derandomised is the fixed slice; BCJIT_FULL asks for fresh ones.
    settings.register_profile("bcjit", derandomize=not FULL, deadline=None, database=None)
    settings.load_profile("bcjit")
    if os.environ.get("BCJIT_COVERAGE"):
        measure_own_coverage()


def pytest_unconfigure() -> None:
    while _made:
        shutil.rmtree(_made.pop(), ignore_errors=True)


def pytest_report_header() -> str:
    fresh = os.environ["BCJIT_FRESH_SEED"]
    return (
        f"bcjit: NumPy {np.__version__}, fixed-slice seed {FIXED_SEED}, fresh-slice seed {fresh}"
        f" (repeat with BCJIT_FRESH_SEED={fresh}), {'full' if FULL else 'short'} run"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the groups whose need is not there, with the reason."""
    reasons = {
        "full": None if FULL else "long; set BCJIT_FULL=1",
        "days": None if DAYS else "very long; set BCJIT_FULL=2",
        "valgrind": _no_valgrind(),
        "browser": None if _browser() is not None else "there is no chromium",
        "gpu": _no_gpu() if any(item.get_closest_marker("gpu") for item in items) else None,
    }
    for item in items:
        for name, reason in reasons.items():
            if reason is not None and item.get_closest_marker(name) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    # What is there now stays: tests that collect garbage, many times over, need not go through a process full of tests each time.
    gc.collect()
    gc.freeze()


def _browser() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _no_valgrind() -> str | None:
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    return None if FULL else "slow; set BCJIT_FULL=1"


def _no_gpu() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    import cupy

    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as exc:
        return f"no CUDA device: {exc}"
    return None


@pytest.fixture(autouse=True)
def _global_state() -> Iterator[None]:
    """Fixed seeds before each test; settings, caches, hook, error state and random state as found after it."""
    random.seed(FIXED_SEED)
    np.random.seed(FIXED_SEED)
    fields = {name: getattr(config, name) for name in FIELDS}
    errors = np.geterr()
    yield
    np.seterr(**errors)
    for name, value in fields.items():
        setattr(config, name, value)
    api._install()  # tests of the C extension tell it other things
    bcjit.reset()
    assert not _hook_armed(), "the frame hook was left armed"


def _hook_armed() -> bool:
    if importlib.util.find_spec("bcjit._core") is None:
        return False
    from bcjit import _core

    return _core.hook_armed()


@pytest.fixture
def fixed_rng() -> np.random.Generator:
    """The fixed slice of generated inputs: the same in every run."""
    return np.random.default_rng(FIXED_SEED)


@pytest.fixture
def fresh_seed() -> int:
    """The fresh slice: another in every run, told in the header."""
    return int(os.environ["BCJIT_FRESH_SEED"])
