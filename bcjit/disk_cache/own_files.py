"""Files and folders that nobody but this user can have written; it knows nothing of what is in them.

A folder is opened once, checked, and then everything happens relative to its descriptor: what is checked is what is used, whatever the
path has come to mean meanwhile. Checks look at open descriptors for the same reason. Nothing is kept between calls (a program may close
descriptors that it does not know, change its user or fork).

What is opened or made is closed or removed again whatever is raised in the middle, by a signal's handler of the program too (`BaseException`), and that goes on.
"""

# ruff: noqa: PTH120 - pathlib takes longer to import than most modules of this package

from __future__ import annotations

import errno
import os

# Not os: a program under test may have put functions of its own there, which would see these calls.
import posix
import stat
from contextlib import suppress
from typing import Final

__all__ = ["PRIVATE", "TEMPORARY", "UNWRITTEN", "Unusable", "is_ours", "make_folder", "open_file", "open_folder", "read", "remove", "write", "write_first"]  # fmt: skip

# Permissions that others must not have: to write, or (to what is secret) any.
UNWRITTEN: Final = 0o022
PRIVATE: Final = 0o077
# The end of the names of files that are being written.
TEMPORARY: Final = ".tmp"

_READ: Final = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC
# O_NONBLOCK: opening a pipe would wait for who writes into it.
_READ_FILE: Final = _READ | posix.O_NONBLOCK
_READ_FOLDER: Final = _READ | posix.O_DIRECTORY
_WRITE: Final = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC


class Unusable(Exception):
    """A file or folder is not used.

    Parameters
    ----------
    path
        Which one.
    why
        The reason, as the end of the sentence "it is ignored: ...".
    unsafe
        Whether others may have written it: more than damage, or than something that is not there.
    """

    def __init__(self, path: str, why: str, *, unsafe: bool) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.unsafe = unsafe


# The standard library's own Python code that is called here.
_CALLED: Final = frozenset({"bcjit", "os", "posixpath", "genericpath"})


def is_ours(error: BaseException) -> bool:
    """Whether an exception is of what modules of bcjit did, not of a signal's handler of the program that came in the middle of it.

    (``TimeoutError``, which such handlers like to raise, is an ``OSError``.)
    """
    traceback = error.__traceback__
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in _CALLED:
            return False
        traceback = traceback.tb_next
    return True


def _check(found: os.stat_result, path: str, others: int, *, is_right: bool = True) -> None:
    if not is_right:
        raise Unusable(path, "it is no regular file", unsafe=True)
    if found.st_uid != posix.geteuid():
        raise Unusable(path, f"it belongs to user {found.st_uid}", unsafe=True)
    if found.st_mode & others:
        may = "write" if found.st_mode & others & UNWRITTEN else "read"
        mode = stat.filemode(found.st_mode)
        raise Unusable(path, f"others may {may} it ({mode})", unsafe=True)


def open_folder(path: str) -> int:
    """Open a folder of ours that others cannot write into; return its descriptor.

    Raises
    ------
    Unusable
        It is another user's, others may write into it, or it is no folder but a symbolic link, say.
    OSError
        It is not there, or cannot be opened.
    """
    try:
        folder = posix.open(path, _READ_FOLDER)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            posix.lstat(path)  # else it is something above that is no folder
            raise Unusable(path, "it is no folder itself", unsafe=True) from error
        raise
    try:
        _check(posix.fstat(folder), path, UNWRITTEN)
    except BaseException:
        posix.close(folder)
        raise
    return folder


def make_folder(path: str, *, in_own: bool) -> None:
    """Make a folder, and those above it, for this user alone.

    Parameters
    ----------
    path
        An absolute path.
    in_own
        Whether to make it below a folder of this user only. (Else root, with the home of somebody who became root, would leave a folder that
        this somebody cannot use.)
    """
    parent = os.path.dirname(path)
    try:
        owner = posix.stat(parent).st_uid
    except FileNotFoundError:
        make_folder(parent, in_own=in_own)
    else:
        if in_own and owner != posix.geteuid():
            why = f"it is not there, and the folder that it would be in belongs to user {owner}"
            raise Unusable(path, why, unsafe=False)
    with suppress(FileExistsError):  # another process was quicker; it is checked when it is opened
        posix.mkdir(path, 0o700)


def open_file(
    folder: int, name: str, path: str, others: int = UNWRITTEN
) -> tuple[int, os.stat_result]:
    """Open a regular file of ours to read it; return its descriptor and what was found out of it.

    Parameters
    ----------
    folder, name
        The descriptor of its folder, and its name in there.
    path
        What messages call it.
    others
        Permissions that others must not have.

    Raises
    ------
    Unusable
        As for a folder.
    OSError
        As for a folder.
    """
    try:
        file = posix.open(name, _READ_FILE, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unusable(path, "it is a symbolic link", unsafe=True) from error
        raise
    try:
        found = posix.fstat(file)
        _check(found, path, others, is_right=stat.S_ISREG(found.st_mode))
    except BaseException:
        posix.close(file)
        raise
    return file, found


def read(file: int, size: int) -> bytes:
    """Return what is in an open file, `size` bytes at most."""
    text = posix.read(file, size)
    while len(text) < size and (more := posix.read(file, size - len(text))):
        text += more
    return text


def write(folder: int, name: str, *texts: bytes) -> None:
    """Put a file of these bytes in the place of whatever has the name: others see that, or the whole file."""
    temporary = _written(folder, name, texts)
    try:
        posix.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove(folder, temporary)
        raise


def write_first(folder: int, name: str, *texts: bytes) -> None:
    """Put a file where none has the name; do nothing where another process is quicker."""
    temporary = _written(folder, name, texts)
    try:
        posix.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        pass
    except OSError as error:
        if not is_ours(error):
            raise
        # No hard links here. Of two processes that come at once the second one wins: what the first one does with its own file is lost.
        posix.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        remove(folder, temporary)


def _written(folder: int, name: str, texts: tuple[bytes, ...]) -> str:
    """Write a file under a name that no other process or thread takes; return the name."""
    temporary = f"{name}.{posix.urandom(8).hex()}{TEMPORARY}"
    file = posix.open(temporary, _WRITE, 0o600, dir_fd=folder)
    try:
        try:
            for text in texts:
                _write_all(file, text)
        finally:
            posix.close(file)
    except BaseException:
        remove(folder, temporary)
        raise
    return temporary


def _write_all(file: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[posix.write(file, rest) :]


def remove(folder: int, name: str) -> bool:
    """Remove a file; say whether it is done (another process may have been quicker)."""
    try:
        posix.unlink(name, dir_fd=folder)
    except OSError as error:
        if not is_ours(error):
            raise
        return False
    return True
