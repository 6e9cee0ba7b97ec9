"""Scans over independent lines: lines go on while one waits for its last result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.calls import RVarArg
from parhelion.interp import interpret

#: An output, the Func that scans, and the extents to compute.
Sized = tuple[hl.Func, hl.Func, list[int]]

x, y, c = hl.vars("x y c")
W, H = 45, 38


def source(*more: int) -> hl.Buffer:
    rng = np.random.default_rng(5)
    return hl.Buffer(rng.integers(0, 99, (*more, H, W)).astype(np.int32))


def along_x() -> Sized:
    image, f, out, r = source(), hl.Func("f"), hl.Func("out"), hl.RDom([(1, W - 1)])
    f[x, y] = image[x, y]
    f[r.x, y] = (f[r.x, y] + f[r.x - 1, y] * 3) / 4
    out[x, y] = f[x, y] * 2
    return out, f, [W, H]


def along_y() -> Sized:
    image, f, out, r = source(), hl.Func("f"), hl.Func("out"), hl.RDom([(1, H - 1)])
    f[x, y] = image[x, y]
    f[x, r.x] = (f[x, r.x] + f[x, r.x - 1] * 3) / 4
    out[x, y] = f[x, y] * 2
    return out, f, [W, H]


def there_and_back() -> Sized:
    """Along each row of each channel, and back."""
    image, f, out = source(3), hl.Func("f"), hl.Func("out")
    r = hl.RDom([(1, W - 1)])
    f[x, y, c] = image[x, y, c]
    f[r.x, y, c] += f[r.x - 1, y, c] / 2
    back = W - 1 - r.x
    f[back, y, c] += f[back + 1, y, c] / 2
    out[x, y, c] = f[x, y, c] + 1
    return out, f, [W, H, 3]


def summed_area() -> Sized:
    image, f, out = source(), hl.Func("f"), hl.Func("out")
    r, s = hl.RDom([(1, W - 1)]), hl.RDom([(1, H - 1)])
    f[x, y] = image[x, y]
    f[r.x, y] += f[r.x - 1, y]
    f[x, s.x] += f[x, s.x - 1]
    out[x, y] = f[x, y] + 1
    return out, f, [W, H]


def dependent() -> Sized:
    """Each line needs the line before: there are no independent ones."""
    image, f, out = source(), hl.Func("f"), hl.Func("out")
    r = hl.RDom([(1, W - 1), (1, H - 1)])
    f[x, y] = image[x, y]
    f[r.x, r.y] += (f[r.x - 1, r.y] + f[r.x, r.y - 1]) / 2
    out[x, y] = f[x, y] + 1
    return out, f, [W, H]


MAKERS = (along_x, along_y, there_and_back, summed_area, dependent)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("make", MAKERS)
def test_results(make: Callable[[], Sized], threads: int) -> None:
    out, _, size = make()
    (wanted,) = interpret(out._function, [(0, e) for e in size])
    hl.autoschedule(out, sizes=size, parallelism=threads)
    for given in (size, [size[0], size[1] - 11, *size[2:]]):
        got = np.asarray(out.realize(given))
        inside = tuple([slice(0, e) for e in given])
        assert np.array_equal(got, wanted[inside].T)


@pytest.mark.parametrize("make", [along_x, along_y, there_and_back, summed_area])
def test_several_lines_go_on_together(make: Callable[[], Sized]) -> None:
    """Each scan has a block of lines or vectors inside the loop that it goes along."""
    out, f, size = make()
    result = hl.autoschedule(out, sizes=[e * 16 if e > 3 else e for e in size])
    for k in range(1, len(f._function.updates) + 1):
        calls = [
            call
            for call in result.script.calls
            if call.function is f._function and call.stage == k
        ]
        many = [c.args[0] for c in calls if c.method in ("unroll", "vectorize")]
        (order,) = [call.args for call in calls if call.method == "reorder"]
        scan = next(i for i, a in enumerate(order) if isinstance(a, RVarArg))
        assert many and all(order.index(one) < scan for one in many)
