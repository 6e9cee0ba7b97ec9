"""From the kernels that a search came to, to directives."""

from __future__ import annotations

from collections.abc import Iterable

from parhelion.autoschedule.calls import FuncArg
from parhelion.autoschedule.gpu.model import KernelModel
from parhelion.autoschedule.gpu.search import KernelGroup
from parhelion.autoschedule.kernels.write import (
    Levels,
    write_in_block,
    write_in_thread,
    write_kernel,
)
from parhelion.autoschedule.model.plan import Level
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.script import Script
from parhelion.ir.function import Function
from parhelion.schedule.directives import Place
from parhelion.schedule.modes import by_loops
from parhelion.schedule.order import realization_order


def script_of(
    groups: Iterable[KernelGroup], model: KernelModel, freedom: Freedom
) -> Script:
    """The directives of these groups; what the user has scheduled stays."""
    graph = model.graph
    script = Script(graph.outputs)
    planned: set[Function] = set()
    for group in groups:
        planned.update((group.root, *group.members))
        _write(script, group, model, freedom)
    for f in realization_order(graph.outputs):
        # What nobody needs once its readers are inlined is no part of a plan; foreign
        # code and what it reads are not inlined even then.
        solid = not by_loops(f) or f in freedom.given
        if solid and f not in planned and freedom.move(f):
            script.add(f, -1, "compute_root")
    script.acknowledge()
    return script


def _write(
    script: Script, group: KernelGroup, model: KernelModel, freedom: Freedom
) -> None:
    root = group.root
    if freedom.move(root):
        script.add(root, -1, "compute_root")
    inside = root.schedule.compute.place is Place.LOOP
    if inside and root not in model.graph.outputs:
        return  # the user's affair, and so are its loops
    levels: Levels | None = None
    for kernel in group.kernels:
        stage = kernel.stage
        if kernel.shape is None or not freedom.loops(root, stage.index):
            continue
        run = model.extents(stage)
        wide = [run[v] for v in kernel.roles.parallel]
        levels = write_kernel(script, stage, kernel.roles, kernel.shape, wide)
    for f, at in group.members.items():
        if levels is None:
            script.add(f, -1, "compute_root")
            continue
        name = levels.block if at is Level.TILE else levels.thread
        script.add(f, -1, "compute_at", FuncArg(root), name)
        for stage in model.graph.stages[f]:
            _member(script, stage, group, levels, model)


def _member(
    script: Script,
    stage: GraphStage,
    group: KernelGroup,
    levels: Levels,
    model: KernelModel,
) -> None:
    f, own = stage.func, model.roles(stage, alone=False)
    box = group.boxes.get(f, (1,) * f.dimensions)
    sizes = [box[f.args.index(v)] for v in own.parallel]
    if group.members[f] is Level.BLOCK:
        write_in_thread(script, stage, own, sizes)
    else:
        write_in_block(script, stage, own, levels.threads, sizes)


__all__ = ["script_of"]
