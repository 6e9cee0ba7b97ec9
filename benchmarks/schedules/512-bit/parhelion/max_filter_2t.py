# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    powers = pipeline.get_func(1)
    slice_of = pipeline.get_func(2)
    sum_2 = pipeline.get_func(4)
    reach = pipeline.get_func(5)
    maximum = pipeline.get_func(6)
    max_filter = pipeline.get_func(7)
    x, xv, xi, y, yu, c, t, tv = hl.vars("x xv xi y yu c t tv")
    dy_x = sum_2.rvars(0)[0]
    dx_x = maximum.rvars(0)[0]
    r_x = powers.rvars(0)[0]
    r_y = powers.rvars(0)[1]

    # sum
    (
        sum_2.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, x)
        .vectorize(xv, 16)
        .unroll(xv)
    )
    (
        sum_2.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, dy_x, x)
        .vectorize(xv, 16)
        .unroll(xv)
        .parallel(x)
    )

    # reach
    reach.compute_root().split(x, x, xv, 16).reorder(xv, x).vectorize(xv)

    # max_filter
    (
        max_filter.split(x, x, xi, 128)
        .split(xi, xi, xv, 64)
        .split(y, y, yu, 8)
        .reorder(xv, yu, xi, y, x, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(x)
    )

    # maximum
    (
        maximum.compute_at(max_filter, xi)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, x, y, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )
    (
        maximum.update(0)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, dx_x, x, y, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # slice_of
    slice_of.compute_at(max_filter, x).split(t, t, tv, 16).reorder(tv, t).vectorize(tv)

    # powers
    (
        powers.compute_at(max_filter, x)
        .align_storage(x, 16)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y, c, t)
        .vectorize(xv, 16)
        .unroll(xv)
    )
    (
        powers.update(0)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, r_y, x, c)
        .vectorize(xv, 16)
        .unroll(xv)
    )
