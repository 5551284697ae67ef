"""How a report is asked to show itself; the work is done by ``text`` and ``html``, which are loaded when they are needed."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING, Any, Protocol

from bcjit.errors import ArgumentError
from bcjit.lazy import load

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Savable", "Shown", "save"]


def _renderer(name: str) -> Any:
    """Return a module that renders reports. Late, so that a program that shows no page does not wait for what makes pages."""
    return load(f"bcjit.reports.{name}")


class Savable(Protocol):
    """What `save` can write."""

    def html(self) -> str:
        """Return it as a page."""

    def text(self) -> str:
        """Return all of it as text."""

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""


def save(report: Savable, path: str | os.PathLike[str]) -> None:
    """Write a report to a file: as a page, as data or as text, by the end of its name.

    Raises
    ------
    ArgumentError
        If the name ends in something else; nothing is written.
    """
    name = os.fspath(path)
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - pathlib is slow to import
    if suffix in (".html", ".htm"):
        text = report.html()
    elif suffix == ".json":
        text = f"{load('json').dumps(report.as_dict(), indent=2)}\n"
    elif suffix == ".txt":
        text = f"{report.text()}\n"
    else:
        msg = f"a report is saved as .html (or .htm), .json or .txt, not as {name!r}"
        raise ArgumentError(msg)
    with open(name, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
        file.write(text)


class Shown:
    """A report that can be shown: as text, in colour on a terminal, as a page, in a notebook."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(_renderer("text").plain(self))

    def __repr__(self) -> str:
        return f"<bcjit {type(self).__name__}: {str(self).partition(chr(10))[0]}>"

    def text(self, *, guards: bool = True) -> str:
        """Return the report as text.

        Parameters
        ----------
        guards
            Whether it says what each variant relies on; ``str()`` leaves that out.
        """
        return str(_renderer("text").plain(self, guards=guards))

    def print(self, file: IO[str] | None = None, *, guards: bool = False) -> None:
        """Print the report: in colour where the output is a terminal and ``rich`` is installed, else as ``print(report)`` does.

        Parameters
        ----------
        file
            Where to; ``sys.stdout`` by default.
        guards
            Whether to say what each variant relies on.
        """
        _renderer("text").show(self, sys.stdout if file is None else file, guards=guards)

    def html(self) -> str:
        """Return the report as a page for a browser: one file, without scripts, with nothing from elsewhere."""
        return str(_renderer("html").page(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, in the form that its name asks for.

        Parameters
        ----------
        path
            The file, which is made or replaced: ``.html`` (or ``.htm``) is the page of `html`, ``.json`` the data of `as_dict`, ``.txt`` the text.

        Raises
        ------
        ArgumentError
            If the name ends in something else.
        """
        save(self, path)

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain data."""
        raise NotImplementedError

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Yield what ``rich`` prints."""
        return iter(_renderer("text").for_rich(self))

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return str(_renderer("html").fragment(self))
