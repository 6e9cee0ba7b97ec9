"""Filters of images in memory, each built and compiled once in a process.

`iir`, `sosfilt` and `filtfilt` are called as functions, for one image after the other.
What a call has compiled serves later ones for the same filter and images of that size.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, abc
from collections.abc import Hashable, Sequence

from parhelion.lang.callable import Callable
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.types import Type

#: Filters that are kept at most: those that were run last.
_MOST = 64


class KeptFilters:
    """The filters that were run last, as functions of an image and of the result."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Callable] = OrderedDict()

    def get(
        self,
        key: Hashable,
        t: Type,
        extents: Sequence[int],
        build: abc.Callable[[ImageParam], Func],
    ) -> Callable:
        """Returns the function that filters images of a type and of these extents.

        key: what else decides which Func it is that `build` makes of an image.
        """
        key = (key, t, tuple(extents))
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        # Other threads may build it as well meanwhile: either will do.
        image = ImageParam(t, len(extents))
        for k, extent in enumerate(extents):
            image.dim(k).set_bounds(0, extent)
        found = build(image).compile_to_callable([image])
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return found


#: The filters of this process.
KEPT = KeptFilters()

__all__ = ["KEPT", "KeptFilters"]
