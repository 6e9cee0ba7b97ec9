"""What is refused of loops, with the whole message."""

from __future__ import annotations

import pytest

from tests.forma.refusals import refused

REFUSED = {
    "for i = 1..3 y = x; endfor return y;": """\
a loop assigns 'y' each time that it runs
  --> a.forma:10:14
   |  for i = 1..3 y = x; endfor return y;
   |               ^
hint: qualify it by the variable of the loop: y<i>""",
    "for i = 3..1 g<i> = x; endfor return x;": """\
the loop from 3 to 1 by 1 never runs
  --> a.forma:10:1
   |  for i = 3..1 g<i> = x; endfor return x;
   |  ^^^^^^^^^^^^
hint: exchange the bounds, or write 3..1 by -1""",
    "for i = 1..3 by -1 g<i> = x; endfor return x;": """\
the loop from 1 to 3 by -1 never runs
  --> a.forma:10:1
   |  for i = 1..3 by -1 g<i> = x; endfor return x;
   |  ^^^^^^^^^^^^
hint: exchange the bounds, or write 1..3 by 1""",
    "for i = 1..M g<i> = x; endfor return x;": """\
the bound of a loop is an integer that is known when the program is compiled
  --> a.forma:10:12
   |  for i = 1..M g<i> = x; endfor return x;
   |             ^
hint: write a number""",
    "for i = 1..3 by 2 g<i> = x; endfor return x;": """\
a loop goes up or down by 1, not by 2
  --> a.forma:10:17
   |  for i = 1..3 by 2 g<i> = x; endfor return x;
   |                  ^
hint: write by -1""",
    "for x = 1..3 g<x> = x; endfor return x;": """\
the variable of the loop, 'x', has a value already
  --> a.forma:10:1
   |  for x = 1..3 g<x> = x; endfor return x;
   |  ^^^^^^^^^^^^
hint: choose another name""",
    "for i = 1..3 for i = 1..3 g<i> = x; endfor endfor return x;": """\
the variable of the loop, 'i', has a value already
  --> a.forma:10:14
   |  for i = 1..3 for i = 1..3 g<i> = x; endfor endfor return x;
   |               ^^^^^^^^^^^^
hint: choose another name""",
    "for i = 1..3 i = x; endfor return x;": """\
a loop assigns 'i' each time that it runs
  --> a.forma:10:14
   |  for i = 1..3 i = x; endfor return x;
   |               ^
hint: qualify it by the variable of the loop: i<i>""",
    "for i = 1..3 return x; endfor": """\
a loop returns nothing
  --> a.forma:10:14
   |  for i = 1..3 return x; endfor
   |               ^^^^^^^^^
hint: return stands last, behind all loops""",
    "for i = 1..3 g<0> = x; endfor return x;": """\
'g<0>' is assigned twice, first in line 10
  --> a.forma:10:14
   |  for i = 1..3 g<0> = x; endfor return x;
   |               ^^^^
hint: each is assigned once: choose another index""",
    "for i = 1..1000000000 g<i> = x; endfor return x;": """\
the program runs more than 100000 statements
  --> a.forma:10:23
   |  for i = 1..1000000000 g<i> = x; endfor return x;
   |                        ^^^^^^^^^
hint: shorten its loops""",
    "for i = 1..3 g<i> = x; endfor return i;": """\
there is no variable 'i'
  --> a.forma:10:38
   |  for i = 1..3 g<i> = x; endfor return i;
   |                                       ^
legal here:
  - x
  - k
  - c
  - g<…>
hint: assign it before it is used""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert refused(text) == REFUSED[text]
