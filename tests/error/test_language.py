"""One bad program, one exact message: mistakes in the algorithm."""

# ruff: noqa: E501  the messages stand as they are printed

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest

import parhelion as hl

x, y, z = hl.vars("x y z")

Program = Callable[[], object]
CASES: list[tuple[Program, type[hl.HalideError], str]] = []


def bad(kind: type[hl.HalideError], message: str) -> Callable[[Program], Program]:
    """Registers a program that must fail with just this message.

    In it ``-->`` stands for the line with the place, and names made unique lose
    their number.
    """

    def register(program: Program) -> Program:
        CASES.append((program, kind, message))
        return program

    return register


def normal(message: str) -> str:
    message = re.sub(r"  --> .*:\d+", "-->", message)
    message = re.sub(r"\n   \|   *\^+", "", message)
    return re.sub(r"\$\d+", "", message)


@bad(
    hl.DefinitionError,
    """Func 'f' is used before it is defined
-->
   |  g[x] = f[x] + 1
hint: define it first; a recursive f needs an initial value before the update that refers to itself: f[...] = 0""",
)
def undefined_func() -> None:
    f, g = hl.funcs("f g")
    g[x] = f[x] + 1


@bad(
    hl.DefinitionError,
    """Func 'f' refers to itself, but has no initial value
-->
   |  f[x] = f[x - 1]
hint: define it first, f[...] = 0, then update it""",
)
def recursion_without_an_initial_value() -> None:
    f = hl.Func("f")
    f[x] = f[x - 1]


@bad(
    hl.DefinitionError,
    """Func 'f' has 2 dimensions, but is given 1 index
-->
   |  g[x] = f[x] + 1
hint: hl._ stands for all remaining dimensions""",
)
def too_few_arguments() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = 0
    g[x] = f[x] + 1


@bad(
    hl.DefinitionError,
    """Func 'f' has 1 dimension, but is given 2 indices
-->
   |  g[x] = f[x, x] + 1""",
)
def too_many_arguments() -> None:
    f, g = hl.funcs("f g")
    f[x] = 0
    g[x] = f[x, x] + 1


@bad(
    hl.DefinitionError,
    """Func 'f' has 1 dimensions, but update 0 gives it 2
-->
   |  f[x, y] = 1""",
)
def update_of_another_dimension() -> None:
    f = hl.Func("f")
    f[x] = 0
    f[x, y] = 1


@bad(
    hl.DefinitionError,
    """the definition of Func 'f' mentions the variable y, which is not among its arguments
-->
   |  f[x] = x + y
hint: the arguments are: x""",
)
def free_variable() -> None:
    f = hl.Func("f")
    f[x] = x + y


@bad(
    hl.DefinitionError,
    """update 0 of Func 'f' mentions the variable x, which is not among its arguments
-->
   |  f[y, x] = 1
hint: a pure variable of an update stands alone at its own place on the left: f[x, y]""",
)
def swapped_variables_in_an_update() -> None:
    f = hl.Func("f")
    f[x, y] = 0
    f[y, x] = 1


@bad(
    hl.DefinitionError,
    """argument 0 in the first definition of Func 'f' is not a Var
-->
   |  f[3] = 1
hint: the first definition gives the value at every point: f[x, y] = …; updates may then set single places""",
)
def update_without_a_pure_definition() -> None:
    f = hl.Func("f")
    f[3] = 1


@bad(
    hl.DefinitionError,
    """the arguments 0 and 1 of Func 'f' are both x
-->
   |  f[x, x] = 1""",
)
def one_var_twice() -> None:
    f = hl.Func("f")
    f[x, x] = 1


@bad(
    hl.DefinitionError,
    """the first definition of Func 'f' mentions the RVar r.x; it must give every point one value
-->
   |  f[x] = r.x
hint: use an inline reduction, hl.sum(…), or give an initial value first: f[...] = 0, then f[...] += …""",
)
def rvar_in_a_pure_definition() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 3)], "r")
    f[x] = r.x


@bad(
    hl.DefinitionError,
    """update 0 of Func 'f' mentions r.x and s.x, RVars of two RDoms
-->
   |  f[x] += r.x + s.x
hint: make one RDom with the dimensions of both""",
)
def two_domains() -> None:
    f = hl.Func("f")
    f[x] = 0
    r, s = hl.RDom([(0, 3)], "r"), hl.RDom([(0, 3)], "s")
    f[x] += r.x + s.x


@bad(
    hl.DefinitionError,
    """update 0 of Func 'f' has the pure variable x on its left, but refers to itself at another place in that dimension: x - 1
-->
   |  f[x] = f[x - 1] + 1
hint: points along x are computed in any order; walk along that dimension with an RVar instead""",
)
def recursion_along_a_pure_variable() -> None:
    f = hl.Func("f")
    f[x] = 0
    f[x] = f[x - 1] + 1


@bad(
    hl.TypeMismatchError,
    """Func 'f' holds uint8, but update 0 gives it a value of type int32
-->
   |  f[x] += x
hint: cast the value, hl.u8(...), or define f with the type int32""",
)
def update_of_another_type() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(0)
    f[x] += x


@bad(
    hl.LiteralError,
    """Func 'f': the literal 300 does not fit uint8, which holds 0 to 255
-->
   |  f[3] = 300
hint: cast the other operand to a wider type first, e.g. hl.i32(...), or wrap the literal on purpose with hl.cast(hl.UInt(8), 300)""",
)
def update_with_a_literal_that_does_not_fit() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(0)
    f[3] = 300


@bad(
    hl.TypeMismatchError,
    """Func 'f' holds 2 values, but update 0 gives it 1
-->
   |  f[x] = 3""",
)
def tuple_of_another_size() -> None:
    f = hl.Func("f")
    f[x] = (1, 2)
    f[x] = 3


@bad(
    hl.TypeMismatchError,
    """value 1 of Func 'f' holds uint8, but update 0 gives it a value of type int32
-->
   |  f[x] = (x, x)
hint: cast the value, hl.u8(...), or define f with the type int32""",
)
def tuple_of_other_types() -> None:
    f = hl.Func("f")
    f[x] = (1, hl.u8(2))
    f[x] = (x, x)


@bad(
    hl.TypeMismatchError,
    """Func 'f' has 2 values, and one is expected here
-->
   |  g[x] = f[x] + 1
hint: take one: f[...][0]""",
)
def tuple_as_a_value() -> None:
    f, g = hl.funcs("f g")
    f[x] = (1, 2)
    g[x] = f[x] + 1


@bad(
    hl.BoundsError,
    """Func 'f' has 2 values; there is no value 2
-->
   |  f[x][2]""",
)
def tuple_element_out_of_range() -> None:
    f = hl.Func("f")
    f[x] = (1, 2)
    f[x][2]


@bad(
    hl.DefinitionError,
    """Func 'f' takes no further definition: another Func is already defined by it
-->
   |  f[3] = 1
hint: finish all updates of f before it is used, or define a new Func""",
)
def definition_after_use() -> None:
    f, g = hl.funcs("f g")
    f[x] = 0
    g[x] = f[x]
    f[3] = 1


@bad(
    hl.DefinitionError,
    """Func 'f' is updated before it has an initial value
-->
   |  f[x] //= 2
hint: only +=, -=, *= and /= have one of their own; write f[...] = 0 first""",
)
def update_in_place_without_a_neutral_element() -> None:
    f = hl.Func("f")
    f[x] //= 2


@bad(
    hl.TypeMismatchError,
    """index 0 of Func 'f' has type float32; an index is an integer that fits Int(32)
-->
   |  g[x] = f[x * 0.5]
hint: convert it: hl.i32(...)""",
)
def float_index() -> None:
    f, g = hl.funcs("f g")
    f[x] = 0
    g[x] = f[x * 0.5]


@bad(
    hl.LiteralError,
    """the literal 2147483648 does not fit int32, which holds -2147483648 to 2147483647
-->
   |  f[2**31] + 1
hint: cast the other operand to a wider type first, e.g. hl.i32(...), or wrap the literal on purpose with hl.cast(hl.Int(32), 2147483648)""",
)
def index_that_does_not_fit() -> None:
    f = hl.Func("f")
    f[x] = 0
    f[2**31] + 1


@bad(
    hl.TypeMismatchError,
    """<parhelion.Expr of type bool: x < 3> has no truth value: what it is is known only when the pipeline runs
-->
   |  if x < 3:
hint: choose with hl.select(condition, a, b); combine conditions with &, | and ~ instead of and, or and not; write (a < x) & (x < b) instead of a < x < b, and hl.max(a, b) instead of max(a, b)""",
)
def expression_as_a_condition() -> None:
    if x < 3:
        pass


@bad(
    hl.TypeMismatchError,
    """Func 'f' has no truth value
-->
   |  if f:
hint: f.defined() tells whether it is defined; choose between values with hl.select(condition, a, b)""",
)
def func_as_a_condition() -> None:
    f = hl.Func("f")
    if f:
        pass


@bad(
    hl.TypeMismatchError,
    """<parhelion.Expr of type int32: x + 1> cannot index a Python sequence: its value is known only when the pipeline runs
-->
   |  [1, 2, 3][x + 1]
hint: choose with hl.mux(index, [a, b, …]), or index a Func or a Buffer; hl.RDom([(0, n)]) counts to n where range(n) cannot; in a function of arrays, np.full(shape, 0, like=a) is an array of a shape""",
)
def expression_as_an_index_of_a_list() -> None:
    [1, 2, 3][x + 1]


@bad(
    hl.TypeMismatchError,
    """<parhelion.Expr of type int32: x + 1> cannot become a Python int: its value is known only when the pipeline runs
-->
   |  int(x + 1)
hint: hl.i32(e) converts it, and hl.floor(e), hl.round(e), … round it, when the pipeline runs""",
)
def expression_as_an_int() -> None:
    int(x + 1)


@bad(
    hl.TypeMismatchError,
    """<parhelion.Var 'x'> cannot become a Python float: its value is known only when the pipeline runs
-->
   |  math.sqrt(x)
hint: hl.f32(e) converts it, and hl.sqrt(e), hl.sin(e), … compute what functions of math do, when the pipeline runs""",
)
def a_function_of_math() -> None:
    math.sqrt(x)


@bad(
    hl.TypeMismatchError,
    """<parhelion.Expr of type int32: x + 1> has no elements to iterate over
-->
   |  list(x + 1)""",
)
def iteration_over_an_expression() -> None:
    list(x + 1)


@bad(
    hl.TypeMismatchError,
    """Func 'f' has no elements to iterate over
-->
   |  list(f)
hint: values of a Tuple are f[x][0], f[x][1], …""",
)
def iteration_over_a_func() -> None:
    f = hl.Func("f")
    f[x] = 0
    list(f)


@bad(
    hl.TypeMismatchError,
    """select needs values of one type, not uint8 and int32
-->
   |  hl.select(x < 3, hl.u8(x), x)
hint: cast them to a common type, e.g. hl.i32(...)""",
)
def select_of_two_types() -> None:
    hl.select(x < 3, hl.u8(x), x)


@bad(
    hl.TypeMismatchError,
    """a condition is a Bool, not a value of type int32
-->
   |  hl.select(x, 1, 2)
hint: compare it: value != 0""",
)
def select_by_a_number() -> None:
    hl.select(x, 1, 2)


@bad(
    hl.TypeMismatchError,
    """select takes an odd number of arguments, at least 3, not 4
-->
   |  hl.select(x < 1, 1, x < 2, 2)
hint: condition, value, condition, value, …, and the value otherwise""",
)
def select_without_a_default() -> None:
    hl.select(x < 1, 1, x < 2, 2)


@bad(
    hl.TypeMismatchError,
    """int32 & uint8: one operand is signed and the other is not
-->
   |  x & hl.u8(y)
hint: cast one of them to the other's type""",
)
def bit_operator_of_two_signednesses() -> None:
    x & hl.u8(y)


@bad(
    hl.TypeMismatchError,
    """clamp: a bound of type float32 does not fit the value's type int32
-->
   |  hl.clamp(x, 0, hl.f32(y))
hint: cast the bound, or the value""",
)
def clamp_with_bounds_of_another_type() -> None:
    hl.clamp(x, 0, hl.f32(y))


@bad(
    hl.TypeMismatchError,
    """the string 'three' is not a value; strings are for hl.print and hl.require
-->
   |  x + "three"  # type: ignore[operator]""",
)
def arithmetic_with_a_string() -> None:
    x + "three"  # type: ignore[operator]


@bad(
    hl.TypeMismatchError,
    """a NumPy array of shape (3,) is not an expression
-->
   |  x + np.zeros(3)  # type: ignore[operator]
hint: wrap it, hl.Buffer(array), and index it: buffer[x, y]""",
)
def arithmetic_with_an_array() -> None:
    import numpy as np

    x + np.zeros(3)  # type: ignore[operator]


@bad(
    hl.DefinitionError,
    """an undefined Expr, hl.Expr(), is used
-->
   |  hl.Expr() + 1""",
)
def undefined_expression() -> None:
    hl.Expr() + 1


@bad(
    hl.DefinitionError,
    """hl._ stands for dimensions, not for a value
-->
   |  hl._ + 1
hint: use it as an index, f[x, hl._], or name one: hl._0, hl._1, …""",
)
def placeholder_as_a_value() -> None:
    hl._ + 1


@bad(
    hl.TypeMismatchError,
    """Func 'f' is declared to hold uint8, but defined with a value of type int32
-->
   |  f[x] = x
hint: cast the value: hl.u8(...)""",
)
def definition_against_the_declared_type() -> None:
    f = hl.Func(hl.UInt(8), 1, "f")
    f[x] = x


@bad(
    hl.DefinitionError,
    """Func 'f' is declared with 2 dimensions, but defined with 1
-->
   |  f[x] = 3""",
)
def definition_against_the_declared_dimensions() -> None:
    f = hl.Func(hl.UInt(8), 2, "f")
    f[x] = 3


@bad(
    hl.DefinitionError,
    """Func 'f' has no update 1; it has 1
-->
   |  f.update(1)""",
)
def update_that_does_not_exist() -> None:
    f = hl.Func("f")
    f[x] = 0
    f[3] = 1
    f.update(1)


@bad(
    hl.DefinitionError,
    """the type of Func 'f', which is not defined
-->
   |  f.type()
hint: defined() tells whether it is""",
)
def type_of_an_undefined_func() -> None:
    f = hl.Func("f")
    f.type()


@bad(
    hl.DefinitionError,
    """one value of Func 'f' cannot be assigned alone
-->
   |  f[x][0] = 3
hint: assign all: f[x] = (new, f[x][1])""",
)
def assignment_to_one_value() -> None:
    f = hl.Func("f")
    f[x] = (1, 2)
    f[x][0] = 3


@bad(
    hl.DefinitionError,
    """the expression given to sum mentions no RDom
-->
   |  hl.sum(x + 1)
hint: reduce over one: r = hl.RDom([(0, 10)]); hl.sum(f[x + r.x]), or name it: hl.sum(r, e)""",
)
def reduction_over_nothing() -> None:
    hl.sum(x + 1)


@bad(
    hl.TypeMismatchError,
    """the first argument of hl.print is the value that it stands for
-->
   |  hl.print("x is", x)  # type: ignore[arg-type]
hint: write hl.print(value, 'x is', …) inside the expression""",
)
def print_without_a_value() -> None:
    hl.print("x is", x)  # type: ignore[arg-type]


@bad(
    hl.HalideError,
    """hl.gather is not available yet
-->
   |  hl.gather([x, y])""",
)
def gather() -> None:
    hl.gather([x, y])


@pytest.mark.parametrize(
    ("program", "kind", "message"), CASES, ids=[c[0].__name__ for c in CASES]
)
def test_message(program: Program, kind: type[hl.HalideError], message: str) -> None:
    with pytest.raises(hl.HalideError) as caught:
        program()
    assert type(caught.value) is kind
    assert normal(str(caught.value)) == message
    assert caught.value.at is not None and caught.value.at.file == __file__
