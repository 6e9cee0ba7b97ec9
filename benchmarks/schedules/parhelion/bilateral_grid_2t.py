# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    histogram = pipeline.get_func(1)
    blur_x = pipeline.get_func(3)
    blur_y = pipeline.get_func(4)
    bilateral_grid = pipeline.get_func(6)
    x, xv, y, yi, z, zu, c, xi = hl.vars("x xv y yi z zu c xi")
    r_x = histogram.rvars(0)[0]
    r_y = histogram.rvars(0)[1]

    # histogram
    (
        histogram.compute_root()
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 4, hl.TailStrategy.RoundUp)
        .split(z, z, zu, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, zu, x, z, yi, c, y)
        .vectorize(xv)
        .unroll(zu)
        .parallel(y)
    )
    (
        histogram.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, r_y, x, yi, c, y)
        .vectorize(xv)
        .parallel(y)
    )

    # blur_y
    (
        blur_y.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, y, z, c)
        .vectorize(xv)
        .parallel(c)
        .parallel(z)
    )

    # blur_x
    (
        blur_x.compute_at(blur_y, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, z, c)
        .vectorize(xv)
    )

    # bilateral_grid
    (
        bilateral_grid.split(x, x, xi, 512)
        .split(xi, xi, xv, 16)
        .split(y, y, yi, 128)
        .reorder(xv, xi, yi, x, y)
        .vectorize(xv)
        .parallel(y)
    )
