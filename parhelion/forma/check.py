"""From the text of a program to its stages, with everything checked on the way."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from parhelion.forma import tree as T
from parhelion.forma.declared import Declared
from parhelion.forma.drafts import Draft
from parhelion.forma.elaborate import Common, Elaborator, inlined
from parhelion.forma.numbers import disagreement
from parhelion.forma.parse import parse, parse_file, parse_source
from parhelion.forma.scope import Scope
from parhelion.forma.scoped import Unknown
from parhelion.forma.sizes import Sizes, parameter_var
from parhelion.forma.spans import Source as Text
from parhelion.forma.spans import Span
from parhelion.forma.stages import Graph, Input, Output, Source
from parhelion.forma.stencils import (
    DomainFormal,
    check_stencil,
    formals_of,
)
from parhelion.forma.terms import ArgumentValue
from parhelion.forma.twin.defined import Twin
from parhelion.ir.deep import run_deep


def check(text: str | Twin, file: str = "<forma>") -> Graph:
    """Return the stages of a program, which messages call `file`; or of what
    `forma.program` makes.

    Raises FormaError, with the place, for whatever is wrong with it.

    >>> from parhelion import forma
    >>> graph = forma.check("parameter M; vector#1 int x[M]; return x;")
    >>> [output.name for output in graph.outputs]
    ['x']
    """
    return check_tree(text.tree if isinstance(text, Twin) else parse(text, file))


def check_file(path: str | Path) -> Graph:
    """Return the stages of the program in a file. Raises FormaError and OSError."""
    return check_tree(parse_file(path))


def check_source(source: Text) -> Graph:
    """Return the stages of a text. Raises FormaError."""
    return check_tree(parse_source(source))


def check_tree(program: T.Program) -> Graph:
    """Return the stages of a program that has been read."""
    return run_deep(lambda: _checked(program))


def _checked(program: T.Program) -> Graph:
    declared = Declared(program)
    stencils = {
        one.name: check_stencil(one, declared)
        for one in program.functions
        if one.kind == "stencil"
    }
    common = Common(declared, Draft(Sizes()), stencils, set())
    scope = Scope()
    main = Elaborator(common, scope)
    inputs = _inputs(program, main)
    values, returned = main.run(program.body, None, _end(program), "the program")
    outputs = []
    names: set[str] = set()
    for e, value in zip(returned.values, values, strict=True):
        if not isinstance(value, Source):
            raise e.span.error(
                f"a program returns domains, and this is a number, {value.type}",
                hint="pass numbers to a stencil",
            )
        outputs.append(Output(_output_name(e, value, names), value, e.span))
    _check_unused(program, common)
    return Graph(
        program.span.source.file,
        tuple(declared.structs.values()),
        tuple(declared.parameters.values()),
        inputs,
        tuple(common.draft.stages),
        tuple(outputs),
        tuple(_variables(scope)),
        tuple(common.draft.requirements.values()),
    )


def _inputs(program: T.Program, main: Elaborator) -> tuple[Input, ...]:
    made = []
    for one in program.inputs:
        type = main.declared.element(one.type, one.span)
        sizes = tuple([main.size(size) for size in one.sizes])
        if len(sizes) != one.dimensions:
            raise one.span.error(
                disagreement(one.name, one.dimensions, len(sizes), "size"),
                hint="give one for each dimension, separated by commas",
            )
        source = main.draft.input(one.name, type, sizes, one.span)
        main.scope.assign(one.name, None, source, one.span)
        assert isinstance(source.stage, Input)
        made.append(source.stage)
    return tuple(made)


def _end(program: T.Program) -> Span:
    """The last character of a program."""
    end = max(len(program.span.text().rstrip()), 1) + program.span.start
    return Span(program.span.source, end - 1, end)


def _output_name(e: T.Expr, value: Source, taken: set[str]) -> str:
    """The name of the variable, else of the stage; with a number where it is taken."""
    first = e.name if isinstance(e, T.Name) and e.index is None else value.name
    name, count = first, 1
    while name in taken:
        count += 1
        name = f"{first}#{count}"
    taken.add(name)
    return name


def _variables(scope: Scope) -> list[tuple[str, Source]]:
    found = [
        (span.start, name, value)
        for name, (value, span) in scope.plain.items()
        if isinstance(value, Source)
    ]
    for name, family in scope.qualified.items():
        found += [
            (span.start, f"{name}<{index}>", value)
            for index, (value, span) in family.items()
            if isinstance(value, Source)
        ]
    found.sort(key=lambda one: one[0])
    return [(name, value) for _, name, value in found]


def _check_unused(program: T.Program, common: Common) -> None:
    """Vector functions that nothing applies are applied here, to domains of sizes of
    their own, so that what is wrong in them is found."""
    for function in program.functions:
        if function.kind != "vector" or function.name in common.applied:
            continue
        draft = Draft(common.draft.sizes)
        trial = Common(common.declared, draft, common.stencils, common.applied)
        scope = Scope()
        for formal, written in zip(
            formals_of(function, common.declared), function.formals, strict=True
        ):
            at = written.span
            if isinstance(formal, DomainFormal):
                sizes = tuple(
                    [
                        parameter_var(f"{formal.name}.{d}", True)
                        for d in range(formal.dimensions)
                    ]
                )
                domain = draft.input(formal.name, formal.type, sizes, at)
                scope.assign(formal.name, None, domain, at)
            else:
                number = ArgumentValue(formal.type, at, formal.name)
                scope.assign(formal.name, None, number, at)
        # What depends on the value of a number is checked where there is one.
        with suppress(Unknown):
            inlined(trial, function, scope, function.name)


__all__ = ["check", "check_file", "check_source", "check_tree"]
