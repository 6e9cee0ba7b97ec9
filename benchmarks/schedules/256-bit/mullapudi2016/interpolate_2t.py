# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    down_0 = pipeline.get_func(1)
    down_x_1 = pipeline.get_func(2)
    down_1 = pipeline.get_func(3)
    down_x_2 = pipeline.get_func(4)
    down_2 = pipeline.get_func(5)
    down_x_3 = pipeline.get_func(6)
    down_3 = pipeline.get_func(7)
    down_x_4 = pipeline.get_func(9)
    down_4 = pipeline.get_func(10)
    down_x_5 = pipeline.get_func(11)
    down_5 = pipeline.get_func(12)
    down_x_6 = pipeline.get_func(13)
    down_6 = pipeline.get_func(14)
    down_x_7 = pipeline.get_func(15)
    down_7 = pipeline.get_func(16)
    down_8 = pipeline.get_func(18)
    down_9 = pipeline.get_func(20)
    up_x_8 = pipeline.get_func(22)
    filled_8 = pipeline.get_func(24)
    up_x_7 = pipeline.get_func(25)
    filled_7 = pipeline.get_func(27)
    up_x_6 = pipeline.get_func(28)
    filled_6 = pipeline.get_func(30)
    up_x_5 = pipeline.get_func(31)
    filled_5 = pipeline.get_func(33)
    up_x_4 = pipeline.get_func(34)
    filled_4 = pipeline.get_func(36)
    up_x_3 = pipeline.get_func(37)
    filled_3 = pipeline.get_func(39)
    up_x_2 = pipeline.get_func(40)
    filled_2 = pipeline.get_func(42)
    up_x_1 = pipeline.get_func(43)
    filled_1 = pipeline.get_func(45)
    up_x_0 = pipeline.get_func(46)
    normalized = pipeline.get_func(49)
    x, xi, y, yi, xv, c, ci = hl.vars("x xi y yi xv c ci")

    # normalized
    (
        normalized.split(x, x, xi, 128)
        .split(y, y, yi, 128)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, c, yi, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # up_x_0
    up_x_0.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # filled_1
    filled_1.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # up_x_1
    up_x_1.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # filled_2
    filled_2.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # up_x_2
    up_x_2.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # filled_3
    filled_3.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # up_x_3
    up_x_3.compute_at(normalized, x).split(x, x, xv, 16).vectorize(xv)

    # filled_4
    filled_4.compute_at(normalized, x).split(x, x, xv, 8).vectorize(xv)

    # up_x_4
    up_x_4.compute_at(normalized, x).split(x, x, xv, 8).vectorize(xv)

    # filled_5
    filled_5.compute_at(normalized, x).split(x, x, xv, 4).vectorize(xv)

    # up_x_5
    up_x_5.compute_at(normalized, x).split(x, x, xv, 4).vectorize(xv)

    # filled_6
    (
        filled_6.compute_root()
        .split(y, y, yi, 16)
        .split(c, c, ci, 2)
        .split(x, x, xv, 16)
        .reorder(xv, x, yi, ci, y, c)
        .vectorize(xv)
        .parallel(c)
        .parallel(y)
    )

    # up_x_6
    up_x_6.compute_at(filled_6, y).split(x, x, xv, 16).vectorize(xv)

    # filled_7
    filled_7.compute_at(filled_6, y).split(x, x, xv, 8).vectorize(xv)

    # up_x_7
    up_x_7.compute_at(filled_6, y).split(x, x, xv, 8).vectorize(xv)

    # filled_8
    filled_8.compute_at(filled_6, y).split(x, x, xv, 4).vectorize(xv)

    # up_x_8
    up_x_8.compute_at(filled_6, y).split(x, x, xv, 4).vectorize(xv)

    # down_9
    down_9.compute_at(filled_6, y).split(x, x, xv, 4).vectorize(xv)

    # down_8
    down_8.compute_at(filled_6, y).split(x, x, xv, 8).vectorize(xv)

    # down_7
    down_7.compute_at(filled_6, y).split(x, x, xv, 16).vectorize(xv)

    # down_x_7
    down_x_7.compute_at(filled_6, y).split(x, x, xv, 16).vectorize(xv)

    # down_6
    down_6.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(c)

    # down_x_6
    down_x_6.compute_at(down_6, c).split(x, x, xv, 16).vectorize(xv)

    # down_5
    down_5.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(c)

    # down_x_5
    down_x_5.compute_at(down_5, c).split(x, x, xv, 16).vectorize(xv)

    # down_4
    down_4.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(c)

    # down_x_4
    down_x_4.compute_at(down_4, c).split(x, x, xv, 16).vectorize(xv)

    # down_3
    (
        down_3.compute_root()
        .split(x, x, xi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, y, x, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )

    # down_x_3
    down_x_3.compute_at(down_3, x).split(x, x, xv, 16).vectorize(xv)

    # down_2
    (
        down_2.compute_root()
        .split(x, x, xi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, y, x, c)
        .unroll(xi)
        .vectorize(xv)
        .parallel(c)
    )

    # down_x_2
    down_x_2.compute_at(down_2, x).split(x, x, xv, 16).vectorize(xv)

    # down_1
    (
        down_1.compute_root()
        .split(x, x, xi, 32)
        .split(y, y, yi, 32)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, c, y, x)
        .unroll(xi)
        .vectorize(xv)
        .parallel(x)
    )

    # down_x_1
    down_x_1.compute_at(down_1, y).split(x, x, xv, 16).vectorize(xv)

    # down_0
    (
        down_0.compute_root()
        .split(x, x, xv, 16)
        .reorder(xv, x, c, y)
        .vectorize(xv)
        .parallel(y)
    )
