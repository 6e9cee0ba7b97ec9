"""Region algebra: what of each image a region of the outputs needs.

The answers are those of the compiler's own bounds inference. They are expressions over
the outputs' least coordinates and extents, found once for a pipeline; of a chunk they
are numbers, which are remembered by what of the chunk they depend on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from parhelion.dask.sized import Sized
from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError
from parhelion.ir.bindings import SET, Bindings
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.pipeline import ArgKind, Lowered, Region
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.text import text
from parhelion.lang.boxes import Box
from parhelion.lang.given import Number, exact
from parhelion.lang.runner import Runner
from parhelion.runtime.program import Variant
from parhelion.simplify.simplifier import simplify

#: How often the region that is written is derived again from itself.
_MAX_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a region. mentioned: the dimensions of the outputs it depends on.
    vars: of these, least coordinate and extent of each output value's dimension."""

    expr: Expr
    mentioned: tuple[int, ...]
    vars: tuple[tuple[Var, int, bool], ...]


class Needs:
    """What the code of a pipeline reads and writes, given which region is asked for.

    All outputs have the same region. `values` are those of Params and sizes, and the
    Buffers that are given as a whole.
    """

    def __init__(
        self,
        sized: Sized,
        runner: Runner,
        values: Mapping[BufferSym | ParamSym, Any],
    ) -> None:
        self.copy = sized
        self.runner = runner
        runner.refresh()
        plain = runner.variant({})
        self._known = Bindings(values, SET)
        self._plain = _Code(self, runner.program(plain).lowered)
        self._guarded: _Code | None = None
        self._looked = False
        self._variant: Variant = plain

    def given(self, values: Mapping[BufferSym | ParamSym, Any]) -> Needs:
        """The same for other values of some Params."""
        made = copy(self)
        made._known = Bindings(values, self._known)
        made._plain = self._plain.given(made)
        made._guarded, made._looked = None, False
        return made

    def written(self, box: Box) -> list[Box]:
        """The regions of the outputs that the code computes when `box` is asked for:
        the same, or larger ones where the schedule rounds up."""
        return self._code(box)[1]

    def needed(self, box: Box) -> list[Box]:
        """The region of each image that the code reads when `box` is asked for."""
        code, written = self._code(box)
        found = []
        for image, promised in zip(self.copy.images, self.copy.whole, strict=False):
            region = code.needed(image, written)
            found.append(
                [
                    own if given is None else given
                    for own, given in zip(region, promised, strict=True)
                ]
            )
        return found

    def mentioned(self, image: int, d: int) -> tuple[int, ...]:
        """The dimensions of the outputs on which the region of a dimension of an image
        depends; none if it is the same for all chunks."""
        found = self._plain.required.get(self.copy.images[image])
        if found is None or self.copy.whole[image][d] is not None:
            return ()
        lo, hi = found[d]
        return tuple(sorted({*lo.mentioned, *hi.mentioned}))

    def shown(self, image: int, d: int) -> tuple[str, str]:
        """The least and the greatest coordinate of a dimension of an image that are
        needed, as text."""
        found = self._plain.required.get(self.copy.images[image])
        if found is None:
            return "nothing", "nothing"
        lo, hi = found[d]
        return text(_plainly(lo.expr)), text(_plainly(hi.expr))

    def _code(self, box: Box) -> tuple[_Code, list[Box]]:
        written = self._plain.written(box)
        if all([w == box for w in written]):
            return self._plain, written
        if not self._looked:
            self._looked = True
            guarded = self.runner._guarded(self._variant)
            if guarded is not None:
                self._guarded = _Code(self, self.runner.program(guarded).lowered)
        if self._guarded is None:
            return self._plain, written
        return self._guarded, self._guarded.written(box)


class _Code:
    """The regions of one variant of the code."""

    def __init__(self, needs: Needs, lowered: Lowered) -> None:
        self.targets = needs.runner.targets
        self._places: dict[Var, tuple[int, int, bool]] = {}
        for k, target in enumerate(self.targets):
            for d, dim in enumerate(target.dims):
                for var, extent in ((dim.min, False), (dim.extent, True)):
                    if isinstance(var, Var):
                        self._places[var] = k, d, extent
        self._lowered = lowered
        self._env = _environment(needs._known, lowered)
        self._memory: dict[tuple[object, ...], int] = {}
        self.required = {b: self._ends(r) for b, r in lowered.required.items()}
        self._written = {b: self._ends(r) for b, r in lowered.written.items()}

    def given(self, needs: Needs) -> _Code:
        """The same with the values that `needs` knows."""
        made = copy(self)
        made._env, made._memory = _environment(needs._known, self._lowered), {}
        return made

    def _ends(self, regions: Sequence[Region]) -> list[tuple[_End, _End]]:
        return [(self._end(r.min), self._end(r.max)) for r in regions]

    def _end(self, e: Expr) -> _End:
        found: dict[tuple[Var, int, bool], None] = {}
        seen: set[Var] = set()
        waiting = list(free_vars(e))
        while waiting:
            v = waiting.pop()
            if v in seen:
                continue
            seen.add(v)
            place = self._places.get(v)
            if place is not None:
                found[v, place[1], place[2]] = None
            elif v.value is not None and v not in self._env:
                waiting += free_vars(v.value)
        dims = tuple(sorted({d for _, d, _ in found}))
        return _End(e, dims, tuple(found))

    def _number(self, end: _End, boxes: Sequence[Box]) -> int:
        values = {}
        for v, d, extent in end.vars:
            k = self._places[v][0]
            values[v] = boxes[k][d][extent]
        key = (end.expr, *values.values())
        found = self._memory.get(key)
        if found is None:
            found = int(evaluate(end.expr, {**self._env, **values}))
            self._memory[key] = found
        return found

    def _box(self, ends: Sequence[tuple[_End, _End]], boxes: Sequence[Box]) -> Box:
        out = []
        for lo, hi in ends:
            first, last = self._number(lo, boxes), self._number(hi, boxes)
            out.append((first, max(last - first + 1, 0)))
        return out

    def needed(self, image: BufferSym, boxes: Sequence[Box]) -> Box:
        ends = self.required.get(image)
        if ends is None:
            return [(0, 0)] * len(image.dims)
        return self._box(ends, boxes)

    def written(self, box: Box) -> list[Box]:
        boxes = [list(box) for _ in self.targets]
        for _ in range(_MAX_ROUNDS):
            grown = []
            for target, own in zip(self.targets, boxes, strict=True):
                ends = self._written.get(target)
                region = own if ends is None else self._box(ends, boxes)
                grown.append([_joined(a, b) for a, b in zip(own, region, strict=True)])
            if grown == boxes:
                return boxes
            boxes = grown
        raise BoundsError(
            f"the schedule of {self.targets[0].name!r} computes more than is asked for,"
            f" and again more for that, {_MAX_ROUNDS} times"
        )


def _joined(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    lo = min(a[0], b[0])
    return lo, max(a[0] + a[1], b[0] + b[1]) - lo


def _environment(known: Bindings, lowered: Lowered) -> dict[Var, Number]:
    """The values of Params, and the sizes of the Buffers that are part of the
    algorithm."""
    env: dict[Var, Number] = {}
    for arg in lowered.args:
        symbol = arg.symbol
        if isinstance(symbol, ParamSym):
            env[symbol.var] = exact(symbol, known.of(symbol))
        elif arg.kind is ArgKind.INPUT and known.of(symbol) is not None:
            given = known.of(symbol)
            for d, dim in enumerate(symbol.dims):
                side = given.dim(d)
                env[dim.min], env[dim.extent] = side.min(), side.extent()
                env[dim.stride] = side.stride()
    return env


def _plainly(e: Expr) -> Expr:
    """An expression without names of other expressions."""
    for _ in range(64):
        named = {v: v.value for v in free_vars(e) if v.value is not None}
        if not named:
            break
        e = substitute(e, named)
    return simplify(e)


__all__ = ["Needs"]
