"""Programs that are refused: what stands before each, and what is said of it."""

from __future__ import annotations

import pytest

from parhelion import forma
from parhelion.errors import FormaError

#: Nine lines, so that the programs begin in line 10.
PREFIX = """\
struct RGB { int8 r; int8 g; }
parameter M, N; parameter float t;
vector#2 float x[M,N];
vector#2 int8 k[M,N];
vector#2 RGB c[M,N];
stencil f(vector#2 float X) { return X@[-1,0] + X; }
stencil two(vector#2 float X) { return X, 2*X; }
stencil scaled(vector#2 float X, float u) { return X*u; }
vector twice(vector#2 float X) { return f(f(X)); }
"""


def refused(text: str) -> str:
    """What is said of a program that has `PREFIX` before it."""
    with pytest.raises(FormaError) as caught:
        forma.check(PREFIX + text, "a.forma")
    return str(caught.value)
