# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    repeat_edge = pipeline.get_func(0)
    repeat_edge_2 = pipeline.get_func(1)
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
    up_4_x = pipeline.get_func(36)
    pull_4 = pipeline.get_func(38)
    up_3_x = pipeline.get_func(39)
    pull_3 = pipeline.get_func(41)
    pull_2 = pipeline.get_func(44)
    up_1_x = pipeline.get_func(45)
    pull_1 = pipeline.get_func(47)
    up_0_x = pipeline.get_func(48)
    argmin = pipeline.get_func(52)
    depth = pipeline.get_func(53)
    bokeh_radius = pipeline.get_func(54)
    maximum = pipeline.get_func(55)
    maximum_2 = pipeline.get_func(57)
    worst_case = pipeline.get_func(58)
    sample_locations = pipeline.get_func(59)
    bokeh_radius_squared = pipeline.get_func(60)
    sample_weight = pipeline.get_func(61)
    output = pipeline.get_func(63)
    final = pipeline.get_func(64)
    _0v, _1i, _2u, x, xv, z, y, c, cu, yi = hl.vars("_0v _1i _2u x xv z y c cu yi")
    yu, xi = hl.vars("yu xi")
    r_x = sum_2.rvars(0)[0]
    near_x = maximum.rvars(0)[0]
    s_x = output.rvars(0)[0]

    # repeat_edge
    (
        repeat_edge.compute_root()
        .split(hl._0, hl._0, _0v, 32)
        .split(hl._1, hl._1, _1i, 32)
        .split(hl._2, hl._2, _2u, 3)
        .reorder(_0v, _2u, hl._2, hl._0, _1i, hl._1)
        .vectorize(_0v)
        .unroll(_2u)
        .parallel(hl._1)
    )

    # cost
    (
        cost.compute_root()
        .split(x, x, xv, 8)
        .reorder(xv, x, z, y)
        .vectorize(xv)
        .parallel(y)
    )

    # diff
    (
        diff.compute_at(cost, y)
        .split(x, x, xv, 32)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # repeat_edge
    (
        repeat_edge_2.compute_at(cost, y)
        .align_storage(hl._0, 32)
        .split(hl._0, hl._0, _0v, 32)
        .split(hl._2, hl._2, _2u, 3)
        .reorder(_0v, _2u, hl._2, hl._0, hl._1)
        .vectorize(_0v)
        .unroll(_2u)
    )

    # sum
    (
        sum_2.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
    )
    (
        sum_2.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
    )

    # sum
    (
        sum_3.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
    )
    (
        sum_3.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
    )

    # push_0
    (
        push_0.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # cost_confidence
    (
        cost_confidence.compute_at(push_0, y)
        .split(x, x, xv, 8)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # down_1
    (
        down_1.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yu, 4)
        .reorder(xv, yu, x, y, z, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(z)
    )

    # down_2
    (
        down_2.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_2_x
    (
        down_2_x.store_at(down_2, z)
        .compute_at(down_2, y)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_3
    (
        down_3.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 32)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
        .parallel(y)
    )

    # down_3_x
    (
        down_3_x.compute_at(down_3, y)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_4
    (
        down_4.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_4_x
    (
        down_4_x.compute_at(down_4, z)
        .align_storage(x, 8)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_5_x
    (
        down_5_x.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # down_5
    (
        down_5.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 16)
        .split(yi, yi, yu, 8)
        .reorder(xv, yu, x, yi, z, y, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
        .parallel(y)
        .parallel(z)
    )

    # down_6_x
    (
        down_6_x.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
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
        .reorder(xv, cu, c, x, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # down_7
    (
        down_7.compute_root()
        .split(x, x, xv, 4)
        .split(y, y, yi, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
        .parallel(z)
    )

    # up_6_x
    (
        up_6_x.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
        .parallel(z)
    )

    # pull_6
    (
        pull_6.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
        .parallel(z)
    )

    # up_5_x
    (
        up_5_x.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
        .parallel(z)
    )

    # pull_5
    (
        pull_5.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 4)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, z, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # pull_3
    (
        pull_3.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
    )

    # up_3_x
    (
        up_3_x.compute_at(pull_3, z)
        .align_storage(x, 8)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # pull_4
    (
        pull_4.compute_at(pull_3, z)
        .align_storage(x, 8)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # up_4_x
    (
        up_4_x.compute_at(pull_3, z)
        .align_storage(x, 8)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # pull_1
    (
        pull_1.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 32)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, yi, y, z)
        .vectorize(xv)
        .unroll(cu)
        .parallel(z)
        .parallel(y)
    )

    # up_1_x
    (
        up_1_x.compute_at(pull_1, y)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # pull_2
    (
        pull_2.compute_at(pull_1, y)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # depth
    (
        depth.compute_root()
        .split(x, x, xi, 128)
        .split(xi, xi, xv, 8)
        .split(y, y, yi, 16)
        .reorder(xv, xi, yi, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # argmin
    (
        argmin.compute_at(depth, x)
        .split(x, x, xv, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
    (
        argmin.update(0)
        .split(x, x, xv, 8, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, y)
        .vectorize(xv)
    )

    # up_0_x
    (
        up_0_x.compute_at(depth, x)
        .split(x, x, xv, 8)
        .split(c, c, cu, 2)
        .reorder(xv, cu, c, x, y, z)
        .vectorize(xv)
        .unroll(cu)
    )

    # pull_1
    pull_1_wrapper = pull_1.in_(up_0_x)

    # pull_1: wrapper
    pull_1_wrapper.compute_at(depth, x).vectorize(x, 8, hl.TailStrategy.GuardWithIf)

    # bokeh_radius
    (
        bokeh_radius.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # maximum
    (
        maximum.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
    )
    (
        maximum.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 32, hl.TailStrategy.RoundUp)
        .reorder(xv, near_x, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
    )

    # maximum
    (
        maximum_2.compute_root()
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 64, hl.TailStrategy.RoundUp)
        .reorder(xv, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
        .parallel(yi)
    )
    (
        maximum_2.update(0)
        .split(x, x, xv, 32, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 64, hl.TailStrategy.RoundUp)
        .reorder(xv, near_x, x, yi, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .parallel(y)
        .parallel(yi)
    )

    # bokeh_radius_squared
    (
        bokeh_radius_squared.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # final
    (
        final.split(x, x, xv, 8)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # output
    (
        output.compute_at(final, y)
        .split(x, x, xv, 8, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )
    (
        output.update(0)
        .split(x, x, xv, 8, hl.TailStrategy.RoundUp)
        .split(c, c, cu, 4, hl.TailStrategy.RoundUp)
        .reorder(xv, cu, s_x, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # sample_weight
    (
        sample_weight.compute_at(final, y)
        .split(x, x, xv, 8)
        .reorder(xv, x, y, z)
        .vectorize(xv)
    )

    # sample_locations
    (
        sample_locations.compute_at(final, y)
        .split(x, x, xv, 8)
        .reorder(xv, x, y, z)
        .vectorize(xv)
    )

    # worst_case
    worst_case.compute_at(final, y).split(x, x, xv, 8).reorder(xv, x, y).vectorize(xv)
