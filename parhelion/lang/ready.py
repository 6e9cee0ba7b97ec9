"""Code that is ready to run: a `Callable` without its pipeline, for the usual calls.

A Callable holds its Funcs, of which other code is made where arrays need it, and whose
lines are in the messages of calls that fail. All other calls ask for a few numbers,
which are kept (`ready_record`); so another process runs the code without the Funcs. It
builds them for a call that this code does not serve, or in which it fails.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from parhelion.codegen.target import host_target
from parhelion.errors import HalideError, TimeLimitError
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Expr
from parhelion.ir.pipeline import ArgKind, Argument
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.callable import Callable
from parhelion.lang.given_images import GivenImage, remember
from parhelion.runtime.call import Call
from parhelion.runtime.expr_records import NotRecordable, type_numbers, type_of
from parhelion.runtime.layout import Layout, overlap
from parhelion.runtime.program import Options, Variant, fitted, variant_for
from parhelion.runtime.records import Taken, kept_code
from parhelion.schedule.recomputing import unscheduled


def ready_record(made: Callable) -> dict[str, Any]:
    """What `ReadyCode` has to know of a Callable, as JSON can hold it. Raises
    NotRecordable where there is no such code: where the persistent cache does not have
    it, or calls have to look at the pipeline."""
    runner, usual, options = made._runner, made._usual, made._options
    functions = runner.reach.functions
    if usual.kept is None or made._bound or runner.device is not None:
        raise NotRecordable(runner.name)
    if options.profile or options.trace:
        raise NotRecordable(runner.name)
    if len(functions) > 1 and unscheduled(functions):
        raise NotRecordable(runner.name)  # it is judged at its first call
    arguments: list[list[Any]] = []
    for name, sym in zip(made._names, made._symbols, strict=True):
        if isinstance(sym, ParamSym):
            if sym.type.is_bool():
                raise NotRecordable(name)  # 0 or 1, which each call checks
            arguments.append([name, type_numbers(sym.type), None, 0])
        else:
            promises = runner._promises.get(sym, ())
            strides = [_number(one, name) for one in promises]
            dims = [len(sym.dims), strides]
            arguments.append([name, type_numbers(sym.type), dims, sym.host_alignment])
    places = {s: i for i, s in enumerate(made._symbols)}
    small = [
        [places[b], d, n]
        for b, found in runner._small.items()
        for d, n in found.items()
    ]
    return {
        "code": usual.kept,
        "name": runner.name,
        "strict_float": options.strict_float,
        "arguments": arguments,
        "inputs": made._inputs,
        "places": made._places,
        "small": small,
    }


def _number(promise: Expr | None, name: str) -> int | None:
    """A stride that is promised. Raises NotRecordable for one that is no number."""
    if promise is None:
        return None
    found = const_int(promise)
    if found is None:
        raise NotRecordable(name)
    return found


class ReadyCode:
    """The code of a Callable that `ready_record` tells of.

    Reading a record that is none raises what `records.NO_RECORD` lists.
    """

    def __init__(self, told: Mapping[str, Any]) -> None:
        code = kept_code(told["code"])
        if code is None:
            raise ValueError("the code is not in the cache")
        self._inputs: int = told["inputs"]
        self._options = Options(strict_float=told["strict_float"])
        self._usual = Variant(strict_float=told["strict_float"])
        self._symbols = [
            _symbol(one, i < self._inputs) for i, one in enumerate(told["arguments"])
        ]
        self._promises = {
            sym: tuple([None if s is None else int32(s) for s in dims[1]])
            for sym, (_, _, dims, _) in zip(
                self._symbols, told["arguments"], strict=True
            )
            if isinstance(sym, BufferSym)
        }
        places: list[int] = told["places"]
        taken = [self._argument(place) for place in places]
        if code.takes != tuple([Taken.of(one) for one in taken]):
            raise ValueError("the code takes other arguments")
        self._small = [(self._image(p), d, n) for p, d, n in told["small"]]
        self._images = [
            (i, GivenImage(s, i >= self._inputs, s.name))
            for i, s in enumerate(self._symbols)
            if isinstance(s, BufferSym)
        ]
        compiled = code.loaded(told["name"], host_target())
        self._call = Call(compiled, taken, (), {}, places)
        #: For the layouts of earlier calls, layouts as the code expects them.
        self._fitting: dict[tuple[Layout, ...], list[Layout]] = {}

    def _argument(self, place: int) -> Argument:
        sym = self._symbols[place]
        if isinstance(sym, ParamSym):
            return Argument(sym.name, ArgKind.SCALAR, sym)
        kind = ArgKind.INPUT if place < self._inputs else ArgKind.OUTPUT
        return Argument(sym.name, kind, sym)

    def _image(self, place: int) -> BufferSym:
        found = self._symbols[place]
        if not isinstance(found, BufferSym):
            raise TypeError("a number has no dimensions")
        return found

    def run(self, args: Sequence[object]) -> bool:
        """Runs the code on the arguments of the Callable, in their order. Returns
        whether it did; else the outputs are not computed, and a call of the Callable
        computes them, or raises what is wrong with the arguments.

        Raises TimeLimitError, and what a signal raises.
        """
        if len(args) != len(self._symbols):
            return False
        try:
            layouts = tuple([image(args[i]) for i, image in self._images])
        except HalideError:
            return False
        fitting = self._fitting.get(layouts)
        if fitting is None:
            fitting = self._fit(layouts)
            if fitting is None:
                return False
            remember(self._fitting, layouts, fitting)
        values = list(args)
        for (i, _), layout in zip(self._images, fitting, strict=True):
            values[i] = layout
        try:
            self._call.run(values)
        except TimeLimitError:
            raise
        except HalideError:
            return False
        except (struct.error, OverflowError, TypeError):
            return False  # a number that its type does not hold
        return True

    def _fit(self, layouts: Sequence[Layout]) -> list[Layout] | None:
        """The layouts as the code expects them; None where the arrays need other code,
        a copy, or none at all."""
        if any([0 in one.extents or one.copy is not None for one in layouts]):
            return None
        images = [i for i, _ in self._images]
        for k, at in enumerate(images):
            if at >= self._inputs and any(
                [overlap(layouts[k], other) for other in layouts[:k]]
            ):
                return None
        given = {
            image.sym: one
            for (_, image), one in zip(self._images, layouts, strict=True)
        }
        if variant_for(self._promises, given, self._options) != self._usual:
            return None
        for sym, d, n in self._small:
            one = given[sym]
            if (one.mins[d], one.extents[d]) == (0, n):
                return None
        # Nothing is promised of an image that the code does not use.
        return [
            fitted(promises, one, ()) if (promises := self._promises[sym]) else one
            for sym, one in given.items()
        ]


def _symbol(told: Sequence[Any], is_input: bool) -> BufferSym | ParamSym:
    """The argument that a record tells of."""
    name, numbers, dims, alignment = told
    if dims is None:
        return ParamSym(name, type_of(numbers))
    role = "input" if is_input else "output"
    made = BufferSym(name, type_of(numbers), dims[0], role)
    made.host_alignment = alignment
    return made


__all__ = ["ReadyCode", "ready_record"]
