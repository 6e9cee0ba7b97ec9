"""A schedule as a list of directive calls, to be applied to Funcs or printed.

A scheduler writes down what it would call on the Funcs of a pipeline, without calling
it. `Script.apply` then makes the calls, through the same methods of Func and Stage that
a user has, and `Script.to_python` prints them as a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from parhelion.autoschedule.calls import (
    FUNC_METHODS,
    LEVELS,
    STAGE_METHODS,
    Arg,
    Call,
    FuncArg,
    ImageArg,
    LevelArg,
    Made,
    RVarArg,
    StageArg,
    Target,
    VarArg,
    to_arg,
)
from parhelion.autoschedule.printer import python_text
from parhelion.dataclass import dataclass
from parhelion.errors import InternalError
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import Function
from parhelion.ir.names import user_rvar, user_var
from parhelion.ir.symbols import BufferSym
from parhelion.lang.func import Func, Stage
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.loop_level import LoopLevel
from parhelion.lang.pipeline import image_params
from parhelion.lang.rdom import of_rvar
from parhelion.lang.var import of_var
from parhelion.schedule.order import realization_order
from parhelion.schedule.spec import duplicates


@dataclass
class Script:
    """The directives for a pipeline, in the order in which they are given.

    outputs: the Functions that the pipeline computes. The script is made before any
    directive of it is applied; `order` and `rvars` are then the pipeline's Funcs and
    the dimensions of the RDoms of their updates, which printed code asks for by
    position: the Func, the number of the update, and which of its RVars; `images` are
    the ImageParams.
    calls: what has been written down.
    """

    outputs: tuple[Function, ...]
    calls: list[Call] = field(default_factory=list)
    order: tuple[Function, ...] = field(init=False)
    rvars: dict[IRVar, tuple[Function, int, int]] = field(init=False)
    images: tuple[BufferSym, ...] = field(init=False)
    #: Funcs that calls of this script have made when it was tried, by these calls.
    parts: dict[Function, Made] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.outputs = tuple(self.outputs)
        self.order = tuple(realization_order(self.outputs))
        self.images = image_params(self.outputs)
        self.rvars = {}
        for f in self.order:
            for k in range(len(f.updates)):
                for i, r in enumerate(Func._of(f).rvars(k)):
                    self.rvars.setdefault(r._var, (f, k, i))

    def copy(self) -> Script:
        """Another script of the same calls, of the same moment."""
        made = object.__new__(Script)
        made.outputs, made.calls = self.outputs, list(self.calls)
        made.order, made.rvars, made.images = self.order, self.rvars, self.images
        made.parts = dict(self.parts)
        return made

    def on(self, funcs: Mapping[Function, Function]) -> Script:
        """The same directives for other Funcs, given by those of this script."""
        made = self.copy()
        made.outputs = _moved(self.outputs, funcs)
        made.order = _moved(self.order, funcs)
        made.rvars = {v: _moved(place, funcs) for v, place in self.rvars.items()}
        made.calls = [
            replace(c, function=_moved(c.function, funcs), args=_moved(c.args, funcs))
            for c in self.calls
        ]
        return made

    def after(self, first: Script) -> Script | None:
        """The directives of `first`, and then these, which were found for the pipeline
        as `first` leaves it; None if these are about a Func that it makes, which a
        script cannot name."""
        known, shift = frozenset(first.order), len(first.calls)
        made = first.copy()
        for c in self.calls:
            if not known.issuperset(_mentioned((c.function, c.args))):
                return None
            of, args = _shifted((c.function, c.args), shift)
            made.calls.append(replace(c, function=of, args=args))
        return made

    def tried(self) -> Script:
        """The same directives for copies of the Funcs, which have been given them.

        Raises what the first directive raises that is refused.
        """
        made = self.on(duplicates(self.outputs))
        made.calls = [made._of_readers(c) for c in made.calls]
        made.apply()
        return made

    def _of_readers(self, call: Call) -> Call:
        """A call that makes a wrapper of an image, for the Funcs of this pipeline and
        not for all that ever read the image."""
        image = call.function
        if not isinstance(image, BufferSym) or call.args:
            return call
        readers = [
            FuncArg(f)
            for f in self.order
            if any([image in d.mentions() for d in f.stages()])
        ]
        return replace(call, args=(tuple(readers),))

    def add(self, function: Target, stage: int, method: str, *args: object) -> Made:
        """Writes a call down. Returns what stands for its result, if that is a Func.

        args: as `to_arg` takes them. Raises InternalError for a method that is no
        directive of a script, or a Func that the pipeline does not have.
        """
        known = FUNC_METHODS if stage < 0 else STAGE_METHODS
        if isinstance(function, Function):
            function = self.parts.get(function, function)
        given = tuple([self._named(to_arg(a)) for a in args])
        if method not in known:
            where = "a Func as a whole" if stage < 0 else "the loops of a definition"
            raise InternalError(
                f"internal error: a script has no directive {method!r} on {where}"
            )
        if isinstance(function, Function) and function not in self.order:
            raise InternalError(
                f"internal error: {function.name} is no Func of the pipeline"
            )
        images = [a.image for a in given if isinstance(a, ImageArg)]
        if isinstance(function, BufferSym):
            images.append(function)
            if method != "in_":
                raise InternalError(
                    f"internal error: a script has no directive {method!r} on images"
                )
        for image in images:
            if image not in self.images:
                raise InternalError(
                    f"internal error: {image.name} is no ImageParam of the pipeline"
                )
        self.calls.append(Call(function, stage, method, given))
        return Made(len(self.calls) - 1)

    def _named(self, arg: Arg) -> Arg:
        """A Func that a call of this script makes, by that call."""
        if isinstance(arg, FuncArg):
            return self.parts.get(arg.function, arg)
        return arg

    def acknowledge(self) -> None:
        """Adds `unscheduled` for each definition that is left without directives though
        another one of its Func has some, so that nobody is warned of it."""
        touched = {(c.function, c.stage) for c in self.calls if c.stage >= 0}
        for f in self.order:
            stages = f.stages()
            given = [
                d.schedule.touched or (f, k) in touched for k, d in enumerate(stages)
            ]
            if any(given):
                for k in range(1, len(stages)):
                    if not given[k]:
                        self.add(f, k, "unscheduled")
        for part in self.parts.values():
            if (part, 0) in touched and (part, 1) not in touched:
                self.add(part, 1, "unscheduled")

    # Applying.

    def apply(self) -> list[Any]:
        """Gives the directives to the Funcs. Returns what each of them returned.

        Raises what the directive raises that is refused, with those before it in
        place; `tried` leaves the Funcs as they are.
        """
        results: list[Any] = []
        for call in self.calls:
            target: Func | Stage | ImageParam
            if isinstance(call.function, BufferSym):
                target = ImageParam._of(call.function)
            else:
                function = self._function(call.function, results)
                target = _receiver(function, call.stage)
            args = [self._value(a, call, results) for a in call.args]
            results.append(getattr(target, call.method)(*args))
        return results

    def _function(self, given: Function | Made, results: Sequence[object]) -> Function:
        if isinstance(given, Function):
            return given
        made = results[given.call]
        assert isinstance(made, Func)
        return made._function

    def _value(self, arg: Arg, call: Call, results: Sequence[object]) -> Any:
        if isinstance(arg, VarArg):
            return of_var(user_var(arg.name))
        if isinstance(arg, RVarArg):
            return of_rvar(self.rvar(arg, call) or user_rvar(arg.name))
        if isinstance(arg, FuncArg):
            return Func._of(arg.function)
        if isinstance(arg, ImageArg):
            return ImageParam._of(arg.image)
        if isinstance(arg, Made):
            return results[arg.call]
        if isinstance(arg, StageArg):
            return _receiver(self._function(arg.function, results), arg.stage)
        if isinstance(arg, LevelArg):
            func = Func._of(self._function(arg.function, results))
            return LoopLevel(func, self._value(arg.var, call, results), arg.stage)
        if isinstance(arg, tuple):
            return [self._value(a, call, results) for a in arg]
        return arg

    # What names mean.

    def rvar(self, arg: RVarArg, call: Call) -> IRVar | None:
        """The dimension of an RDom that is meant; None for ``hl.RVar(name)``."""
        near = self._near(call) if arg.domain is None else arg.domain.vars
        found = list(dict.fromkeys([v for v in near if v.name == arg.name]))
        if len(found) > 1:
            raise InternalError(
                f"internal error: {len(found)} RDoms have a dimension {arg.name!r}; an"
                " RVarArg must say which one is meant"
            )
        if arg.domain is not None and not found:
            raise InternalError(
                f"internal error: the RDom has no dimension {arg.name!r}"
            )
        return found[0] if found else None

    def _near(self, call: Call) -> list[IRVar]:
        """The dimensions of RDoms that a call may mean by their names alone."""
        of: Target = call.function
        stage = call.stage
        if call.method in LEVELS and call.args:
            first = call.args[0]
            stage = -1
            if isinstance(first, LevelArg):
                of, stage = first.function, first.stage
            elif isinstance(first, FuncArg):
                of = first.function
            elif isinstance(first, Made):
                of = first
        while isinstance(of, Made):
            # Parts have the loops of what they are parts of, and so have copies.
            of, stage = self.calls[of.call].function, -1
        return [
            v for v, (f, k, _) in self.rvars.items() if f is of and stage in (-1, k + 1)
        ]

    # Printing.

    def to_python(self, partial: bool = False) -> str:
        """The directives as a Python program: imports, and a function `schedule` that
        gives them to the Funcs of a pipeline without a schedule.

        ``exec`` it and call ``schedule(hl.Pipeline([out]))``. It asks the pipeline for
        its Funcs by their positions, so that it serves for every later run of the
        program that makes the Funcs, whatever names they get.

        partial: whether the pipeline had directives before, which it must have again.
        """
        return python_text(self, partial)


def _moved(value: Any, funcs: Mapping[Function, Function]) -> Any:
    """What a call takes or is given, with other Functions in place of those."""
    if isinstance(value, Function):
        return funcs[value]
    if isinstance(value, FuncArg | StageArg | LevelArg):
        return replace(value, function=_moved(value.function, funcs))
    if isinstance(value, tuple):
        return tuple([_moved(one, funcs) for one in value])
    return value


def _mentioned(value: Any) -> Iterator[Function]:
    """The Functions in what a call takes or is given."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Function):
            yield one
        elif isinstance(one, FuncArg | StageArg | LevelArg):
            waiting.append(one.function)
        elif isinstance(one, tuple):
            waiting += one


def _shifted(value: Any, by: int) -> Any:
    """What a call takes or is given, where as many calls come before it."""
    if isinstance(value, Made):
        return Made(value.call + by)
    if isinstance(value, StageArg | LevelArg):
        return replace(value, function=_shifted(value.function, by))
    if isinstance(value, tuple):
        return tuple([_shifted(one, by) for one in value])
    return value


def _receiver(function: Function, stage: int) -> Func | Stage:
    return Func._of(function) if stage <= 0 else Stage._of(function, stage)


__all__ = ["Script"]
