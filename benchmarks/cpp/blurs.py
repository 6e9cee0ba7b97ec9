"""The blurs of Figure 1 of the 2012 paper in C++, on NumPy arrays."""

from __future__ import annotations

import ctypes

from apps.common import Array
from benchmarks.cpp import build


class Blurs:
    """The two functions. The number of threads of `fast` is OMP_NUM_THREADS."""

    def __init__(self) -> None:
        self._library = build("blur")

    def clean(self, image: Array, out: Array) -> None:
        """As one would first write it: two passes, one thread."""
        self._call("blur_clean", image, out)

    def fast(self, image: Array, out: Array) -> None:
        """Tiles, threads and AVX2 intrinsics. Widths must be multiples of 16."""
        if out.shape[1] % 16:
            raise ValueError(f"the width is {out.shape[1]}, not a multiple of 16")
        self._call("blur_fast", image, out)

    def _call(self, name: str, image: Array, out: Array) -> None:
        height, width = out.shape
        if image.shape != (height + 2, width + 2):
            raise ValueError(f"shapes {image.shape} and {out.shape} do not fit")
        for a in (image, out):
            if a.dtype.str != "<u2" or a.strides[1] != 2:
                raise ValueError("the images are rows of uint16")
        getattr(self._library, name)(
            ctypes.c_void_p(image.ctypes.data),
            ctypes.c_long(image.strides[0] // 2),
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_long(out.strides[0] // 2),
            ctypes.c_int(width),
            ctypes.c_int(height),
        )
