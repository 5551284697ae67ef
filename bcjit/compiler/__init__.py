"""From a frame to a cache entry: the only package that joins capture, backends, guards and residual code.

``compile`` (what happens on a miss), ``entry`` (from a capture to an entry), ``recipes`` (how live values are made again, as data), ``residual`` (recipes to bytecode), ``restore`` and
``bailout`` (recipes run when a graph fails), ``error_state`` (NumPy's warnings while a graph runs).
"""

from bcjit.compiler.compile import FunctionCompiler
from bcjit.compiler.error_state import install as install_error_state
from bcjit.compiler.foreign import install_foreign_test

__all__ = [
    "FunctionCompiler",
    "install_error_state",
    "install_foreign_test",
]
