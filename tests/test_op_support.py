"""Every public name of NumPy is in the op table, or in the list of names that are not, with a reason; the page says so."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from bcjit.ops import EAGER
from bcjit.ops.index import NAMES
from bcjit.ops.unsupported import UNSUPPORTED

DOCS = Path(__file__).parent.parent / "docs"
PACKAGE = Path(__file__).parent.parent / "bcjit"
PAGE = DOCS / "op_support.md"
WRITTEN_WITH = re.search(r"with NumPy (\S+):", PAGE.read_text(encoding="utf-8")).group(1)


def generator():
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = generator()


@pytest.mark.parametrize("place", PAGES.NAMESPACES)
def test_a_public_name_is_in_the_table_or_has_a_reason(place):
    names = dict(PAGES.public_names(place))
    assert names
    neither = [
        name for name, known in names.items() if not known and f"{place}.{name}" not in UNSUPPORTED
    ]
    assert neither == [], "add an entry to bcjit/ops, or a reason to bcjit/ops/unsupported.py"
    both = [name for name, known in names.items() if known and f"{place}.{name}" in UNSUPPORTED]
    assert set(both) <= {"fix", "row_stack"}  # which older versions of NumPy do not warn of


def test_each_module_that_defines_ops_is_read_at_once_or_named_in_the_index():
    defining = {
        path.stem
        for path in (PACKAGE / "ops").glob("*.py")
        if re.search(r"^table = Rows\(\)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert defining == {*EAGER, *NAMES}
    assert not EAGER.keys() & NAMES.keys()


def test_reasons_are_sentences():
    for reason in set(UNSUPPORTED.values()):
        assert re.fullmatch(r"[A-Z].*\.", reason), reason


def test_at_least_340_functions_of_numpy_linalg_and_fft_are_captured():
    functions = [
        name
        for place in ("np", "np.linalg", "np.fft")
        for name, known in PAGES.public_names(place)
        if known and not isinstance(getattr(PAGES.NAMESPACES[place], name), type)
    ]
    assert len(functions) >= 340


@pytest.mark.skipif(
    np.__version__ != WRITTEN_WITH, reason=f"the page is written with NumPy {WRITTEN_WITH}"
)
def test_the_page_is_what_the_table_gives():
    assert PAGE.read_text(encoding="utf-8") == PAGES.op_support(), (
        "run: python docs/generate.py op_support"
    )
