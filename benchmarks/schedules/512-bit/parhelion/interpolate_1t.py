# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    down_1 = pipeline.get_func(3)
    down_x_3 = pipeline.get_func(6)
    down_3 = pipeline.get_func(7)
    down_4 = pipeline.get_func(10)
    down_5 = pipeline.get_func(12)
    down_6 = pipeline.get_func(14)
    down_7 = pipeline.get_func(16)
    down_8 = pipeline.get_func(18)
    down_9 = pipeline.get_func(20)
    up_x_8 = pipeline.get_func(22)
    filled_8 = pipeline.get_func(24)
    up_x_7 = pipeline.get_func(25)
    filled_7 = pipeline.get_func(27)
    up_x_6 = pipeline.get_func(28)
    filled_6 = pipeline.get_func(30)
    filled_5 = pipeline.get_func(33)
    up_x_4 = pipeline.get_func(34)
    filled_4 = pipeline.get_func(36)
    filled_3 = pipeline.get_func(39)
    up_x_2 = pipeline.get_func(40)
    filled_2 = pipeline.get_func(42)
    up_x_1 = pipeline.get_func(43)
    filled_1 = pipeline.get_func(45)
    up_x_0 = pipeline.get_func(46)
    normalized = pipeline.get_func(49)
    x, xv, c, cu, y, yu, xu, yv, yi = hl.vars("x xv c cu y yu xu yv yi")

    # down_1
    (
        down_1.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # down_3
    (
        down_3.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_x_3
    (
        down_x_3.store_root()
        .compute_at(down_3, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # down_4
    (
        down_4.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # down_5
    (
        down_5.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 16)
        .reorder(xv, yu, x, y, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
    )

    # down_6
    (
        down_6.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 8)
        .reorder(xv, yu, x, y, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
    )

    # down_7
    (
        down_7.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 4)
        .reorder(xv, yu, x, y, c)
        .vectorize(xv)
        .unroll(yu)
        .parallel(c)
    )

    # down_8
    (
        down_8.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # down_9
    (
        down_9.compute_root()
        .split(x, x, xu, 4)
        .split(y, y, yv, 4)
        .split(c, c, cu, 4)
        .reorder(yv, xu, cu, x, c, y)
        .unroll(xu)
        .vectorize(yv)
        .unroll(cu)
        .parallel(y)
    )

    # up_x_8
    (
        up_x_8.compute_root()
        .split(x, x, xv, 4)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # filled_8
    (
        filled_8.compute_root()
        .split(x, x, xv, 4)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # up_x_7
    (
        up_x_7.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # filled_7
    (
        filled_7.compute_root()
        .split(x, x, xv, 8)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # up_x_6
    (
        up_x_6.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # filled_6
    (
        filled_6.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # filled_4
    (
        filled_4.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # up_x_4
    (
        up_x_4.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # filled_5
    (
        filled_5.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # normalized
    (
        normalized.split(x, x, xv, 16)
        .split(y, y, yi, 16)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # up_x_0
    (
        up_x_0.compute_at(normalized, y)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # filled_1
    (
        filled_1.compute_at(normalized, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # up_x_1
    (
        up_x_1.compute_at(normalized, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # filled_2
    (
        filled_2.compute_at(normalized, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # up_x_2
    (
        up_x_2.compute_at(normalized, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # filled_3
    (
        filled_3.compute_at(normalized, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )
