"""What is refused of the bodies of stencils, with the whole message."""

from __future__ import annotations

import pytest

from tests.forma.refusals import refused

REFUSED = {
    "stencil q(int u) { return u; } return x;": """\
the stencil 'q' has no domain among its arguments
  --> a.forma:10:9
   |  stencil q(int u) { return u; } return x;
   |          ^
hint: write one: vector#2 float X""",
    "stencil q(vector#2 int X, vector#1 int Y) { return X; } return x;": """\
the domains of a stencil have one number of dimensions; 'X' has 2, 'Y' 1
  --> a.forma:10:27
   |  stencil q(vector#2 int X, vector#1 int Y) { return X; } return x;
   |                            ^^^^^^^^^^^^^^
hint: stack or crop domains so that they agree""",
    "stencil q(vector#2 int X) { y = X; } return x;": """\
the stencil 'q' returns nothing
  --> a.forma:10:9
   |  stencil q(vector#2 int X) { y = X; } return x;
   |          ^
hint: end it by return e;""",
    "stencil q(vector#2 int X) { return X; y = X; } return x;": """\
the stencil 'q' has returned before
  --> a.forma:10:39
   |  stencil q(vector#2 int X) { return X; y = X; } return x;
   |                                        ^^^^^^
hint: return stands last, and once: return a, b;""",
    "stencil q(vector#2 int X) { for i = 1..2 y = X; endfor return X; } return x;": """\
a stencil has no loops
  --> a.forma:10:29
   |  stencil q(vector#2 int X) { for i = 1..2 y = X; endfor return X; } return x;
   |                              ^^^^^^^^^^^^
hint: apply a stencil in a loop of the program, or write its statements out""",
    "stencil q(vector#2 int X) { y = X; y = X; return y; } return x;": """\
'y' is assigned twice, first in line 10
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { y = X; y = X; return y; } return x;
   |                                     ^
hint: each variable is assigned once: choose another name""",
    "stencil q(vector#2 int X) { X = X; return X; } return x;": """\
'X' is an argument, and cannot be assigned
  --> a.forma:10:29
   |  stencil q(vector#2 int X) { X = X; return X; } return x;
   |                              ^
hint: choose another name""",
    "stencil q(vector#2 int X) { a, b = X; return a; } return x;": """\
one variable is assigned at a time in a stencil
  --> a.forma:10:32
   |  stencil q(vector#2 int X) { a, b = X; return a; } return x;
   |                                 ^
hint: write a statement for each""",
    "stencil q(vector#2 int X) { a<0> = X; return X; } return x;": """\
a stencil assigns to plain variables
  --> a.forma:10:29
   |  stencil q(vector#2 int X) { a<0> = X; return X; } return x;
   |                              ^^^^
hint: qualified variables, @[…] and [n..] on the left are for domains""",
    "stencil q(vector#2 int X) { a@[1,0] = X; return X; } return x;": """\
a stencil assigns to plain variables
  --> a.forma:10:29
   |  stencil q(vector#2 int X) { a@[1,0] = X; return X; } return x;
   |                              ^^^^^^^
hint: qualified variables, @[…] and [n..] on the left are for domains""",
    "stencil q(vector#2 int X) { return X<0>; } return x;": """\
qualified variables are for domains, not for stencils
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return X<0>; } return x;
   |                                     ^^^^
hint: pass the domain as an argument""",
    "stencil q(vector#2 int X) { return y; } return x;": """\
there is no variable 'y' here
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return y; } return x;
   |                                     ^
legal here:
  - X
hint: assign it before, or make it an argument""",
    "stencil q(vector#2 int X) { return x; } return x;": """\
'x' is an input of the program, which stencils do not see
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return x; } return x;
   |                                     ^
hint: pass it as an argument""",
    "stencil q(vector#2 int X) { return X@[1]; } return x;": """\
'X' has 2 dimensions, and here is 1 offset
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return X@[1]; } return x;
   |                                     ^^^^^
hint: give one for each dimension""",
    "stencil q(vector#2 int X) { return X@[(1,0),0]; } return x;": """\
a scale is at least 1, not 0
  --> a.forma:10:42
   |  stencil q(vector#2 int X) { return X@[(1,0),0]; } return x;
   |                                           ^
hint: (a, b) stands for the point a + i * b""",
    "stencil q(vector#2 int X) { return X@[M,0]; } return x;": """\
an offset is an integer that is known when the program is compiled
  --> a.forma:10:39
   |  stencil q(vector#2 int X) { return X@[M,0]; } return x;
   |                                        ^
hint: write a number""",
    "stencil q(vector#2 int X) { return X@[1.5,0]; } return x;": """\
an offset is an integer that is known when the program is compiled
  --> a.forma:10:39
   |  stencil q(vector#2 int X) { return X@[1.5,0]; } return x;
   |                                        ^^^
hint: write a number""",
    "stencil q(vector#2 int X) { return (2*X)@[1,0]; } return x;": """\
the offset operator reads an argument that is a domain
  --> a.forma:10:37
   |  stencil q(vector#2 int X) { return (2*X)@[1,0]; } return x;
   |                                      ^^^
legal here:
  - X
hint: to look around a computed value, make it a stage of its own""",
    "stencil q(vector#2 int X) { y = X; return y@[1,0]; } return x;": """\
the offset operator reads an argument that is a domain
  --> a.forma:10:43
   |  stencil q(vector#2 int X) { y = X; return y@[1,0]; } return x;
   |                                            ^
legal here:
  - X
hint: to look around a computed value, make it a stage of its own""",
    "stencil q(vector#2 float X) { return f(X); } return x;": """\
a stencil cannot apply 'f'
  --> a.forma:10:38
   |  stencil q(vector#2 float X) { return f(X); } return x;
   |                                       ^^^^
hint: apply 'f' to the domain before, and pass the result""",
    "stencil q(vector#2 int X) { return X[0..1,0..1]; } return x;": """\
a crop is a domain, and a number is needed here
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return X[0..1,0..1]; } return x;
   |                                     ^^^^^^^^^^^^
hint: domains are arguments of functions: stencils compute with points""",
    "stencil q(vector#2 int X) { return ([0..,0..] = X;); } return x;": """\
a compose is a domain, and a number is needed here
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return ([0..,0..] = X;); } return x;
   |                                     ^^^^^^^^^^^^^^^^
hint: domains are arguments of functions: stencils compute with points""",
    "stencil q(vector#2 RGB X) { return X + 1; } return x;": """\
'+' computes with numbers; this is a struct RGB
  --> a.forma:10:36
   |  stencil q(vector#2 RGB X) { return X + 1; } return x;
   |                                     ^
hint: name a field of it: .r, .g""",
    "stencil q(vector#2 RGB X) { return -X; } return x;": """\
'-' computes with numbers; this is a struct RGB
  --> a.forma:10:37
   |  stencil q(vector#2 RGB X) { return -X; } return x;
   |                                      ^
hint: name a field of it: .r, .g""",
    "stencil q(vector#2 RGB X) { return X ? 1 : 2; } return x;": """\
a number is needed here, and this is a struct RGB
  --> a.forma:10:36
   |  stencil q(vector#2 RGB X) { return X ? 1 : 2; } return x;
   |                                     ^
hint: name a field of it: .r, .g""",
    "stencil q(vector#2 RGB X) { return X.b; } return x;": """\
a struct RGB has no field 'b'
  --> a.forma:10:36
   |  stencil q(vector#2 RGB X) { return X.b; } return x;
   |                                     ^^^
legal here:
  - r
  - g""",
    "stencil q(vector#2 RGB X) { return X.r.g; } return x;": """\
'.g' is asked of an int8, which has no fields
  --> a.forma:10:36
   |  stencil q(vector#2 RGB X) { return X.r.g; } return x;
   |                                     ^^^^^
hint: leave .g out""",
    "stencil q(vector#2 RGB X) { return X.r < 1 ? X : X.r; } return x;": """\
one choice is a struct RGB, the other an int8
  --> a.forma:10:36
   |  stencil q(vector#2 RGB X) { return X.r < 1 ? X : X.r; } return x;
   |                                     ^^^^^^^^^^^^^^^^^
hint: both are of one type""",
    "stencil q(vector#2 RGB X) { return int8(X); } return x;": """\
'int8' converts numbers; this is a struct RGB
  --> a.forma:10:41
   |  stencil q(vector#2 RGB X) { return int8(X); } return x;
   |                                          ^
hint: name a field of it: .r, .g""",
    "stencil q(vector#2 RGB X) { return max(X, X); } return x;": """\
'max' computes with numbers; this is a struct RGB
  --> a.forma:10:40
   |  stencil q(vector#2 RGB X) { return max(X, X); } return x;
   |                                         ^
hint: name a field of it: .r, .g""",
    "stencil q(vector#2 RGB X) { return RGB(X.r); } return x;": """\
'RGB' takes 2 arguments, not 1
  --> a.forma:10:36
   |  stencil q(vector#2 RGB X) { return RGB(X.r); } return x;
   |                                     ^^^^^^^^
hint: write RGB(r, g)""",
    "stencil q(vector#2 RGB X) { return RGB(X.r, 1000); } return x;": """\
the field 'g' of RGB is an int8, which cannot be 1000
  --> a.forma:10:45
   |  stencil q(vector#2 RGB X) { return RGB(X.r, 1000); } return x;
   |                                              ^^^^
hint: it lies between -128 and 127""",
    "stencil q(vector#2 RGB X) { return RGB(X.r, X.g + 1); } return x;": """\
the field 'g' of RGB is an int8, and an int is wider
  --> a.forma:10:45
   |  stencil q(vector#2 RGB X) { return RGB(X.r, X.g + 1); } return x;
   |                                              ^^^^^^^
hint: convert it: int8(…)""",
    "stencil q(vector#2 RGB X) { return RGB(X, X); } return x;": """\
the field 'r' of RGB is an int8, not a struct RGB
  --> a.forma:10:40
   |  stencil q(vector#2 RGB X) { return RGB(X, X); } return x;
   |                                         ^
hint: name a field of it""",
    "stencil q(vector#2 RGB X) { return RGB(X.r:mirror, X.g); } return x;": """\
'RGB' has no boundary conditions
  --> a.forma:10:44
   |  stencil q(vector#2 RGB X) { return RGB(X.r:mirror, X.g); } return x;
   |                                             ^^^^^^
hint: they stand where a stencil is applied to a domain""",
    "stencil q(vector#2 float X) { return X % 2; } return x;": """\
'%' is for integers, not for a float
  --> a.forma:10:38
   |  stencil q(vector#2 float X) { return X % 2; } return x;
   |                                       ^^^^^
hint: convert to an int first: int(…) % int(…)""",
    "stencil q(vector#2 int X) { return X < 1 < 2; } return x;": """\
'<' compares numbers, and one side is a condition
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return X < 1 < 2; } return x;
   |                                     ^^^^^^^^^
hint: comparisons do not chain: write a < b && b < c""",
    "stencil q(vector#2 int X) { return X / 0; } return x;": """\
this divides by zero
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return X / 0; } return x;
   |                                     ^^^^^
hint: write another divisor""",
    "stencil q(vector#2 int X) { return 2147483647 + 1; } return x;": """\
the value 2147483648 is no int
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return 2147483647 + 1; } return x;
   |                                     ^^^^^^^^^^^^^^
hint: compute in double: write a number with the suffix d""",
    "stencil q(vector#2 int X) { return sqr(X); } return x;": """\
there is no function 'sqr'
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return sqr(X); } return x;
   |                                     ^^^^^^
hint: do you mean 'sqrt'?""",
    "stencil q(vector#2 int X) { return cubed(X); } return x;": """\
there is no function 'cubed'
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return cubed(X); } return x;
   |                                     ^^^^^^^^
hint: declare it: stencil or vector""",
    "stencil q(vector#2 int X) { return min(X); } return x;": """\
'min' takes 2 arguments, not 1
  --> a.forma:10:36
   |  stencil q(vector#2 int X) { return min(X); } return x;
   |                                     ^^^^^^
hint: write min(a, b)""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert refused(text) == REFUSED[text]
