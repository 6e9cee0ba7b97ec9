"""What an application in Forma is: its text, its inputs, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from apps.common import Array

#: The parameters that are sizes, of dimension 0 first.
SIZES = ("M", "N", "K")


@dataclass(frozen=True)
class Program:
    """A program, which is in the file of its name.

    inputs: makes its arrays for a size, of dimension 0 first; all have that size.
    with_numpy: the outputs in order, from the inputs and `values` as arguments of their
    names. Structs are for it a last axis of fields. values: the parameters that are no
    sizes. bound: how far its outputs may be from NumPy's, 0 if not at all.
    """

    name: str
    inputs: Callable[[Sequence[int]], dict[str, Array]]
    with_numpy: Callable[..., tuple[Array, ...]]
    values: Mapping[str, float] = field(default_factory=dict)
    bound: float = 0.0

    @property
    def path(self) -> Path:
        return Path(__file__).parent / f"{self.name}.forma"

    @property
    def text(self) -> str:
        return self.path.read_text()

    def parameters(self, size: Sequence[int]) -> dict[str, float]:
        """All parameters by their names."""
        return dict(zip(SIZES, size, strict=False)) | dict(self.values)

    def expected(self, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
        """What NumPy computes of the inputs."""
        return self.with_numpy(
            **{n: plain(a) for n, a in inputs.items()}, **self.values
        )


def plain(array: Array) -> Array:
    """An array of structs, whose fields are of one type, with a last axis of fields
    instead; the same memory. Other arrays are returned as they are."""
    fields = array.dtype.fields
    if fields is None:
        return array
    (kind,) = {kind for kind, *_ in fields.values()}
    return array.view(kind).reshape(*array.shape, len(fields))


def structs(array: Array, names: str) -> Array:
    """An array with a last axis as one of structs, whose fields have names of a letter
    each; the same memory."""
    kind = np.dtype([(name, array.dtype) for name in names])
    return np.ascontiguousarray(array).view(kind)[..., 0]


def apart(a: Array, b: Array) -> float:
    """The largest difference of two plain arrays. Values of int8 are bytes without a
    sign as well: 127 and -128 are apart by one."""
    if a.shape != b.shape or a.dtype != b.dtype:
        raise ValueError(f"{a.dtype} {a.shape} beside {b.dtype} {b.shape}")
    if a.dtype == np.int8:
        wrapped: Any = a - b
        return float(np.abs(wrapped.astype(np.int16)).max())
    difference = np.abs(np.subtract(a, b, dtype=np.float64))
    return float(difference.max())


__all__ = ["SIZES", "Program", "apart", "plain", "structs"]
