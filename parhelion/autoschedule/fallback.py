"""The default scheduler's last resort: a schedule that is legal for any pipeline.

It is meant never to be needed; a note of the result says when it was, and why.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from parhelion.autoschedule.freedom import Freedom
from parhelion.autoschedule.script import Script, var_arg
from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.schedule.legality import check_pipeline
from parhelion.schedule.sites import realization_order
from parhelion.schedule.snapshot import Snapshot


def refused(script: Script) -> HalideError | None:
    """Why a script cannot be applied to its Funcs; None if it can. They stay as they
    are."""
    before = Snapshot(script.outputs)
    try:
        script.apply()
        check_pipeline(script.outputs)
    except HalideError as error:
        return error
    finally:
        before.restore()
    return None


def fallback(outputs: Sequence[Function], unbounded: Collection[Function]) -> Script:
    """Everything at the root with the outermost loop in parallel, or, where that is
    refused, what the user has scheduled and no more.

    unbounded: Funcs that stay inline, as nobody knows how much of them is needed.
    """
    freedom = Freedom(outputs)
    script = Script(tuple(outputs))
    for f in realization_order(outputs):
        if freedom.inline(f) and f in unbounded:
            continue
        if freedom.move(f):
            script.add(f, -1, "compute_root")
        if freedom.move(f) or f in outputs:
            _parallel(script, freedom, f)
    script.acknowledge()
    if refused(script) is None:
        return script
    return Script(tuple(outputs))


def _parallel(script: Script, freedom: Freedom, f: Function) -> None:
    for k, d in enumerate(f.stages()):
        outermost = d.schedule.dims[-1].var if d.schedule.dims else None
        if outermost in f.args and f.dimensions > 1 and freedom.loops(f, k):
            script.add(f, k, "parallel", var_arg(outermost))


__all__ = ["fallback", "refused"]
