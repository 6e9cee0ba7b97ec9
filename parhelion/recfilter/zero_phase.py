"""`filtfilt`: a filter run forwards and backwards, which shifts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from parhelion.errors import BoundsError, DefinitionError, here
from parhelion.lang.boundary import mirror_interior, repeat_edge
from parhelion.lang.buffer import Buffer
from parhelion.lang.effects import likely
from parhelion.lang.func import Func
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import min as min_
from parhelion.lang.functions import select
from parhelion.recfilter.coefficients import Number
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.iir import divided
from parhelion.recfilter.inputs import WORK, Array, Input, given, whole
from parhelion.recfilter.recfilter import RecFilter
from parhelion.recfilter.schedules import schedule_points
from parhelion.recfilter.sums import is_many, summed_by_table, weighted
from parhelion.recfilter.values import constant

#: How an axis goes on beyond its ends; None is for not at all.
PADDINGS = ("odd", "even", "constant", None)


@overload
def filtfilt(
    b: object,
    a: object,
    inp: Array,
    axis: int | str = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
) -> Array: ...


@overload
def filtfilt(
    b: object,
    a: object,
    inp: Buffer,
    axis: int | str = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
) -> Buffer: ...


@overload
def filtfilt(
    b: object,
    a: object,
    inp: Func,
    axis: int | str = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    *,
    sizes: Sequence[int],
) -> Func: ...


def filtfilt(
    b: object,
    a: object,
    inp: Array | Buffer | Func,
    axis: int | str = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
) -> Array | Buffer | Func:
    """Returns an image filtered along an axis forwards and then backwards, as
    `scipy.signal.filtfilt` does: the result is not shifted against the image.

    b, a: numerator and denominator, as in `iir`. inp, axis, sizes and the result: as in
    `iir`; values are computed in float64. padtype: how the axis goes on beyond its
    ends, by padlen samples, which are not part of the result: ``"odd"``, mirrored and
    turned around the sample at the end; ``"even"``, mirrored; ``"constant"``, with the
    sample at the end; None, not at all. padlen: 3 * max(len(a), len(b)) if None. Each
    run starts as if its first sample had been there for ever.

    Raises BoundsError for an axis that is not there or not longer than padlen;
    DefinitionError for another padtype, for a[0] = 0, for a filter that is unstable or
    has a pole at 1, and for sizes that do not fit; TypeMismatchError for coefficients
    that are not numbers.

    >>> line = np.arange(6.0)
    >>> hl.filtfilt([0.5, 0.5], [1], line, padlen=2).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """
    image = given(inp, axis, sizes, "filtfilt")
    forward, back = divided(b, a, "filtfilt")
    edge = _padlen(image, padtype, padlen, max(len(forward), len(back) + 1))
    before = _before(forward, back)

    def build(image: Input) -> Func:
        k, dims = image.position, image.dims()
        longer = RecFilterDim(dims[k].name(), dims[k].extent + 2 * edge)
        wide = (*dims[:k], longer, *dims[k + 1 :])
        f = _extended(image, padtype, edge, dims).compute_root()
        schedule_points(f, wide, WORK)
        for causal in (True, False):
            f = _run(f, wide, k, causal, forward, back, before)
        return image.rounded("filtfilt", dims, f, _moved(dims, k, dims[k] + edge))

    return image.filtered(build, ("filtfilt", forward, back, padtype, edge))


def _padlen(image: Input, padtype: str | None, padlen: int | None, taps: int) -> int:
    """By how many samples the axis is extended at each end."""
    if not isinstance(padtype, str | None) or padtype not in PADDINGS:
        raise DefinitionError(
            f"filtfilt: padtype is 'odd', 'even', 'constant' or None, not {padtype!r}",
            at=here(),
        )
    edge = 3 * taps if padlen is None else whole(padlen, "filtfilt: padlen")
    said = " = 3 * max(len(a), len(b))" if padlen is None else ""
    if padtype is None:
        edge, said = 0, ", of padtype=None"
    if edge < 0:
        raise BoundsError(f"filtfilt: padlen must be 0 or more, not {edge}", at=here())
    extent = image.extents[image.position]
    if extent <= edge:
        raise BoundsError(
            f"filtfilt: axis {image.names[image.position]!r} has {extent} samples, and"
            f" must have more than padlen, {edge}{said}",
            at=here(),
            hint=f"padlen={extent - 1} or less, or padtype=None"
            if extent
            else "an image without samples along its axis cannot be filtered",
        )
    return edge


def _before(forward: Sequence[float], back: Sequence[float]) -> list[float]:
    """What the outputs before the first sample add to output n, for a sample of 1.

    A run starts as if its first sample had been there for ever. Each output before it
    is then sum(b) / sum(a), and output n reads them with the coefficients from back[n]
    on. `scipy.signal.lfilter_zi` is this and what the inputs before the first sample
    add; those are read where the run reads the image.
    """
    total = 1 - sum(back)
    if abs(total) <= np.finfo(np.float64).eps * (1 + sum(map(abs, back))):
        raise DefinitionError(
            "filtfilt: the filter has a pole at 1, because the sum of a / a[0] is"
            f" {total:.3g}: a constant leads to no constant that it could start from",
            at=here(),
            hint="hl.iir starts from zeros: run it, and run it with reverse=True",
        )
    gain = sum(forward) / total
    return [gain * sum(back[n:]) for n in range(len(back))]


def _moved(dims: Sequence[Any], k: int, at: object) -> tuple[Any, ...]:
    """Coordinates with another one in dimension `k`."""
    return (*dims[:k], at, *dims[k + 1 :])


def _extended(
    image: Input, padtype: str | None, edge: int, dims: Sequence[RecFilterDim]
) -> Func:
    """The image with `edge` samples more at each end of its axis, from 0 on."""
    k = image.position
    inside = Func("filtfilt_in")
    inside[dims] = image.pixel(dims)
    bounds = [(0, d.extent) if n == k else None for n, d in enumerate(dims)]
    at = _moved(dims, k, dims[k] - edge)
    f = Func("filtfilt_padded")
    if edge == 0:
        f[dims] = inside[at]
    elif padtype == "constant":
        f[dims] = repeat_edge(inside, bounds)[at]
    elif padtype == "even":
        f[dims] = mirror_interior(inside, bounds)[at]
    else:
        near = repeat_edge(inside, bounds)[at]
        turned = 2 * near - mirror_interior(inside, bounds)[at]
        within = (at[k] >= 0) & (at[k] < dims[k].extent)
        f[dims] = select(likely(within), near, turned)
    return f


def _run(
    source: Func,
    dims: Sequence[RecFilterDim],
    k: int,
    causal: bool,
    forward: Sequence[float],
    back: Sequence[float],
    before: Sequence[float],
) -> Func:
    """The filter run once along dimension `k`, forwards or backwards, as if the first
    sample that it meets had been there for ever."""
    v, last = dims[k], dims[k].extent - 1
    taps: dict[int, Number] = {m if causal else -m: c for m, c in enumerate(forward)}

    def around(*at: Any) -> Any:
        # Before the first sample that it meets there is that sample.
        near = max_(at[k], 0) if causal else min_(at[k], last)
        return source[_moved(at, k, near)]

    if is_many(taps, dims, k, WORK, is_last=not back):
        sums = summed_by_table("filtfilt_sums", around, dims, k, taps, WORK)
    else:
        sums = weighted("filtfilt_sums", around, dims, k, taps, WORK)
    first, n = (0, v) if causal else (last, last - v)
    table = Buffer(np.array([*before, 0.0]))
    start = table[min_(n, len(before))] * source[_moved(dims, k, first)]
    later = n >= len(before)
    f = RecFilter("filtfilt_forwards" if causal else "filtfilt_backwards")
    f[dims] = sums[tuple(dims)] + select(likely(later), constant(0, WORK), start)
    f._add(k, causal, [1], back, "filtfilt")
    return f.as_func().compute_root()


__all__ = ["filtfilt"]
