# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    Y = pipeline.get_func(0)
    hist_rows = pipeline.get_func(3)
    hist = pipeline.get_func(4)
    cdf = pipeline.get_func(5)
    output = pipeline.get_func(7)
    x, xv, y, i, iv, yu, c, cu = hl.vars("x xv y i iv yu c cu")
    rx_x = hist_rows.rvars(0)[0]
    ry_x = hist.rvars(0)[0]

    # Y
    Y.compute_root().split(x, x, xv, 16).reorder(xv, x, y).vectorize(xv).parallel(y)

    # hist_rows
    (
        hist_rows.compute_root()
        .split(i, i, iv, 64, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 8)
        .reorder(iv, yu, i, y)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(yu)
        .parallel(y)
    )
    hist_rows.update(0).split(y, y, yu, 8).reorder(yu, rx_x, y).unroll(yu).parallel(y)

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

    # output
    (
        output.split(x, x, xv, 64)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # cdf
    (
        cdf.compute_root()
        .split(i, i, iv, 16, hl.TailStrategy.RoundUp)
        .reorder(iv, i)
        .vectorize(iv)
    )
    cdf.update(0).unscheduled()
