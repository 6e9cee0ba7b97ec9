"""From the bodies of Python functions to Forma's statements."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from parhelion.forma import tree as T
from parhelion.forma.twin.expressions import Expressions, literal
from parhelion.forma.twin.source import File, Names


class Statements(Expressions):
    """Reads the body of one function."""

    def __init__(self, file: File, names: Names, in_stencil: bool) -> None:
        super().__init__(file, names, in_stencil)
        self._in_loop = False

    def body(self, written: Sequence[ast.stmt]) -> tuple[T.Statement, ...]:
        """The statements of a function, behind its docstring."""
        if written and _is_text(written[0]):
            written = written[1:]
        self.variables |= set(_assigned(written))
        return self._statements(written)

    def _statements(self, written: Sequence[ast.stmt]) -> tuple[T.Statement, ...]:
        found = []
        for one in written:
            made = self.statement(one)
            if made is not None:
                found.append(made)
        return tuple(found)

    def statement(self, node: ast.stmt) -> T.Statement | None:
        """The statement in Forma, None for what declares a qualified variable."""
        match node:
            case ast.Assign() | ast.AnnAssign() if self._family(node):
                return None
            case ast.Assign():
                return self._assign(node)
            case ast.Return():
                return self._return(node)
            case ast.For():
                return self._for(node)
            case _:
                raise self.refused(node)

    def _family(self, node: ast.Assign | ast.AnnAssign) -> bool:
        """Whether variables are said to be qualified: ``g = {}``, ``g, h = {}, {}``."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        values = _parts(node.value)
        names = [one for target in targets for one in _parts(target)]
        if not all([isinstance(one, ast.Dict) and not one.keys for one in values]):
            return False
        if len(targets) > 1 or len(names) != len(values):
            return False
        if self.in_stencil or self._in_loop:
            raise self.span(node).error(
                "a qualified variable begins in a program or a vector function",
                hint="write g = {} there, before its loops",
            )
        self.families |= {one.id for one in names if isinstance(one, ast.Name)}
        return True

    def _assign(self, node: ast.Assign) -> T.Assign:
        if len(node.targets) > 1:
            raise self.span(node.targets[1]).error(
                "a value is given to one variable",
                hint="write a statement for each",
            )
        targets = self._targets(node.targets[0])
        value = node.value
        if isinstance(value, ast.Call):
            placement = self.placement(value.func)
            if placement is not None:
                return self._placed(node, value, targets, placement)
        return T.Assign(self.span(node), targets, self.expression(value))

    def _targets(self, node: ast.expr) -> tuple[T.Target, ...]:
        if isinstance(node, ast.Tuple):
            return tuple([self._target(one) for one in node.elts])
        return (self._target(node),)

    def _target(self, node: ast.expr) -> T.Target:
        span = self.span(node)
        if isinstance(node, ast.Name):
            if node.id in self.families:
                raise span.error(
                    f"'{node.id}' is qualified since g = {{}}",
                    hint=f"say which is assigned: {node.id}[0] = …",
                )
            return T.Target(span, self.identifier(node.id, span))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            name = node.value.id
            if name in self.families:
                written = self.qualified(node)
                return T.Target(span, written.name, written.index)
            if self.in_stencil:
                raise span.error(
                    "a stencil assigns to plain variables",
                    hint="places, and qualified variables, are for domains",
                )
            raise span.error(
                f"'{name}' is not qualified",
                hint=f"write {name} = {{}} before, or for points that go elsewhere "
                f"{name} = at[(0, 2), 0](x)",
            )
        raise span.error(
            "this cannot be assigned", hint="assign a variable, a, or a[i]"
        )

    def _placed(
        self,
        node: ast.Assign,
        value: ast.Call,
        targets: tuple[T.Target, ...],
        placement: T.Placement,
    ) -> T.Assign:
        """``wide = at[(0, 2), 0](x)``, where the place belongs to the variable."""
        if len(targets) > 1 or len(value.args) != 1 or value.keywords:
            raise self.span(value).error(
                "one domain is put at a place",
                hint="write wide = at[(0, 2), 0](x)",
            )
        (target,) = targets
        target = T.Target(target.span, target.name, target.index, placement)
        return T.Assign(self.span(node), (target,), self.expression(value.args[0]))

    def _return(self, node: ast.Return) -> T.Return:
        if node.value is None:
            raise self.span(node).error(
                "nothing is returned", hint="name what is: return a, b"
            )
        values = [node.value]
        if isinstance(node.value, ast.Tuple):
            values = node.value.elts
        return T.Return(
            self.span(node), tuple([self.expression(one) for one in values])
        )

    def _for(self, node: ast.For) -> T.For:
        span = self.span(node.target).to(self.span(node.iter))
        if node.orelse:
            raise self.span(node.orelse[0]).error(
                "a loop has no else", hint="write the statements behind it"
            )
        if not isinstance(node.target, ast.Name):
            raise self.span(node.target).error(
                "a loop has one variable", hint="write for i in range(1, 4):"
            )
        variable = self.identifier(node.target.id, self.span(node.target))
        first, last, step = self._range_of(node.iter)
        was_in_loop, self._in_loop = self._in_loop, True
        body = self._statements(node.body)
        self._in_loop = was_in_loop
        return T.For(span, variable, first, last, step, body)

    def _range_of(self, node: ast.expr) -> tuple[T.Expr, T.Expr, T.Expr | None]:
        """``range(1, 4)``: first, last and step of a loop, both ends of which run."""
        is_range = (
            isinstance(node, ast.Call) and self.names.find(node.func) is builtins.range
        )
        if not isinstance(node, ast.Call) or not is_range:
            raise self.span(node).error(
                "a loop runs over numbers",
                hint="write for i in range(1, 4): or downwards, range(3, -1, -1)",
            )
        self._plain_arguments(node)
        if not 1 <= len(node.args) <= 3:
            raise self.span(node).error(
                "a range has a first number, an end, and a step",
                hint="write range(1, 4), or range(3, -1, -1)",
            )
        if len(node.args) == 1:
            first: T.Expr = T.Number(self.span(node), 0, "int")
            return first, self.before(node.args[0]), None
        first = self.expression(node.args[0])
        if len(node.args) == 2:
            return first, self.before(node.args[1]), None
        step = self.expression(node.args[2])
        by = literal(step)
        if by not in (1, -1):
            raise step.span.error(
                "a loop goes up or down by 1",
                hint="write range(1, 4), or range(3, -1, -1)",
            )
        return first, self.before(node.args[1], by), step


def _parts(node: ast.expr | None) -> list[ast.expr | None]:
    """The parts of a tuple, else the expression itself."""
    return [*node.elts] if isinstance(node, ast.Tuple) else [node]


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The variables that statements assign, those of loops among them."""
    for one in body:
        targets: list[ast.expr] = []
        if isinstance(one, ast.Assign):
            targets = one.targets
        elif isinstance(one, ast.AnnAssign | ast.For):
            targets = [one.target]
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
        if isinstance(one, ast.For):
            yield from _assigned(one.body)


__all__ = ["Statements"]
