"""Arrays beside memory that nobody may touch: reading past them would crash."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def at_page_end(values: np.ndarray) -> np.ndarray:
    """A copy that ends where memory ends."""
    return _guarded(values, at_end=True)


def at_page_start(values: np.ndarray) -> np.ndarray:
    """A copy that begins where memory begins."""
    return _guarded(values, at_end=False)


def _guarded(values: np.ndarray, at_end: bool) -> np.ndarray:
    page = mmap.PAGESIZE
    size = -(-values.nbytes // page) * page
    area = mmap.mmap(-1, size + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None)
    for guard in (start, start + page + size):
        assert libc.mprotect(ctypes.c_void_p(guard), page, 0) == 0
    first = page + size - values.nbytes if at_end else page
    room = np.frombuffer(area, np.uint8)[first : first + values.nbytes]
    room[:] = np.frombuffer(values.tobytes(), np.uint8)
    return room.view(values.dtype).reshape(values.shape)
