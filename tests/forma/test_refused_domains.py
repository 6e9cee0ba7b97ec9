"""What is refused of crops, composes, sizes and results, with the whole message."""

from __future__ import annotations

import pytest

from tests.forma.refusals import refused

REFUSED = {
    "return x[0..M,0..1];": """\
the crop [0..M] ends outside of 'x', which has the size M
  --> a.forma:10:10
   |  return x[0..M,0..1];
   |           ^^^^
hint: the last point is the size minus 1""",
    "return x[-1..2,0..1];": """\
the crop [-1..2] begins outside of 'x', which has the size M
  --> a.forma:10:10
   |  return x[-1..2,0..1];
   |           ^^^^^
hint: points are counted from 0""",
    "return x[3..2,0..1];": """\
the crop [3..2] is empty
  --> a.forma:10:10
   |  return x[3..2,0..1];
   |           ^^^^
hint: both ends are included: [0..0] is one""",
    "return x[0..1];": """\
'x' has 2 dimensions, and here is 1 range
  --> a.forma:10:8
   |  return x[0..1];
   |         ^^^^^^^
hint: give one for each dimension""",
    "return x[0..t,0..1];": """\
a size is made of integers and int parameters, not of a float
  --> a.forma:10:13
   |  return x[0..t,0..1];
   |              ^
hint: they are put together by + - * / % min and max""",
    "return x[0..M/0,0..1];": """\
this divides by zero
  --> a.forma:10:13
   |  return x[0..M/0,0..1];
   |              ^^^
hint: write another divisor""",
    "return x@[1,0];": """\
the offset operator reads in stencils alone
  --> a.forma:10:8
   |  return x@[1,0];
   |         ^^^^^^^
hint: write a stencil, and apply it to the domain""",
    "return x + x;": """\
'x' is a domain, and a number is needed here
  --> a.forma:10:8
   |  return x + x;
   |         ^
hint: stencils compute with the points of domains: apply one""",
    "return -x;": """\
'x' is a domain, and a number is needed here
  --> a.forma:10:9
   |  return -x;
   |          ^
hint: stencils compute with the points of domains: apply one""",
    "return x ? x : x;": """\
'x' is a domain, and a number is needed here
  --> a.forma:10:8
   |  return x ? x : x;
   |         ^
hint: stencils compute with the points of domains: apply one""",
    "return sqrt(x);": """\
'x' is a domain, and a number is needed here
  --> a.forma:10:13
   |  return sqrt(x);
   |              ^
hint: stencils compute with the points of domains: apply one""",
    "return c.r;": """\
'c' is a domain, and a number is needed here
  --> a.forma:10:8
   |  return c.r;
   |         ^
hint: stencils compute with the points of domains: apply one""",
    "y@[(0,2)] = x; return y;": """\
'x' has 2 dimensions, and here is 1 offset
  --> a.forma:10:2
   |  y@[(0,2)] = x; return y;
   |   ^^^^^^^^
hint: give one for each dimension""",
    "y@[(0,0),0] = x; return y;": """\
a scale is at least 1, not 0
  --> a.forma:10:7
   |  y@[(0,0),0] = x; return y;
   |        ^
hint: (a, b) stands for the point a + i * b""",
    "y@[-1,0] = x; return y;": """\
an offset on the left is at least 0, not -1
  --> a.forma:10:4
   |  y@[-1,0] = x; return y;
   |     ^^
hint: point i is put at offset + i * scale""",
    "y@[M,0] = x; return y;": """\
an offset is an integer that is known when the program is compiled
  --> a.forma:10:4
   |  y@[M,0] = x; return y;
   |     ^
hint: write a number""",
    "y@[(0,2000000),0] = x; return y;": """\
offsets and scales are less than 1048576
  --> a.forma:10:4
   |  y@[(0,2000000),0] = x; return y;
   |     ^^^^^^^^^^^
hint: write smaller ones""",
    "y[0..] = x; return y;": """\
'x' has 2 dimensions, and here is 1 padding
  --> a.forma:10:2
   |  y[0..] = x; return y;
   |   ^^^^^
hint: give one for each dimension""",
    "y[-1..,0..] = x; return y;": """\
the padding -1 is negative
  --> a.forma:10:1
   |  y[-1..,0..] = x; return y;
   |  ^^^^^^^^^^^
hint: crop to leave points out""",
    "y[0..,0..,0..,0..,0..,0..,0..,0..,0..] = x; return y;": """\
a domain has from 1 to 8 dimensions, not 9
  --> a.forma:10:2
   |  y[0..,0..,0..,0..,0..,0..,0..,0..,0..] = x; return y;
   |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: stack fewer""",
    """\
y = ([0..,0..] = x;
     [1..,0..] = x; );
return y;""": """\
the parts of the compose overlap that are assigned in lines 10 and 11
  --> a.forma:11:6
   |  [1..,0..] = x; );
   |  ^^^^^^^^^^^^^^
they are [0..M-1, 0..N-1] and [1..M, 0..N-1]
hint: crop them so that each point is assigned once""",
    """\
y = (@[(0,2),0] = x;
     @[(2,4),0] = x; );
return y;""": """\
the compose has points that no part assigns
  --> a.forma:10:5
   |  y = (@[(0,2),0] = x;
   |      ^^^^^^^^^^^^^^^^
the parts have 2*M*N points of 4*M*N, where the domain is [4*M, N]
hint: assign them too; a part by itself, without the compose, leaves zeros""",
    "y = (@[(0,2),0] = x; ); return y;": """\
the compose has points that no part assigns
  --> a.forma:10:5
   |  y = (@[(0,2),0] = x; ); return y;
   |      ^^^^^^^^^^^^^^^^^^
the parts have M*N points of 2*M*N, where the domain is [2*M, N]
hint: assign them too; a part by itself, without the compose, leaves zeros""",
    """\
y = ([0..,0..,0..] = x;
     [0..,0..,2..] = x; );
return y;""": """\
the compose has points that no part assigns
  --> a.forma:10:5
   |  y = ([0..,0..,0..] = x;
   |      ^^^^^^^^^^^^^^^^^^^
the parts have 2*M*N points of 3*M*N, where the domain is [M, N, 3]
hint: assign them too; a part by itself, without the compose, leaves zeros""",
    "y = ([0..,0..] = x; [M..,0..] = k; ); return y;": """\
the parts of a compose are of one type: this is an int8, the first one a float
  --> a.forma:10:21
   |  y = ([0..,0..] = x; [M..,0..] = k; ); return y;
   |                      ^^^^^^^^^^^^^^
hint: convert it in a stencil""",
    "y = ([0..,0..] = x; [0..,0..,1..] = x; ); return y;": """\
the parts of a compose have one number of dimensions: this has 3, the first one 2
  --> a.forma:10:21
   |  y = ([0..,0..] = x; [0..,0..,1..] = x; ); return y;
   |                      ^^^^^^^^^^^^^^^^^^
hint: say for each dimension where the part is put""",
    "y = ([0..,0..] = 3; ); return y;": """\
a domain is needed here, and this is a number, int
  --> a.forma:10:18
   |  y = ([0..,0..] = 3; ); return y;
   |                   ^
hint: a domain is an input, or what functions make of others""",
    "a, b = f(x); return a;": """\
2 variables are assigned, and the value has 1
  --> a.forma:10:1
   |  a, b = f(x); return a;
   |  ^^^^^^^^^^^^
hint: assign as many as the function returns""",
    "a, b, d = two(x); return a;": """\
3 variables are assigned, and the value has 2
  --> a.forma:10:1
   |  a, b, d = two(x); return a;
   |  ^^^^^^^^^^^^^^^^^
hint: assign as many as the function returns""",
    "y = two(x); return y;": """\
the function returns 2 values, and one is needed
  --> a.forma:10:5
   |  y = two(x); return y;
   |      ^^^^^^
hint: assign them first: a, b = f(x);""",
    "return f(two(x));": """\
the function returns 2 values, and one is needed
  --> a.forma:10:10
   |  return f(two(x));
   |           ^^^^^^
hint: assign them first: a, b = f(x);""",
    "a, b[1..,0..] = two(x); return a;": """\
several results are assigned to variables as they are
  --> a.forma:10:4
   |  a, b[1..,0..] = two(x); return a;
   |     ^^^^^^^^^^
hint: place them in statements of their own""",
    "vector#2 float z[M]; return z;": """\
'z' has 2 dimensions, and here is 1 size
  --> a.forma:10:16
   |  vector#2 float z[M]; return z;
   |                 ^^^^
hint: give one for each dimension, separated by commas""",
    "vector#2 float z[M.N]; return z;": """\
'.N' is asked of an int, which has no fields
  --> a.forma:10:18
   |  vector#2 float z[M.N]; return z;
   |                   ^^^
hint: if 'M' and 'N' are two names, separate them by a comma""",
    "vector#2 float z[0,N]; return z;": """\
the domain 'z' has a size of 0, and needs a point at least
  --> a.forma:10:16
   |  vector#2 float z[0,N]; return z;
   |                 ^^^^^^
hint: make it larger""",
    "vector#2 float z[t,N]; return z;": """\
a size is made of integers and int parameters, not of a float
  --> a.forma:10:18
   |  vector#2 float z[t,N]; return z;
   |                   ^
hint: they are put together by + - * / % min and max""",
    "vector#2 float z[sqrt(M),N]; return z;": """\
a size is made of integers and int parameters, not of a float
  --> a.forma:10:18
   |  vector#2 float z[sqrt(M),N]; return z;
   |                   ^^^^^^^
hint: they are put together by + - * / % min and max""",
    "g<0> = x; for i = 1..40 g<i>@[(0,2),0] = g<i-1>; endfor return x;": """\
a size gets larger than any int
  --> a.forma:10:25
   |  g<0> = x; for i = 1..40 g<i>@[(0,2),0] = g<i-1>; endfor return x;
   |                          ^^^^^^^^^^^^^^
hint: check how often domains are padded and extrapolated""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert refused(text) == REFUSED[text]
