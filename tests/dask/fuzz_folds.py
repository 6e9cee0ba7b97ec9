"""Random reductions over whole images, folded chunk by chunk, against one run.

A case is one reduction: of any operation that is known to be associative, over all of
an image or a part of it, with a predicate at random, forwards, backwards or in steps,
to a number, a row, a histogram or several values that belong together; with other
definitions before and after it; scheduled at random; read by another Func at random.
Sums of floats are of small integers, so that they are exact in any order.
"""

from __future__ import annotations

import random
from typing import Any

import dask.array as da
import numpy as np

import parhelion as hl
import parhelion.dask as hd

x, y, u = hl.vars("x y u")
Pixels = np.ndarray[Any, np.dtype[Any]]
TYPES = (hl.UInt(8), hl.Int(16), hl.Int(32), hl.Float(32))


class Case:
    """One random reduction, its image and what is asked for."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        pixels = np.random.default_rng(seed)
        self.told: list[str] = []
        self.type = r.choice(TYPES)
        reader = r.random() < 0.4
        self.shape = r.randint(1, 40), r.randint(70 if reader else 1, 140)
        self.pixels: Pixels = pixels.integers(0, r.choice((3, 200)), self.shape)
        self.pixels = self.pixels.astype(self.type.to_numpy())
        self.image = hl.ImageParam(self.type, 2, "image")
        self.domain = self._domain()
        self.tell(f"{self.type} {self.shape}")
        kind = r.choice(("number", "row", "column", "histogram", "extreme", "complex"))
        self.sizes: tuple[int, ...] = ()
        self.func = getattr(self, f"_{kind}")(hl.Func("folded"))
        self.tell(f"{kind} of {self.sizes}")
        self._schedule(kind)
        self.output = self.func
        if reader:
            self.output = self._reader()

    def tell(self, text: str) -> None:
        self.told.append(text)

    def _domain(self) -> hl.RDom:
        r = self.random
        w: Any = self.image.width()
        h: Any = self.image.height()
        self.step = r.choice((1, 1, 1, 2))
        self.backwards = r.random() < 0.3
        rows, columns = self.shape
        if self.step == 2:
            w, columns = (w + 1) / 2, (columns + 1) // 2
        first = r.choice((0, 0, 3)) if columns > 3 else 0
        #: The longest axis of the domain.
        self.longest = max(rows, columns - first)
        domain = hl.RDom([(first, w - first), (0, h)])
        self.tell(f"from {first} in steps of {self.step}, backwards {self.backwards}")
        if r.random() < 0.4:
            domain.where((domain.x * 3 + domain.y) % r.randint(2, 5) != 1)
            self.tell("where")
        return domain

    def _pixel(self, px: Any = None, py: Any = None) -> hl.Expr:
        px = self.domain.x if px is None else px
        py = self.domain.y if py is None else py
        px = px * self.step
        if self.backwards:
            py = self.image.height() - 1 - py
        return self.image[px, py]

    def _operation(self, old: Any, value: hl.Expr) -> Any:
        """A fold of a value into an old one of its type."""
        kind = self.random.choice(("add", "add", "mul", "min", "max", "bits", "choice"))
        floats = old.type().is_float()
        if kind == "mul" and not floats:
            return old * (value | 1)
        if kind in ("min", "max"):
            return (hl.min if kind == "min" else hl.max)(old, value)
        if kind == "bits" and not floats:
            return self.random.choice((old & value, old | value, old ^ value))
        if kind == "choice":
            return hl.select(value > 2, old + value, old)
        return old + value

    def _number(self, f: hl.Func) -> hl.Func:
        f[()] = hl.cast(self._wide(), self.random.choice((0, 5)))
        f[()] = self._operation(f[()], hl.cast(self._wide(), self._pixel()))
        return f

    def _wide(self) -> hl.Type:
        return self.type if self.type.is_float() else hl.Int(32)

    def _row(self, f: hl.Func) -> hl.Func:
        """One value for each column of the image, or of a part of it."""
        self.sizes = (self.random.randint(1, self.shape[1]),)
        first = self.random.randint(0, self.shape[1] - self.sizes[0])
        rows = hl.RDom([(0, self.image.height())])
        self.longest = self.shape[0]
        f[x] = hl.cast(self._wide(), x)
        if self.random.random() < 0.3:
            f[x] = f[x] * 2
        value = hl.cast(self._wide(), self.image[x + first, rows.x])
        f[x] = self._operation(f[x], value)
        return f

    def _column(self, f: hl.Func) -> hl.Func:
        """Two values for each row of the image."""
        self.sizes = (self.shape[0],)
        columns = hl.RDom([(0, self.image.width())])
        self.longest = self.shape[1]
        value = hl.cast(self._wide(), self.image[columns.x, x])
        f[x] = hl.Tuple(hl.cast(self._wide(), 0), hl.cast(self._wide(), 1))
        f[x] = hl.Tuple(
            self._operation(f[x][0], value), self._operation(f[x][1], value + x)
        )
        return f

    def _histogram(self, f: hl.Func) -> hl.Func:
        self.sizes = (self.random.choice((16, 256)),)
        f[x] = hl.i32(0)
        at = hl.i32(self._pixel()) % self.sizes[0]
        f[at] += self.random.choice((hl.i32(1), hl.i32(self._pixel())))
        if self.random.random() < 0.3:
            f[x] = f[x] * 2 + 1
        return f

    def _extreme(self, f: hl.Func) -> hl.Func:
        """The place of an extreme: the first or the last of equal ones."""
        value = self._pixel()
        start = 100 if self.random.random() < 0.3 else 0
        f[()] = hl.Tuple(hl.cast(self.type, start), hl.i32(-1), hl.i32(-1))
        old = f[()][0]
        compare = self.random.choice((value > old, value >= old, value < old))
        f[()] = hl.Tuple(
            hl.select(compare, value, old),
            hl.select(compare, self.domain.x, f[()][1]),
            hl.select(compare, self.domain.y, f[()][2]),
        )
        return f

    def _complex(self, f: hl.Func) -> hl.Func:
        a, b = hl.i32(self._pixel()) + 1, hl.i32(self._pixel()) - self.domain.y
        f[()] = hl.Tuple(hl.i32(1), hl.i32(0))
        re, im = f[()][0], f[()][1]
        f[()] = hl.Tuple(re * a - im * b, re * b + im * a)
        return f

    def _schedule(self, kind: str) -> None:
        r, f = self.random, self.func
        f.compute_root()
        update = f.update(f.num_update_definitions() - 1)
        if kind not in ("number", "histogram") or f.num_update_definitions() > 1:
            return
        how = r.choice(("none", "split", "reorder", "rfactor"))
        domain = self.domain
        if how == "split":
            update.split(domain.x, hl.RVar("ro"), hl.RVar("ri"), r.choice((2, 8)))
        elif how == "reorder" and kind == "histogram":
            update.reorder(domain.y, domain.x)
        elif how == "rfactor":
            update.rfactor(domain.y, u).compute_root()
        self.tell(f"schedule: {how}")

    def _reader(self) -> hl.Func:
        """A Func that reads the result at each pixel."""
        out = hl.Func("out")
        found: Any = self.func[tuple([hl.clamp(x, 0, n - 1) for n in self.sizes])]
        if self.func.outputs() > 1:
            found = found[self.random.randrange(self.func.outputs())]
        out[x, y] = hl.cast(hl.Float(64), found) + self.image[x, y]
        self.sizes = self.shape[1], self.shape[0]
        self.tell("read by another Func")
        return out

    def _chunks(self, n: int) -> tuple[int, ...]:
        r = self.random
        if r.random() < 0.2:
            return (n,)
        most, sizes = r.choice((2, 7, 20, 40)), list[int]()
        while sum(sizes) < n:
            sizes.append(min(r.randint(1, most), n - sum(sizes)))
        return tuple(sizes)

    def whole(self) -> list[Pixels]:
        """The result of one run."""
        self.image.set(self.pixels)
        made: Any = self.output.realize(list(self.sizes))
        several = made if isinstance(made, tuple | list) else [made]
        return [np.asarray(b) for b in several]

    def in_chunks(self) -> list[Pixels]:
        """The result, folded chunk by chunk."""
        r = self.random
        chunks = tuple([self._chunks(n) for n in self.shape])
        asked: dict[str, Any] = {"split_every": r.choice((2, 3, 4))}
        if r.random() < 0.2:
            asked["memory"] = r.choice((20_000, 100_000))
        self.tell(f"chunks {chunks}, {asked}")
        array = da.from_array(self.pixels, chunks=chunks)
        shape = tuple(reversed(self.sizes))
        lazy = hd.reduce(self.output, array, shape=shape, **asked)
        several = lazy if isinstance(lazy, tuple) else (lazy,)
        return [np.asarray(a.compute(scheduler="synchronous")) for a in several]


def check(seed: int) -> str:
    """What one case has come to: "same", or "refused" where no image of one run of all
    is folded, as it is a window. Raises AssertionError, with how it was made, if they
    differ."""
    case = Case(seed)
    whole = case.whole()
    try:
        found = case.in_chunks()
    except hl.ScheduleError as error:
        windows = case.output is not case.func and case.longest <= 64
        if windows and "folds an image over an RDom" in error.what:
            return "refused"
        told = "\n".join(case.told)
        raise AssertionError(f"fold {seed} is refused: {error}\n{told}") from error
    except Exception as error:
        told = "\n".join(case.told)
        raise AssertionError(f"fold {seed} failed: {error}\n{told}") from error
    for a, b in zip(found, whole, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape or not np.array_equal(a, b):
            told = "\n".join(case.told)
            raise AssertionError(f"fold {seed} differs: {a} {b}\n{told}")
    return "same"
