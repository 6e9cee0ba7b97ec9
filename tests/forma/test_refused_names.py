"""What is refused of names, declarations and recursion, with the whole message."""

from __future__ import annotations

import pytest

from tests.forma.refusals import refused

REFUSED = {
    "return y;": """\
there is no variable 'y'
  --> a.forma:10:8
   |  return y;
   |         ^
legal here:
  - x
  - k
  - c
hint: assign it before it is used""",
    "y = x; y = x; return y;": """\
'y' is assigned twice, first in line 10
  --> a.forma:10:8
   |  y = x; y = x; return y;
   |         ^
hint: each variable is assigned once: choose another name""",
    "x = f(x); return x;": """\
'x' is assigned twice, first in line 3
  --> a.forma:10:1
   |  x = f(x); return x;
   |  ^
hint: each variable is assigned once: choose another name""",
    "M = x; return x;": """\
'M' is a parameter since line 2, and cannot be assigned
  --> a.forma:10:1
   |  M = x; return x;
   |  ^
hint: choose another name""",
    "return x; y = x;": """\
the program has returned before
  --> a.forma:10:11
   |  return x; y = x;
   |            ^^^^^^
hint: return stands last, and once: return a, b;""",
    "y = x;": """\
the program returns nothing
  --> a.forma:10:6
   |  y = x;
   |       ^
hint: end it by return e;""",
    "g<0> = x; return g;": """\
'g' is a qualified variable, and stands for several domains
  --> a.forma:10:18
   |  g<0> = x; return g;
   |                   ^
hint: say which: g<0>""",
    "g = x; return g<0>;": """\
'g<0>' is used, and 'g' is not qualified
  --> a.forma:10:15
   |  g = x; return g<0>;
   |                ^^^^
hint: assign it before: g<0> = …;""",
    "g = x; g<1> = x; return g;": """\
'g' is no qualified variable: it has been assigned whole in line 10
  --> a.forma:10:8
   |  g = x; g<1> = x; return g;
   |         ^^^^
hint: choose another name""",
    "g<0> = x; g<0> = x; return x;": """\
'g<0>' is assigned twice, first in line 10
  --> a.forma:10:11
   |  g<0> = x; g<0> = x; return x;
   |            ^^^^
hint: each is assigned once: choose another index""",
    "g<0> = x; g = x; return x;": """\
'g' is a qualified variable since line 10
  --> a.forma:10:11
   |  g<0> = x; g = x; return x;
   |            ^
hint: qualify it: g<0>""",
    "return g<0>;": """\
'g<0>' is used, and 'g' has no value
  --> a.forma:10:8
   |  return g<0>;
   |         ^^^^
hint: assign it before: g<0> = …;""",
    "g<0> = x; g<1> = k; return x;": """\
'g<1>' is a vector#2 int8, and 'g<0>' a vector#2 float
  --> a.forma:10:11
   |  g<0> = x; g<1> = k; return x;
   |            ^^^^
hint: the domains of a qualified variable differ in size alone""",
    "g<0> = x; for i = 1..3 g<i> = f(g<i-2>); endfor return g<3>;": """\
'g<-1>' is used before it is assigned
  --> a.forma:10:33
   |  g<0> = x; for i = 1..3 g<i> = f(g<i-2>); endfor return g<3>;
   |                                  ^^^^^^
of 'g' there is <0>
hint: assign it before, outside of the loop if it is the first""",
    "g<t> = x; return x;": """\
an index is an integer that is known when the program is compiled
  --> a.forma:10:3
   |  g<t> = x; return x;
   |    ^
hint: write a number""",
    "return t;": """\
a program returns domains, and this is a number, float
  --> a.forma:10:8
   |  return t;
   |         ^
hint: pass numbers to a stencil""",
    "return sqr(x);": """\
there is no function 'sqr'
  --> a.forma:10:8
   |  return sqr(x);
   |         ^^^^^^
hint: do you mean 'sqrt'?""",
    "return M(x);": """\
there is no function 'M'
  --> a.forma:10:8
   |  return M(x);
   |         ^^^^
hint: declare it: stencil or vector""",
    "parameter M; return x;": """\
'M' is declared twice, first in line 2
  --> a.forma:10:11
   |  parameter M; return x;
   |            ^
hint: choose another name for one of them""",
    "struct RGB { int r; } return x;": """\
'RGB' is declared twice, first in line 1
  --> a.forma:10:1
   |  struct RGB { int r; } return x;
   |  ^^^^^^^^^^
hint: choose another name for one of them""",
    "struct A { } return x;": """\
the struct 'A' has no fields
  --> a.forma:10:1
   |  struct A { } return x;
   |  ^^^^^^^^
hint: write its fields: struct RGB { int8 r; int8 g; int8 b; }""",
    "struct A { int r; int r; } return x;": """\
the struct 'A' has two fields 'r'
  --> a.forma:10:23
   |  struct A { int r; int r; } return x;
   |                        ^
hint: choose another name for one of them""",
    "stencil f(vector#2 int X) { return X; } return x;": """\
'f' is declared twice, first in line 6
  --> a.forma:10:9
   |  stencil f(vector#2 int X) { return X; } return x;
   |          ^
hint: choose another name for one of them""",
    "stencil sin(vector#2 int X) { return X; } return x;": """\
'sin' is a math function, and cannot be declared
  --> a.forma:10:9
   |  stencil sin(vector#2 int X) { return X; } return x;
   |          ^^^
hint: choose another name""",
    "stencil q(vector#2 int X, int X) { return X; } return x;": """\
'q' has two arguments 'X'
  --> a.forma:10:27
   |  stencil q(vector#2 int X, int X) { return X; } return x;
   |                            ^^^^^
hint: choose another name for one of them""",
    "vector#2 foo z[M,N]; return z;": """\
there is no type 'foo'
  --> a.forma:10:14
   |  vector#2 foo z[M,N]; return z;
   |               ^^^^^^
legal here:
  - int8
  - int16
  - int
  - float
  - double
  - RGB
hint: declare it: struct foo { int8 r; … }""",
    "vector u(vector#2 float X) { return f(y); } return x;": """\
there is no variable 'y'
  --> a.forma:10:39
   |  vector u(vector#2 float X) { return f(y); } return x;
   |                                        ^
legal here:
  - X
hint: assign it before it is used""",
    "vector u(vector#2 float X) { y = x; return y; } return u(x);": """\
'x' is an input of the program, which functions do not see
  --> a.forma:10:34
   |  vector u(vector#2 float X) { y = x; return y; } return u(x);
   |                                   ^
applied as 'u' at a.forma:10:56
hint: pass it as an argument""",
    "vector u(vector#2 float X) { y = X; } return x;": """\
the function 'u' returns nothing
  --> a.forma:10:8
   |  vector u(vector#2 float X) { y = X; } return x;
   |         ^
hint: end it by return e;""",
    "vector u(vector#2 float X) { X = f(X); return X; } return x;": """\
'X' is assigned twice, first in line 10
  --> a.forma:10:30
   |  vector u(vector#2 float X) { X = f(X); return X; } return x;
   |                               ^
hint: each variable is assigned once: choose another name""",
    """\
vector u(vector#2 float X) { return v(X); }
vector v(vector#2 float X) { return u(X); }
return x;""": """\
the function 'u' applies itself
  --> a.forma:11:37
   |  vector v(vector#2 float X) { return u(X); }
   |                                      ^^^^
u -> v -> u
hint: functions have no recursion: write a loop, for i = 1..3""",
    "vector u(vector#2 float X) { return u(X); } return x;": """\
the function 'u' applies itself
  --> a.forma:10:37
   |  vector u(vector#2 float X) { return u(X); } return x;
   |                                      ^^^^
u -> u
hint: functions have no recursion: write a loop, for i = 1..3""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert refused(text) == REFUSED[text]
