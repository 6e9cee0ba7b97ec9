# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    histogram = pipeline.get_func(1)
    blur_z = pipeline.get_func(2)
    blur_y = pipeline.get_func(4)
    bilateral_grid = pipeline.get_func(6)
    x, xv, y, yi, c, cu, z, yu = hl.vars("x xv y yi c cu z yu")
    r_x = histogram.rvars(0)[0]
    r_y = histogram.rvars(0)[1]

    # blur_z
    (
        blur_z.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # histogram
    (
        histogram.compute_at(blur_z, y)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 2, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )
    (
        histogram.update(0)
        .split(c, c, cu, 2, hl.TailStrategy.RoundUp)
        .reorder(cu, r_x, r_y, c, x, y)
        .unroll(cu)
    )

    # blur_y
    (
        blur_y.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 16)
        .reorder(xv, yu, x, y, z, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(z)
    )

    # bilateral_grid
    bilateral_grid.split(x, x, xv, 16).reorder(xv, x, y).vectorize(xv).parallel(y)
