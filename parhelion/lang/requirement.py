"""Conditions on parameters that are checked before a pipeline runs, and the parts of
the messages that say so."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad, Load, StringImm, Var
from parhelion.ir.function import var_label
from parhelion.ir.pipeline import Requirement
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.text import text
from parhelion.lang.convert import node_of
from parhelion.lang.expr import ExprLike
from parhelion.types import Handle


def boolean(condition: ExprLike, what: str) -> Node:
    """A condition; raises TypeMismatchError for values of other types."""
    c = node_of(condition)
    if not c.type.is_bool():
        raise TypeMismatchError(
            f"the condition of {what} is a Bool, not a value of type {c.type}",
            at=here(),
            hint="compare it: value != 0",
        )
    return c


def shown(args: Sequence[ExprLike | str]) -> tuple[Node, ...]:
    """Strings and values as arguments of an operation."""
    return tuple([_string(a) if isinstance(a, str) else node_of(a) for a in args])


def spaced(args: Sequence[ExprLike | str]) -> tuple[Node, ...]:
    """The same with spaces between them, where there are none."""
    parts: list[ExprLike | str] = []
    open_end = False
    for a in args:
        if open_end and not (isinstance(a, str) and a[:1].isspace()):
            parts.append(" ")
        parts.append(a)
        open_end = not (isinstance(a, str) and a[-1:].isspace())
    return shown(parts)


def requirement(condition: ExprLike, args: Sequence[ExprLike | str]) -> Requirement:
    """What `Pipeline.add_requirement` adds. Without further arguments, the condition
    itself is shown."""
    c = boolean(condition, "add_requirement")
    told = spaced(args) if args else (_string(text(c)),)
    for e in (c, *told):
        _check_known(e)
    return Requirement(c, told)


def _check_known(e: Node) -> None:
    """Raises DefinitionError unless `e` is known before any pixel is."""
    found = ""
    for n in nodes(e):
        if isinstance(n, FuncCall):
            found = f"the Func {n.func.name!r}"
        elif isinstance(n, ImageLoad | Load):
            found = "the pixels of an image"
    for v in free_vars(e):
        if not _is_parameter(v):
            found = f"{var_label(v)!r}"
    if found:
        raise DefinitionError(
            f"a requirement of a pipeline is about Params and the sizes of ImageParams;"
            f" this one depends on {found}",
            at=here(),
            hint="hl.require checks pixels",
        )


def _is_parameter(v: Var) -> bool:
    origin = v.origin
    if isinstance(origin, tuple):
        return isinstance(origin[0], BufferSym) and origin[0].role == "input"
    return isinstance(origin, ParamSym)


def _string(a: str) -> Node:
    return StringImm(Handle(), a)


__all__ = ["boolean", "requirement", "shown", "spaced"]
