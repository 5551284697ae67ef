"""Debugging by hand: a function plain and compiled side by side, and the node that makes the difference.

``copies`` (equal worlds), ``observe`` (what can be seen of a call), ``compare`` (where two worlds differ), ``replay`` (a graph node by node), ``checking``
(what users call). See ``docs/design/0018-debugging.md``.
"""

from bcjit.debugging.checking import CheckResult, check

__all__ = ["CheckResult", "check"]
