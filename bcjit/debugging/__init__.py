"""Debugging by hand: a function plain and compiled side by side, and the node that makes the difference.

``copies`` (equal worlds), ``observe`` (what can be seen of a call), ``compare`` (where two worlds differ), ``replay`` (a graph node by node), ``checking``
(joins them), ``bisect`` (whole scripts). See ``docs/design/0018-debugging.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from bcjit.lazy import load

if TYPE_CHECKING:
    from bcjit.backends import Backend
    from bcjit.debugging.checking import CheckResult

__all__ = ["check"]


def check(
    fn: Callable[..., Any], /, *args: Any, backend: str | Backend | None = None, **kwargs: Any
) -> CheckResult:
    """Run a function plain and compiled, side by side, and say where the two differ.

    Both are run twice, in equal worlds: on deep copies of the arguments, in which arrays share memory as the originals do, with the same random
    streams and error state. Values are compared bit by bit, with dtypes, shapes and layouts; so are exceptions and their tracebacks,
    the arguments afterwards, warnings, printed text (which is not shown) and random streams. If anything differs, the captured graphs are run node by
    node beside NumPy's own calls. Nothing that the function is given is changed; what else it changes (globals, files) is.

    Parameters
    ----------
    fn
        A function or method, compiled or not.
    *args, **kwargs
        What it is called with.
    backend
        A registered name or a callable. None: that of `fn` if it is compiled, else ``"auto"``.

    Returns
    -------
    CheckResult
        True where nothing differs.

    Raises
    ------
    ArgumentTypeError
        `fn` is not callable.
    ArgumentError
        An argument cannot be copied.

    Examples
    --------
    >>> import numpy as np
    >>> import bcjit
    >>> def scaled(x, k):
    ...     return (x - x.mean()) * k
    >>> print(bcjit.check(scaled, np.arange(3.0), 10))
    scaled: equal (backend auto)
    1 graph with 3 calls
    """
    # Late: few programs ask, and `import bcjit` is to be quick.
    found = load("bcjit.debugging.checking").run_check(fn, args, kwargs, backend)
    return cast("CheckResult", found)
