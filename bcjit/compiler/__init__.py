"""From a frame to a cache entry: the only package that joins capture, backends, guards and residual code.

``compile`` (what happens on a miss), ``recipes`` (how live values are made again, as data), ``residual`` (recipes to bytecode), ``restore`` and
``bailout`` (recipes run when a graph fails), ``error_state`` (NumPy's warnings while a graph runs), ``explain`` (words).
"""

from bcjit.compiler.compile import FunctionCompiler
from bcjit.compiler.error_state import install as install_error_state
from bcjit.compiler.explain import (
    Explanation,
    RecompileReport,
    explanation_of,
    graphs_of,
    report_of,
)
from bcjit.compiler.foreign import install_foreign_test

__all__ = [
    "Explanation",
    "FunctionCompiler",
    "RecompileReport",
    "explanation_of",
    "graphs_of",
    "install_error_state",
    "install_foreign_test",
    "report_of",
]
