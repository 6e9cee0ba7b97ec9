"""Directives that a program gives, written down as a `Script`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import parhelion as hl
from parhelion.autoschedule.calls import (
    FUNC_METHODS,
    MAKERS,
    STAGE_METHODS,
    FuncArg,
    LevelArg,
    Made,
    StageArg,
    to_arg,
    var_arg,
)
from parhelion.autoschedule.script import Script
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym


class Recorder:
    """Calls of directives on Funcs and Stages, as they are accepted."""

    def __init__(self, outputs: Sequence[hl.Func]) -> None:
        self.script = Script(tuple(f._function for f in outputs))
        self.made: dict[Function, Made] = {}
        self.depth = 0

    def note(self, target: Any, method: str, args: tuple[Any, ...], got: Any) -> None:
        if not (self.reached(target) and all([self.reached(a) for a in args])):
            return
        of: Function | Made | BufferSym
        if isinstance(target, hl.ImageParam):
            stage, of = -1, target._sym
        else:
            stage = -1 if method in FUNC_METHODS else target._stage
            of = self.known(target._function)
        result = self.script.add(of, stage, method, *[self.arg(a) for a in args])
        if method in MAKERS:
            # The same wrapper again is the one that is known.
            self.made.setdefault(got._function, result)

    def reached(self, given: Any) -> bool:
        """Whether a script can speak of it: if the pipeline has it."""
        if isinstance(given, hl.ImageParam):
            return given._sym in self.script.images
        function = getattr(given, "_function", None)
        return function is None or function in (*self.script.order, *self.made)

    def known(self, function: Function) -> Function | Made:
        return self.made.get(function, function)

    def arg(self, given: Any) -> Any:
        if isinstance(given, hl.Func):
            known = self.known(given._function)
            return known if isinstance(known, Made) else FuncArg(known)
        if isinstance(given, hl.LoopLevel):
            level = given._level
            assert level.func is not None and level.var is not None
            return LevelArg(self.known(level.func), var_arg(level.var), level.stage)
        if isinstance(given, hl.Stage):
            return StageArg(self.known(given._function), given._stage)
        if isinstance(given, hl.RDom):
            return var_arg(given._var)
        if isinstance(given, list | tuple):
            return tuple([self.arg(one) for one in given])
        return to_arg(given)


@contextmanager
def recording(outputs: Sequence[hl.Func]) -> Iterator[Script]:
    """All directives that are given meanwhile, to the Funcs of a pipeline."""
    recorder = Recorder(outputs)
    undo: list[tuple[type, str, Any]] = []

    def wrapped(method: str, plain: Any) -> Any:
        def call(self: Any, *args: Any) -> Any:
            recorder.depth += 1
            try:
                got = plain(self, *args)
            finally:
                recorder.depth -= 1
            if not recorder.depth:
                recorder.note(self, method, args, got)
            return got

        return call

    try:
        for owner in (hl.Func, hl.Stage, hl.ImageParam):
            for method in sorted(FUNC_METHODS | STAGE_METHODS):
                plain = getattr(owner, method, None)
                if plain is not None:
                    if owner is hl.ImageParam and method != "in_":
                        continue
                    undo.append((owner, method, owner.__dict__.get(method)))
                    setattr(owner, method, wrapped(method, plain))
        yield recorder.script
    finally:
        for changed, method, was in undo:
            if was is None:
                delattr(changed, method)
            else:
                setattr(changed, method, was)
