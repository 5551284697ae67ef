"""The compilers under test: one transform a backend.

The only test module that knows how a backend is named and made.
"""

from __future__ import annotations

import io
import types

import bcjit
from bcjit.api import CompiledFunction, PlainFunction
from bcjit.backends import Fused, PrintBackend
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.backends.testing import CountingBackend, FailingBackend
from bcjit.bytecode import decode
from bcjit.compiler import FunctionCompiler
from bcjit.fx_graph import NodeKind
from bcjit.primitives import ReferenceBackend
from bcjit.symbolic_vm import Settings


def _compile(fn, backend):
    # A mistake inside bcjit runs the frame plainly, which no comparison would see: let it raise.
    # The fixture of conftest.py puts the setting back after each test.
    bcjit.config.strict = True
    return bcjit.compile(fn, backend=backend)


def compile_eager(fn):
    """Compile under the eager backend."""
    return _compile(fn, "eager")


def compile_print(fn):
    """Compile under the print backend; what it prints goes elsewhere than the function's own prints."""
    return _compile(fn, PrintBackend(io.StringIO()))


def compile_counting(fn):
    """Compile under the backend that counts."""
    return _compile(fn, CountingBackend())


def compile_reference(fn):
    """Compile to the primitive level, each primitive run by NumPy."""
    return _compile(fn, ReferenceBackend())


def compile_native(fn):
    """Compile with machine code for whatever one call or more of a graph allow."""
    return _compile(fn, Native(smallest=1))


def compile_fused(fn):
    """Compile so that arrays of every size go through the buffers."""
    return _compile(fn, Fused(smallest=0, block=5))


def compile_failing(fn, at):
    """Compile so that each graph fails before its node `at`."""
    return _compile(fn, FailingBackend(at=at))


def compile_breaking(fn, offsets):
    """Compile so that each graph is cut where it comes to an instruction at one of these offsets."""
    bcjit.config.strict = True
    settings = Settings(break_at=frozenset(offsets))
    compiler = FunctionCompiler(fn.__code__, "eager", fullgraph=False, settings=settings)
    return CompiledFunction(fn, compiler)


def run_plain(fn):
    """Compile nothing: what captures no node must not pass where nodes are counted."""
    return PlainFunction(fn, "a test runs it plain")


def break_points(fn):
    """Return the offsets at which a function's graph can be asked to be cut."""
    return sorted({instruction.offset for instruction in decode(fn.__code__).instructions})


def captured_nodes(compiled):
    """Return how many call nodes were captured from a function, before the passes."""
    report = compiled.report()  # a sentence, of what runs plain
    return sum(part.nodes for part in getattr(report, "parts", ()))


def loops_in(graph):
    """Return how many loops a graph holds; those in the body of another one count too."""
    return sum(node.kind is NodeKind.LOOP for one in graph.nested() for node in one.nodes)


def captured_loops(compiled):
    """Return how many loops were captured whole from a function."""
    return sum(map(loops_in, getattr(compiled, "graphs", ())))


def captured_parts(compiled):
    """Return how many parts a function was captured in; 1 for a graph without a break."""
    report = compiled.report()  # a sentence, of what runs plain
    return len(getattr(report, "parts", ()))


def most_nodes(compiled):
    """Return the number of call nodes of a function's largest graph."""
    return max((graph.count for graph in compiled.graphs), default=0)


def code_length(fn):
    """Return an upper bound of the instructions interpreted in one capture of a function without loops.

    Inlined callees are found among the constants and globals, two calls deep.
    """
    seen = set()

    def count(code, namespace, depth):
        if code in seen or depth > 2:
            return 0
        seen.add(code)
        total = len(code.co_code) // 2
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                total += count(constant, namespace, depth + 1)
        for name in code.co_names:
            value = namespace.get(name)
            if isinstance(value, types.FunctionType):
                total += count(value.__code__, value.__globals__, depth + 1)
        return total

    return count(fn.__code__, fn.__globals__, 0)


TRANSFORMS = {
    "eager": compile_eager,
    "print": compile_print,
    "counting": compile_counting,
    "reference": compile_reference,
    "fused": compile_fused,
}
if has_llvm():
    TRANSFORMS["native"] = compile_native
