"""Pyramids and exposure fusion as Halide has them, with schedules by hand.

Edges are those of Halide's applications: an image is repeated at its edge, and all
stages are computed beyond it. Away from edges that is what Forma computes.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.common import App, Module, natural_lanes
from apps.forma.pyramids import DEPTH

#: Lines that a thread takes at a time.
STRIP = 32
#: Images of an exposure fusion.
IMAGES = 4


class _Pyramids:
    """Makes Funcs of x, y and perhaps more dimensions, and keeps them by name."""

    def __init__(self, hl: Module) -> None:
        self.hl = hl
        self.x, self.y = hl.Var("x"), hl.Var("y")
        self.funcs: dict[str, Module] = {}

    def func(self, name: str, more: Sequence[Module], value: Module) -> Module:
        f = self.hl.Func(name)
        f[(self.x, self.y, *more)] = value
        self.funcs[name] = f
        return f

    def down(self, name: str, f: Module, more: Sequence[Module]) -> Module:
        """Half the width and height."""
        x, y = self.x, self.y
        before, here = f[(2 * x - 1, y, *more)], f[(2 * x, y, *more)]
        value = (before + 2.0 * here + f[(2 * x + 1, y, *more)]) / 4.0
        lines = self.func(f"{name}_down", more, value)
        before, here = lines[(x, 2 * y - 1, *more)], lines[(x, 2 * y, *more)]
        value = (before + 2.0 * here + lines[(x, 2 * y + 1, *more)]) / 4.0
        return self.func(name, more, value)

    def up(self, name: str, f: Module, more: Sequence[Module]) -> Module:
        """Twice the width and height, at x, y."""
        x, y = self.x, self.y
        beside = x / 2 - 1 + 2 * (x % 2)
        value = (3.0 * f[(x / 2, y, *more)] + f[(beside, y, *more)]) / 4.0
        lines = self.func(f"{name}_up", more, value)
        beyond = y / 2 - 1 + 2 * (y % 2)
        return (3.0 * lines[(x, y / 2, *more)] + lines[(x, beyond, *more)]) / 4.0


def pyramid(hl: Module) -> App:
    made = _Pyramids(hl)
    x, y = made.x, made.y
    image = hl.ImageParam(hl.Float(32), 2, "image")
    clamped = hl.BoundaryConditions.repeat_edge(image)
    gaussian = [clamped]
    for j in range(1, DEPTH + 1):
        gaussian.append(made.down(f"g{j}", gaussian[-1], ()))
    outputs = []
    for j in range(DEPTH):
        detail = gaussian[j][x, y] - made.up(f"l{j}", gaussian[j + 1], ())
        outputs.append(made.func(f"l{j}", (), detail))
    rest = made.func(f"l{DEPTH}", (), gaussian[DEPTH][x, y])
    return App(hl.Pipeline([*outputs, rest]), {"image": image}, made.funcs)


def _weight(made: _Pyramids, image: Module, k: Module) -> Module:
    """What exposure_fusion.forma gives a point of the image k as its weight."""
    hl, x, y = made.hl, made.x, made.y
    r, g, b = (image[x, y, c, k] for c in range(3))
    red, green, blue = (hl.f32(v) for v in (0.299, 0.587, 0.114))
    grey = made.func("grey", (k,), red * r + green * g + blue * b)
    around = grey[x - 1, y, k] + grey[x, y - 1, k]
    around = around + grey[x + 1, y, k] + grey[x, y + 1, k]
    contrast = hl.abs(around - 4.0 * grey[x, y, k])
    mean = (r + g + b) / 3.0

    def squares(middle: Module) -> Module:
        away = [v - middle for v in (r, g, b)]
        return away[0] * away[0] + away[1] * away[1] + away[2] * away[2]

    saturation = hl.sqrt(squares(mean) / 3.0)
    exposed = hl.exp(-12.5 * squares(0.5))
    return contrast * saturation * exposed + hl.f32(1e-6)


def fusion(hl: Module) -> App:
    """Point by point, from one image of four dimensions: x, y, colour and exposure."""
    made = _Pyramids(hl)
    x, y, c, k = made.x, made.y, hl.Var("c"), hl.Var("k")
    images = hl.ImageParam(hl.Float(32), 4, "images")
    clamped = hl.BoundaryConditions.repeat_edge(images)
    weight = made.func("weight", (k,), _weight(made, clamped, k))
    whole = hl.f32(0)
    mixed = hl.f32(0)
    for i in range(IMAGES):
        whole = whole + weight[x, y, i]
        mixed = mixed + weight[x, y, i] * images[x, y, c, i]
    out = made.func("fused", (c,), mixed / whole)
    return App(out, {"images": images}, made.funcs)


def fusion_by_pyramids(hl: Module) -> App:
    made = _Pyramids(hl)
    x, y, c, k = made.x, made.y, hl.Var("c"), hl.Var("k")
    images = hl.ImageParam(hl.Float(32), 4, "images")
    clamped = hl.BoundaryConditions.repeat_edge(images)
    raw = made.func("raw", (k,), _weight(made, clamped, k))
    whole = raw[x, y, 0] + raw[x, y, 1] + raw[x, y, 2] + raw[x, y, 3]
    weights = [made.func("w0", (k,), raw[x, y, k] / whole)]
    gaussian = [clamped]
    for j in range(1, DEPTH + 1):
        weights.append(made.down(f"w{j}", weights[-1], (k,)))
        gaussian.append(made.down(f"g{j}", gaussian[-1], (c, k)))

    def mixed(j: int, f: Module) -> Module:
        total = weights[j][x, y, 0] * f[x, y, c, 0]
        for i in range(1, IMAGES):
            total = total + weights[j][x, y, i] * f[x, y, c, i]
        return total

    out = made.func(f"o{DEPTH}", (c,), mixed(DEPTH, gaussian[DEPTH]))
    for j in range(DEPTH - 1, -1, -1):
        detail = gaussian[j][x, y, c, k] - made.up(f"l{j}", gaussian[j + 1], (c, k))
        laplacian = made.func(f"l{j}", (c, k), detail)
        out = made.func(
            f"o{j}", (c,), mixed(j, laplacian) + made.up(f"o{j}", out, (c,))
        )
    result = hl.Func("fused")
    result[x, y, c] = hl.clamp(out[x, y, c], 0.0, 1.0)
    return App(result, {"images": images}, made.funcs)


def _lines(hl: Module, f: Module, at: Sequence[Module]) -> None:
    """A Func by itself: lines in vectors, strips of them over the threads; those of
    `at`, which it reads, line by line in it."""
    x, y, yo = hl.Var("x"), hl.Var("y"), hl.Var("yo")
    lanes = natural_lanes(hl, hl.Float(32))
    guard = hl.TailStrategy.GuardWithIf
    f.split(y, yo, y, 8, guard).parallel(yo).vectorize(x, lanes, guard)
    for other in at:
        other.store_at(f, yo).compute_at(f, y).vectorize(x, lanes, guard)


def schedule_pyramid(hl: Module, app: App) -> None:
    """Each level as a whole; what is between two levels, in lines of one of them."""
    funcs = app.funcs
    for j in range(1, DEPTH + 1):
        _lines(hl, funcs[f"g{j}"].compute_root(), [funcs[f"g{j}_down"]])
    for j in range(DEPTH):
        _lines(hl, funcs[f"l{j}"], [funcs[f"l{j}_up"]])


def schedule_pyramid_inlined(hl: Module, app: App) -> None:
    """Each level as a whole, all else inlined: what Halide's applications do."""
    for j in range(1, DEPTH + 1):
        _lines(hl, app.funcs[f"g{j}"].compute_root(), [])
    for j in range(DEPTH):
        _lines(hl, app.funcs[f"l{j}"], [])


def schedule_fusion(hl: Module, app: App) -> None:
    """Strips of lines; luminance slides along, weights are shared by the colours."""
    x, y, yo, c, k = (hl.Var(n) for n in ("x", "y", "yo", "c", "k"))
    lanes = natural_lanes(hl, hl.Float(32))
    out = app.output
    out.bound(c, 0, 3).reorder(c, x, y).unroll(c)
    out.split(y, yo, y, STRIP).parallel(yo).vectorize(x, lanes)
    app.funcs["grey"].store_at(out, yo).compute_at(out, y).vectorize(x, lanes)
    weight = app.funcs["weight"].compute_at(out, x).vectorize(x, lanes)
    weight.bound(k, 0, IMAGES).unroll(k)


def schedule_fusion_root(hl: Module, app: App) -> None:
    """Luminance as a whole, weights in lines of the output."""
    x, y, c, k = (hl.Var(n) for n in ("x", "y", "c", "k"))
    lanes = natural_lanes(hl, hl.Float(32))
    out = app.output
    out.bound(c, 0, 3).reorder(x, c, y).parallel(y, 8).vectorize(x, lanes)
    grey = app.funcs["grey"].compute_root()
    grey.bound(k, 0, IMAGES).parallel(y, 8).vectorize(x, lanes)
    app.funcs["weight"].compute_at(out, y).vectorize(x, lanes)


def schedule_fusion_by_pyramids(hl: Module, app: App) -> None:
    """Each level of images, weights and results as a whole; what is between two levels,
    in lines of one of them; details inlined."""
    funcs = app.funcs
    for name in ("raw", "w0"):
        _lines(hl, funcs[name].compute_root(), [])
    funcs["grey"].compute_root().vectorize(hl.Var("x"), 8).parallel(hl.Var("y"), 8)
    for j in range(1, DEPTH + 1):
        for name in (f"w{j}", f"g{j}"):
            _lines(hl, funcs[name].compute_root(), [funcs[f"{name}_down"]])
    _lines(hl, funcs[f"o{DEPTH}"].compute_root(), [])
    for j in range(1, DEPTH):
        between = [funcs[f"l{j}_up"], funcs[f"o{j}_up"]]
        _lines(hl, funcs[f"o{j}"].compute_root(), between)
    _lines(hl, app.output, [funcs["l0_up"], funcs["o0_up"]])


def schedule_fusion_inlined(hl: Module, app: App) -> None:
    """Each level of images, weights and results as a whole, all else inlined."""
    funcs = app.funcs
    names = ["grey", "raw", "w0"]
    names += [f"{n}{j}" for j in range(1, DEPTH + 1) for n in "wgo"]
    for name in names:
        _lines(hl, funcs[name].compute_root(), [])
    _lines(hl, app.output, [])


__all__ = [
    "fusion",
    "fusion_by_pyramids",
    "pyramid",
    "schedule_fusion",
    "schedule_fusion_by_pyramids",
    "schedule_fusion_inlined",
    "schedule_fusion_root",
    "schedule_pyramid",
    "schedule_pyramid_inlined",
]
