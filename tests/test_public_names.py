"""The public surface: sorted, complete, documented; nothing public by accident."""

from __future__ import annotations

import inspect
import tomllib
import types
from pathlib import Path

import pytest

import bcjit


def test_all_is_sorted_and_has_no_name_twice():
    assert list(bcjit.__all__) == sorted(set(bcjit.__all__))


def test_all_is_what_the_module_holds():
    held = {
        name
        for name, value in vars(bcjit).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    public_modules = {"errors"}
    assert set(bcjit.__all__) - {"__version__"} == held | public_modules


@pytest.mark.parametrize("name", bcjit.__all__)
def test_public_name_says_it_is_of_bcjit_and_is_documented(name):
    value = getattr(bcjit, name)
    if isinstance(value, str):
        return
    assert inspect.getdoc(value), f"bcjit.{name} has no docstring"
    if inspect.isclass(value) or inspect.isfunction(value):
        for member, function in inspect.getmembers(value, inspect.isfunction):
            if not member.startswith("_"):
                assert inspect.getdoc(function), f"bcjit.{name}.{member} has no docstring"


def test_version_is_that_of_pyproject():
    pyproject = Path(__file__).parent.parent / "pyproject.toml"
    assert bcjit.__version__ == tomllib.loads(pyproject.read_text())["project"]["version"]
