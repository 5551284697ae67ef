"""How a report is asked to show itself; the work is done by ``text`` and ``html``, which are loaded when they are needed."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

from bcjit.lazy import load

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["Shown"]


def _renderer(name: str) -> Any:
    """Return a module that renders reports. Late, so that a program that shows no page does not wait for what makes pages."""
    return load(f"bcjit.reports.{name}")


class Shown:
    """A report that can be shown: as text, in colour on a terminal, as a page, in a notebook."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(_renderer("text").plain(self))

    def __repr__(self) -> str:
        return f"<bcjit {type(self).__name__}: {str(self).partition(chr(10))[0]}>"

    def print(self, file: IO[str] | None = None) -> None:
        """Print the report: in colour where the output is a terminal and ``rich`` is installed, else as ``print(report)`` does.

        Parameters
        ----------
        file
            Where to; ``sys.stdout`` by default.
        """
        _renderer("text").show(self, sys.stdout if file is None else file)

    def html(self) -> str:
        """Return the report as a page for a browser: one file, without scripts, with nothing from elsewhere."""
        return str(_renderer("html").page(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page of `html` to a file.

        Parameters
        ----------
        path
            The file, which is made or replaced.
        """
        page = self.html()
        with open(path, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib is slow to import
            file.write(page)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Yield what ``rich`` prints."""
        return iter(_renderer("text").for_rich(self))

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return str(_renderer("html").fragment(self))
