"""Loop nests as text, in the form of Halide's print_loop_nest.

`nest_text` prints a program that lowering has made, with the loops' constant ranges.
What it says of a loop holds once the loop is under way: the first iteration of a
sliding window may do more. `draw` prints what the schedule alone says, for messages
about schedules that cannot be lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from parhelion.ir.build import TRUE, const_int
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.ir.function import Function, dim_name
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.loop_id import LoopId
from parhelion.ir.names import wished
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.stmt import (
    Atomic,
    Block,
    For,
    If,
    OnDemand,
    Produce,
    Provide,
    Realize,
    Stmt,
    keeps_books,
)
from parhelion.schedule.branches import schedules
from parhelion.schedule.directives import OUTERMOST, Fuse, Split, StageSchedule
from parhelion.simplify.simplifier import simplify

if TYPE_CHECKING:
    from parhelion.schedule.sites import LoopSite, Nests, Stack

#: The words of a loop's name, from that of the variable that it came of.
Path = tuple[str, ...]


def loop_names(schedule: StageSchedule) -> dict[Var, str]:
    """The name of each loop, after the directives that made it: ``x.xi`` is the loop
    xi that a split of x made, ``x.xi.v0`` one that was split off that in turn. A
    reduction variable has the name of its domain."""
    return {v: ".".join(path) for v, path in _paths(schedule).items()}


def _paths(schedule: StageSchedule) -> dict[Var, Path]:
    path: dict[Var, Path] = {}

    def of(v: Var) -> Path:
        return path.get(v, (dim_name(v).of,))

    for t in schedule.transforms:
        if isinstance(t, Split):
            old = of(t.old)
            made = {v: (*old, dim_name(v).of) for v in (t.outer, t.inner)}
        elif isinstance(t, Fuse):
            made = {t.fused: (*of(t.inner), t.fused.name)}
        else:
            same = t.new.name == t.old.name  # a loop of rfactor's, by its old name
            made = {t.new: of(t.old) if same else (*of(t.old), t.new.name)}
        path.update(made)
    return {d.var: of(d.var) for d in schedule.dims}


class _Lines:
    """Indented lines."""

    def __init__(self, indent: int) -> None:
        self.lines: list[str] = []
        self.indent = indent

    def add(self, line: str) -> None:
        self.lines.append(" " * self.indent + line)

    def block(self, head: str, inside: Callable[[], None]) -> None:
        self.add(f"{head}:")
        self.indent += 2
        inside()
        self.indent -= 2


def func_name(f: Function) -> str:
    """A Func's name without what makes it unique."""
    return wished(f.label)


def nest_text(body: Stmt, outputs: Sequence[Function]) -> str:
    """The loop nests of a program that has not been flattened yet."""
    printer = _Program(outputs)
    printer.go(body)
    return "".join(f"{line}\n" for line in printer.lines)


class _Program(_Lines):
    """Prints statements; everything that is no loop and stores nothing is left out."""

    def __init__(self, outputs: Sequence[Function]) -> None:
        super().__init__(0)
        self.outputs = frozenset(outputs)
        self.constant = _Steady()
        self._names: dict[tuple[Function, int, int], dict[Var, Path]] = {}

    def go(self, s: Stmt) -> None:
        """Prints a statement."""
        if keeps_books(s):
            return
        if isinstance(s, Block):
            for item in s.items:
                self.go(item)
        elif isinstance(s, For):
            extent = self.constant(s.extent)
            if extent == 1 and not s.kind.on_gpu:
                self.go(s.body)
            else:
                head = self._head(s, extent)
                self.block(head, lambda: self.go(s.body))
        elif isinstance(s, If):
            self.go(s.then)
            if s.otherwise is not None:
                self.go(s.otherwise)
        elif isinstance(s, Provide):
            self.add(_provide(s.func))
        elif isinstance(s, Realize):
            if _stored_apart(s.func):
                self.block(f"store {func_name(s.func)}", lambda: self.go(s.body))
            else:
                self.go(s.body)
        elif isinstance(s, OnDemand):
            (loops,) = s.makes
            assert isinstance(loops, For) and isinstance(loops.body, For)
            part = loops.body.body
            self.block(f"lazy {_lazily(s.func)}", lambda: self.go(part))
            self.go(s.body)
        elif isinstance(s, Produce):
            self._produce(s)
        elif isinstance(s, Atomic):
            self.go(s.body)

    def _produce(self, s: Produce) -> None:
        if s.producing:
            self.block(f"produce {func_name(s.func)}", lambda: self.go(s.body))
        elif s.func in self.outputs:
            self.go(s.body)
        else:
            self.block(f"consume {func_name(s.func)}", lambda: self.go(s.body))

    def _head(self, s: For, extent: int | None) -> str:
        head = f"{s.kind.value} {self._loop_name(s.var)}"
        device = f"<{_device(s.var)}>" if s.kind.on_gpu else ""
        low = None if extent is None else self.constant(s.min)
        if low is None or extent is None:
            return head + device
        return f"{head} in [{low}, {low + extent - 1}]{device}"

    def _loop_name(self, v: Var) -> str:
        """The path of a loop: see `loop_names`."""
        loop: LoopId | None = v.loop
        if loop is None:
            return v.name
        key = loop.func, loop.stage, loop.branch
        known = self._names.get(key)
        if known is None:
            definition = loop.func.stages()[loop.stage]
            known = _paths(schedules(definition.schedule)[loop.branch])
            self._names[key] = known
        path = known.get(loop.var, (dim_name(loop.var).of,))
        return ".".join([*path[:-1], "fused", path[-1]] if loop.shared else path)


def _device(v: Var) -> str:
    """What the schedule calls the device of a loop."""
    loop: LoopId | None = v.loop
    if loop is not None:
        definition = loop.func.stages()[loop.stage]
        if loop.var in schedules(definition.schedule)[loop.branch].cuda:
            return "CUDA"
    return "Default_GPU"


class _Steady(Rewriter):
    """Constant values of bounds, all names opened and likely conditions true."""

    #: Bounds of deep pipelines can open up to millions of terms; such a one is not
    #: going to be constant.
    LIMIT = 2000

    def __call__(self, e: Expr) -> int | None:
        opened = self.go(e)
        for count, _ in enumerate(nodes(opened)):
            if count > self.LIMIT:
                return None
        return const_int(simplify(opened))

    def on_var(self, n: Var) -> Expr:
        return n if n.value is None else self.go(n.value)

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op in LIKELY:
            return TRUE if n.type.is_bool() else self.go(n.args[0])
        return n.map(self.go)


def _lazily(f: Function) -> str:
    """A Func, and how much of it is computed at a time, on demand."""
    tile = ", ".join(["all" if size is None else str(size) for size in f.schedule.tile])
    return f"{func_name(f)} in tiles of ({tile})" if tile else func_name(f)


def _provide(f: Function) -> str:
    return f"{func_name(f)}(...) = ..."


def _stored_apart(f: Function) -> bool:
    """Whether the storage outlives one computation."""
    compute, store = f.schedule.compute, f.schedule.store_level
    return (compute.place, compute.func, compute.var) != (
        store.place,
        store.func,
        store.var,
    )


def draw(nests: Nests, f: Function, indent: int = 0) -> str:
    """The loops around the uses of `f`, each use marked, as far as Funcs are placed."""
    drawing = _Drawing(nests, f, indent)
    drawing.productions((), lambda: None)
    return "\n".join(drawing.lines)


class _Drawing(_Lines):
    """Prints nests by the schedule alone."""

    def __init__(self, nests: Nests, f: Function, indent: int) -> None:
        super().__init__(indent)
        self.nests = nests
        self.f = f
        self.uses = {(u.func, u.stage, u.stack) for u in nests.uses[f]}
        around = {s.func for u in nests.uses[f] for s in u.stack}
        self.shown = [g for g in nests.order if g in around and g in nests.computed]

    def productions(self, at: Stack, inside: Callable[[], None]) -> None:
        """What is stored and computed at a place, around what else stands there."""
        computed, stored = self.nests.computed, self.nests.stored
        here = [g for g in self.shown if at in computed[g] or at in stored[g]]
        self._rest(at, here, inside)

    def _rest(
        self, at: Stack, funcs: Sequence[Function], inside: Callable[[], None]
    ) -> None:
        """Those Funcs at a place, each around the next, the last around `inside`."""
        if not funcs:
            inside()
            return
        g, others = funcs[0], funcs[1:]

        def rest() -> None:
            self._rest(at, others, inside)

        if at in self.nests.computed[g]:
            self.block(f"produce {g.name}", lambda: self._produce(g, at))
            if (not others and not at) or g in self.nests.outputs:
                rest()
            else:
                self.block(f"consume {g.name}", rest)
        else:
            self.block(f"store {g.name}", rest)

    def _produce(self, g: Function, at: Stack) -> None:
        for k in range(len(g.stages())):
            for sites in self.nests.sites(g, k):
                self._loops(g, k, at, sites, 0)

    def _loops(
        self, g: Function, k: int, at: Stack, sites: Sequence[LoopSite], i: int
    ) -> None:
        """Stage `k` inside its first `i` loops; the outermost site prints nothing."""
        if i == len(sites):
            mark = f"  <- uses {self.f.name}" if (g, k, at) in self.uses else ""
            self.add(f"{g.name}(...) = ...{mark}")
            return
        site = sites[i]
        inner = (*at, site)

        def inside() -> None:
            self.productions(inner, lambda: self._loops(g, k, inner, sites, i + 1))

        if site.dim.var is OUTERMOST:
            inside()
        else:
            self.block(f"{site.dim.kind.value} {site.dim.var.name}", inside)


__all__ = ["draw", "func_name", "loop_names", "nest_text"]
