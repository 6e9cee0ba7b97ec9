"""What is measured: a case, its contenders, and how their results are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Computes a result once. What was compiled or allocated before is not timed.
Run = Callable[[], Array]

#: How large a measurement is: for tests, by default, and as in the paper.
SCALES = ("quick", "usual", "large")

#: Who made a contender.
OURS, HALIDE, SCIPY, OPENCV, COPY = "Parhelion", "Halide", "SciPy", "OpenCV", "copy"

#: Names of contenders that the goals refer to.
DEFAULT, UNTILED, LFILTER = "default", "untiled", "lfilter"
PLAIN = "plain Funcs, strips"


@dataclass(frozen=True)
class Check:
    """How far a result may be from the exact one.

    largest: the largest acceptable difference of one value. margin: how many points at
    each edge are left out, where contenders treat borders differently. unstable: the
    method is known to lose all digits in floats, so that the difference is only
    reported. none: there is nothing to compare, as with a copy.
    """

    largest: float = 0.0
    margin: int = 0
    unstable: bool = False
    none: bool = False


@dataclass(frozen=True)
class Contender:
    """One way to compute what a case asks for.

    name: unique among those of one maker. by: who made it. prepare: compiles it and
    returns what is timed. check: how its result is compared.
    """

    name: str
    by: str
    prepare: Callable[[], Run]
    check: Check

    @property
    def label(self) -> str:
        """The name in tables."""
        return self.name if self.by == COPY else f"{self.by}, {self.name}"


@dataclass(frozen=True)
class Setup:
    """A case with its inputs: what runs beside each other.

    points: pixels or samples, over which times are divided. exact: computes the result
    that all others are compared with, in double precision. by_name: exact results of
    contenders that compute something else, by their labels.
    """

    points: int
    contenders: Sequence[Contender]
    exact: Callable[[], Array]
    by_name: Mapping[str, Callable[[], Array]] | None = None

    def exact_of(self, one: Contender) -> Callable[[], Array]:
        """Computes what a contender should come to."""
        return (self.by_name or {}).get(one.label, self.exact)


@dataclass(frozen=True)
class Case:
    """A family of measurements over one parameter.

    name: in one word, for the command line. title: for tables. kind: "image", "signal"
    or "variants", by which tables and plots are chosen. parameter: what varies, in
    words. values: of the parameter, for each scale. make: the setup for a value at a
    scale.
    """

    name: str
    title: str
    kind: str
    parameter: str
    values: Mapping[str, Sequence[int]]
    make: Callable[[int, str], Setup]


class WrongResult(Exception):
    """A contender computed something else than the exact result."""


def difference(got: Array, wanted: Array, margin: int) -> float:
    """The largest difference of two arrays, without `margin` points at each edge.

    It is taken in blocks of rows, as double precision of a whole image may not fit into
    memory.
    """
    if got.shape != wanted.shape:
        raise WrongResult(f"the shape is {got.shape}, not {wanted.shape}")
    inside = tuple([slice(margin, n - margin) for n in got.shape])
    a, b = got[inside], wanted[inside]
    if a.size == 0:
        raise WrongResult(f"nothing is left of {got.shape} within {margin} points")
    step = max(1, (1 << 22) // max(1, a.size // len(a)))
    largest = 0.0
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        apart = np.abs(np.subtract(a[rows], b[rows], dtype=np.float64))
        most = float(apart.max())
        # A NaN compares as not larger, and must not pass for equal.
        largest = most if not most <= largest else largest
        if np.isnan(largest):
            break
    return largest


def verify(one: Contender, got: Array, wanted: Array) -> float:
    """Returns how far a result is from the exact one. Raises WrongResult if that is too
    far."""
    found = difference(got, wanted, one.check.margin)
    if not one.check.unstable and not found <= one.check.largest:
        raise WrongResult(
            f"{one.label}: the result is {found:.3g} from the exact one; at most"
            f" {one.check.largest:.3g} is expected"
        )
    return found
