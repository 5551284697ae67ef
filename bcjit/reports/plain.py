"""What is said of functions that run as plain Python: a sentence, shown like any report. It needs nothing of what compiles."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Final

from bcjit.reports.markup import Markup, join, tag
from bcjit.reports.shown import save
from bcjit.reports.style import PAGE, STYLE

if TYPE_CHECKING:
    import os

__all__ = ["PlainReport"]


class PlainReport(str):
    """The sentence that says why nothing is captured, with the methods and the empty lists of a report.

    A program that asks for reports runs on where nothing is compiled: ``BCJIT_DISABLE=1``, or a callable that is no Python function.
    """

    __slots__ = ()

    parts: Final = ()
    functions: Final = ()
    reports: Final = ()
    recompilations: Final = ()
    limits: Final = ()
    problems: Final = ()
    loops: Final = ()
    breaks: Final = ()
    plain_calls: Final = 0

    def as_dict(self) -> dict[str, object]:
        """Return the sentence as plain data."""
        return {"plain": str(self), "parts": [], "problems": []}

    def text(self, *, guards: bool = True) -> str:
        """Return the sentence."""
        return str(self)

    def print(self, file: IO[str] | None = None, *, guards: bool = False) -> None:
        """Print the sentence, to ``sys.stdout`` by default."""
        (sys.stdout if file is None else file).write(f"{self}\n")

    def html(self) -> str:
        """Return a page for a browser that says it."""
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("title", "bcjit"),
            tag("style", Markup(STYLE + PAGE)),
        )
        body = tag("body", tag("main", tag("p", str(self)), class_="bcjit"))
        return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sentence to a file as a page (``.html``), as data (``.json``) or as text (``.txt``)."""
        save(self, path)

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return join((tag("style", Markup(STYLE)), tag("div", tag("p", str(self)), class_="bcjit")))
