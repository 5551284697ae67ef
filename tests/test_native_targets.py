"""What a rule becomes on other processors: code that refers to nothing outside itself, as `engine` promises."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import FULL
from native_kit import CHARS, apply, loops, program_of

from bcjit.backends.choice import has_llvm
from bcjit.backends.native.division import QUOTIENTS
from bcjit.backends.native.emit import emit
from bcjit.backends.native.engine import llvm, machine
from bcjit.backends.native.gathers import GATHER
from bcjit.backends.native.program import Program
from bcjit.backends.native.rules import X86, has_rule
from bcjit.backends.native.scalars import Apply, Element, Table
from bcjit.ops.scalar_functions import CAST

pytestmark = pytest.mark.skipif(not (has_llvm() and X86), reason="needs llvmlite on x86")
# With the bytes of a vector, and what a processor must have for them.
PROCESSORS = (("skylake-avx512", 64), ("haswell", 32), ("sandybridge", 32), ("nehalem", 16))
WITHOUT_HALVES = WITHOUT_FUSED = frozenset({"sandybridge", "nehalem"})


def ruled():
    """Return loops that have a rule, by default a part of them."""
    found = [case for case in loops() if has_rule(*case)]
    pairs = [(np.dtype(a), np.dtype(b)) for a in CHARS for b in CHARS if a != b]
    found += [(CAST, pair) for pair in pairs if has_rule(CAST, pair)]
    return found if FULL else found[::16]


@pytest.mark.parametrize(("processor", "size"), PROCESSORS)
def test_code_calls_nothing(processor, size):
    for function, dtypes in ruled():
        if processor in WITHOUT_HALVES and "e" in {dtype.char for dtype in dtypes}:
            continue
        kind = dtypes[0].kind
        if processor in WITHOUT_FUSED and (
            (function.name in QUOTIENTS and kind == "f")
            or (function.name in {"multiply", "square"} and kind == "c")  # as this machine's NumPy
        ):
            continue
        program = program_of(apply(function, dtypes))
        assert not calls(program, processor, size), (function.name, dtypes)


@pytest.mark.parametrize(("processor", "size"), PROCESSORS)
def test_gathers_call_nothing(processor, size):
    place = np.dtype(np.intp)
    for char in "?hdFD":
        dtype = np.dtype(char)
        read = Apply(GATHER, (dtype, place, dtype), (Table(0, dtype, 1), Element(0, place)))
        assert not calls(Program((read,), (place,), ()), processor, size), char


def calls(program, processor, size):
    """Return a call in the code of a program."""
    machine()  # LLVM is ready
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=processor, features="", opt=2, jit=True
    )
    module = llvm.parse_assembly(emit(program, size).text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    assembly = target.emit_assembly(module)
    assert "kernel" in assembly
    return re.search(r"^\s*call|@PLT|jmp\w*\s+\w+@", assembly, re.M)
