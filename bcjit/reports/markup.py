"""HTML and SVG elements from Python calls; the one place where text from a program is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["Markup", "join", "tag"]

# What no document may hold: control characters but tab and line end, and halves of surrogate pairs.
_FORBIDDEN: Final = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f\\ud800-\\udfff\\ufffe\\uffff]"
)


class Markup(str):
    """Text that is markup already; only `tag` and `join` make it of anything else."""

    __slots__ = ()


def _escaped(text: object) -> str:
    if type(text) is Markup:
        return text
    return html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Put parts together; what is no markup is escaped."""
    return Markup(_escaped(between).join(map(_escaped, parts)))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name
        Its name.
    *children
        What is in it: markup, or text, which is escaped. None is left out.
    **attributes
        Its attributes: ``class_`` is ``class``, ``font_size`` is ``font-size``. True gives one without a value; None and False are left out.
    """
    written = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        written.append(word if value is True else f'{word}="{_escaped(str(value))}"')
    head = " ".join(written)
    if name in _VOID:
        return Markup(f"<{head}>")
    inside = "".join(_escaped(child) for child in children if child is not None)
    return Markup(f"<{head}>{inside}</{name}>")


_VOID: Final = frozenset({"meta", "br", "hr"})
