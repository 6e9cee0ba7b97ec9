# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    Y = pipeline.get_func(0)
    Cb = pipeline.get_func(1)
    Cr = pipeline.get_func(2)
    hist_rows = pipeline.get_func(3)
    hist = pipeline.get_func(4)
    cdf = pipeline.get_func(5)
    equalized = pipeline.get_func(6)
    output = pipeline.get_func(7)
    x, xi, y, yi, xv, c, i, iv, ii, yv = hl.vars("x xi y yi xv c i iv ii yv")
    ry_x = hist.rvars(0)[0]
    rx_x = hist_rows.rvars(0)[0]

    # output
    (
        output.split(x, x, xi, 64)
        .split(y, y, yi, 512)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, c, yi, y, x)
        .unroll(xi)
        .vectorize(xv)
        .parallel(x)
    )

    # equalized
    equalized.compute_at(output, y).split(x, x, xv, 16).vectorize(xv)

    # Cr
    Cr.compute_at(output, y).split(x, x, xv, 16).vectorize(xv)

    # Cb
    Cb.compute_at(output, y).split(x, x, xv, 16).vectorize(xv)

    # cdf
    (
        cdf.compute_root()
        .split(i, i, iv, 16, hl.TailStrategy.RoundUp)
        .vectorize(iv)
        .parallel(i)
    )

    # hist
    (
        hist.compute_root()
        .split(i, i, iv, 16, hl.TailStrategy.RoundUp)
        .vectorize(iv)
        .parallel(i)
    )
    (
        hist.update(0)
        .split(i, i, ii, 32, hl.TailStrategy.RoundUp)
        .split(ii, ii, iv, 16)
        .reorder(iv, ii, ry_x, i)
        .unroll(ii)
        .vectorize(iv)
        .parallel(i)
    )

    # hist_rows
    (
        hist_rows.compute_root()
        .split(i, i, iv, 16, hl.TailStrategy.RoundUp)
        .vectorize(iv)
        .parallel(y)
    )
    (
        hist_rows.update(0)
        .split(y, y, yi, 32)
        .split(yi, yi, yv, 16)
        .reorder(yv, yi, rx_x, y)
        .unroll(yi)
        .vectorize(yv)
        .parallel(y)
    )

    # Y
    Y.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(y)

    # cdf
    cdf.update(0).unscheduled()
