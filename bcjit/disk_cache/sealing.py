"""The format of a file of the cache: what it says of itself, and a code that only its user could compute; it opens the secret, no kernel.

======  =====  ===================================================================
offset  bytes  what
======  =====  ===================================================================
0       8      magic; does not survive being copied as text
8       4      format, little-endian as all numbers
12      8      length of the data
20      32     key
52      32     keyed BLAKE2b of the user's number, all of the above and the data
84             data
======  =====  ===================================================================

The code is the checksum, too.
"""

from __future__ import annotations

import posix
import struct
from typing import Final

from bcjit.disk_cache import own_files
from bcjit.disk_cache.own_files import Unusable

try:
    # What hashlib has under this name; hashlib itself begins with OpenSSL, which takes as long as loading twenty kernels.
    from _blake2 import blake2b
except ImportError:  # pragma: no cover - a Python that is built to take its hashes from elsewhere
    from hashlib import blake2b

__all__ = ["FORMAT", "KEY_SIZE", "OVERHEAD", "SECRET", "blake2b", "made_secret", "read_secret", "seal", "unseal"]  # fmt: skip

FORMAT: Final = 1
KEY_SIZE: Final = 32
_MAGIC: Final = b"\x93bcjit\r\n"
_HEADER: Final = struct.Struct("<8sIQ32s")
_CODE_SIZE: Final = 32
OVERHEAD: Final = _HEADER.size + _CODE_SIZE

# The name of the file with the secret.
SECRET: Final = "bcjit.secret"
_SECRET_MAGIC: Final = b"bcjit secret 1\r\n"
_SECRET_SIZE: Final = 32
_MOST: Final = 1024


def seal(key: str, data: bytes, secret: bytes) -> bytes:
    """Return what is to stand in a file before its data."""
    header = _HEADER.pack(_MAGIC, FORMAT, len(data), bytes.fromhex(key))
    return header + _code(secret, header, data)


def unseal(text: bytes, key: str, secret: bytes, path: str) -> bytes:
    """Return the data of a file that this user wrote under this key.

    Raises
    ------
    Unusable
        It is not certainly such a file.
    """
    if len(text) < OVERHEAD:
        raise Unusable(path, "it is cut off", unsafe=False)
    header, code, data = text[: _HEADER.size], text[_HEADER.size : OVERHEAD], text[OVERHEAD:]
    magic, version, length, name = _HEADER.unpack(header)
    if magic != _MAGIC:
        why = "it does not begin as files of the cache do"
    elif version != FORMAT:
        why = f"it has format {version}, not {FORMAT}"
    elif length != len(data):
        why = f"it has {len(data)} bytes of data, not {length}"
    elif name.hex() != key:
        why = "it was written under another name"
    # Equal in constant time or not: who may try files here may read the secret, too.
    elif code != _code(secret, header, data):
        why = "it is damaged, or was not written by this user with this secret"
    else:
        return data
    raise Unusable(path, why, unsafe=False)


def _code(secret: bytes, header: bytes, data: bytes) -> bytes:
    code = blake2b(key=secret, digest_size=_CODE_SIZE, person=b"bcjit kernel")
    code.update(b"%d:" % posix.geteuid())
    code.update(header)
    code.update(data)
    return code.digest()


def read_secret(folder: int, path: str) -> bytes:
    """Return the secret of a folder that is open; `path` is what messages call it.

    Raises
    ------
    Unusable
        Others may know it, or it is damaged.
    OSError
        It is not there, or cannot be read.
    """
    path = f"{path}/{SECRET}"
    file, _ = own_files.open_file(folder, SECRET, path, own_files.PRIVATE)
    try:
        text = own_files.read(file, _MOST)
    finally:
        posix.close(file)
    secret = text[len(_SECRET_MAGIC) : len(_SECRET_MAGIC) + _SECRET_SIZE]
    if text != _secret_text(secret):
        raise Unusable(path, "it is damaged", unsafe=False)
    return secret


def made_secret(folder: int, path: str) -> bytes:
    """Return the secret of a folder; make it first where there is none, or a damaged one, with which nothing can be read."""
    try:
        return read_secret(folder, path)
    except FileNotFoundError:
        write = own_files.write_first
    except Unusable as error:
        if error.unsafe:
            raise
        write = own_files.write
    write(folder, SECRET, _secret_text(posix.urandom(_SECRET_SIZE)))
    return read_secret(folder, path)  # of two processes that came at once, the one that counts


def _secret_text(secret: bytes) -> bytes:
    # With a digest: after a power failure a file may be as long as it was, and all zeros.
    return _SECRET_MAGIC + secret + blake2b(secret, digest_size=16).digest()
