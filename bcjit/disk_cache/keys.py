"""Keys of kernels: digests of everything that their bytes depend on; it reads source, and no file of the cache."""

# ruff: noqa: PTH118 - pathlib takes longer to import than most modules of this package

from __future__ import annotations

import os
import posix
import sys
from collections.abc import Iterator
from typing import Final

import numpy as np

from bcjit.disk_cache.own_files import is_ours, read
from bcjit.disk_cache.sealing import FORMAT, KEY_SIZE, blake2b

__all__ = ["cache_key", "source_digest"]


def cache_key(kernel_text: str, **versions: str) -> str:
    """Return the key of a kernel: 64 hexadecimal digits, equal for what is compiled to the same bytes.

    Parameters
    ----------
    kernel_text
        What is compiled, in full.
    **versions
        What else the bytes depend on: LLVM's version, the target's name and features, the digest of the sources that generate them. The
        versions of bcjit, NumPy, Python with its ABI, the kind of machine and the format of the files are in every key.

    Returns
    -------
    str
        The key.

    Examples
    --------
    >>> cache_key("out = x + 1", llvm="22") == cache_key("out = x + 1", llvm="22")
    True
    >>> cache_key("out = x + 1", llvm="22") == cache_key("out = x + 1", llvm="23")
    False
    """
    digest = blake2b(digest_size=KEY_SIZE, person=b"bcjit key")
    words = [*_SURROUNDINGS, _bcjit_version(), kernel_text]
    for name in sorted(versions):
        words += name, versions[name]
    for word in words:
        text = word.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(text))  # so that no two lists of words are one text
        digest.update(text)
    return digest.hexdigest()


_SURROUNDINGS: Final = (
    f"format {FORMAT}",
    np.__version__,
    f"{sys.implementation.cache_tag} {sys.abiflags} {sys.hexversion:x} {sys.maxsize:x}",
    posix.uname().machine,
)


def _bcjit_version() -> str:
    # The public names are above this module, but they are there when somebody has something compiled.
    return str(getattr(sys.modules["bcjit"], "__version__", None))


def source_digest(*paths: str) -> str | None:
    """Return a digest of source, so that who changes it gets no kernel that the earlier one made.

    Parameters
    ----------
    *paths
        Files, and folders, of which the ``.py`` files count, those of their packages included.

    Returns
    -------
    str or None
        None where something cannot be read: nothing must be loaded or stored then.
    """
    digest = blake2b(digest_size=16, person=b"bcjit source")
    try:
        for path in paths:
            for file in _sources(path):
                text = _contents(file)
                name = os.fsencode(file.removeprefix(path))
                digest.update(b"%d:%s%d:" % (len(name), name, len(text)))
                digest.update(text)
    except OSError as error:
        if not is_ours(error):
            raise
        return None
    return digest.hexdigest()


def _contents(path: str) -> bytes:
    file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return read(file, posix.fstat(file).st_size)
    finally:
        posix.close(file)


def _sources(path: str) -> Iterator[str]:
    try:
        names = sorted(posix.listdir(path))
    except NotADirectoryError:
        yield path
        return
    for name in names:
        below = os.path.join(path, name)
        if name.endswith(".py"):
            yield below
        elif name.isidentifier() and name != "__pycache__":
            yield from (file for file in _sources(below) if file.endswith(".py"))
