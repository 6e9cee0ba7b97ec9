"""Random pipelines on random chunks against one run on the whole arrays.

``python -m tests.dask.fuzz --cases 500 --seed 1``. A case is a few Funcs over one to
three images with borders: stencils of any reach, reductions over windows, scalings by
small ratios, transposes and flips, tables that pixels index, Tuples, and scans along an
axis; schedules at random; chunks of any size, most of them smaller than the halo. After
them come a quarter as many reductions over whole images (`tests.dask.fuzz_folds`), and
recursive filters (`tests.dask.fuzz_scans`).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

import parhelion as hl
import parhelion.dask as hd
from tests.dask import fuzz_folds, fuzz_scans

x, y = hl.vars("x y")
B = hl.BoundaryConditions
Pixels = np.ndarray[Any, np.dtype[Any]]
TYPES = (hl.UInt(8), hl.Int(16), hl.Int(32), hl.Float(32))


class Case:
    """One random pipeline, its images and what is asked for.

    told: how it was made, for who looks at a failure.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pixels = np.random.default_rng(seed)
        self.told: list[str] = []
        r = self.random
        self.shape = r.randint(1, 40), r.randint(1, 60)
        self.images: dict[hl.ImageParam, Pixels] = {}
        sources = [self._image(k) for k in range(r.choice((1, 1, 2, 3)))]
        self.funcs: list[hl.Func] = []
        for k in range(r.randint(1, 4)):
            made = self._func(k, sources)
            self.funcs.append(made)
            sources.append(made)
        self.output = self._output(sources)
        self._schedule()

    def tell(self, text: str) -> None:
        self.told.append(text)

    def _image(self, k: int) -> hl.Func:
        r = self.random
        t = r.choice(TYPES)
        image = hl.ImageParam(t, 2, f"image{k}")
        shape = self.shape
        if r.random() < 0.3:
            shape = r.randint(2, 50), r.randint(2, 50)
        dtype = t.to_numpy()
        if t.is_float():
            made: Pixels = self.pixels.random(shape, np.float32)
        else:
            made = self.pixels.integers(0, 200, shape).astype(dtype)
        self.images[image] = made
        borders: list[tuple[str, Callable[[hl.ImageParam], hl.Func]]] = [
            ("repeat_edge", B.repeat_edge),
            ("mirror_image", B.mirror_image),
            ("repeat_image", B.repeat_image),
            ("constant", lambda i: B.constant_exterior(i, hl.cast(t, 7))),
        ]
        if min(shape) > 1:
            borders.append(("mirror_interior", B.mirror_interior))
        name, border = r.choice(borders)
        self.tell(f"image{k}: {t} {shape}, {name}")
        return border(image)

    def _offset(self) -> int:
        return self.random.choice((0, 0, 1, -1, 2, -3, 5, -8, 13))

    def _at(self, f: hl.Func, px: Any, py: Any) -> hl.Expr:
        """A value of a Func of one or two values, as an int32 or a float."""
        found: Any = f[px, py]
        if f.outputs() > 1:
            found = found[self.random.randrange(f.outputs())]
        made = hl.cast(hl.Float(32), found) if self._floats else hl.i32(found)
        return made

    def _func(self, k: int, sources: list[hl.Func]) -> hl.Func:
        r = self.random
        self._floats = r.random() < 0.3
        f = hl.Func(f"f{k}")
        kind = r.choice(("stencil", "stencil", "sum", "tuple", "turn", "scan", "table"))
        g, h = r.choice(sources), r.choice(sources)
        a, b, c, d = (self._offset() for _ in range(4))
        self.tell(f"f{k}: {kind} of {g.name()}, {h.name()} at {a, b, c, d}")
        one = self._at(g, x + a, y + b)
        if kind == "sum":
            reach = r.randint(1, 4)
            window = hl.RDom([(-reach, 2 * reach + 1), (a, 2)])
            zero = hl.f32(0) if self._floats else hl.i32(0)
            f[x, y] = zero
            f[x, y] += self._at(g, x + window.x, y + window.y)
        elif kind == "tuple":
            f[x, y] = hl.Tuple(one, self._at(h, x + c, y + d) - 1)
        elif kind == "turn":
            f[x, y] = self._at(g, y + a, x + b) + self._at(g, 9 - x, y + c)
        elif kind == "scan":
            length = r.randint(1, 6)
            i = hl.RDom([(1, length)])
            f[x, y] = one
            f[x, y] = f[x, y] * 2 + self._at(g, x + i.x * a, y)
        elif kind == "table":
            index = hl.cast(hl.Int(32), hl.cast(hl.UInt(8), one))
            f[x, y] = self._at(h, x + index % r.randint(1, 30), y + c)
        else:
            f[x, y] = one * r.randint(1, 5) + self._at(h, x + c, y + d)
        return f

    def _output(self, sources: list[hl.Func]) -> hl.Func:
        r = self.random
        self._floats = False
        f, g = hl.Func("output"), sources[-1]
        up, down = r.choice(((1, 1), (1, 1), (1, 2), (2, 1), (3, 1), (1, 3), (2, 3)))
        self.scale = up, down
        self.extents = r.randint(1, 60), r.randint(1, 40)  # x, y
        if r.random() < 0.5:
            self.extents = self.shape[1], self.shape[0]
        a, b = self._offset(), self._offset()
        self.tell(f"output: {g.name()} at (x * {down} / {up} + {a}, … + {b})")
        px, py = (x * down) / up + a, (y * down) / up + b
        value = self._at(g, px, py)
        self._floats = r.random() < 0.3
        f[x, y] = hl.cast(r.choice(TYPES[1:]), value) if not self._floats else value
        return f

    def _schedule(self) -> None:
        r = self.random
        out = self.output
        lanes = r.choice((0, 0, 4, 8))
        if lanes:
            tail = r.choice(
                (hl.TailStrategy.Auto, hl.TailStrategy.GuardWithIf)
                + (hl.TailStrategy.RoundUp,) * 2
            )
            out.vectorize(x, lanes, tail)
            self.tell(f"output.vectorize(x, {lanes}, {tail.name})")
        parallel = r.random() < 0.4
        if parallel:
            out.parallel(y)
            self.tell("output.parallel(y)")
        for f in self.funcs:
            kind = r.choice(("inline", "root", "at", "slide"))
            if f is not self.funcs[-1] and kind in ("at", "slide"):
                kind = "root"  # the output does not read it
            if kind == "slide" and parallel:
                kind = "at"  # rows would overwrite each other's
            inlined = f.num_update_definitions() == 0
            if kind == "root" or (kind == "inline" and not inlined):
                f.compute_root()
            elif kind == "at":
                f.compute_at(out, y)
            elif kind == "slide":
                f.store_root().compute_at(out, y)
            if kind != "inline":
                self.tell(f"{f.name()}: {kind}")

    def _chunks(self, n: int) -> tuple[int, ...]:
        """A random way to cut an axis."""
        r = self.random
        if r.random() < 0.2:
            return (n,)
        most = r.choice((2, 3, 7, 20, 40))
        sizes: list[int] = []
        while sum(sizes) < n:
            sizes.append(min(r.randint(1, most), n - sum(sizes)))
        return tuple(sizes)

    def whole(self) -> Pixels:
        """The result of one run. Raises HalideError if there is none."""
        for image, pixels in self.images.items():
            image.set(pixels)
        made = self.output.realize(list(self.extents))
        assert isinstance(made, hl.Buffer)
        return np.asarray(made)

    def in_chunks(self) -> Pixels:
        """The result chunk by chunk."""
        r = self.random
        arrays: dict[Any, Any] = {}
        for image, pixels in self.images.items():
            chunks = tuple([self._chunks(n) for n in pixels.shape])
            self.tell(f"{image.name()} in chunks {chunks}")
            arrays[image] = da.from_array(pixels, chunks=chunks)
        shape = self.extents[1], self.extents[0]
        asked: dict[str, Any] = {}
        kind = r.choice(("given", "given", "follow", "auto"))
        if kind == "given":
            asked["chunks"] = tuple([self._chunks(n) for n in shape])
        elif kind == "auto":
            asked.update(rechunk="auto", workers=r.choice((1, 2, 50)))
        self.tell(f"shape {shape}, {asked or 'chunks follow'}")
        # Images that no Func reads are no ImageParams of the pipeline.
        read = {a.name for a in self.output.infer_arguments()}
        arrays = {i: a for i, a in arrays.items() if i.name() in read}
        lazy = hd.apply(self.output, arrays, shape=shape, **asked)
        found: Pixels = lazy.compute(scheduler="synchronous")
        return found


def check(seed: int) -> str:
    """What one case has come to: "same", or "refused" where there is no result of the
    whole arrays either. Raises AssertionError, with how it was made, if they differ."""
    case = Case(seed)
    try:
        whole = case.whole()
    except hl.HalideError as error:
        case.tell(f"whole: {error.what}")
        return "refused"
    try:
        found = case.in_chunks()
    except Exception as error:
        told = "\n".join(case.told)
        raise AssertionError(f"case {seed} failed: {error}\n{told}") from error
    if found.dtype != whole.dtype or not np.array_equal(found, whole):
        told = "\n".join(case.told)
        wrong = np.argwhere(found != whole)[:5].tolist()
        raise AssertionError(f"case {seed} differs at {wrong}\n{told}")
    return "same"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts: dict[str, int] = {}
    wrong = 0
    cases = [(check, k) for k in range(given.cases)]
    cases += [(fuzz_folds.check, k) for k in range(given.cases // 4)]
    cases += [(fuzz_scans.check, k) for k in range(given.cases // 4)]
    for one, k in cases:
        try:
            came_to = one(given.seed * 1_000_000 + k)
        except AssertionError as error:
            print(error, file=sys.stderr)
            came_to = "wrong"
            wrong += 1
        counts[came_to] = counts.get(came_to, 0) + 1
    print(", ".join([f"{n} {what}" for what, n in sorted(counts.items())]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
