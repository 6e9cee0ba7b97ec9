"""Generators of functions of arrays, for what is compiled ahead of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from parhelion.errors import TypeMismatchError, here
from parhelion.lang.func import Func
from parhelion.lang.generator import Generator, generator
from parhelion.lang.generator_io import InputBuffer, InputScalar, OutputBuffer
from parhelion.lang.generator_params import check_port_name
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.whole.arguments import ArrayKind, Kind, NumberKind
from parhelion.whole.declared import Declared
from parhelion.whole.program import Program

#: Traces a function with inputs that are there, and into Funcs that are there.
Tracing: TypeAlias = "Callable[[Sequence[ImageParam | Param], Sequence[Func]], Program]"


def generator_of(
    name: str,
    module: str,
    doc: str | None,
    declared: Sequence[Declared],
    kinds: Sequence[Kind],
    trace: Tracing,
    schedule: Callable[[Program, bool], None],
) -> type[Generator]:
    """Returns a Generator that is registered by `name`, and builds what `trace` does.

    Its inputs are the arrays and numbers among the arguments, called as `declared`
    does; its outputs are called `name`, with a number behind it if there are several.
    schedule: what tells a program its sizes, and schedules it unless an automatic
    scheduler will, as its second argument says.

    Raises DefinitionError for names that a Generator cannot have.
    """
    check_port_name(name)
    inputs: dict[str, InputBuffer | InputScalar] = {}
    for d, kind in zip(declared, kinds, strict=True):
        if isinstance(kind, ArrayKind):
            inputs[d.name] = InputBuffer(kind.type, len(kind.shape))
        elif isinstance(kind, NumberKind):
            inputs[d.name] = InputScalar(kind.type)
    found = trace((), ()).results
    names = [name] if len(found) == 1 else [f"{name}_{i}" for i in range(len(found))]
    for taken in names:
        if taken in inputs:
            raise TypeMismatchError(
                f"{taken!r} is an argument of the function, and would be the name of"
                " a result as well",
                at=here(),
                hint="give name= to the Generator",
            )
    outputs = {
        n: OutputBuffer(w.type, len(w.shape)) for n, w in zip(names, found, strict=True)
    }

    def generate(self: Generator) -> None:
        made = [getattr(self, n) for n in inputs]
        program = trace(made, [getattr(self, n) for n in outputs])
        schedule(program, self.using_autoscheduler())

    members: dict[str, Any] = {
        **inputs,
        **outputs,
        "generate": generate,
        "__module__": module,
        "__qualname__": name,
        "__doc__": doc,
    }
    return generator(name)(type(name, (Generator,), members))


__all__ = ["Tracing", "generator_of"]
