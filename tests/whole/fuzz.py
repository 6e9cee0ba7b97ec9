"""Random functions of arrays, beside what NumPy computes of the same arrays.

``python -m tests.whole.fuzz [--seconds N] [--seed S]`` draws until the time is over. A
function is a list of steps, each of which takes arrays that are there already; types,
shapes (1 and 0 among them), layouts and several sizes for one code are drawn, too.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import parhelion as hl
from tests.whole.support import Pixels, agree, pixels

Step = Callable[[list[Any]], Any]
#: What stays exact in integers, and close in float32.
_BINARY = (
    *("add", "subtract", "multiply", "maximum", "minimum", "less", "greater_equal"),
    *("equal", "floor_divide", "remainder", "divide", "fmax"),
)
_ENDS = (None, 0, 1, 2, 3, -1, -2, 9)
_MODES: tuple[Any, ...] = ("edge", "reflect", "symmetric", "wrap", "constant")
_DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "float32", "bool")
_KINDS = (
    *("binary", "binary", "weak", "unary", "where", "cast", "slice", "shift"),
    *("pad", "reduce", "transpose", "stack", "clip", "extent"),
    *("place", "reshape", "repeat", "turn", "matmul", "picked", "differences"),
    *("quantile", "index_extent"),
)
#: Numbers that are made of an extent.
_OF_EXTENTS: tuple[Callable[[Any], Any], ...] = (
    *(lambda n: n, lambda n: n // 2, lambda n: n - 1, lambda n: 7 % n),
    *(lambda n: n / 2, lambda n: 1.5 * n, lambda n: 1.0 / n),
)
_UNARY = ("negative", "absolute", "square", "sign", "floor", "logical_not")


class Drawn:
    """One function. text: its steps in words."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        draw = self.random
        self.rank = draw.choice((1, 2, 2, 3, 3))
        self.inputs = draw.choice((1, 2, 2))
        self.dtypes = [draw.choice(_DTYPES) for _ in range(self.inputs)]
        self.single = [
            {a for a in range(self.rank) if k and draw.random() < 0.2}
            for k in range(self.inputs)
        ]
        self.text: list[str] = []
        self.steps: list[Step] = []
        #: The arrays of an example, by which steps are chosen that fit.
        self.example: list[Any] = list(self.arrays())
        for _ in range(draw.randint(1, 6)):
            step = self._step()
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = step(self.example)
            except (ValueError, TypeError, IndexError):
                self.text.pop()
                continue
            self.steps.append(step)
            self.example.append(made)

    def __call__(self, values: list[Any]) -> Any:
        found = list(values)
        for step in self.steps:
            found.append(step(found))
        return found[-1]

    def arrays(self) -> list[Pixels]:
        """Inputs of some shape; of later ones some extents are 1."""
        draw = self.random
        shape = [draw.choice((2, 3, 4, 5, 7, 8, 16, 33)) for _ in range(self.rank)]
        found = []
        for ones, dtype in zip(self.single, self.dtypes, strict=True):
            own = [1 if a in ones else n for a, n in enumerate(shape)]
            made = pixels(own, dtype, draw.randrange(1 << 30))
            found.append(self._laid_out(made))
        return found

    def _laid_out(self, array: Pixels) -> Pixels:
        how = self.random.choice(("C", "C", "C", "F", "backwards"))
        if how == "F":
            return np.asfortranarray(array)
        return array[::-1][::-1] if how == "C" else array[::-1]

    def _step(self) -> Step:
        draw = self.random
        i, j = (draw.randrange(len(self.example)) for _ in range(2))
        kind = draw.choice(_KINDS)
        self.text.append(f"{kind} {i} {j}")
        made: Step = getattr(self, f"_{kind}")(i, j)
        return made

    def _binary(self, i: int, j: int) -> Step:
        name = self.random.choice(_BINARY)
        pair = self._pair(i, j)
        self.text[-1] = f"{name} {i} {j}"

        def step(v: list[Any]) -> Any:
            a, b = pair(v)
            if name in ("subtract", "floor_divide", "remainder"):
                a, b = _number(a), _number(b)
            return getattr(np, name)(a, b)

        return step

    def _pair(self, i: int, j: int) -> Callable[[list[Any]], tuple[Any, Any]]:
        """Two arrays that fit together: else an element stands for the second."""
        try:
            np.broadcast_shapes(self.example[i].shape, self.example[j].shape)
        except ValueError:
            return lambda v: (v[i], v[j][(0,) * v[j].ndim])
        return lambda v: (v[i], v[j])

    def _weak(self, i: int, _: int) -> Step:
        n = self.random.choice((1, 2, 3, 7, 0.5, 1.25))
        self.text[-1] = f"weak {i} {n}"
        return lambda v: (_number(v[i]) + n) * n

    def _extent(self, i: int, _: int) -> Step:
        draw = self.random
        name = draw.choice(("add", "multiply", "maximum", "less"))
        axis, which = draw.randrange(self.rank), draw.randrange(len(_OF_EXTENTS))
        self.text[-1] = f"{name} {i} and number {which} of shape[{axis}]"

        def step(v: list[Any]) -> Any:
            a = _number(v[i])
            if axis >= a.ndim:
                return a
            return getattr(np, name)(a, _OF_EXTENTS[which](a.shape[axis]))

        return step

    def _unary(self, i: int, _: int) -> Step:
        name = self.random.choice(_UNARY)
        self.text[-1] = f"{name} {i}"
        return lambda v: getattr(np, name)(_number(v[i]))

    def _where(self, i: int, j: int) -> Step:
        limit, pair = self.random.randrange(100), self._pair(i, j)

        def step(v: list[Any]) -> Any:
            a, b = pair(v)
            return np.where(a > limit, a, b)

        return step

    def _cast(self, i: int, _: int) -> Step:
        to = self.random.choice(("float32", "int16", "int64", "bool"))
        # Floats beyond the range of an integer have no result.
        return lambda v: (
            np.clip(v[i], -100, 100).astype(to)
            if v[i].dtype.kind == "f"
            else v[i].astype(to)
        )

    def _slice(self, i: int, _: int) -> Step:
        draw = self.random
        steps = [draw.choice((None, None, 1, 2, -1, -2)) for _axis in range(4)]
        ends = [(self._end(axis), self._end(axis)) for axis in range(4)]
        words = [f"{a[0]}:{b[0]}:{s}" for (a, b), s in zip(ends, steps, strict=True)]
        self.text[-1] = f"slice {i} {words}"

        def step(v: list[Any]) -> Any:
            parts = [
                slice(a[1](v[i]), b[1](v[i]), s)
                for (a, b), s in zip(ends, steps, strict=True)
            ]
            return v[i][tuple(parts[: v[i].ndim])]

        return step

    def _end(self, axis: int) -> tuple[str, Callable[[Any], Any]]:
        """An end of a slice along an axis: a number, or made of the array's extent."""
        draw = self.random
        number = draw.choice(_ENDS)
        if number is None or draw.random() < 0.7:
            return str(number), lambda a: number
        by = draw.choice((1, 1, 2, 3))
        return (
            f"shape[{axis}] // {by} + {number}",
            lambda a: a.shape[axis] // by + number if axis < a.ndim else number,
        )

    def _shift(self, i: int, _: int) -> Step:
        by = self.random.randint(-3, 3)
        self.text[-1] = f"roll {i} {by}"
        return lambda v: np.roll(v[i], by, axis=-1) if v[i].ndim else v[i]

    def _pad(self, i: int, _: int) -> Step:
        draw = self.random
        mode = draw.choice(_MODES)
        widths = [(draw.randrange(3), draw.randrange(3)) for _ in range(4)]
        self.text[-1] = f"pad {i} {mode} {widths}"
        return lambda v: np.pad(v[i], widths[: v[i].ndim], mode=mode)

    def _reduce(self, i: int, _: int) -> Step:
        draw = self.random
        name = draw.choice(("sum", "mean", "max", "min", "any", "all"))
        keep, place = draw.random() < 0.5, draw.randrange(4)
        self.text[-1] = f"{name} {i} {place} {keep}"

        def step(v: list[Any]) -> Any:
            a = v[i]
            if not a.ndim:
                return a
            return getattr(a, name)(axis=place % a.ndim, keepdims=keep)

        return step

    def _transpose(self, i: int, _: int) -> Step:
        return lambda v: np.transpose(v[i])

    def _stack(self, i: int, _: int) -> Step:
        axis = self.random.choice((0, -1))
        self.text[-1] = f"stack {i} {axis}"
        return lambda v: np.stack([v[i], _number(v[i]) + 1], axis)

    def _clip(self, i: int, _: int) -> Step:
        return lambda v: np.clip(_number(v[i]), 3, 60)

    def _place(self, i: int, _: int) -> Step:
        draw = self.random
        name, place = draw.choice(("argmax", "argmin")), draw.choice((None, 0, 1, -1))
        keep = draw.random() < 0.3
        self.text[-1] = f"{name} {i} {place} {keep}"

        def step(v: list[Any]) -> Any:
            axis = None if place is None or not v[i].ndim else place % v[i].ndim
            # Of few values, so that there are equals.
            return getattr(np, name)(v[i] // 8, axis=axis, keepdims=keep)

        return step

    def _reshape(self, i: int, _: int) -> Step:
        draw = self.random
        kind = draw.choice(("ravel", "last", "first", "binned", "there and back"))
        self.text[-1] = f"reshape {i} {kind}"

        def step(v: list[Any]) -> Any:
            a = v[i]
            if kind == "ravel" or not a.ndim:
                return np.reshape(a, -1)
            if kind == "last":
                return a.reshape((-1, a.shape[-1]))
            if kind == "first":
                return a.reshape((a.shape[0], -1))
            if kind == "binned":
                even = a[: a.shape[0] // 2 * 2]
                return even.reshape((a.shape[0] // 2, 2, *a.shape[1:])).max(1)
            return (np.ravel(a)[::-1]).reshape(a.shape)

        return step

    def _repeat(self, i: int, _: int) -> Step:
        times, axis = self.random.randrange(1, 4), self.random.choice((0, -1, None))
        tiled = self.random.random() < 0.5
        self.text[-1] = f"{'tile' if tiled else 'repeat'} {i} {times} {axis}"

        def step(v: list[Any]) -> Any:
            a = v[i]
            if tiled:
                return np.tile(a, (times,) if axis is None else (times, 1))
            return np.repeat(a, times, axis=axis if a.ndim else None)

        return step

    def _turn(self, i: int, _: int) -> Step:
        k, axes = self.random.randrange(-1, 4), self.random.choice(((0, 1), (-1, 0)))
        self.text[-1] = f"rot90 {i} {k} {axes}"
        return lambda v: np.rot90(v[i], k, axes) if v[i].ndim > 1 else np.diff(v[i][:2])

    def _matmul(self, i: int, j: int) -> Step:
        flat = self.random.random() < 0.3
        self.text[-1] = f"matmul {i} {j} {flat}"

        def step(v: list[Any]) -> Any:
            a, b = _number(v[i]), _number(v[j])
            if flat:
                return np.vdot(a, a[..., ::-1])
            return np.matmul(a, np.swapaxes(a, -1, -2)) if a.ndim > 1 else a * b.sum()

        return step

    def _picked(self, i: int, _: int) -> Step:
        listed, axis = self.random.choice(([1, 0], [0, 0, -1], [[0], [1]])), -1
        self.text[-1] = f"picked {i} {listed}"
        return lambda v: np.take(v[i], listed, axis=axis) if v[i].ndim else v[i]

    def _index_extent(self, i: int, _: int) -> Step:
        by, back = self.random.choice((1, 2, 3)), self.random.random() < 0.5
        self.text[-1] = f"index by extent {i} {by} {back}"

        def step(v: list[Any]) -> Any:
            a = v[i]
            at = (a.shape[0] - 1) // by
            return a[-1 - at if back else at]

        return step

    def _differences(self, i: int, _: int) -> Step:
        n, axis = self.random.choice((1, 1, 2)), self.random.choice((0, -1))
        self.text[-1] = f"diff {i} {n} {axis}"
        return lambda v: np.diff(v[i], n, axis)

    def _quantile(self, i: int, j: int) -> Step:
        draw = self.random
        share = draw.choice((0, 0.1, 0.5, 0.77, 1, [0.25, 0.9]))
        several, pair = draw.random() < 0.4, self._pair(i, j)
        self.text[-1] = f"quantile {i} {j} {share} {several}"

        def step(v: list[Any]) -> Any:
            a = _number(v[i])
            # In an integer's own type NumPy's differences wrap.
            a = a.astype("float64") if a.dtype.kind != "f" else a
            if not several:
                return np.quantile(a, share)
            _, b = pair(v)
            both = np.stack([a, a * 2 - 3, a[..., ::-1] if a.ndim else a])
            return np.quantile(both, share, axis=0) + np.min(b)

        return step


def _number(a: Any) -> Any:
    return a.astype("int16") if a.dtype == np.bool_ else a


def outcome(function: Callable[[], Any]) -> Any:
    """What a function of NumPy's arrays returns; an error as a value."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except (ValueError, IndexError) as error:
            return error


def try_one(seed: int, sizes: int = 3) -> bool:
    """Draws a function and compares it on several sizes. Returns whether it did."""
    drawn = Drawn(seed)
    if not drawn.steps:
        return False
    names = ", ".join([f"a{k}" for k in range(drawn.inputs)])
    compiled = hl.jit(eval(f"lambda {names}: f([{names}])", {"f": drawn}))
    for _ in range(sizes):
        arrays = drawn.arrays()
        wanted = outcome(lambda arrays=arrays: drawn(list(arrays)))  # type: ignore[misc]
        try:
            found = compiled(*arrays)
        except hl.BoundsError as error:
            if isinstance(wanted, Exception) or "happens to be 1" in str(error):
                continue
            raise
        if isinstance(wanted, Exception):
            continue  # NumPy pads nothing that is empty
        _agree(found, wanted)
    return True


def _agree(found: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    if wanted.dtype.kind == "f":
        scale = float(np.max(np.abs(wanted), initial=1.0, where=np.isfinite(wanted)))
        found, wanted = np.asarray(found) / scale, wanted / scale
    agree(found, wanted, 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.whole.fuzz")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    end, seed, count = time.monotonic() + given.seconds, given.seed, 0
    failed = []
    while time.monotonic() < end:
        try:
            count += try_one(seed)
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {error!s:.300}")
            print("  " + "; ".join(Drawn(seed).text))
        seed += 1
    print(f"{count} functions, {len(failed)} failed: {failed}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
