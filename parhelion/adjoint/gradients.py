"""The adjoints of all that a pipeline computes: consumers first, updates backwards.

From the adjoints of the outputs, each Func's is known when all of its readers have been
reversed. Its own updates are, from the last to the first, and then its pure definition,
whose reads get what is left (Li et al. 2018, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parhelion.adjoint.flows import Flow, Source, leaf, reads
from parhelion.adjoint.handles import Adjoint, new_func, update
from parhelion.adjoint.partials import undifferentiable
from parhelion.adjoint.regions import Instance, Region, Regions, instance
from parhelion.adjoint.reversal import Reversal
from parhelion.adjoint.sharing import share
from parhelion.adjoint.sums import Total
from parhelion.adjoint.updates import look, with_reads
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.names import user_var
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym

_LETTERS = ("x", "y", "z", "w")


class Gradients:
    """The adjoints of a pipeline's Funcs, images and Params.

    outputs: the region of each output, and the adjoint of each of its values, as a
    function of the Func's arguments, 0 outside of the region; None for 1, and for
    values without an adjoint.
    """

    def __init__(
        self, outputs: Mapping[Function, tuple[Region, Sequence[Adjoint | None]]]
    ) -> None:
        self._outputs = outputs
        self._order = _order(list(outputs))
        self._everywhere: set[Function] = set()
        for _, seeds in outputs.values():
            self._everywhere |= {s.func for s in seeds if s and s.func is not None}
        self.regions = Regions(
            self._order, {f: region for f, (region, _) in outputs.items()}
        )
        self._totals: dict[tuple[Source, int], Total] = {}
        self._states: dict[tuple[Function, int], Function] = {}
        #: The adjoint of each value of a Func after its last update, and before each.
        self._stages: dict[Function, list[list[Adjoint]]] = {}
        self._leaves: dict[Source, Adjoint] = {}
        for f in reversed(self._order):
            if self.regions.reached(f):
                self._reverse(f)

    def knows(self, source: Source) -> bool:
        """Whether the pipeline has a Func, an image or a Param."""
        if isinstance(source, Function):
            return source in self._order
        return any([source in d.symbols() for f in self._order for d in f.as_written()])

    def of_func(self, f: Function, updates: int) -> list[Adjoint]:
        """The adjoint of each value of a Func, after some of its updates."""
        return self._stages[f][updates]

    def of_leaf(self, source: BufferSym | ParamSym) -> Adjoint:
        """The adjoint of an image or a Param."""
        found = self._leaves.get(source)
        if found is None:
            total = self._totals.get((source, 0))
            found = Adjoint(source.type) if total is None else total.finish(source.site)
            self._leaves[source] = found
        return found

    # One Func after the other.

    def _reverse(self, f: Function) -> None:
        count = len(f.as_written())
        adjoints = [self._given(f, i) for i in range(len(f.types))]
        stages = self._stages[f] = [adjoints] * count
        if all([a.is_zero for a in adjoints]):
            return
        if f.extern is not None:
            raise undifferentiable(
                f"what foreign code computes, here {f.label!r},", f.site
            )
        region = self.regions.of(f)
        definitions = f.as_written()
        for number in reversed(range(count - 1)):
            d = definitions[number + 1]
            u = look(f, instance(f, d, region))
            done = Reversal(
                u,
                number,
                region,
                adjoints,
                lambda k: self._state(f, k),
                self._everywhere,
            )
            self._take(f, done.flows)
            adjoints = done.before
            stages[number] = adjoints
        self._pure(f, instance(f, definitions[0], region), adjoints)

    def _given(self, f: Function, index: int) -> Adjoint:
        """The adjoint of a value of a Func after all of its updates."""
        t = f.types[index]
        total = self._totals.get((f, index))
        seed: Adjoint | None = None
        if f in self._outputs:
            seed = self._outputs[f][1][index]
        if total is None:
            return seed or Adjoint(t)
        if seed is not None:
            total.base = seed.at(f.args), seed.everywhere
        return total.finish(f.site)

    def _pure(self, f: Function, one: Instance, adjoints: Sequence[Adjoint]) -> None:
        place = [w.var for w in one.walks]
        pairs = [
            (v, a.at(place))
            for v, a in zip(one.values, adjoints, strict=True)
            if not a.is_zero
        ]
        site = one.definition.site
        flows = []
        for read, amount in reads(pairs, site):
            source = leaf(read)
            assert source is not None
            flows.append(Flow(*source, amount, one.walks, site=site))
        self._take(f, flows)

    def _take(self, f: Function, flows: Sequence[Flow]) -> None:
        """Hands what flows out of a definition to its sources."""
        for flow in share(f"d_{f.label}_part", flows, self._everywhere):
            key = (flow.source, flow.index)
            total = self._totals.get(key)
            if total is None:
                total = self._totals[key] = self._total(flow.source, flow.index)
            total.add(flow)

    def _total(self, source: Source, index: int) -> Total:
        if isinstance(source, Function):
            t, args = source.types[index], source.args
            region: Region | None = self.regions.of(source)
            name = source.label
        else:
            t, region, name = source.type, None, source.name
            count = len(source.dims) if isinstance(source, BufferSym) else 0
            args = coordinates(count)
        return Total(f"d_{name}", t, args, region, self._everywhere)

    def _state(self, f: Function, count: int) -> Function:
        """A Func after some of its updates."""
        definitions = f.as_written()
        if count == len(definitions) - 1:
            return f
        found = self._states.get((f, count))
        if found is None:
            found = _partly(f, definitions[: count + 1])
            self._states[f, count] = found
        return found


def coordinates(count: int) -> tuple[Var, ...]:
    """Arguments for the adjoint of an image."""
    names = [*_LETTERS, *[f"x{d}" for d in range(len(_LETTERS), count)]]
    return tuple([user_var(n) for n in names[:count]])


def _partly(f: Function, definitions: Sequence[Definition]) -> Function:
    """A Func with the first definitions of another one."""
    first = definitions[0]
    made = new_func(f"{f.label}_before", f.args, first.values, first.site)
    for d in definitions[1:]:
        given = (*d.args, *d.values)
        to: dict[Expr, Expr] = {
            n: FuncCall(n.type, made, n.args, n.index)
            for e in given
            for n in nodes(e)
            if isinstance(n, FuncCall) and n.func is f
        }
        args = [with_reads(a, to) for a in d.args]
        values = [with_reads(v, to) for v in d.values]
        update(made, args, values, d.site, d.rdom)
    return made


def _order(outputs: Sequence[Function]) -> list[Function]:
    """All Funcs that the outputs need, as they were written, each after those that it
    reads."""
    order: dict[Function, None] = {}
    stack: list[tuple[Function, Iterator[Function]]] = []
    seen: set[Function] = set()
    for output in outputs:
        if output in seen:
            continue
        seen.add(output)
        stack.append((output, _read_by(output)))
        while stack:
            f, rest = stack[-1]
            g = next(rest, None)
            if g is None:
                stack.pop()
                order[f] = None
            elif g not in seen:
                seen.add(g)
                stack.append((g, _read_by(g)))
    return list(order)


def _read_by(f: Function) -> Iterator[Function]:
    found: dict[Function, None] = {}
    for d in f.as_written():
        found.update({g: None for g in d.mentions() if isinstance(g, Function)})
    return iter(found)


__all__ = ["Gradients", "coordinates"]
