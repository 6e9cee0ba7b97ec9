"""`check`: one algorithm, the interpreter once, compiled code under many schedules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parhelion as hl
from parhelion.interp import interpret_all

Array = NDArray[Any]

#: An algorithm: its output Func, or that and the Funcs, or the RDom, that schedules
#: mention.
Made = hl.Func | tuple[hl.Func, ...] | tuple[hl.Func, hl.RDom]
Make = Callable[[], Made]
#: Is called with what the maker returned, and gives directives.
Schedule = Callable[..., object]


def unscheduled(*funcs: hl.Func) -> None:
    """The schedule of which all the others are variants: everything inline."""


def check(
    make: Make,
    sizes: Sequence[int],
    schedules: Sequence[Schedule] = (),
    *,
    mins: Sequence[int] | None = None,
    ulps: int = 0,
) -> list[Array]:
    """Compares compiled code, unscheduled and under each schedule, with the
    interpreter; returns the interpreter's result, one array per value of the output.

    sizes, mins: the region to realize, innermost dimension first (so are the arrays).
    ulps: how far apart floats may be, in units of the last place of the wanted one;
        0 asks for the same bits, which strict_float and integers give.
    The algorithm is made anew for each schedule; its images must be set, or Buffers.
    """
    origin = list(mins or [0] * len(sizes))
    output = _output(make())
    region = list(zip(origin, sizes, strict=True))
    wanted = list(interpret_all([(output._function, region)])[0])
    for schedule in (unscheduled, *schedules):
        made = make()
        schedule(*(made if isinstance(made, tuple) else (made,)))
        where = f"under schedule {getattr(schedule, '__name__', schedule)!r}"
        with warnings.catch_warnings():
            # Here it is meant that everything is inlined, however often that computes.
            if schedule is unscheduled:
                warnings.simplefilter("ignore", hl.RecomputeWarning)
            realized = _realize(_output(made), sizes, mins)
        for got, expected in zip(realized, wanted, strict=True):
            assert_same(got, expected, ulps, where)
    return wanted


def _output(made: Made) -> hl.Func:
    return made[0] if isinstance(made, tuple) else made


def _realize(
    func: hl.Func, sizes: Sequence[int], mins: Sequence[int] | None
) -> list[Array]:
    result: Any
    if mins is None:
        result = func.realize(list(sizes))
    else:
        result = tuple([hl.Buffer(t, list(sizes)) for t in func.types()])
        for buffer in result:
            buffer.set_min(list(mins))
        func.realize(result if len(result) > 1 else result[0])
    buffers = result if isinstance(result, tuple) else (result,)
    return [np.asarray(b).transpose() for b in buffers]


def assert_same(got: Array, expected: Array, ulps: int = 0, where: str = "") -> None:
    """Fails unless two arrays agree in shape, type and values.

    With `ulps` 0 the bits agree, but for those of NaNs; otherwise each float is at
    most so many units of the last place away, and NaN stands beside NaN.
    """
    assert got.dtype == expected.dtype, f"{where}: {got.dtype}, not {expected.dtype}"
    assert got.shape == expected.shape, f"{where}: {got.shape}, not {expected.shape}"
    good = got == expected
    if expected.dtype.kind == "f":
        if ulps == 0:
            good &= np.signbit(got) == np.signbit(expected)
        else:
            with np.errstate(invalid="ignore"):
                apart = np.abs(got.astype(np.float64) - expected.astype(np.float64))
                good |= apart <= ulps * np.spacing(np.abs(expected)).astype(np.float64)
        good |= np.isnan(got) & np.isnan(expected)
    if np.all(good):
        return
    at = tuple([int(i[0]) for i in np.nonzero(~good)])
    count = int(np.count_nonzero(~good))
    raise AssertionError(
        f"{where}: {count} of {got.size} values differ, first at {at}: "
        f"{got[at]!r}, not {expected[at]!r}"
    )
