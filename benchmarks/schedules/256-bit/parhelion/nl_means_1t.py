# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    repeat_edge = pipeline.get_func(0)
    colors = pipeline.get_func(2)
    d = pipeline.get_func(3)
    column = pipeline.get_func(4)
    row = pipeline.get_func(6)
    with_alpha = pipeline.get_func(9)
    mean = pipeline.get_func(10)
    nl_means = pipeline.get_func(11)
    _0v, _2u, x, xv, y, yu, dx, dy, c, cu = hl.vars("_0v _2u x xv y yu dx dy c cu")
    channels_x = colors.rvars(0)[0]
    patch_y_x = column.rvars(0)[0]
    patch_x_x = row.rvars(0)[0]
    s_x = mean.rvars(0)[0]
    s_y = mean.rvars(0)[1]

    # repeat_edge
    (
        repeat_edge.compute_root()
        .split(hl._0, hl._0, _0v, 8)
        .split(hl._2, hl._2, _2u, 3)
        .reorder(_0v, _2u, hl._2, hl._0, hl._1)
        .vectorize(_0v)
        .unroll(_2u)
        .parallel(hl._1)
    )

    # d
    (
        d.compute_root()
        .split(x, x, xv, 32)
        .split(y, y, yu, 8)
        .reorder(xv, yu, x, dx, dy, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(yu)
        .parallel(y)
    )

    # colors
    (
        colors.compute_at(d, x)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, x, y, dx, dy)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(yu)
    )
    (
        colors.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, channels_x, x, y, dx, dy)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(yu)
    )

    # column
    (
        column.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y, dx, dy)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(dy)
    )
    (
        column.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, patch_y_x, x, y, dx, dy)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(dy)
    )

    # row
    (
        row.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y, dx, dy)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(dy)
    )
    (
        row.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, patch_x_x, x, y, dx, dy)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(dy)
    )

    # nl_means
    (
        nl_means.split(x, x, xv, 16)
        .split(c, c, cu, 3)
        .reorder(xv, cu, x, c, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(cu)
    )

    # mean
    (
        mean.compute_at(nl_means, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, x, y, c)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(cu)
    )
    (
        mean.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, s_x, s_y, x, y, c)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(cu)
    )

    # with_alpha
    (
        with_alpha.store_root()
        .compute_at(nl_means, y)
        .align_storage(x, 8)
        .split(x, x, xv, 8)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )
