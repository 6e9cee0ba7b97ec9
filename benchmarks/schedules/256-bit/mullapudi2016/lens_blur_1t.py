# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    cost = pipeline.get_func(3)
    sum_2 = pipeline.get_func(4)
    sum_3 = pipeline.get_func(5)
    cost_confidence = pipeline.get_func(6)
    push_0 = pipeline.get_func(7)
    down_1_x = pipeline.get_func(8)
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
    up_2_x = pipeline.get_func(42)
    pull_2 = pipeline.get_func(44)
    up_1_x = pipeline.get_func(45)
    pull_1 = pipeline.get_func(47)
    up_0_x = pipeline.get_func(48)
    argmin = pipeline.get_func(52)
    bokeh_radius = pipeline.get_func(54)
    maximum = pipeline.get_func(55)
    maximum_2 = pipeline.get_func(57)
    sample_locations = pipeline.get_func(59)
    bokeh_radius_squared = pipeline.get_func(60)
    sample_weight = pipeline.get_func(61)
    with_alpha = pipeline.get_func(62)
    output = pipeline.get_func(63)
    final = pipeline.get_func(64)
    x, xi, y, yi, xv, c, z = hl.vars("x xi y yi xv c z")
    s_x = output.rvars(0)[0]
    near_x = maximum.rvars(0)[0]
    r_x = sum_2.rvars(0)[0]
    r_xi = hl.RVar("r_xi")

    # final
    (
        final.split(x, x, xi, 32)
        .split(y, y, yi, 64)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, c, x, y)
        .unroll(xi)
        .vectorize(xv)
        .parallel(y)
    )

    # output
    (
        output.compute_at(final, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        output.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, s_x, x, c, y)
        .vectorize(xv)
    )

    # with_alpha
    with_alpha.compute_at(final, x).split(x, x, xv, 16).vectorize(xv)

    # sample_weight
    sample_weight.compute_at(final, x).split(x, x, xv, 16).vectorize(xv)

    # bokeh_radius_squared
    bokeh_radius_squared.compute_at(final, x).split(x, x, xv, 16).vectorize(xv)

    # sample_locations
    sample_locations.compute_at(final, x).split(x, x, xv, 16).vectorize(xv)

    # maximum
    (
        maximum_2.compute_at(final, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        maximum_2.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, near_x, x, y)
        .vectorize(xv)
    )

    # maximum
    (
        maximum.compute_at(final, x)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
    )
    (
        maximum.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, near_x, x, y)
        .vectorize(xv)
    )

    # bokeh_radius
    bokeh_radius.compute_at(final, x).split(x, x, xv, 16).vectorize(xv)

    # argmin
    (
        argmin.compute_root()
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .vectorize(xv)
        .parallel(y)
    )
    (
        argmin.update(0)
        .split(r_x, r_x, r_xi, 8)
        .split(x, x, xi, 128, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 32, hl.TailStrategy.RoundUp)
        .split(xi, xi, xv, 16)
        .reorder(xv, yi, r_xi, xi, r_x, y, x)
        .vectorize(xv)
        .parallel(x)
    )

    # up_0_x
    up_0_x.compute_at(argmin, r_x).split(x, x, xv, 16).vectorize(xv)

    # pull_1
    pull_1.compute_at(argmin, r_x).split(x, x, xv, 16).vectorize(xv)

    # up_1_x
    up_1_x.compute_at(argmin, r_x).split(x, x, xv, 16).vectorize(xv)

    # pull_2
    pull_2.compute_at(argmin, r_x).split(x, x, xv, 16).vectorize(xv)

    # up_2_x
    up_2_x.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(c)

    # pull_3
    pull_3.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # up_3_x
    up_3_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # pull_4
    pull_4.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # up_4_x
    up_4_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # pull_5
    pull_5.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # up_5_x
    up_5_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # pull_6
    pull_6.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # up_6_x
    up_6_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_7
    down_7.compute_at(up_2_x, z).split(x, x, xv, 4).vectorize(xv)

    # down_7_x
    down_7_x.compute_at(up_2_x, z).split(x, x, xv, 4).vectorize(xv)

    # down_6
    down_6.compute_at(up_2_x, z).split(x, x, xv, 8).vectorize(xv)

    # down_6_x
    down_6_x.compute_at(up_2_x, z).split(x, x, xv, 8).vectorize(xv)

    # down_5
    down_5.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_5_x
    down_5_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_4
    down_4.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_4_x
    down_4_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_3
    down_3.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_3_x
    down_3_x.compute_at(up_2_x, z).split(x, x, xv, 16).vectorize(xv)

    # down_2
    (
        down_2.compute_root()
        .split(x, x, xi, 32)
        .split(y, y, yi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, z, x, y, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )

    # down_2_x
    down_2_x.compute_at(down_2, x).split(x, x, xv, 16).vectorize(xv)

    # down_1
    (
        down_1.compute_root()
        .split(x, x, xi, 32)
        .split(y, y, yi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, z, y, x, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )

    # down_1_x
    down_1_x.compute_at(down_1, y).split(x, x, xv, 16).vectorize(xv)

    # push_0
    (
        push_0.compute_root()
        .split(x, x, xv, 16)
        .reorder(xv, x, z, c, y)
        .vectorize(xv)
        .parallel(y)
    )

    # cost_confidence
    cost_confidence.compute_at(push_0, y).split(x, x, xv, 16).vectorize(xv)

    # sum
    (
        sum_3.compute_at(push_0, y)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
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
        .vectorize(xv)
    )
    (
        sum_2.update(0)
        .split(x, x, xv, 16, hl.TailStrategy.RoundUp)
        .reorder(xv, r_x, x, y)
        .vectorize(xv)
    )

    # cost
    cost.compute_at(push_0, y).split(x, x, xv, 16).vectorize(xv)
