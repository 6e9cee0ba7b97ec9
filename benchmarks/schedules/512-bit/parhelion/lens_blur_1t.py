# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    repeat_edge = pipeline.get_func(1)
    diff = pipeline.get_func(2)
    cost = pipeline.get_func(3)
    sum_2 = pipeline.get_func(4)
    sum_3 = pipeline.get_func(5)
    cost_confidence = pipeline.get_func(6)
    push_0 = pipeline.get_func(7)
    down_1 = pipeline.get_func(9)
    down_2_x = pipeline.get_func(11)
    down_2 = pipeline.get_func(12)
    down_3_x = pipeline.get_func(14)
    down_3 = pipeline.get_func(15)
    down_4_x = pipeline.get_func(17)
    down_4 = pipeline.get_func(18)
    down_5_x = pipeline.get_func(20)
    down_5 = pipeline.get_func(21)
    down_6_x = pipeline.get_func(23)
    down_6 = pipeline.get_func(24)
    down_7_x = pipeline.get_func(26)
    down_7 = pipeline.get_func(27)
    up_6_x = pipeline.get_func(30)
    pull_6 = pipeline.get_func(32)
    up_5_x = pipeline.get_func(33)
    pull_5 = pipeline.get_func(35)
    pull_4 = pipeline.get_func(38)
    up_3_x = pipeline.get_func(39)
    pull_3 = pipeline.get_func(41)
    up_2_x = pipeline.get_func(42)
    pull_2 = pipeline.get_func(44)
    pull_1 = pipeline.get_func(47)
    argmin = pipeline.get_func(52)
    depth = pipeline.get_func(53)
    maximum = pipeline.get_func(55)
    worst_case_y = pipeline.get_func(56)
    maximum_2 = pipeline.get_func(57)
    worst_case = pipeline.get_func(58)
    sample_locations = pipeline.get_func(59)
    bokeh_radius_squared = pipeline.get_func(60)
    with_alpha = pipeline.get_func(62)
    output = pipeline.get_func(63)
    final = pipeline.get_func(64)
    x, xv, y, yi, c, cu, z, _0v, _2u, yu, xi = hl.vars("x xv y yi c cu z _0v _2u yu xi")
    r_x = sum_2.rvars(0)[0]
    near_x = maximum.rvars(0)[0]
    s_x = output.rvars(0)[0]

    # push_0
    (
        push_0.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # cost_confidence
    (
        cost_confidence.compute_at(push_0, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # sum
    (
        sum_3.compute_at(push_0, y)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
    (
        sum_3.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, y)
        .vectorize(xv)
    )

    # sum
    (
        sum_2.compute_at(push_0, y)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
    (
        sum_2.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, y)
        .vectorize(xv)
    )

    # cost
    cost.compute_at(push_0, y).split(x, x, xv, 16).reorder(xv, x, y, z).vectorize(xv)

    # diff
    (
        diff.compute_at(push_0, y)
        .split(x, x, xv, 64)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # repeat_edge
    (
        repeat_edge.compute_at(push_0, y)
        .align_storage(hl._0, 64)
        .split(hl._0, hl._0, _0v, 64)
        .split(hl._2, hl._2, _2u, 3)
        .reorder(_0v, _2u, hl._2, hl._0, hl._1)
        .vectorize(_0v)
        .unroll(_2u)
    )

    # down_1
    (
        down_1.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 8)
        .reorder(xv, yu, x, y, z, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(z)
    )

    # down_2
    (
        down_2.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_2_x
    (
        down_2_x.store_at(down_2, z)
        .compute_at(down_2, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_3
    (
        down_3.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_3_x
    (
        down_3_x.store_at(down_3, z)
        .compute_at(down_3, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_4
    (
        down_4.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_4_x
    (
        down_4_x.compute_at(down_4, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_5_x
    (
        down_5_x.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_5
    (
        down_5.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 8)
        .reorder(xv, yu, x, y, z, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(z)
    )

    # down_6_x
    (
        down_6_x.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_6
    (
        down_6.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yu, 4)
        .reorder(xv, yu, x, y, z, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(z)
    )

    # down_7_x
    (
        down_7_x.compute_root()
        .split(x, x, xv, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_7
    (
        down_7.compute_root()
        .split(x, x, xv, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # up_6_x
    (
        up_6_x.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # pull_6
    (
        pull_6.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # up_5_x
    (
        up_5_x.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # pull_5
    (
        pull_5.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # pull_3
    (
        pull_3.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # up_3_x
    (
        up_3_x.compute_at(pull_3, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # pull_4
    (
        pull_4.compute_at(pull_3, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # depth
    (
        depth.compute_root()
        .split(x, x, xi, 256)
        .split(xi, xi, xv, 64)
        .split(y, y, yu, 8)
        .reorder(xv, yu, xi, y, x)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
        .parallel(x)
    )

    # argmin
    (
        argmin.compute_at(depth, xi)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
    )
    (
        argmin.update(0)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
    )

    # pull_1
    (
        pull_1.store_at(depth, x)
        .compute_at(depth, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # pull_2
    (
        pull_2.store_at(depth, x)
        .compute_at(depth, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # up_2_x
    (
        up_2_x.store_at(depth, x)
        .compute_at(depth, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # worst_case_y
    (
        worst_case_y.compute_root()
        .split(x, x, xv, 64)
        .split(y, y, yu, 6)
        .reorder(xv, yu, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # maximum
    (
        maximum.compute_at(worst_case_y, x)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 6, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )
    (
        maximum.update(0)
        .split(x, x, xv, 64, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 6, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, near_x, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # worst_case
    (
        worst_case.compute_root()
        .split(x, x, xv, 32)
        .split(y, y, yu, 12)
        .reorder(xv, yu, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # maximum
    (
        maximum_2.compute_at(worst_case, x)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 12, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )
    (
        maximum_2.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yu, 12, hl.TailStrategy.RoundUp)
        .reorder(xv, yu, near_x, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # final
    (
        final.split(x, x, xv, 32)
        .split(c, c, cu, 3)
        .reorder(xv, cu, x, c, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(cu)
    )

    # output
    (
        output.compute_at(final, x)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, x, y, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(cu)
    )
    (
        output.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, s_x, x, y, c)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(cu)
    )

    # with_alpha
    (
        with_alpha.store_root()
        .compute_at(final, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # bokeh_radius_squared
    (
        bokeh_radius_squared.store_root()
        .compute_at(final, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # sample_locations
    (
        sample_locations.store_root()
        .compute_at(final, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, z)
        .vectorize(xv)
    )
