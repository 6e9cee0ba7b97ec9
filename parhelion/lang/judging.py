"""What is said before a pipeline without a schedule runs: that it will compute the same
values again and again, as a warning, or as an error where that would take minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.errors import ScheduleError, here
from parhelion.ir.expr import Var
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.autoscheduling import recommended
from parhelion.lang.boxes import Box
from parhelion.lang.given import Number
from parhelion.lang.runner import Runner
from parhelion.runtime.environment import number, warn
from parhelion.runtime.layout import Layout
from parhelion.runtime.program import compiling
from parhelion.schedule.recomputing import check_recomputed

#: How many values a pipeline without a schedule may compute beyond those that it needs.
#: A processor computes 1 to 10 of them in a nanosecond.
MOST_RECOMPUTED = 10**11
_ENVIRONMENT = "PARHELION_RECOMPUTE_LIMIT"
_MOST = 10**18

#: What `set_recompute_limit` was told; None leaves it to the environment.
_limit: int | None = None


def set_recompute_limit(values: int | None) -> int:
    """Sets how many values a pipeline without a schedule may compute beyond those that
    it needs. A pipeline that would compute more is refused before it runs.

    Returns the limit that was set before. None goes back to the default: what
    PARHELION_RECOMPUTE_LIMIT says in the environment, or else 10 ** 11, which take a
    minute or more. Raises ScheduleError for what is no number of values up to 10 ** 18.

    >>> before = hl.set_recompute_limit(10 ** 12)
    >>> hl.set_recompute_limit(None)
    1000000000000
    """
    global _limit
    if values is not None and (type(values) is not int or not 0 <= values <= _MOST):
        raise ScheduleError(
            "the limit of values that are computed again is a number of them up to"
            f" 10 ** 18, not {values!r:.60}",
            at=here(),
        )
    before = get_recompute_limit()
    _limit = values
    return before


def get_recompute_limit() -> int:
    """Returns how many values a pipeline without a schedule may compute beyond those
    that it needs: see `set_recompute_limit`.

    >>> hl.get_recompute_limit()
    100000000000
    """
    if _limit is not None:
        return _limit
    told, wrong = number(_ENVIRONMENT, "values", _MOST)
    if wrong:
        warn(_ENVIRONMENT, wrong, f"the limit is {MOST_RECOMPUTED:,}")
    return MOST_RECOMPUTED if told is None else told


def judge(
    runner: Runner,
    boxes: Sequence[Box],
    images: Mapping[BufferSym, Layout],
    scalars: Mapping[ParamSym, Number] | None = None,
) -> None:
    """Warns if nothing is scheduled and inlining computes values many times over, at
    these sizes of the outputs' values and images. Call it if the runner `is_new`.
    Raises ScheduleError where they are more than `get_recompute_limit` says."""
    if any([extent == 0 for box in boxes for _, extent in box]):
        return
    if not runner.is_suspect():
        return
    constants: dict[Var, int] = {}
    for p in runner.reach.params:
        given = None if scalars is None else scalars.get(p)
        value = runner.bindings.of(p) if given is None else given
        if value is not None and p.type.is_int_or_uint():
            constants[p.var] = int(value)
    for sym, layout in images.items():
        places = zip(sym.dims, layout.mins, layout.extents, strict=True)
        for dim, lo, extent in places:
            constants[dim.min], constants[dim.extent] = lo, extent
    regions = {
        sym.func: tuple([(lo, lo + extent - 1) for lo, extent in box])
        for sym, box in zip(runner.targets, boxes, strict=True)
    }
    with compiling():
        repair = recommended(runner.outputs, boxes)
        limit = get_recompute_limit()
        try:
            check_recomputed(runner.outputs, regions, constants, here(), repair, limit)
        except ScheduleError:
            runner.forget_judgement()
            raise


__all__ = ["MOST_RECOMPUTED", "get_recompute_limit", "judge", "set_recompute_limit"]
