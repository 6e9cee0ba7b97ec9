# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    powers = pipeline.get_func(1)
    slice_of = pipeline.get_func(2)
    columns = pipeline.get_func(3)
    sum_2 = pipeline.get_func(4)
    maximum = pipeline.get_func(6)
    max_filter = pipeline.get_func(7)
    x, xi, y, yi, xv, c, t, tv = hl.vars("x xi y yi xv c t tv")
    dx_x = maximum.rvars(0)[0]
    dy_x = sum_2.rvars(0)[0]
    r_y = powers.rvars(0)[1]
    r_x = powers.rvars(0)[0]
    r_yi = hl.RVar("r_yi")

    # max_filter
    (
        max_filter.split(x, x, xi, 64)
        .split(y, y, yi, 64)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, x, y, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )

    # maximum
    (
        maximum.compute_at(max_filter, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        maximum.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, dx_x, x, y, c)
        .vectorize(xv)
    )

    # sum
    (
        sum_2.compute_root()
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
        .parallel(x)
    )
    (
        sum_2.update(0)
        .split(x, x, xi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, dy_x, x)
        .unroll(xi)
        .vectorize(xv)
        .parallel(x)
    )

    # columns
    (
        columns.compute_root()
        .split(x, x, xi, 32)
        .split(y, y, yi, 512)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, t, y, x, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )

    # slice_of
    slice_of.compute_at(columns, y).split(t, t, tv, 16).vectorize(tv)

    # powers
    (
        powers.compute_root()
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, x, t, y, c)
        .vectorize(xv)
        .parallel(c)
    )
    (
        powers.update(0)
        .split(r_y, r_y, r_yi, 2)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, r_x, r_yi, r_y, x, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )
