"""What was captured and why, for people: reads the code caches, changes nothing and runs nothing of the program.

Rooms, in the order data goes through them: ``collect`` (caches to records), ``parts``, ``data`` and ``picture`` (the records), ``shown`` (how a report is asked to show itself), ``words``
and ``text`` (rows of words), ``html``, ``annotated``, ``listing``, ``svg``, ``layout``, ``markup`` and ``style`` (pages), ``plain`` (what is said where nothing is compiled).

The modules are loaded when a name is first asked for: most programs ask for no report, and none should wait for them at import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bcjit.lazy import load

if TYPE_CHECKING:
    from bcjit.reports.collect import Compiled, explanation_of, program_report_of, report_of
    from bcjit.reports.data import Explanation, ProgramReport, Report
    from bcjit.reports.html import graph_element
    from bcjit.reports.plain import PlainReport

__all__ = [
    "Compiled",
    "Explanation",
    "PlainReport",
    "ProgramReport",
    "Report",
    "explanation_of",
    "graph_element",
    "program_report_of",
    "report_of",
]

_ROOMS: Final = {
    "Compiled": "collect",
    "Explanation": "data",
    "PlainReport": "plain",
    "ProgramReport": "data",
    "Report": "data",
    "explanation_of": "collect",
    "graph_element": "html",
    "program_report_of": "collect",
    "report_of": "collect",
}


def __getattr__(name: str) -> object:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load(f"{__name__}.{room}"), name)
