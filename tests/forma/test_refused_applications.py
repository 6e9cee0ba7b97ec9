"""What is refused of applications and boundary conditions, with the whole message."""

from __future__ import annotations

import pytest

from tests.forma.refusals import refused

REFUSED = {
    "return f(k);": """\
the argument 'X' of 'f' is a vector#2 float, and this is a vector#2 int8
  --> a.forma:10:10
   |  return f(k);
   |           ^
hint: convert it in a stencil: return float(X);""",
    "return f(x, 3);": """\
'f' takes 1 argument, not 2
  --> a.forma:10:8
   |  return f(x, 3);
   |         ^^^^^^^
hint: write f(X)""",
    "return f();": """\
'f' takes 1 argument, not 0
  --> a.forma:10:8
   |  return f();
   |         ^^^
hint: write f(X)""",
    "return f(3);": """\
the argument 'X' of 'f' is a domain, not a number
  --> a.forma:10:10
   |  return f(3);
   |           ^
hint: pass a domain""",
    "return scaled(x, x);": """\
the argument 'u' of 'scaled' is a number, float, not a domain
  --> a.forma:10:18
   |  return scaled(x, x);
   |                   ^
hint: pass a number or a parameter""",
    "return scaled(x, 1.5d);": """\
the argument 'u' of 'scaled' is a float, and a double is wider
  --> a.forma:10:18
   |  return scaled(x, 1.5d);
   |                   ^^^^
hint: convert it: float(…)""",
    "return scaled(x:mirror, 2:mirror);": """\
'u' is a number, and has no boundary
  --> a.forma:10:27
   |  return scaled(x:mirror, 2:mirror);
   |                            ^^^^^^
hint: boundary conditions stand behind domains""",
    "return f(x[0..1,0..1], f(x));": """\
'f' takes 1 argument, not 2
  --> a.forma:10:8
   |  return f(x[0..1,0..1], f(x));
   |         ^^^^^^^^^^^^^^^^^^^^^
hint: write f(X)""",
    "return f(x:foo);": """\
there is no boundary condition 'foo'
  --> a.forma:10:12
   |  return f(x:foo);
   |             ^^^
legal here:
  - constant(value)
  - clamped
  - wrap
  - mirror""",
    "return f(x:constant);": """\
'constant' takes the value outside of the domain
  --> a.forma:10:12
   |  return f(x:constant);
   |             ^^^^^^^^
hint: write constant(0)""",
    "return f(x:mirror(3));": """\
'mirror' takes no value
  --> a.forma:10:12
   |  return f(x:mirror(3));
   |             ^^^^^^^^^
hint: write mirror""",
    "return f(x:constant(1.5d));": """\
the value outside of the domain is a float, and a double is wider
  --> a.forma:10:21
   |  return f(x:constant(1.5d));
   |                      ^^^^
hint: convert it: float(…)""",
    "return f(x:constant(x));": """\
'x' is a domain, and a number is needed here
  --> a.forma:10:21
   |  return f(x:constant(x));
   |                      ^
hint: stencils compute with the points of domains: apply one""",
    "return twice(x:mirror);": """\
'twice' is a vector function, which has no boundary conditions
  --> a.forma:10:16
   |  return twice(x:mirror);
   |                 ^^^^^^
hint: they stand where a stencil is applied, inside of it""",
    "return f(f(k));": """\
the argument 'X' of 'f' is a vector#2 float, and this is a vector#2 int8
  --> a.forma:10:12
   |  return f(f(k));
   |             ^
hint: convert it in a stencil: return float(X);""",
    "vector u(vector#2 int8 X) { return f(X); } return u(k);": """\
the argument 'X' of 'f' is a vector#2 float, and this is a vector#2 int8
  --> a.forma:10:38
   |  vector u(vector#2 int8 X) { return f(X); } return u(k);
   |                                       ^
applied as 'u' at a.forma:10:51
hint: convert it in a stencil: return float(X);""",
    "vector#3 float z[M,N,3]; return f(z);": """\
the argument 'X' of 'f' is a vector#2 float, and this is a vector#3 float
  --> a.forma:10:35
   |  vector#3 float z[M,N,3]; return f(z);
   |                                    ^
hint: a function is written for one type and one number of dimensions""",
    "stencil q(vector#2 int8 X) { return X; } return q(k:constant(200));": """\
the value outside of the domain is an int8, which cannot be 200
  --> a.forma:10:62
   |  stencil q(vector#2 int8 X) { return X; } return q(k:constant(200));
   |                                                               ^^^
hint: it lies between -128 and 127""",
    "stencil q(vector#2 RGB X) { return X; } return q(c:constant(1.5));": """\
the value outside of the domain is an int8, and a float is wider
  --> a.forma:10:61
   |  stencil q(vector#2 RGB X) { return X; } return q(c:constant(1.5));
   |                                                              ^^^
hint: convert it: int8(…)""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert refused(text) == REFUSED[text]
