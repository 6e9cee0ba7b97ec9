"""Scans in tiles: the directive, `tile_scan`, and how wide tiles are best."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Self

from parhelion.ir.function import Function
from parhelion.schedule.args import HasVar

if TYPE_CHECKING:
    from parhelion.analysis.recurrence import Recurrence

#: Above this package: it makes Funcs.
_SCANS = "parhelion.recfilter.scans"


class Scanning:
    """`tile_scan` of Stage."""

    __slots__ = ()
    _function: Function
    _stage: int

    def tile_scan(self, r: HasVar, width: int, reassociate: bool = False) -> Self:
        """Has a scan computed in tiles of `width` points along `r`, in parallel.

        The update must be a scan of constant coefficients along `r`::

            f[r, y] = own * f[r, y] + a1 * f[r - 1, y] + … + ak * f[r - k, y] + rest

        where `own` and `rest` are any expressions that do not read `f`, and in place of
        ``r`` the coordinate may fall, as ``f[n - r, y]``. Each tile is computed from
        zeros on; what it leaves behind, its last k values, is completed from tile to
        tile by a matrix; then tiles are computed again from complete values on. Before
        the first point there is what the definitions before this one say, as ever. Of a
        Tuple, each value is a scan of its own. `width` need not divide the extent of
        `r`, which may be an expression; if it is a number, and not above `width`, the
        scan stays as it is.

        The stage gets the schedule of its tiles with it, and further directives as any
        other. What is before it moves into a Func of its own if there are updates, with
        its directives: they must be given first.

        Integers give the same result bit for bit, floats may differ in their last bits:
        they are tiled only with ``reassociate=True``, and never under strict_float.

        Raises ScheduleError where the update is no scan, where its coefficients are not
        numbers, for tiles that are narrower than its order, for floats without consent,
        and if the stage has directives already. Warns where rounding errors grow within
        a tile. From: the 2015 paper of `RecFilter`, section 6.

        >>> f, r = hl.Func("f"), hl.RDom([(1, 99_999)])
        >>> f[x] = x % 5
        >>> f[r] += f[r - 1]
        >>> f.update().tile_scan(r, 1024)
        <parhelion.Stage f.update(0)>
        >>> f.realize([100_000])[99_999]
        200000
        """
        _scans().tile_scan(self, r, width, reassociate)
        return self


def width_of_tiles(
    f: Function, found: Recurrence, lines: int, points: int
) -> int | None:
    """The width of the tiles in which a scan of so many lines of so many points is
    computed best; None for whole lines. It is that of recursive filters."""
    width: int | None = _scans().width_of_tiles(f, found, lines, points)
    return width


def _scans() -> Any:
    return importlib.import_module(_SCANS)


__all__ = ["Scanning", "width_of_tiles"]
