"""The digest that names what the cache keeps, and tells whether a file is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        # As Python's own `random` takes its digest: hashlib would load OpenSSL, a tenth
        # of the time that a warm start takes.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

#: Bytes of a digest.
SIZE = 32


def hasher() -> blake2b:
    """An empty one, to be given bytes by and by."""
    return blake2b(digest_size=SIZE)


def digest(contents: bytes) -> bytes:
    """That of all these bytes."""
    return blake2b(contents, digest_size=SIZE).digest()


__all__ = ["SIZE", "digest", "hasher"]
