"""Pickles of what users hold of a pipeline: Funcs, Pipelines and Callables.

A pickle has the algorithm and the schedule, as they are at that moment, and the images
and values that are set. What comes out of it is apart from everything else: it has
Funcs, images and Params of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parhelion.dataclass import dataclass
from parhelion.errors import DefinitionError, HalideError, here
from parhelion.ir.bindings import SET
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.handles import func_of
from parhelion.runtime.program import compiling
from parhelion.schedule import pickled
from parhelion.schedule.reach import Reach
from parhelion.schedule.spec import PipelineSpec

if TYPE_CHECKING:
    from parhelion.lang.func import Func
    from parhelion.lang.runner import Runner

Symbol = BufferSym | ParamSym

_NOTHING: Mapping[Var, Var] = {}
_SIDES = (
    *("fixed_min", "fixed_extent", "fixed_stride"),
    *("estimate_min", "estimate_extent"),
)


@dataclass(frozen=True, slots=True)
class _Told:
    """A symbol, and what was said of it: the range and estimate of a Param; of a
    buffer its alignment, and for each dimension promises and estimates."""

    symbol: Symbol
    said: tuple[Any, ...]
    sides: tuple[tuple[Expr | None, ...], ...] = ()

    @staticmethod
    def of(symbol: Symbol) -> _Told:
        if isinstance(symbol, ParamSym):
            return _Told(symbol, (symbol.lo, symbol.hi, symbol.estimate))
        sides = [tuple([getattr(d, side) for side in _SIDES]) for d in symbol.dims]
        return _Told(symbol, (symbol.host_alignment,), tuple(sides))

    def say(self) -> None:
        """Says it again."""
        symbol = self.symbol
        if isinstance(symbol, ParamSym):
            symbol.lo, symbol.hi, symbol.estimate = self.said
            return
        (symbol.host_alignment,) = self.said
        for dim, sides in zip(symbol.dims, self.sides, strict=True):
            for name, value in zip(_SIDES, sides, strict=True):
                setattr(dim, name, value)


@dataclass(frozen=True, slots=True)
class Written:
    """A pipeline as it is pickled. values: what its images and Params are set to, in
    the order of the pipeline's bytes."""

    pipeline: bytes
    values: list[Any]

    @staticmethod
    def of(
        outputs: Sequence[Function],
        requirements: Sequence[Requirement],
        listed: Sequence[Symbol] = (),
        embedded: bool = False,
        instead: Mapping[Var, Var] = _NOTHING,
    ) -> Written:
        """Raises DefinitionError for a Func that is not defined, and HalideError if
        foreign code is part of the pipeline. listed: images and Params to be found
        again. embedded: whether only images are set that the algorithm mentions.
        instead: Vars that are written in the place of others."""
        for f in outputs:
            if not f.defined:
                raise DefinitionError(
                    f"Func {f.name!r} is not defined, so there is nothing to pickle",
                    at=here(),
                )
        reach = Reach(outputs)
        reach.requirements = tuple(requirements)
        reach.look()
        buffers = [b for f in outputs for b in f.buffers]
        found = (*reach.images, *reach.params, *reach.others, *listed, *buffers)
        standing = list(dict.fromkeys(found))
        with compiling():
            spec = PipelineSpec.of(outputs, requirements)
            more = [_Told.of(s) for s in standing], list(listed)
            told = pickled.dumps(
                spec.outputs,
                spec.order,
                spec.requirements,
                spec.assumptions,
                more,
                instead,
            )
        values = [
            None if embedded and not getattr(s, "embedded", False) else SET.of(s)
            for s in standing
        ]
        return Written(told, values)

    def read(self) -> tuple[list[Func], tuple[Requirement, ...], list[Symbol]]:
        """The outputs, the requirements and what was listed, of its own names."""
        parts, (told, listed) = pickled.loads_apart(self.pipeline)
        outputs, _, requirements, _ = parts
        for one, value in zip(told, self.values, strict=True):
            one.say()
            if value is not None:
                SET.set(one.symbol, value)
        return [func_of(f) for f in outputs], requirements, listed


class PicklesPipeline:
    """What `Pipeline` inherits: it pickles by what it computes."""

    __slots__ = ()
    _funcs: list[Func]
    _runner: Runner

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._funcs:
            return type(self), ()
        runner = self._runner
        written = Written.of(runner.outputs, runner.reach.requirements)
        return _pipeline, (type(self), written)


def _pipeline(kind: Any, written: Written) -> Any:
    funcs, requirements, _ = written.read()
    made = kind(funcs)
    for one in requirements:
        made._runner.require(one)
    return made


def reduced_func(function: Function) -> tuple[Any, ...]:
    """How a Func is pickled."""
    return _func, (Written.of([function], ()),)


def _func(written: Written) -> Func:
    (made,), _, _ = written.read()
    return made


def check_unchanged(runner: Runner) -> None:
    """Raises HalideError if a Callable's Funcs are not what it was compiled from."""
    now = Reach(runner.outputs)
    now.requirements = runner.reach.requirements
    if now.look() != runner._state:
        raise HalideError(
            f"Func {runner.name!r} was changed after compile_to_callable, and a pickle "
            "would have it as it is now",
            at=here(),
            hint="make a new Callable",
        )


__all__ = ["PicklesPipeline", "Written", "check_unchanged", "reduced_func"]
