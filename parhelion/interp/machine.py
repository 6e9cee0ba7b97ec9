"""Computes Funcs over boxes: which boxes are needed, and each Func's values over its.

Consumers first, the boxes: what a definition reads over a box is found from the index
arrays alone. Then producers first, the values. A Func that is read at coordinates
that depend on pixels gets its box when these are known; if it had a smaller one, it
is computed again over both, with whatever that needs in turn.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Protocol, cast

import numpy as np

from parhelion.errors import (
    BoundsError,
    DefinitionError,
    UnsetParamError,
    internal_assert,
)
from parhelion.interp import values as V
from parhelion.interp.grid import Grid, OutOfBox, Realization
from parhelion.interp.operations import EXACT
from parhelion.interp.region import Box, covers, hull, shape_of, volume
from parhelion.interp.update import Updater, update_grid
from parhelion.interp.values import Array
from parhelion.ir.bindings import SET
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.function import Definition, Function, var_label
from parhelion.ir.rewrite import nodes
from parhelion.ir.rounding import Decision, expanded
from parhelion.ir.symbols import BufferSym, ParamSym

#: More elements than this in one Func are taken for a mistake.
_MOST_ELEMENTS = 1 << 30

#: How often a Func's box may grow by its own reads.
_MOST_GROWTH = 64


class _Dimension(Protocol):
    def min(self) -> int: ...


class _BoundBuffer(Protocol):
    """What the interpreter asks of a Buffer that an algorithm mentions, or that an
    ImageParam was set to; `np.asarray` gives its pixels."""

    def dim(self, d: int) -> _Dimension: ...


class Rounding(enum.Enum):
    """How floats are rounded where the algorithm does not say `strict_float`."""

    FUSED = "as machines do that have fused multiplication and addition"
    APART = "as machines do that have none"
    STRICT = "each operation by itself, as for targets with strict_float"


class Machine:
    """One evaluation: the inputs, and what has been computed so far."""

    def __init__(
        self,
        params: Mapping[ParamSym, int | float | bool],
        images: Mapping[BufferSym, tuple[Array, Sequence[int]]],
        rounding: Rounding = Rounding.FUSED,
    ) -> None:
        self.params = params
        self.rounding = rounding
        self.decision = Decision(fuses=rounding is Rounding.FUSED)
        self.decided: dict[Function, list[Definition]] = {}
        self.images = {
            sym: self._image(sym, pixels, mins)
            for sym, (pixels, mins) in images.items()
        }
        self.strides = {sym: pixels.strides for sym, (pixels, _) in images.items()}
        self.done: dict[Function, Realization] = {}
        self.order: list[Function] = []
        self.expansions: dict[Intrinsic, Expr | None] = {}

    def run(self, outputs: Sequence[tuple[Function, Box]]) -> list[list[Array]]:
        """The values of each output over its box."""
        self.order = consumers_first([f for f, _ in outputs])
        wanted: dict[Function, Box] = {}
        for func, box in outputs:
            if volume(box) > 0:
                wanted[func] = hull(wanted[func], box) if func in wanted else box
        self._require(wanted)
        return [self._result(func, box) for func, box in outputs]

    def _result(self, func: Function, box: Box) -> list[Array]:
        if volume(box) == 0:
            shape = tuple([max(n, 0) for n in shape_of(box)])
            return [np.zeros(shape, V.dtype_of(t)) for t in func.types]
        found = self.done[func]
        part = tuple(
            [
                slice(low - origin[0], high - origin[0] + 1)
                for (low, high), origin in zip(box, found.box, strict=True)
            ]
        )
        if any([s is not None and bool(s[part].any()) for s in found.spoiled]):
            assert found.reason is not None
            raise found.reason
        return [v[part].copy() for v in found.values]

    # What the grids ask (`grid.Source`).

    def scalar(self, var: Var) -> int | float | bool:
        origin = var.origin
        if isinstance(origin, ParamSym):
            value: int | float | bool | None = self.params.get(origin)
            if value is None:
                value = SET.of(origin)
            if value is None:
                raise UnsetParamError(
                    f"Param {origin.name!r} has no value", at=origin.site
                )
            return value
        if isinstance(origin, tuple) and isinstance(origin[0], BufferSym):
            return self._image_property(*origin)
        raise DefinitionError(
            f"{var_label(var)} is used here but is no argument of the Func and no RVar "
            "of the definition"
        )

    def _image_property(self, image: BufferSym, what: str, d: int) -> int:
        pixels, mins = self.image(image)
        if what == "min":
            return mins[d]
        if what == "extent":
            return int(pixels.shape[d])
        return self.strides[image][d] // pixels.dtype.itemsize

    def image(self, image: BufferSym) -> tuple[Array, tuple[int, ...]]:
        found = self.images.get(image)
        if found is None:
            held = SET.of(image)
            if held is None:
                raise DefinitionError(
                    f"input image {image.name!r} was not given", at=image.site
                )
            buffer = cast(_BoundBuffer, held)
            # NumPy's axes are the reverse of ours.
            pixels = np.asarray(held).transpose()
            mins = [buffer.dim(d).min() for d in range(pixels.ndim)]
            self.strides[image] = pixels.strides
            found = self.images[image] = self._image(image, pixels, mins)
        return found

    @staticmethod
    def _image(
        image: BufferSym, pixels: Array, mins: Sequence[int]
    ) -> tuple[Array, tuple[int, ...]]:
        internal_assert(
            pixels.ndim == len(image.dims) == len(mins),
            f"image {image.name} has {len(image.dims)} dimensions, not {pixels.ndim}",
        )
        return V.from_storage(pixels, image.type), tuple(mins)

    def realization(self, func: Function, box: Box) -> Realization:
        found = self.done.get(func)
        if found is None or not covers(found.box, box):
            self._require({func: box})
        return self.done[func]

    def expansion(self, e: Intrinsic) -> Expr | None:
        if e not in self.expansions:
            self.expansions[e] = expand(e, self.rounding)
        return self.expansions[e]

    def definitions(self, func: Function) -> list[Definition]:
        """The definitions as the user wrote them, with what is rounded once decided."""
        found = self.decided.get(func)
        if found is None:
            found = func.as_written()
            if not found:
                raise DefinitionError(
                    f"Func {func.name!r} is called but never defined", at=func.site
                )
            if self.rounding is not Rounding.STRICT:
                written = found
                found = run_deep(lambda: [self._decide(d) for d in written])
            self.decided[func] = found
        return found

    def _decide(self, d: Definition) -> Definition:
        go = self.decision.go
        rdom = d.rdom
        if rdom is not None:
            rdom = copy(rdom)
            rdom.predicate = go(d.predicate)
        args, values = tuple(map(go, d.args)), tuple(map(go, d.values))
        return Definition(args, values, rdom, d.schedule, d.site)

    # Boxes, then values.

    def _require(self, wanted: Mapping[Function, Box]) -> None:
        """Computes the Funcs over at least the boxes given."""
        need = dict(wanted)
        boxes: dict[Function, Box] = {}
        for func in self.order:
            if func not in need:
                continue
            box = need[func]
            old = self.done.get(func)
            if old is not None:
                if covers(old.box, box):
                    continue
                box = hull(old.box, box)
            boxes[func] = box = self._grown(func, box)
            for callee, part in self._demands(func, box):
                if callee is not func:
                    need[callee] = hull(need[callee], part) if callee in need else part
        for func in reversed(self.order):
            if func in boxes:
                self.done[func] = self._realize(func, boxes[func])

    def _grown(self, func: Function, box: Box) -> Box:
        """Returns `box` together with what the Func's updates read of the Func
        itself."""
        self._check(func, box)
        for _ in range(_MOST_GROWTH):
            before = box
            for callee, part in self._demands(func, box, updates_only=True):
                if callee is func:
                    box = hull(box, part)
            if box == before:
                return box
            self._check(func, box)
        raise BoundsError(
            f"an update of Func {func.name!r} reads the Func without bound",
            at=func.as_written()[-1].site,
        )

    def _check(self, func: Function, box: Box) -> None:
        if volume(box) > _MOST_ELEMENTS:
            region = ", ".join([f"{low}..{high}" for low, high in box])
            raise BoundsError(
                f"the interpreter would need {volume(box)} elements of Func "
                f"{func.name!r} ({region})",
                at=func.site,
            )

    def _demands(
        self, func: Function, box: Box, updates_only: bool = False
    ) -> Iterator[tuple[Function, Box]]:
        """What the definitions read over `box`, as far as no pixel decides it."""
        if func.extern is not None:
            if not updates_only:
                yield from self._asked(func, box)
            return
        if not updates_only:
            grid = self._pure_grid(func, box)
            for value in self.definitions(func)[0].values:
                yield from grid.demands(value)
        for update in self.definitions(func)[1:]:
            made = update_grid(self, func, update, box)
            if made is None:
                continue
            grid, predicate = made
            guard = None
            if predicate is not None:
                yield from grid.demands(predicate)
                if not grid.reads(predicate):
                    grid.value(predicate)
                    guard = grid.guard(None, predicate, True)
            for e in update.args + update.values:
                yield from grid.demands(e, guard)

    def _pure_grid(self, func: Function, box: Box) -> Grid:
        n = len(box)
        env = {
            var: np.arange(low, high + 1, dtype=np.int32).reshape(
                [-1 if d == axis else 1 for d in range(n)]
            )
            for axis, (var, (low, high)) in enumerate(zip(func.args, box, strict=True))
        }
        return Grid(self, env, n)

    def _realize(self, func: Function, box: Box) -> Realization:
        while True:
            try:
                return self._attempt(func, box)
            except OutOfBox as further:
                # Read at coordinates that depend on pixels.
                box = self._grown(func, hull(box, further.box))

    # Foreign stages.

    def _given(self, func: Function) -> tuple[list[Expr], list[Expr]]:
        """Returns the numbers and the buffers that foreign code is given."""
        numbers: list[Expr] = []
        buffers: list[Expr] = []
        for e in self.definitions(func)[0].values[0].children():
            is_buffer = isinstance(e, FuncCall | ImageLoad)
            (buffers if is_buffer else numbers).append(e)
        return numbers, buffers

    def _scalars(self, numbers: Sequence[Expr]) -> list[int | float | bool]:
        grid = Grid(self, {}, 1)
        return [grid.value(e).ravel()[0].item() for e in numbers]

    def _answers(self, func: Function, box: Box) -> list[Box]:
        """Returns the boxes that foreign code says it reads, one for each of its
        buffers."""
        assert func.extern is not None
        region = [(low, high - low + 1) for low, high in box]
        scalars = self._scalars(self._given(func)[0])
        return [
            tuple([(low, low + n - 1) for low, n in part])
            for part in func.extern.query(scalars, region)
        ]

    def _asked(self, func: Function, box: Box) -> Iterator[tuple[Function, Box]]:
        buffers = self._given(func)[1]
        for e, part in zip(buffers, self._answers(func, box), strict=True):
            if isinstance(e, FuncCall) and volume(part) > 0:
                yield e.func, part

    def _foreign(self, func: Function, box: Box) -> Realization:
        """Returns the values that foreign code computes over a box."""
        assert func.extern is not None
        numbers, buffers = self._given(func)
        inputs: list[tuple[Array, list[int]]] = []
        for e, part in zip(buffers, self._answers(func, box), strict=True):
            if isinstance(e, FuncCall):
                found = self.realization(e.func, part) if volume(part) else None
                pixels = None if found is None else found.values[e.index]
                there: Sequence[int] = (
                    [] if found is None else [m for m, _ in found.box]
                )
            else:
                assert isinstance(e, ImageLoad)
                pixels, there = self.image(e.image)
            if pixels is None:
                pixels = np.zeros(shape_of(part), V.dtype_of(e.type))
            elif volume(part) > 0:
                self._check_inside(func, e, part, there, pixels.shape)
                pixels = pixels[
                    tuple(
                        [
                            slice(low - m, high - m + 1)
                            for (low, high), m in zip(part, there, strict=True)
                        ]
                    )
                ]
            stored = V.to_storage(pixels, e.type)
            inputs.append((stored.copy(order="F"), [low for low, _ in part]))
        mins = [low for low, _ in box]
        made = [np.zeros(shape_of(box), t.to_numpy(), "F") for t in func.types]
        func.extern.run(self._scalars(numbers), inputs, [(a, mins) for a in made])
        values = [V.from_storage(a, t) for a, t in zip(made, func.types, strict=True)]
        return Realization(box, values)

    def _check_inside(
        self,
        func: Function,
        e: Expr,
        part: Box,
        mins: Sequence[int],
        shape: Sequence[int],
    ) -> None:
        for d, ((low, high), m, n) in enumerate(zip(part, mins, shape, strict=True)):
            if low < m or high >= m + n:
                name = e.image.name if isinstance(e, ImageLoad) else "a Func"
                raise BoundsError(
                    f"input image {name!r} is too small in dimension {d}: the code of "
                    f"{func.name!r} reads {low} to {high}, but the image covers "
                    f"{m} to {m + n - 1}",
                    at=func.site,
                )

    def _attempt(self, func: Function, box: Box) -> Realization:
        if func.extern is not None:
            return self._foreign(func, box)
        grid = self._pure_grid(func, box)
        shape = shape_of(box)
        values = []
        for value in self.definitions(func)[0].values:
            made = grid.value(value)
            # A 0-dimensional Func has a grid of one axis.
            made = made.reshape(()) if not shape else np.broadcast_to(made, shape)
            values.append(made.copy())
        result = Realization(box, values)
        result.reason = grid.reason
        for k, bad in enumerate(grid.spoils(self.definitions(func)[0].values)):
            if bad is not None:
                bad = bad.reshape(()) if not shape else np.broadcast_to(bad, shape)
                result.spoiled[k] = bad.copy()
        for update in self.definitions(func)[1:]:
            Updater(self, func, update, result).run()
        return result


def consumers_first(outputs: Sequence[Function]) -> list[Function]:
    """All Funcs that the outputs need, each before those that it calls."""
    finished: list[Function] = []
    state: dict[Function, bool] = {}
    stack = [(f, False) for f in reversed(outputs)]
    while stack:
        func, expanded = stack.pop()
        if expanded:
            finished.append(func)
        elif func not in state:
            state[func] = True
            stack.append((func, True))
            stack.extend([(c, False) for c in callees(func) if c not in state])
    return finished[::-1]


def callees(func: Function) -> list[Function]:
    """The other Funcs that the definitions of `func` mention."""
    found: dict[Function, None] = {}
    for stage in func.as_written():
        roots = list(stage.args + stage.values)
        if stage.rdom is not None:
            roots += [stage.predicate, *stage.rdom.mins, *stage.rdom.extents]
        for root in roots:
            for n in nodes(root):
                if isinstance(n, FuncCall) and n.func is not func:
                    found[n.func] = None
    return list(found)


def expand(e: Intrinsic, rounding: Rounding) -> Expr | None:
    """`e` in simpler nodes, by the polynomials that compiled code uses too."""
    if e.op == "strict_float" or e.op not in EXACT:
        return expanded(e, strict=rounding is not Rounding.FUSED)
    return None
