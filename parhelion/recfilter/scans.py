"""`Stage.tile_scan`: scans that users wrote as ordinary updates, computed in tiles."""

from __future__ import annotations

import numpy as np

from parhelion.analysis.linear import linear
from parhelion.analysis.recurrence import Affine, Recurrence, find_recurrence
from parhelion.errors import ScheduleError, TypeMismatchError, here
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import FloatImm, Imm, Intrinsic, Var
from parhelion.ir.function import Definition, Function, var_label
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.lang.checked import boolean, integer
from parhelion.lang.func import Stage
from parhelion.recfilter.coefficients import Number, growth
from parhelion.recfilter.filters import Filter, check_growth
from parhelion.recfilter.scan_schedules import schedule_scan
from parhelion.recfilter.scan_stages import Scan, rewritten
from parhelion.recfilter.schedules import width_of_lines
from parhelion.schedule.args import HasVar, to_var
from parhelion.schedule.branches import path_of
from parhelion.schedule.rules import definition_of, stage_label
from parhelion.simplify.simplifier import simplify

#: A matrix of so many rows is computed for tiles.
_WIDEST = 1 << 16


def tile_scan(stage: Stage, r: HasVar, width: object, reassociate: bool) -> None:
    """See `Stage.tile_scan`."""
    function, number = stage._function, stage._stage
    what = f"{stage_label(function, number)}.tile_scan"
    scan = _scan(function, number, to_var(r, what), what)
    size = _checked_width(width, scan, what)
    _check_floats(scan, boolean(reassociate, f"{what}: reassociate"), what)
    if scan.extent is not None and scan.extent <= size:
        return
    _check_growth(scan, size, what)
    with CHANGES:
        schedule_scan(scan, rewritten(scan, size), stage)


def _scan(function: Function, number: int, r: Var, what: str) -> Scan:
    """The scan that an update is. Raises ScheduleError if it is none that tiles can
    compute."""
    if number == 0:
        raise ScheduleError(
            f"{what}: only an update can be a scan",
            at=here(),
            hint=f"{function.name}.update(0).tile_scan(…)",
        )
    d = definition_of(function, number)
    if path_of(number) or d.schedule.specializations:
        raise ScheduleError(
            f"{what}: a specialised definition cannot be computed in tiles",
            at=here(),
            hint="call tile_scan first, then specialize",
        )
    if d.directive == "tile_scan":
        raise ScheduleError(f"{what}: the scan is in tiles already", at=here())
    if d.schedule.touched:
        raise ScheduleError(
            f"{what}: the update has directives already, and tile_scan gives it the"
            " loops of its tiles",
            at=here(),
            hint="call tile_scan first",
        )
    _check_strict(d, what)
    found = find_recurrence(function, d)
    if not isinstance(found, Recurrence):
        raise ScheduleError(
            f"{what}: the update is no scan: {found.reason}",
            at=here(),
            hint="f[r, y] = own * f[r, y] + a1 * f[r - 1, y] + … + rest is one",
        )
    if r is not found.var:
        label = var_label(found.var)
        alike = " of another RDom" if var_label(r) == label else ""
        raise ScheduleError(
            f"{what}: the scan runs along {label}, not {var_label(r)}{alike}",
            at=here(),
            legal=[label],
        )
    feedback = tuple([_numbers(function, found, v, what) for v in found.values])
    domain = d.rdom
    assert domain is not None
    k = domain.vars.index(r)
    low, points = simplify(domain.mins[k]), simplify(domain.extents[k])
    lines = _lines(function, d, found, what)
    return Scan(function, number, d, found, feedback, lines, low, points)


def _check_strict(d: Definition, what: str) -> None:
    """Raises ScheduleError where floats of an update may never be regrouped."""
    strict = [
        n
        for v in d.values
        for n in nodes(v)
        if isinstance(n, Intrinsic) and n.op == "strict_float"
    ]
    if strict:
        raise ScheduleError(
            f"{what}: tiles regroup sums, which the strict_float in the update forbids",
            at=here(),
            hint="leave the scan in whole lines, or leave out strict_float",
        )


def _lines(
    function: Function, d: Definition, found: Recurrence, what: str
) -> tuple[Var | None, ...]:
    """What numbers the lines in each dimension: see `Scan.lines`. Raises ScheduleError
    unless each line is scanned once, and apart from others."""
    domain = d.rdom
    assert domain is not None
    made: list[Var | None] = []
    for k, arg in enumerate(d.args):
        own = function.args[k]
        moving = free_vars(arg) & {*domain.vars, *function.args}
        if k == found.position:
            made.append(found.var)
        elif not moving:
            made.append(None)
        elif arg is own:
            made.append(own)
        else:
            form, v = linear(arg), next(iter(moving))
            alone = len(moving) == 1 and abs(form.terms.get(v, 0)) == 1
            if not alone or v not in domain.vars or v in made or len(form.terms) > 1:
                raise ScheduleError(
                    f"{what}: the coordinate in {own.name} does not number the lines of"
                    f" the scan: it must be {own.name}, a number, or an RVar of its own"
                    " plus a number",
                    at=here(),
                )
            made.append(v)
    for v in domain.vars:
        if v not in made:
            raise ScheduleError(
                f"{what}: lines are scanned again for each {var_label(v)}, which is in"
                " no coordinate of the update",
                at=here(),
                hint="tiles compute lines that are scanned once",
            )
    return tuple(made)


def _numbers(
    function: Function, found: Recurrence, value: Affine, what: str
) -> tuple[Number, ...]:
    """The feedback coefficients of a value."""
    made = _feedback_of(value)
    if isinstance(made, int):
        raise ScheduleError(
            f"{what}: the coefficient of the value {made} back along"
            f" {var_label(found.var)} is no number; what a tile leaves behind is known"
            " only where all are numbers",
            at=here(),
            hint=f"without tile_scan, {function.name} is computed in whole lines",
        )
    return made


def _feedback_of(value: Affine) -> tuple[Number, ...] | int:
    """The feedback coefficients of a value of a recurrence; if not all are numbers, how
    far back the first is that is none."""
    made: list[Number] = []
    for j, a in enumerate(value.feedback, 1):
        e = None if a is None else simplify(a)
        if e is None:
            made.append(0)
        elif isinstance(e, Imm | FloatImm):
            made.append(e.value)
        else:
            return j
    while made and made[-1] == 0:
        made.pop()
    return tuple(made)


def width_of_tiles(
    f: Function, found: Recurrence, lines: int, points: int
) -> int | None:
    """The width of the tiles of a scan of so many lines; None for whole lines."""
    widths: list[int | None] = []
    for t, value in zip(f.types, found.values, strict=True):
        feedback = _feedback_of(value)
        if isinstance(feedback, int):
            return None
        if feedback:
            widths.append(width_of_lines(lines, points, [feedback], t))
    return None if None in widths else next(iter(widths), None)


def _checked_width(given: object, scan: Scan, what: str) -> int:
    try:
        width = integer(None if isinstance(given, bool) else given, "a width")
    except TypeMismatchError:
        raise ScheduleError(
            f"{what}: the width of a tile must be an integer, not {given!r:.60}",
            at=here(),
        ) from None
    if width > _WIDEST:
        raise ScheduleError(
            f"{what}: tiles of {width} points are wider than {_WIDEST}",
            at=here(),
            hint="some hundreds of points are fast",
        )
    if width < scan.found.order:
        raise ScheduleError(
            f"{what}: tiles of {width} points are narrower than {scan.found.order}, the"
            " order of the scan",
            at=here(),
            hint=f"{scan.found.order} points or more; some hundreds are fast",
        )
    return width


def _check_floats(scan: Scan, reassociate: bool, what: str) -> None:
    """Raises ScheduleError for sums of floats that may not be regrouped."""
    floats = [
        t.is_float() and bool(feedback)
        for t, feedback in zip(scan.function.types, scan.feedback, strict=True)
    ]
    if any(floats) and not reassociate:
        raise ScheduleError(
            f"{what}: tiles regroup sums of floats, which may change their last digits",
            at=here(),
            hint="reassociate=True consents to it",
        )


def _check_growth(scan: Scan, width: int, what: str) -> None:
    """Warns of floats that grow within a tile, and raises ScheduleError if they become
    infinite in it."""
    for t, feedback in zip(scan.function.types, scan.feedback, strict=True):
        if not t.is_float() or not feedback:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            most = growth(feedback, width)
            fits = np.isfinite(t.to_numpy().type(most))
        if not fits:
            raise ScheduleError(
                f"{what}: values that come into a tile of {width} points grow by"
                f" {most:.3g} in it, which is more than {t} can hold",
                at=here(),
                hint="narrower tiles, or whole lines, without tile_scan",
            )
        # Of lines of unknown lengths, only what happens within tiles is known.
        extent = scan.extent or width
        check_growth(Filter(0, True, (1,), feedback), width, extent, t, what)


__all__ = ["tile_scan", "width_of_tiles"]
