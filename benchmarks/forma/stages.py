"""Emboss, blur and Canny's detector as Halide has them, with schedules by hand.

Halide's package has a schedule of a blur; the others are ours. Outputs are one or two
points smaller on each side than the image: there are no boundary conditions, and what
Forma computes inside is the same.
"""

from __future__ import annotations

from apps.common import App, Module, natural_lanes

#: Lines that a thread takes at a time.
STRIP = 32


def emboss(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    out = hl.Func("emboss")
    out[x, y] = (
        image[x + 1, y]
        + image[x, y + 1]
        - image[x - 1, y]
        - image[x, y - 1]
        + image[x, y]
    )
    return App(out, {"image": image}, {})


def blur(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    lines, out = hl.Func("blurx"), hl.Func("blury")
    lines[x, y] = image[x - 1, y] + image[x, y] + image[x + 1, y]
    out[x, y] = lines[x, y - 1] + lines[x, y] + lines[x, y + 1]
    return App(out, {"image": image}, {"lines": lines})


def canny(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(16), 2, "image")
    low, high = (hl.Param(hl.Int(32), name) for name in ("low", "high"))
    funcs = {}

    def gauss(name: str, f: Module, dx: int, dy: int) -> Module:
        at = [hl.i32(f[x + k * dx, y + k * dy]) for k in range(-2, 3)]
        total = at[0] + 4 * at[1] + 6 * at[2] + 4 * at[3] + at[4] + 8
        funcs[name] = hl.Func(name)
        funcs[name][x, y] = hl.i16(total / 16)
        return funcs[name]

    smooth = gauss("gauss_y", gauss("gauss_x", image, 1, 0), 0, 1)

    def sobel(name: str, ax: int, ay: int) -> Module:
        """Along (ax, ay), smoothed across it."""
        found = hl.i32(0)
        for across, weight in ((-1, 1), (0, 2), (1, 1)):
            dx, dy = ay * across, ax * across
            ahead = hl.i32(smooth[x + dx + ax, y + dy + ay])
            found = found + weight * (ahead - hl.i32(smooth[x + dx - ax, y + dy - ay]))
        funcs[name] = hl.Func(name)
        funcs[name][x, y] = hl.i16(found)
        return funcs[name]

    gx, gy = sobel("slope_x", 1, 0), sobel("slope_y", 0, 1)
    length, edges, out = hl.Func("length"), hl.Func("edges"), hl.Func("canny")
    i, j = hl.i32(gx[x, y]), hl.i32(gy[x, y])
    length[x, y] = i * i + j * j
    here = length[x, y]

    def beyond(dx: int, dy: int, is_strict: bool) -> Module:
        """Whether it is longer than its neighbours in one direction."""
        before, behind = length[x - dx, y - dy], length[x + dx, y + dy]
        return (here > before) & ((here > behind) if is_strict else (here >= behind))

    wide = hl.i32(hl.abs(i))
    across, up = wide * 13573, hl.i32(hl.abs(j)) * 32768
    falling = (i < 0) == (j < 0)
    diagonal = (falling & beyond(1, 1, True)) | (~falling & beyond(-1, 1, True))
    side = (up < across) & beyond(1, 0, False)
    is_steep = up > across + wide * 65536
    above = is_steep & beyond(0, 1, False)
    is_between = ~(up < across) & ~is_steep
    is_longest = side | above | (is_between & diagonal)
    edges[x, y] = hl.select(is_longest, here, 0)
    near = edges[x - 1, y - 1]
    for dx, dy in ((0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)):
        near = hl.max(near, edges[x + dx, y + dy])
    at = edges[x, y]
    is_edge = (at > high * high) | ((at > low * low) & (near > high * high))
    out[x, y] = hl.select(is_edge, hl.i8(1), hl.i8(0))
    funcs |= {"length": length, "edges": edges}
    return App(out, {"image": image}, funcs, {"low": low, "high": high})


def rows(hl: Module, app: App) -> None:
    """Strips of lines over the threads. Within one, each stage slides along."""
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    lanes = natural_lanes(hl, hl.Float(32))
    app.output.split(y, y, yi, STRIP).parallel(y).vectorize(x, lanes)
    for f in app.funcs.values():
        f.store_at(app.output, y).compute_at(app.output, yi).vectorize(x, lanes)


def tiles(hl: Module, app: App) -> None:
    """Tiles over the threads, each stage as a whole within one."""
    x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
    lanes = natural_lanes(hl, hl.Float(32))
    out = app.output
    out.tile(x, y, xi, yi, 256, STRIP).vectorize(xi, lanes).parallel(y)
    for f in app.funcs.values():
        f.compute_at(out, x).vectorize(x, lanes)


def windows(hl: Module, app: App) -> None:
    """Eight lines of the output at a time, the rest inlined: each line of the image is
    read from its start to its end."""
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    lanes = natural_lanes(hl, hl.Float(32))
    out = app.output
    out.split(y, y, yi, 8).reorder(yi, x, y).vectorize(x, lanes).unroll(yi).parallel(y)


__all__ = ["blur", "canny", "emboss", "rows", "tiles", "windows"]
