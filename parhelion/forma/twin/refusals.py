"""What is said of Python's syntax that has no counterpart in Forma."""

from __future__ import annotations

import ast

_LOOP = "write a loop over numbers: for i in range(1, 4):"
_STENCIL = "write a function under @forma.stencil"
_PASS = "pass numbers as parameters, and domains as inputs"

#: Of each construct what it is called, and what to write in its place.
STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.If: ("if statement", "write a if condition else b, which has a value"),
    ast.While: ("while loop", _LOOP),
    ast.AsyncFor: ("async loop", _LOOP),
    ast.With: ("with statement", "write the statements by themselves"),
    ast.AsyncWith: ("async with statement", "write the statements by themselves"),
    ast.Match: ("match statement", "write a if condition else b, which has a value"),
    ast.Try: ("try statement", "what can go wrong is checked before the program runs"),
    ast.TryStar: (
        "try statement",
        "what can go wrong is checked before the program runs",
    ),
    ast.Raise: ("raise statement", "what is wrong in a program is found by the checks"),
    ast.Assert: ("assert statement", "sizes are checked by the program itself"),
    ast.Delete: ("del statement", "leave it out: variables take no memory"),
    ast.Pass: ("pass statement", "leave it out"),
    ast.Break: ("break statement", "loops run from their first number to the last"),
    ast.Continue: (
        "continue statement",
        "loops run from their first number to the last",
    ),
    ast.Import: ("import statement", "import above the function"),
    ast.ImportFrom: ("import statement", "import above the function"),
    ast.Global: ("global statement", _PASS),
    ast.Nonlocal: ("nonlocal statement", _PASS),
    ast.AugAssign: (
        "assignment that changes a variable",
        "each variable is assigned once: b = a + 1",
    ),
    ast.AnnAssign: (
        "annotation of a variable",
        "leave it out: the type is that of the value",
    ),
    ast.AsyncFunctionDef: ("async function", "write def"),
    ast.FunctionDef: (
        "function inside of a stencil, a vector function or a loop",
        "define it outside",
    ),
    ast.ClassDef: (
        "class inside of a stencil, a vector function or a loop",
        "define it outside",
    ),
    ast.Expr: (
        "statement without an effect",
        "assign it, return it, or leave it out",
    ),
}
EXPRESSIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.NamedExpr: ("assignment inside of an expression", "assign it before"),
    ast.Lambda: ("lambda", _STENCIL),
    ast.List: ("list", "stack domains: {at[0:, 0:, 0:]: x, at[0:, 0:, 1:]: y}"),
    ast.Tuple: ("tuple", "several values are assigned or returned, a, b = f(x)"),
    ast.Set: ("set", "a compose is {at[0:]: x, at[8:]: y}"),
    ast.ListComp: ("comprehension", _LOOP),
    ast.SetComp: ("comprehension", _LOOP),
    ast.DictComp: ("comprehension", _LOOP),
    ast.GeneratorExp: ("comprehension", _LOOP),
    ast.Await: ("await", "leave it out"),
    ast.Yield: ("yield", "return several values: return a, b"),
    ast.YieldFrom: ("yield", "return several values: return a, b"),
    ast.JoinedStr: ("string", _PASS),
    ast.FormattedValue: ("string", _PASS),
    ast.Starred: ("* before an argument", "write the arguments out"),
    ast.Slice: ("range", "crops are x[3:26, 5:30]"),
}
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.FloorDiv: ("//", "write /, which cuts quotients of ints towards zero"),
    ast.Pow: ("**", "write forma.pow(a, b), or a * a"),
    ast.MatMult: ("@", "offsets are in brackets by themselves: X[-1, 0]"),
    ast.LShift: ("<<", "multiply: a * 4"),
    ast.RShift: (">>", "divide: a / 4"),
    ast.BitAnd: ("&", "write a and b"),
    ast.BitOr: ("|", "write a or b"),
    ast.BitXor: ("^", "write a != b"),
    ast.Invert: ("~", "write not a"),
    ast.Is: ("is", "write =="),
    ast.IsNot: ("is not", "write !="),
    ast.In: ("in", "compare with each: a == 1 or a == 2"),
    ast.NotIn: ("not in", "compare with each: a != 1 and a != 2"),
}


def described(node: ast.AST) -> tuple[str, str]:
    """What a construct is called, and what to write in its place."""
    later = f"{type(node).__name__} of Python's", "docs/forma.md says what there is"
    return (STATEMENTS | EXPRESSIONS).get(type(node), later)


__all__ = ["EXPRESSIONS", "OPERATORS", "STATEMENTS", "described"]
