"""Filters with SciPy's coefficients, on images and in pipelines."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import overload

import numpy as np

from parhelion.errors import DefinitionError, here
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import boolean
from parhelion.lang.func import Func
from parhelion.lang.target_api import Target, TargetFeature, check_target
from parhelion.recfilter.coefficients import Number
from parhelion.recfilter.filters import (
    check_border_name,
    check_stable,
    fitting,
    numbers,
)
from parhelion.recfilter.inputs import WORK, Array, Input, given
from parhelion.recfilter.recfilter import RecFilter


@overload
def iir(
    inp: Array,
    b: object,
    a: object,
    axis: int | str = -1,
    reverse: bool = False,
    border: str = "zero",
    *,
    target: Target | None = None,
) -> Array: ...


@overload
def iir(
    inp: Buffer,
    b: object,
    a: object,
    axis: int | str = -1,
    reverse: bool = False,
    border: str = "zero",
    *,
    target: Target | None = None,
) -> Buffer: ...


@overload
def iir(
    inp: Func,
    b: object,
    a: object,
    axis: int | str = -1,
    reverse: bool = False,
    border: str = "zero",
    *,
    sizes: Sequence[int],
    target: Target | None = None,
) -> Func: ...


def iir(
    inp: Array | Buffer | Func,
    b: object,
    a: object,
    axis: int | str = -1,
    reverse: bool = False,
    border: str = "zero",
    *,
    sizes: Sequence[int] | None = None,
    target: Target | None = None,
) -> Array | Buffer | Func:
    """Returns ``a[0] y[n] = b[0] x[n] + b[1] x[n-1] + … - a[1] y[n-1] - …`` along an
    axis of an image, as `scipy.signal.lfilter` does, from zeros on.

    inp: an array, a Buffer, or a Func, which is read from 0 on in each dimension; the
    result is of its kind and region, in float64 if it is of that, else in float32. b,
    a: numerator and denominator, real numbers. axis: ``"x"``, ``"y"`` or ``"z"``, a
    Func's own name of it, or NumPy's number, by which -1 is x. reverse: from the last
    point back. border: as in `RecFilter`. sizes: the extents of a Func, x first.
    target: what computes it; with the feature CUDA, kernels of a GPU do.

    The result for a Func is a Func, scheduled and computed at root; the Func that is
    filtered keeps its own schedule. Values are computed in float64, as SciPy does, and
    then rounded; a `RecFilter` over float32 is faster and less exact.

    Raises DefinitionError for a filter that is unstable or a[0] = 0, and for sizes that
    do not fit, TypeMismatchError for coefficients that are not numbers, and BoundsError
    for an axis that is not there. It compiles once for each shape and each filter.

    >>> from parhelion.recfilter import iir
    >>> iir(np.ones(4), [0.5], [1, -0.5]).tolist()
    [0.5, 0.75, 0.875, 0.9375]
    """
    image = given(inp, axis, sizes, "iir")
    check_border_name(border, "iir")
    causal = not boolean(reverse, "iir: reverse")
    return _filtered(image, "iir", border, [divided(b, a, "iir")], causal, target)


@overload
def sosfilt(
    sos: object,
    inp: Array,
    axis: int | str = -1,
    *,
    reverse: bool = False,
    border: str = "zero",
    target: Target | None = None,
) -> Array: ...


@overload
def sosfilt(
    sos: object,
    inp: Buffer,
    axis: int | str = -1,
    *,
    reverse: bool = False,
    border: str = "zero",
    target: Target | None = None,
) -> Buffer: ...


@overload
def sosfilt(
    sos: object,
    inp: Func,
    axis: int | str = -1,
    *,
    reverse: bool = False,
    border: str = "zero",
    sizes: Sequence[int],
    target: Target | None = None,
) -> Func: ...


def sosfilt(
    sos: object,
    inp: Array | Buffer | Func,
    axis: int | str = -1,
    *,
    reverse: bool = False,
    border: str = "zero",
    sizes: Sequence[int] | None = None,
    target: Target | None = None,
) -> Array | Buffer | Func:
    """Returns an image filtered by second-order sections along an axis, as
    `scipy.signal.sosfilt` does, from zeros on.

    sos: an array of shape (n_sections, 6), with a row [b0, b1, b2, a0, a1, a2] for each
    section; a section filters what the one before it has made. The sections are filters
    of one `RecFilter`. Everything else is as in `iir`.

    Raises DefinitionError for another shape, an unstable section or a0 = 0, and for
    sizes that do not fit, TypeMismatchError for coefficients that are not numbers, and
    BoundsError for an axis that is not there.

    >>> sections = [[0.5, 0, 0, 1, -0.5, 0], [1, 1, 0, 1, 0, 0]]
    >>> hl.sosfilt(sections, np.ones(4)).tolist()
    [0.5, 1.25, 1.625, 1.8125]
    """
    image = given(inp, axis, sizes, "sosfilt")
    check_border_name(border, "sosfilt")
    causal = not boolean(reverse, "sosfilt: reverse")
    sections = [
        divided(row[:3], row[3:], f"sosfilt: section {k}")
        for k, row in enumerate(_rows(sos))
    ]
    return _filtered(image, "sosfilt", border, sections, causal, target)


def _filtered(
    image: Input,
    name: str,
    border: str,
    filters: Sequence[Fraction],
    causal: bool,
    target: Target | None,
) -> Array | Buffer | Func:
    """An image filtered by each of `filters` in turn."""
    if target is not None:
        check_target(target)

    def build(image: Input) -> Func:
        f, dims = RecFilter(name, border), image.dims()
        f[dims] = image.pixel(dims)
        for forward, back in filters:
            f._add(image.position, causal, forward, back, name)
        f._result = image.type
        out = f.as_func(target)
        if out.type() is image.type:
            return out
        name_of = f"{name}_rounded"
        return image.rounded(name_of, dims, out.compute_root(), dims, f._made_for)

    on_gpu = target is not None and target.has_feature(TargetFeature.CUDA)
    # Kernels are compiled for the device that the environment names.
    device = os.environ.get("PARHELION_GPU", "") if on_gpu else None
    return image.filtered(build, (name, border, tuple(filters), causal, device))


#: The coefficients of x[n], x[n-1], … and of y[n-1], y[n-2], … in y[n].
Fraction = tuple[tuple[float, ...], tuple[float, ...]]


def _rows(sos: object) -> list[Array]:
    """The rows of second-order sections, each of six entries of any kind."""
    table = np.asarray(sos, object)
    if table.ndim != 2 or table.shape[1] != 6 or not len(table):
        raise DefinitionError(
            "sosfilt: sos must be of the shape (n_sections, 6), with a row [b0, b1, b2,"
            f" a0, a1, a2] for each section, not {table.shape}",
            at=here(),
            hint="scipy.signal makes them: butter(…, output='sos'), or tf2sos(b, a)",
        )
    return list(table)


def divided(b: object, a: object, what: str) -> Fraction:
    """A filter by its numerator and denominator.

    b, a: numerator and denominator, each a list or a number. what: the filter, for
    messages. Raises TypeMismatchError for what is no number, and DefinitionError for
    a[0] = 0 and for an unstable filter.
    """
    return _divided(_numbers(b, f"{what}: b"), _numbers(a, f"{what}: a"), what)


@functools.lru_cache(maxsize=256)
def _divided(
    above: tuple[Number, ...], below: tuple[Number, ...], what: str
) -> Fraction:
    """As `divided`. Its poles take longer to find than some images to filter."""
    if below[0] == 0:
        raise DefinitionError(
            f"{what}: a[0] is 0; it is the coefficient of y[n], by which all others are"
            " divided",
            at=here(),
            hint="a is [a0, a1, …], the coefficient of y[n] first",
        )
    back = [fitting(-float(c) / below[0], f"{what}: a", WORK) for c in below[1:]]
    try:
        check_stable(back, what)
    except DefinitionError as error:
        error.advise("the poles are numpy.roots(a): no magnitude may be more than 1")
        raise
    forward = [fitting(float(c) / below[0], f"{what}: b", WORK) for c in above]
    return tuple(forward), tuple(back)


def _numbers(given: object, what: str) -> tuple[Number, ...]:
    """Coefficients; a number alone is one, as in SciPy."""
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    one = isinstance(given, int | float | complex | np.generic)
    return numbers([given] if one else given, what, WORK)


__all__ = ["Fraction", "divided", "iir", "sosfilt"]
