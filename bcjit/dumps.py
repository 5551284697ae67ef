"""Folders of texts for people, one for each compiled entry, below ``config.dump``; it knows nothing of what is in the texts.

Nothing that goes wrong here reaches the program: what cannot be written is logged once.
"""

# pathlib takes longer to import than most modules of this package.
# ruff: noqa: PTH100, PTH103, PTH112, PTH123

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from typing import Final

from bcjit.config import config
from bcjit.logs import get_logger, once

__all__ = ["LIMIT", "write"]

# Folders of one process: a program that compiles without end must not fill the disk.
LIMIT: Final = 1000
_LONGEST_NAME: Final = 80
_numbers: Final = itertools.count()
# Where each setting leads to: to the same folder when the program has gone to another one.
_folders: Final[dict[str, str]] = {config.dump: os.path.abspath(config.dump)}


def write(name: str, files: Mapping[str, str]) -> str | None:
    """Write texts into a new folder ``<name>-<process>-<number>`` below ``config.dump``; return it, None where that cannot be.

    Parameters
    ----------
    name
        What the folder is about; characters other than letters, digits and ``_`` become ``_``.
    files
        Texts by file name. Empty ones are left out.
    """
    safe = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:_LONGEST_NAME] or "unnamed"
    try:
        parent = _folders.setdefault(config.dump, os.path.abspath(config.dump))
        folder = _new_folder(f"{parent}/{safe}-{os.getpid()}")
        if folder is None:
            message = "BCJIT_DUMP: %d folders are written, no more are"
            once(get_logger("capture"), "dump limit", message, LIMIT)
            return None
        for file, text in files.items():
            if text:
                with open(
                    f"{folder}/{file}", "w", encoding="utf-8", errors="backslashreplace"
                ) as to:
                    to.write(text.rstrip("\n") + "\n")
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        message = "BCJIT_DUMP: %r cannot be written: %s"
        once(get_logger("capture"), "dump", message, config.dump, error)
        return None
    return folder


def _new_folder(prefix: str) -> str | None:
    """Make a folder that was not there: an earlier process may have had our number."""
    for number in _numbers:
        if number >= LIMIT:
            return None
        folder = f"{prefix}-{number}"
        try:
            os.makedirs(folder)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
            continue
        return folder
    return None
