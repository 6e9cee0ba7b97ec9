# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    colors = pipeline.get_func(2)
    column = pipeline.get_func(4)
    row = pipeline.get_func(6)
    w = pipeline.get_func(8)
    with_alpha = pipeline.get_func(9)
    mean = pipeline.get_func(10)
    nl_means = pipeline.get_func(11)
    x, xi, y, yi, xv, c, cu, dx, dy = hl.vars("x xi y yi xv c cu dx dy")
    s_x = mean.rvars(0)[0]
    s_y = mean.rvars(0)[1]
    patch_x_x = row.rvars(0)[0]
    patch_y_x = column.rvars(0)[0]
    channels_x = colors.rvars(0)[0]

    # nl_means
    (
        nl_means.split(x, x, xi, 32)
        .split(y, y, yi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, c, x, y)
        .unroll(xi)
        .vectorize(xv)
        .parallel(y)
    )

    # mean
    (
        mean.compute_at(nl_means, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        mean.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, s_x, s_y, c, x, y)
        .unroll(cu)
        .vectorize(xv)
    )

    # with_alpha
    with_alpha.compute_at(nl_means, x).split(x, x, xv, 16).vectorize(xv)

    # w
    w.compute_at(nl_means, x).split(x, x, xv, 16).vectorize(xv)

    # row
    (
        row.compute_at(nl_means, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        row.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, patch_x_x, x, y, dx, dy)
        .vectorize(xv)
    )

    # column
    (
        column.compute_at(nl_means, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        column.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, patch_y_x, x, y, dx, dy)
        .vectorize(xv)
    )

    # colors
    (
        colors.compute_at(nl_means, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        colors.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, channels_x, x, y, dx, dy)
        .unroll(channels_x)
        .vectorize(xv)
    )
