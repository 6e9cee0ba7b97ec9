"""Histogram equalisation of a colour image (2012 paper, Figure 3).

A reduction counts the levels of the luminance, a scan integrates them, and a lookup
maps each pixel. The histogram is taken per line first, so that lines are independent.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main


def algorithm(hl: Module) -> App:
    x, y, c, i = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("i")
    inp = hl.ImageParam(hl.UInt(8), 3, "input")
    luma, cr, cb = hl.Func("Y"), hl.Func("Cr"), hl.Func("Cb")
    luma[x, y] = 0.299 * inp[x, y, 0] + 0.587 * inp[x, y, 1] + 0.114 * inp[x, y, 2]
    cr[x, y] = (inp[x, y, 0] - luma[x, y]) * 0.713 + 128
    cb[x, y] = (inp[x, y, 2] - luma[x, y]) * 0.564 + 128

    hist_rows, hist, cdf = hl.Func("hist_rows"), hl.Func("hist"), hl.Func("cdf")
    rx = hl.RDom([(0, inp.width())], "rx")
    ry = hl.RDom([(0, inp.height())], "ry")
    level = hl.i32(hl.clamp(luma[rx.x, y], 0, 255))
    hist_rows[i, y] = 0
    hist_rows[level, y] += 1
    hist[i] = 0
    hist[i] += hist_rows[i, ry.x]

    b = hl.RDom([(1, 255)], "b")
    cdf[i] = hist[0]
    cdf[b.x] = cdf[b.x - 1] + hist[b.x]

    equal, output = hl.Func("equalized"), hl.Func("output")
    scale = 255.0 / (inp.height() * inp.width())
    rank = cdf[hl.i32(hl.clamp(luma[x, y], 0, 255))]
    equal[x, y] = hl.clamp(rank * scale, 0, 255)
    red = hl.clamp(equal[x, y] + (cr[x, y] - 128) * 1.4, 0, 255)
    green = hl.clamp(
        equal[x, y] - 0.343 * (cb[x, y] - 128) - 0.711 * (cr[x, y] - 128), 0, 255
    )
    blue = hl.clamp(equal[x, y] + 1.765 * (cb[x, y] - 128), 0, 255)
    output[x, y, c] = hl.mux(c, [hl.u8(red), hl.u8(green), hl.u8(blue)])
    funcs = {
        "Y": luma,
        "Cr": cr,
        "Cb": cb,
        "hist_rows": hist_rows,
        "hist": hist,
        "cdf": cdf,
        "equalized": equal,
        "output": output,
    }
    rvars = {"rx": rx.x, "ry": ry.x}
    return App(output, {"input": inp}, funcs, rvars=rvars)


def schedule_inline(hl: Module, app: App) -> None:
    """Only the reductions are stored."""
    for name in ("hist_rows", "hist", "cdf"):
        app.funcs[name].compute_root()


def schedule_rows(hl: Module, app: App) -> None:
    """Lines in parallel, pixels in vectors."""
    x, y, c, i = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("i")
    funcs = app.funcs
    funcs["hist_rows"].compute_root().vectorize(i, 16).parallel(y, 16)
    funcs["hist_rows"].update(0).parallel(y, 16)
    funcs["hist"].compute_root().vectorize(i, 16)
    funcs["hist"].update(0).vectorize(i, 16)
    funcs["cdf"].compute_root()
    funcs["output"].bound(c, 0, 3).reorder(c, x, y).unroll(c)
    funcs["output"].parallel(y, 16).vectorize(x, 16)


def schedule_gpu(hl: Module, app: App) -> None:
    """A block counts a line by atomic additions in its shared memory. The lines' counts
    are added up by a thread for each level. One block has the running sum of these: its
    threads load and store the 256 numbers, of which one of them adds up each to those
    before it, in memory that they share."""
    x, y, c, i = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("i")
    tx, ty, ti, ri = hl.Var("tx"), hl.Var("ty"), hl.Var("ti"), hl.RVar("ri")
    funcs, rx = app.funcs, app.rvars["rx"]
    rows, hist = funcs["hist_rows"], funcs["hist"]
    lines = rows.in_(hist).compute_root().bound(i, 0, 256)
    lines.split(i, i, ti, 128).reorder(ti, i, y).gpu_blocks(y).gpu_threads(ti)
    rows.compute_at(lines, y).split(i, i, ti, 128).gpu_threads(ti)
    rows.update(0).atomic().split(rx, rx, ri, 128).gpu_threads(ri)
    hist.compute_root().gpu_tile(i, ti, 32)
    hist.update(0).gpu_tile(i, ti, 32)
    cdf, out = funcs["cdf"], funcs["output"]
    table = cdf.in_().compute_root().bound(i, 0, 256)
    table.split(i, i, ti, 256).gpu_blocks(i).gpu_threads(ti)
    hist.in_(cdf).compute_at(table, i).gpu_threads(i)
    cdf.compute_at(table, i).gpu_threads(i).update(0).unscheduled()
    out.bound(c, 0, 3)
    out.gpu_tile(x, y, tx, ty, 32, 8).reorder(c, tx, ty, x, y).unroll(c)


SCHEDULES = {"inline": schedule_inline, "rows": schedule_rows}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def with_numpy(image: Array) -> Array:
    """The same as NumPy array operations, on a (3, H, W) uint8 image."""
    red, green, blue = image.astype(np.float32)
    f = np.float32
    luma = f(0.299) * red + f(0.587) * green + f(0.114) * blue
    cr = (red - luma) * f(0.713) + 128
    cb = (blue - luma) * f(0.564) + 128
    level = np.clip(luma, 0, 255).astype(np.int32)
    cdf = np.cumsum(np.bincount(level.ravel(), minlength=256))
    equal = np.clip(cdf[level].astype(np.float32) * f(255 / level.size), 0, 255)
    out = (
        equal + (cr - 128) * f(1.4),
        equal - f(0.343) * (cb - 128) - f(0.711) * (cr - 128),
        equal + f(1.765) * (cb - 128),
    )
    return np.stack([np.clip(o, 0, 255).astype(np.uint8) for o in out])


def process(image: Array) -> Array:
    """Equalises a (3, H, W) uint8 image."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_rows(hl, app)
    return app.run({"input": image}, image.shape[::-1])


if __name__ == "__main__":
    main("hist", process)
