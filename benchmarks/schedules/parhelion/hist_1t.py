# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    hist_rows = pipeline.get_func(3)
    hist = pipeline.get_func(4)
    cdf = pipeline.get_func(5)
    output = pipeline.get_func(7)
    i, iu, y, yi, yv, iv, x, xv, c, cu = hl.vars("i iu y yi yv iv x xv c cu")
    rx_x = hist_rows.rvars(0)[0]
    ry_x = hist.rvars(0)[0]

    # hist_rows
    (
        hist_rows.compute_root()
        .split(i, i, iu, 12, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 256)
        .split(yi, yi, yv, 32)
        .reorder(yv, iu, yi, i, y)
        .unroll(iu)
        .vectorize(yv, 16)
        .unroll(yv)
        .parallel(y)
    )
    (
        hist_rows.update(0)
        .split(y, y, yi, 256)
        .split(yi, yi, yv, 32)
        .reorder(yv, rx_x, yi, y)
        .vectorize(yv, 16)
        .unroll(yv)
        .parallel(y)
    )

    # hist
    (
        hist.compute_root()
        .split(i, i, iv, 64, hl.TailStrategy.RoundUp)
        .reorder(iv, i)
        .vectorize(iv, 16)
        .unroll(iv)
    )
    (
        hist.update(0)
        .split(i, i, iv, 64, hl.TailStrategy.RoundUp)
        .reorder(iv, ry_x, i)
        .vectorize(iv, 16)
        .unroll(iv)
        .parallel(i)
    )

    # cdf
    (
        cdf.compute_root()
        .split(i, i, iv, 64, hl.TailStrategy.RoundUp)
        .reorder(iv, i)
        .vectorize(iv, 16)
        .unroll(iv)
    )

    # output
    (
        output.split(x, x, xv, 64)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # cdf
    cdf.update(0).unscheduled()
