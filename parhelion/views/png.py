"""PNG files of bytes, for pictures inside of pages: no package for images is needed.

The format is that of the PNG specification (W3C, third edition, 2025).
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, TypeAlias

import numpy as np

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"

#: The colour type by the number of channels: grey, RGB, RGB and alpha.
_COLOUR = {1: 0, 3: 2, 4: 6}


def png(pixels: Bytes) -> bytes:
    """The file of pixels (H, W), (H, W, 3) or (H, W, 4)."""
    height, width = pixels.shape[:2]
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    # Before each row stands its filter; 2 is the difference to the row above.
    flat = np.ascontiguousarray(pixels).reshape(height, -1)
    rows[:, 0] = 2
    rows[0, 1:] = flat[0]
    rows[1:, 1:] = flat[1:] - flat[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR[channels], 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n"]
    for name, body in (
        (b"IHDR", header),
        (b"IDAT", zlib.compress(rows.tobytes(), 6)),
        (b"IEND", b""),
    ):
        sums = zlib.crc32(name + body)
        parts += [struct.pack(">I", len(body)), name, body, struct.pack(">I", sums)]
    return b"".join(parts)


__all__ = ["Bytes", "png"]
