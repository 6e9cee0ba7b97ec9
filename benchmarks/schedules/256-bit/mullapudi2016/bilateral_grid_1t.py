# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    histogram = pipeline.get_func(1)
    blur_z = pipeline.get_func(2)
    blur_x = pipeline.get_func(3)
    blur_y = pipeline.get_func(4)
    bilateral_grid = pipeline.get_func(6)
    x, xi, y, yi, xv, c = hl.vars("x xi y yi xv c")
    r_x = histogram.rvars(0)[0]
    r_y = histogram.rvars(0)[1]

    # bilateral_grid
    (
        bilateral_grid.split(x, x, xi, 256)
        .split(y, y, yi, 256)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # blur_y
    blur_y.compute_at(bilateral_grid, x).split(x, x, xv, 16).vectorize(xv)

    # blur_x
    blur_x.compute_at(bilateral_grid, x).split(x, x, xv, 16).vectorize(xv)

    # blur_z
    blur_z.compute_at(bilateral_grid, x).split(x, x, xv, 16).vectorize(xv)

    # histogram
    (
        histogram.compute_at(bilateral_grid, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        histogram.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, r_y, x, c, y)
        .vectorize(xv)
    )
