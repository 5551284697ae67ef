"""The store of compiled kernels: one file a kernel in one folder of this user, the least recently used go first.

Whatever goes wrong, the program is not told: a file that cannot be trusted is none, and a folder that cannot be used is no cache. The channel
``cache`` of `bcjit.logs` says why.
"""

# pathlib takes longer to import than most modules of this package.
# ruff: noqa: PTH100, PTH111, PTH117, PTH118

from __future__ import annotations

import os
import posix
import time
from collections.abc import Iterator
from typing import Final

from bcjit.config import CACHE_HOME, config
from bcjit.disk_cache import own_files, sealing
from bcjit.disk_cache.own_files import Unusable
from bcjit.logs import DEBUG, INFO, WARNING, get_logger, once
from bcjit.records import dataclass

__all__ = ["DiskCache", "Survey"]

_log: Final = get_logger("cache")

_SUFFIX: Final = ".kernel"
# No regular expressions: compiling them takes longer than loading ten kernels.
_DIGITS: Final = "0123456789abcdef"

_MIB: Final = 1 << 20
# A file whose time is older is touched when it is loaded: often enough to know which ones are in use.
_TOUCH_AFTER: Final = 24 * 3600.0
# What is still being written after so long belongs to a process that was killed.
_ABANDONED_AFTER: Final = 3600.0
# Looking through a full folder takes tens of milliseconds. So one store in 64 does it, told by the key (programs that store little, but are run
# often), and one behind an eighth of the bound (those that store much).
_SWEEPING: Final = ("00", "01", "02", "03")
_SWEEP_SHARE: Final = 8
# What is left is below the bound, so that not each store has to evict.
_LOW_WATER: Final = 0.75

# To the same folder when the program has gone to another one.
_absolute: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Survey:
    """What is in the folder: good kernels, the bytes of their files, and the other files with the reason why they are ignored."""

    kernels: int
    size: int
    ignored: tuple[tuple[str, str], ...]


class DiskCache:
    """The bytes of compiled kernels, kept from process to process.

    Threads and processes may use one folder at the same time. Each call looks at the settings anew, and opens the folder anew.

    Parameters
    ----------
    folder
        An absolute path; None: ``config.disk_cache_folder``, or where the user's caches are.
    limit
        Most bytes of all files together; None: ``config.disk_cache_size`` MiB.

    Examples
    --------
    >>> import tempfile
    >>> from bcjit.disk_cache.keys import cache_key
    >>> folder = tempfile.TemporaryDirectory()
    >>> cache = DiskCache(folder.name)
    >>> key = cache_key("out = x + 1", llvm="22")
    >>> cache.load(key)
    >>> cache.store(key, b"machine code")
    >>> cache.load(key)
    b'machine code'
    >>> folder.cleanup()
    """

    __slots__ = ("_folder", "_limit", "_written")

    def __init__(self, folder: str | None = None, limit: int | None = None) -> None:
        self._folder = folder
        self._limit = limit
        self._written = 0  # bytes, since this process swept the folder

    @property
    def limit(self) -> int:
        """Most bytes of all files together."""
        return config.disk_cache_size * _MIB if self._limit is None else self._limit

    @property
    def folder(self) -> str:
        """The absolute path of the folder, whether it is there or not.

        Raises
        ------
        Unusable
            Nothing says where it should be.
        """
        return self._place()[0]

    def load(self, key: str) -> bytes | None:
        """Return what was stored under a key, None where there is nothing that is certainly that.

        Parameters
        ----------
        key
            What `cache_key` returned.
        """
        _check_key(key)
        if not config.disk_cache:
            return None
        try:
            path = self.folder
            folder = own_files.open_folder(path)
            try:
                text = self._text(folder, key, path, touch=True)
                data = sealing.unseal(
                    text, key, sealing.read_secret(folder, path), _file(path, key)
                )
            finally:
                posix.close(folder)
        except (OSError, ValueError, Unusable) as error:  # ValueError: a null character in the path
            if not own_files.is_ours(error):
                raise
            _tell("loaded", error)
            return None
        _log.log(DEBUG, "%s loaded, %d bytes", key, len(data))
        return data

    def store(self, key: str, data: bytes) -> None:
        """Keep the bytes of a kernel; do nothing where that cannot be.

        Parameters
        ----------
        key
            What `cache_key` returned.
        data
            The bytes.
        """
        _check_key(key)
        size = len(data) + sealing.OVERHEAD
        if not config.disk_cache or size > self.limit:
            return
        try:
            folder = self._made_folder()
            try:
                secret = sealing.made_secret(folder, self.folder)
                own_files.write(folder, key + _SUFFIX, sealing.seal(key, data, secret), data)
                self._written += size
                if key.startswith(_SWEEPING) or self._written > self.limit // _SWEEP_SHARE:
                    self._written = 0
                    self._sweep(folder)
            finally:
                posix.close(folder)
        except (OSError, ValueError, Unusable) as error:
            if not own_files.is_ours(error):
                raise
            _tell("stored", error)
            return
        _log.log(DEBUG, "%s stored, %d bytes", key, len(data))

    def survey(self) -> Survey:
        """Read every file, and say which are good.

        Raises
        ------
        Unusable
            The folder is not used at all.
        OSError
            It is not there, or cannot be read.
        """
        path = self.folder
        folder = own_files.open_folder(path)
        kernels = size = 0
        ignored = list[tuple[str, str]]()
        try:
            names = sorted(posix.listdir(folder))
            try:
                secret = sealing.read_secret(folder, path) if sealing.SECRET in names else b""
            except Unusable as error:
                ignored.append((sealing.SECRET, error.why))
                secret = b""
            for name in names:
                if name == sealing.SECRET:
                    continue
                try:
                    size += self._good(folder, name, path, secret)
                    kernels += 1
                except Unusable as error:
                    ignored.append((name, error.why))
                except OSError as error:
                    ignored.append((name, f"it cannot be read: {error.strerror}"))
        finally:
            posix.close(folder)
        return Survey(kernels, size, tuple(ignored))

    def clear(self) -> tuple[int, int]:
        """Remove the files of the cache, and nothing else; return how many kernels those were, and their bytes.

        Raises
        ------
        Unusable
            The folder is not used at all.
        OSError
            It is not there, or cannot be read.
        """
        folder = own_files.open_folder(self.folder)
        count = size = 0
        try:
            for name, found in _files(folder):
                is_kernel = _is_kernel(name)
                if not (is_kernel or name == sealing.SECRET or _is_temporary(name)):
                    continue
                if own_files.remove(folder, name) and is_kernel:
                    count += 1
                    size += found.st_size
        finally:
            posix.close(folder)
        return count, size

    def _place(self) -> tuple[str, bool]:
        """Return the folder, and whether it is to be made below a folder of this user only."""
        if self._folder is not None:
            return self._folder, False
        asked = config.disk_cache_folder
        if asked:
            found = _absolute.get(asked)
            if found is None:
                found = _absolute.setdefault(asked, os.path.abspath(os.path.expanduser(asked)))
            return found, False
        base = CACHE_HOME["XDG_CACHE_HOME"]
        if not os.path.isabs(base):  # is to be ignored, says the XDG base directory specification
            home = CACHE_HOME["HOME"]
            if not os.path.isabs(home):
                why = "HOME is not set; BCJIT_CACHE_DIR may name another folder"
                raise Unusable("~/.cache/bcjit", why, unsafe=False)
            base = os.path.join(home, ".cache")
        return os.path.abspath(os.path.join(base, "bcjit")), True

    def _made_folder(self) -> int:
        """Open the folder; make it first where it is not there."""
        path, in_own = self._place()
        try:
            return own_files.open_folder(path)
        except FileNotFoundError:
            own_files.make_folder(path, in_own=in_own)
        return own_files.open_folder(path)

    def _text(self, folder: int, key: str, path: str, *, touch: bool) -> bytes:
        """Return all that is in the file of a kernel."""
        file, found = own_files.open_file(folder, key + _SUFFIX, _file(path, key))
        try:
            if found.st_size > self.limit:
                raise Unusable(_file(path, key), "it is larger than all may be", unsafe=False)
            if touch and abs(_now() - found.st_mtime) > _TOUCH_AFTER:
                _touch(file)
            return own_files.read(file, found.st_size + 1)  # one more: has it grown?
        finally:
            posix.close(file)

    def _good(self, folder: int, name: str, path: str, secret: bytes) -> int:
        """Return the size of a good kernel's file."""
        if not _is_kernel(name):
            unfinished = _is_temporary(name)
            why = (
                "it is being written, or its writer was killed"
                if unfinished
                else "it is none of the cache"
            )
            raise Unusable(name, why, unsafe=False)
        key = name.removesuffix(_SUFFIX)
        text = self._text(folder, key, path, touch=False)
        if not secret:
            raise Unusable(name, f"there is no {sealing.SECRET} to verify it by", unsafe=False)
        sealing.unseal(text, key, secret, name)
        return len(text)

    def _sweep(self, folder: int) -> None:
        """Remove what killed processes left, and the kernels that were not used for longest if all are more than may be."""
        now = _now()
        kernels = list[tuple[float, int, str]]()
        for name, found in _files(folder):
            if _is_kernel(name):
                kernels.append((found.st_mtime, found.st_size, name))
            elif _is_temporary(name) and now - found.st_mtime > _ABANDONED_AFTER:
                own_files.remove(folder, name)
        size = sum(one for _, one, _ in kernels)
        if size <= self.limit:
            return
        removed = 0
        for _, one, name in sorted(kernels):
            if size <= self.limit * _LOW_WATER:
                break
            size -= one
            removed += own_files.remove(folder, name)
        _log.log(DEBUG, "%d kernels evicted, %d bytes are left", removed, size)


def _now() -> float:
    # time.time is what programs under test replace by clocks that tell when they are asked.
    return time.clock_gettime(time.CLOCK_REALTIME)


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and not text.strip(_DIGITS)


def _is_kernel(name: str) -> bool:
    return name.endswith(_SUFFIX) and _is_hex(name.removesuffix(_SUFFIX), 64)


def _is_temporary(name: str) -> bool:
    """Whether a file of the cache is being written under this name."""
    rest, _, random = name.removesuffix(own_files.TEMPORARY).rpartition(".")
    ends = name.endswith(own_files.TEMPORARY) and _is_hex(random, 16)
    return ends and (rest == sealing.SECRET or _is_kernel(rest))


def _check_key(key: str) -> None:
    """Refuse what would become the name of another file."""
    if not _is_hex(key, 64):
        msg = f"a key is what cache_key() returns, not {key!r}"
        raise ValueError(msg)


def _file(path: str, key: str) -> str:
    return f"{path}/{key}{_SUFFIX}"


def _files(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files of a folder."""
    with posix.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
                is_file = entry.is_file(follow_symlinks=False)
            except FileNotFoundError:
                continue  # another process removed it
            if is_file:
                yield entry.name, found


def _touch(file: int) -> None:
    try:
        posix.utime(file)
    except OSError as error:  # a file system that is read only, say
        if not own_files.is_ours(error):
            raise


def _tell(what: str, error: OSError | ValueError | Unusable) -> None:
    """Log, once, why something of the cache is not used; a kernel that nobody has stored is no reason."""
    if isinstance(error, Unusable):
        level = WARNING if error.unsafe else INFO
        once(_log, str(error), "disk cache: %s is ignored: %s", error.path, error.why, level=level)
    elif not (what == "loaded" and isinstance(error, FileNotFoundError)):
        # Once for a kind of failure: on a full disk no kernel can be stored.
        key = f"{what} {type(error).__name__} {getattr(error, 'errno', None)}"
        once(_log, key, "disk cache: nothing can be %s: %s", what, error, level=INFO)
