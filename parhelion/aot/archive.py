"""Static libraries: object files in one archive, as `ar` writes them (System V form).

The format has no library of its own that is kept, and is a page: a magic line, then
members with headers of fixed width; the first lists the symbols that the others define.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from parhelion.dataclass import dataclass

_MAGIC = b"!<arch>\n"


@dataclass(frozen=True, slots=True)
class Member:
    """An object file, with the symbols that it defines."""

    name: str
    data: bytes
    symbols: Sequence[str]


def archive(members: Sequence[Member]) -> bytes:
    """The bytes of the library. The same members give the same bytes: there are no
    times and no users in it."""
    long = bytearray()
    headers: list[str] = []
    for m in members:
        if len(m.name) < 16:
            headers.append(f"{m.name}/")
        else:
            headers.append(f"/{len(long)}")
            long += m.name.encode() + b"/\n"
    listed = [(s, i) for i, m in enumerate(members) for s in m.symbols]
    names = b"".join([s.encode() + b"\0" for s, _ in listed])
    table_size = 4 + 4 * len(listed) + len(names)
    place = len(_MAGIC) + 60 + _even(table_size)
    if long:
        place += 60 + _even(len(long))
    places: list[int] = []
    for m in members:
        places.append(place)
        place += 60 + _even(len(m.data))
    table = struct.pack(">I", len(listed))
    table += b"".join([struct.pack(">I", places[i]) for _, i in listed]) + names
    out = bytearray(_MAGIC)
    out += _member("/", table, mode="0")
    if long:
        out += _member("//", bytes(long), mode="")
    for header, m in zip(headers, members, strict=True):
        out += _member(header, m.data, mode="644")
    return bytes(out)


def _even(size: int) -> int:
    return size + size % 2


def _member(name: str, data: bytes, mode: str) -> bytes:
    number = "0" if mode else ""
    head = f"{name:<16}{number:<12}{number:<6}{number:<6}{mode:<8}{len(data):<10}`\n"
    return head.encode() + data + b"\n" * (len(data) % 2)


__all__ = ["Member", "archive"]
