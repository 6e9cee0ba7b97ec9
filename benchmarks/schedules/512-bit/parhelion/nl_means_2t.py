# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    repeat_edge = pipeline.get_func(0)
    colors = pipeline.get_func(2)
    column = pipeline.get_func(4)
    blur_d_y = pipeline.get_func(5)
    row = pipeline.get_func(6)
    with_alpha = pipeline.get_func(9)
    mean = pipeline.get_func(10)
    nl_means = pipeline.get_func(11)
    _0v, _1i, _2u, x, xv, y, yu, dx, dy, yi = hl.vars("_0v _1i _2u x xv y yu dx dy yi")
    c, cu, dxu = hl.vars("c cu dxu")
    patch_y_x = column.rvars(0)[0]
    channels_x = colors.rvars(0)[0]
    s_x = mean.rvars(0)[0]
    s_y = mean.rvars(0)[1]
    patch_x_x = row.rvars(0)[0]

    # repeat_edge
    (
        repeat_edge.compute_root()
        .split(hl._0, hl._0, _0v, 16)
        .split(hl._1, hl._1, _1i, 64)
        .split(hl._2, hl._2, _2u, 3)
        .reorder(_0v, _2u, hl._2, hl._0, _1i, hl._1)
        .vectorize(_0v)
        .unroll(_2u)
        .parallel(hl._1)
        .parallel(_1i)
    )

    # blur_d_y
    (
        blur_d_y.compute_root()
        .split(x, x, xv, 32)
        .split(y, y, yu, 12)
        .reorder(xv, yu, x, y, dx, dy)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
        .parallel(dy)
        .parallel(dx)
    )

    # column
    (
        column.compute_at(blur_d_y, x)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 12, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, x, y, dx, dy)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )
    (
        column.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 12, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, patch_y_x, x, y, dx, dy)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # colors
    (
        colors.compute_at(blur_d_y, dx)
        .align_storage(x, 16)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y, dx, dy)
        .vectorize(xv)
    )
    (
        colors.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, channels_x, x, y, dx, dy)
        .vectorize(xv)
    )

    # nl_means
    (
        nl_means.split(x, x, xv, 64)
        .split(y, y, yi, 16)
        .split(c, c, cu, 3)
        .reorder(xv, cu, x, c, yi, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(cu)
        .parallel(y)
    )

    # mean
    (
        mean.compute_at(nl_means, x)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, x, y, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(cu)
    )
    (
        mean.update(0)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, s_x, s_y, x, y, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(cu)
    )

    # with_alpha
    (
        with_alpha.compute_at(nl_means, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # row
    (
        row.compute_at(nl_means, x)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(dx, dx, dxu, 7, hl.TailStrategy.RoundUp)
        .reorder(xv, dxu, x, y, dx, dy)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(dxu)
    )
    (
        row.update(0)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(dx, dx, dxu, 7, hl.TailStrategy.RoundUp)
        .reorder(xv, dxu, patch_x_x, x, y, dx, dy)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(dxu)
    )
