"""Says in words what filters do and how they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from parhelion.recfilter.building import Builder, by_dimension
from parhelion.recfilter.coefficients import growth, largest_pole
from parhelion.recfilter.filters import Filter


def explanation(builder: Builder, filters: Sequence[Filter], values: int) -> str:
    """The filters in the order in which they are computed, part by part. values: how
    many there are at a point."""
    size = " x ".join([str(d.extent) for d in builder.dims])
    many = "" if values == 1 else f"{values} values of "
    lines = [
        f"{builder.name}: {_count(len(filters), 'filter')} over {size} points of"
        f" {many}{builder.type}, {builder.border} beyond them"
    ]
    for part in builder.parts(filters):
        groups = by_dimension(part)
        widths = builder.widths_of([g for g in groups if any([f.order for f in g])])
        names = " and ".join([builder.dims[g[0].dim].name() for g in groups])
        lines.append(f"along {names}, {_how(builder, widths)}:")
        lines += [f"  {_told(builder, f, widths)}" for g in groups for f in g]
    on_gpu = builder.by_tags.on_gpu
    if on_gpu is not None:
        most = _count(on_gpu.threads, "thread")
        lines.append(f"by kernels of a GPU, in blocks of up to {most}")
    return "\n".join(lines)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _how(builder: Builder, widths: Mapping[int, int]) -> str:
    if not widths:
        return "in whole lines"
    size = " x ".join(map(str, widths.values()))
    tiles = math.prod([-(-builder.dims[k].extent // w) for k, w in widths.items()])
    by = (
        "" if all([k in builder.widths for k in widths]) else ", as there are few lines"
    )
    return f"in {_count(tiles, 'tile')} of {size} points{by}"


def _told(builder: Builder, one: Filter, widths: Mapping[int, int]) -> str:
    """One filter: its direction and order, its poles, and what rounding errors do."""
    name = builder.dims[one.dim].name()
    said = [f"{'+' if one.causal else '-'}{name}"]
    if len(one.feedforward) > 1 or not one.order:
        said.append(f"sums of {_count(len(one.feedforward), 'point')}")
    if one.order:
        said.append(f"order {one.order}")
    if not one.is_constant:
        said.append("coefficients that vary")
    elif one.order:
        feedback = one.constants()[1]
        said.append(f"largest pole {largest_pole(feedback):.4g}")
        if one.dim in widths:
            most = growth(feedback, widths[one.dim])
            said.append(f"values grow by up to {most:.3g} within a tile")
    return ", ".join(said)


__all__ = ["explanation"]
