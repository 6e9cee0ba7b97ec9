"""How much code a definition makes: what the compiler takes its time for.

Loops are cut where coordinates are clamped or mirrored, so that there are copies of a
body for the edges, and in the vectors at the edges each lane is fetched by code of its
own. Thirteen taps of a mirrored image in blocks of three colours, twice, make 15,000
instructions, which LLVM takes many seconds for.
"""

from __future__ import annotations

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.model.throughput import apart, scatters
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.pipeline.work import Access, Work
from parhelion.ir import expr as E
from parhelion.ir.expr import Var
from parhelion.ir.rewrite import nodes

#: A pipeline's code should not be longer, nor than so much for each of its Funcs:
#: instructions that LLVM takes about a second and a half for.
_MOST, _EACH = 4000.0, 500.0
#: Nor should that of one group, which is one function: some of LLVM's passes take more
#: than in proportion. Twelve iterations in one tile, clamped by the size of an image
#: that is known in a run only, are 10,000 such instructions, and took 40 s.
_MOST_GROUP = 4000.0
#: Loops are cut along no more dimensions than this.
_MOST_CUT = 2
#: A division by what is not known has instructions of its own for each lane.
_DIVISION = 3


def most_length(funcs: int) -> float:
    """How long the code of a pipeline of so many Funcs may be without being dear."""
    return max(_MOST, _EACH * funcs)


def dear_group(length: float) -> float:
    """By how much the code of one group is dearer than what it takes to run."""
    return max(1.0, length / _MOST_GROUP)


def length_of(work: Work, loops: Loops, machine: Machine) -> float:
    """About how many instructions a definition's loops make: those of each point of a
    block, in the middle and at the edges."""
    stage = work.stage
    vector = _vector(stage, loops)
    lanes = loops.lanes if vector is not None else 1
    copies = 1
    block = dict(zip(stage.func.args, loops.block, strict=True))
    for v, count in block.items():
        if v in stage.pure:
            copies *= max(1, count // lanes) if v is vector else count
    body, edge = work.arithmetic + len(work.loads), 0
    if vector is None:
        body += work.stores
    else:
        body += len(apart(work, vector, machine)) * (lanes - 1)
        body += work.stores * (lanes if scatters(stage, vector, block) else 1)
        for a in work.loads:
            if vector in a.clamped:
                edge += lanes * (1 + _DIVISION * _divides(work, a))
    cut = frozenset[Var]().union(*[a.clamped for a in work.loads])
    times = min(len(cut), _MOST_CUT)
    # Rows at the edges have both ends, too.
    ends = 2 * (2 * times - 1) if times else 0
    return copies * (body * (1 + 2 * times) + ends * edge)


def _vector(stage: GraphStage, loops: Loops) -> Var | None:
    vector = stage.func.args[loops.vector] if loops.vector >= 0 else None
    return vector if vector in stage.pure else None


def _divides(work: Work, a: Access) -> bool:
    """Whether the coordinates of a load are made by dividing, at the edges."""
    return any(
        isinstance(n, E.Div | E.Mod) and not isinstance(n.b, E.Imm)
        for steady, raws in work.steady.found.items()
        if steady.args is a.args
        for raw in raws
        for c in raw.args
        for n in nodes(c)
    )


__all__ = ["length_of", "most_length"]
