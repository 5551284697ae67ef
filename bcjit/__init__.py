"""bcjit compiles unmodified NumPy functions: it captures their array operations as graphs and runs those.

``bcjit.compile`` is the one name most programs need. A compiled function cannot be told from the plain one but by its speed; what is
not understood runs as plain Python. Only public names are here; everything else is internal.
"""

from bcjit import errors
from bcjit.api import (
    CompiledCallable,
    CompiledFunction,
    PlainFunction,
    compile,  # noqa: A004 - the name users know
    disable,
    explain,
    graph_break,
    report,
    reset,
)
from bcjit.backends import list_backends, register_backend
from bcjit.config import config
from bcjit.debugging import check
from bcjit.structured import (
    cond,
    fori_loop,
    map,  # noqa: A004 - as above
    scan,
    while_loop,
)

__all__ = [
    "CompiledCallable",
    "CompiledFunction",
    "PlainFunction",
    "__version__",
    "check",
    "compile",
    "cond",
    "config",
    "disable",
    "errors",
    "explain",
    "fori_loop",
    "graph_break",
    "list_backends",
    "map",
    "register_backend",
    "report",
    "reset",
    "scan",
    "while_loop",
]

__version__ = "0.1.0.dev0"
