"""The directives that the stages of a recursive filter have, as a Python program.

They are read off the stages' schedules, so that it does not matter who has given them.
"""

from __future__ import annotations

from collections.abc import Collection

from parhelion.autoschedule.calls import RVarArg, StageArg, VarArg
from parhelion.autoschedule.script import Script
from parhelion.errors import InternalError
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.stmt import ForKind, MemoryKind
from parhelion.lang.func import Func
from parhelion.schedule.args import is_rvar, nameable
from parhelion.schedule.directives import (
    Fuse,
    MemoryType,
    Place,
    Split,
    StageSchedule,
    TailStrategy,
)

_DIRECTIVE = {
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorize",
    ForKind.UNROLLED: "unroll",
}
_ON_GPU = {ForKind.GPU_THREAD: "gpu_threads", ForKind.GPU_BLOCK: "gpu_blocks"}


def schedule_text(out: Func, others: Collection[Function]) -> str:
    """The schedule of a Func and of all that it needs, but for `others`, which are the
    user's, as a program that defines ``schedule(pipeline)``."""
    script = Script((out._function,))
    own = [f for f in script.order if f not in others]
    for f in own:
        _whole(script, f)
        for k, d in enumerate(f.stages()):
            _Loops(script, f, k, d).tell()
    for f in own:
        for k, d in enumerate(f.stages()):
            one = d.schedule.fused_with
            if one is not None:
                script.add(f, k, "compute_with", StageArg(one.func, one.stage), one.var)
    return script.to_python(partial=bool(others))


def _whole(script: Script, f: Function) -> None:
    """Where a Func is computed, and what is said of its storage."""
    s = f.schedule
    for b in s.bounds:
        if b.modulus is not None:
            script.add(f, -1, "align_bounds", b.var, b.modulus, b.remainder or 0)
        elif b.min is None:
            script.add(f, -1, "bound_extent", b.var, _number(b.extent))
        else:
            script.add(f, -1, "bound", b.var, _number(b.min), _number(b.extent))
    if s.compute.place is Place.ROOT:
        script.add(f, -1, "compute_root")
    elif s.compute.place is Place.LOOP:
        script.add(f, -1, "compute_at", s.compute.func, s.compute.var)
    if tuple(s.storage_order) != tuple(range(f.dimensions)):
        order = [f.args[k] for k in s.storage_order]
        script.add(f, -1, "reorder_storage", *order)
    for k, kept in s.storage.items():
        script.add(f, -1, "bound_storage", f.args[k], _number(kept.bound))
    if s.memory is MemoryKind.HEAP:
        script.add(f, -1, "store_in", MemoryType.Heap)


def _number(e: Expr | None) -> int:
    value = None if e is None else const_int(e)
    if value is None:
        raise InternalError("internal error: a stage's directive has no number")
    return value


class _Loops:
    """Tells the directives on the loops of one definition."""

    def __init__(self, script: Script, f: Function, k: int, d: Definition) -> None:
        self.script, self.function, self.stage = script, f, k
        self.schedule: StageSchedule = d.schedule
        #: Names for loops that directives have split off without one.
        self.named: dict[Var, VarArg | RVarArg] = {}
        #: The loops as they are after what has been told, innermost first.
        self.loops = [] if d.rdom is None else list(d.rdom.vars)
        self.loops += [v for v, a in zip(f.args, d.args, strict=True) if v is a]

    def tell(self) -> None:
        s = self.schedule
        kinds = {d.var: d.kind for d in s.dims}
        #: Loops from which a factor splits off vectors, or what is unrolled.
        blocks: list[Split] = []
        for n, t in enumerate(s.transforms):
            if isinstance(t, Fuse):
                self._fuse(t)
            elif isinstance(t, Split) and self._is_block(t, n):
                blocks.append(t)
            elif isinstance(t, Split):
                self._split(t)
            else:
                raise InternalError(f"internal error: a loop has become {t.new.name}")
        split_off = [t.inner for t in blocks]
        order = [d.var for d in s.dims if d.var not in split_off]
        if order != self.loops:
            self.add("reorder", *order)
        for t in blocks:
            method = _DIRECTIVE[kinds[t.inner]]
            self.add(method, t.outer, _number(t.factor), _tail(t))
        for v in order:
            if kinds[v] in _DIRECTIVE:
                self.add(_DIRECTIVE[kinds[v]], v)
        for kind, method in _ON_GPU.items():
            loops = [v for v in order if kinds[v] is kind]
            if loops:
                self.add(method, *loops)
        if s.single_thread:
            self.add("gpu_single_thread")

    def add(self, method: str, *args: object) -> None:
        given = [self.named.get(a, a) if isinstance(a, Var) else a for a in args]
        self.script.add(self.function, self.stage, method, *given)

    def _fuse(self, t: Fuse) -> None:
        self.add("fuse", t.inner, t.outer, t.fused)
        self.loops.remove(t.outer)
        self.loops[self.loops.index(t.inner)] = t.fused

    def _split(self, t: Split) -> None:
        if not nameable(t.inner):
            self.named[t.inner] = self._name(t.old)
        self.add("split", t.old, t.outer, t.inner, _number(t.factor), _tail(t))
        at = self.loops.index(t.old)
        self.loops[at : at + 1] = [t.inner, t.outer]

    def _is_block(self, t: Split, n: int) -> bool:
        """Whether a split is one of `vectorize` or `unroll` with a factor, and the loop
        that it has made stands where the directive would put it now."""
        dims = self.schedule.dims
        loops = [d.var for d in dims]
        if nameable(t.inner) or t.inner not in loops or t.outer not in loops:
            return False
        used = [
            v
            for x in self.schedule.transforms[n + 1 :]
            for v in ((x.inner, x.outer) if isinstance(x, Fuse) else (x.old,))
        ]
        at = loops.index(t.inner)
        blocked = dims[at].kind in (ForKind.VECTORIZED, ForKind.UNROLLED)
        return t.outer not in used and blocked and loops[at + 1 : at + 2] == [t.outer]

    def _name(self, old: Var) -> VarArg | RVarArg:
        """A name for a loop that has none."""
        taken = {v.name for v in self.function.args}
        taken |= {d.var.name for d in self.schedule.dims}
        taken |= {one.name for one in self.named.values()}
        name = f"{old.name}v"
        while name in taken:
            name += "v"
        return RVarArg(name) if is_rvar(old) else VarArg(name)


def _tail(t: Split) -> TailStrategy:
    return TailStrategy.Auto if t.auto else t.tail


__all__ = ["schedule_text"]
