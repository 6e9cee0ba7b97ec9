# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(2)
    down_y = pipeline.get_func(6)
    down_x = pipeline.get_func(7)
    up_x = pipeline.get_func(9)
    down_y_2 = pipeline.get_func(13)
    down_x_2 = pipeline.get_func(14)
    down_y_3 = pipeline.get_func(16)
    down_x_3 = pipeline.get_func(17)
    up_x_2 = pipeline.get_func(19)
    down_y_4 = pipeline.get_func(23)
    down_x_4 = pipeline.get_func(24)
    down_y_5 = pipeline.get_func(26)
    down_x_5 = pipeline.get_func(27)
    up_x_3 = pipeline.get_func(29)
    down_y_6 = pipeline.get_func(33)
    down_x_6 = pipeline.get_func(34)
    down_y_7 = pipeline.get_func(36)
    down_x_7 = pipeline.get_func(37)
    up_x_4 = pipeline.get_func(39)
    down_y_8 = pipeline.get_func(43)
    down_x_8 = pipeline.get_func(44)
    down_y_9 = pipeline.get_func(46)
    down_x_9 = pipeline.get_func(47)
    down_y_10 = pipeline.get_func(53)
    down_x_10 = pipeline.get_func(54)
    down_y_11 = pipeline.get_func(56)
    down_x_11 = pipeline.get_func(57)
    down_y_12 = pipeline.get_func(63)
    down_x_12 = pipeline.get_func(64)
    down_y_13 = pipeline.get_func(66)
    down_x_13 = pipeline.get_func(67)
    down_y_14 = pipeline.get_func(73)
    out_l_pyramid_7 = pipeline.get_func(77)
    up_x_5 = pipeline.get_func(79)
    out_pyramid_6 = pipeline.get_func(81)
    up_x_6 = pipeline.get_func(82)
    out_pyramid_5 = pipeline.get_func(84)
    up_x_7 = pipeline.get_func(85)
    out_pyramid_4 = pipeline.get_func(87)
    up_x_8 = pipeline.get_func(88)
    out_pyramid_3 = pipeline.get_func(90)
    up_x_9 = pipeline.get_func(91)
    out_pyramid_2 = pipeline.get_func(93)
    up_x_10 = pipeline.get_func(94)
    out_pyramid_1 = pipeline.get_func(96)
    up_x_11 = pipeline.get_func(97)
    out_pyramid_0 = pipeline.get_func(99)
    output = pipeline.get_func(101)
    x, xv, y, yi, yu, c, cu = hl.vars("x xv y yi yu c cu")

    # gray
    (
        gray.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 64)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # down_x
    (
        down_x.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .reorder(xv, x, yi, hl._0, y)
        .vectorize(xv)
        .parallel(y)
    )

    # down_y
    (
        down_y.compute_at(down_x, y)
        .split(x, x, xv, 16)
        .split(y, y, yu, 2)
        .reorder(xv, yu, x, y, hl._0)
        .vectorize(xv)
        .unroll(yu)
    )

    # down_x
    (
        down_x_2.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # down_y
    down_y_2.compute_at(down_x_2, y).split(x, x, xv, 16).reorder(xv, x, y).vectorize(xv)

    # down_x
    (
        down_x_3.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, hl._0, y)
        .vectorize(xv)
        .parallel(y)
    )

    # down_y
    (
        down_y_3.store_at(down_x_3, hl._0)
        .compute_at(down_x_3, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # down_x
    (
        down_x_4.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 64)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # down_y
    (
        down_y_4.store_at(down_x_4, y)
        .compute_at(down_x_4, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # down_x
    (
        down_x_5.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 4)
        .reorder(xv, x, yi, y, hl._0)
        .vectorize(xv)
        .parallel(hl._0)
        .parallel(y)
    )

    # down_y
    (
        down_y_5.compute_at(down_x_5, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # down_x
    (
        down_x_6.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 64)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # down_y
    (
        down_y_6.store_at(down_x_6, y)
        .compute_at(down_x_6, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # down_x
    (
        down_x_7.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .reorder(xv, x, yi, y, hl._0)
        .vectorize(xv)
        .parallel(hl._0)
    )

    # down_y
    (
        down_y_7.compute_at(down_x_7, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # down_x
    (
        down_x_8.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # down_y
    down_y_8.compute_at(down_x_8, y).split(x, x, xv, 16).reorder(xv, x, y).vectorize(xv)

    # down_x
    (
        down_x_9.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, y, hl._0)
        .vectorize(xv)
        .parallel(hl._0)
    )

    # down_y
    (
        down_y_9.compute_at(down_x_9, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # down_y
    (
        down_y_10.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 64)
        .split(yi, yi, yu, 16)
        .reorder(xv, yu, x, yi, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
        .parallel(yi)
    )

    # down_x
    (
        down_x_10.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 64)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # down_y
    (
        down_y_11.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .split(yi, yi, yu, 8)
        .reorder(xv, yu, x, yi, hl._0, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
        .parallel(hl._0)
    )

    # down_x
    (
        down_x_11.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .reorder(xv, x, yi, hl._0, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(hl._0)
    )

    # down_y
    (
        down_y_12.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .split(yi, yi, yu, 8)
        .reorder(xv, yu, x, yi, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
        .parallel(yi)
    )

    # down_x
    (
        down_x_12.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # down_y
    (
        down_y_13.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 16)
        .split(yi, yi, yu, 4)
        .reorder(xv, yu, x, yi, hl._0, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
        .parallel(hl._0)
    )

    # down_x
    (
        down_x_13.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, hl._0, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(hl._0)
    )

    # down_y
    (
        down_y_14.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yu, 4)
        .reorder(xv, yu, x, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
    )

    # out_l_pyramid_7
    (
        out_l_pyramid_7.compute_root()
        .split(x, x, xv, 8)
        .split(y, y, yi, 16)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # up_x
    (
        up_x_5.compute_root()
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # out_pyramid_6
    (
        out_pyramid_6.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # up_x
    (
        up_x_6.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # out_pyramid_5
    (
        out_pyramid_5.compute_root()
        .split(x, x, xv, 16)
        .reorder(xv, y, x)
        .vectorize(xv)
        .parallel(x)
    )

    # up_x
    (
        up_x_7.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 64)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # out_pyramid_4
    (
        out_pyramid_4.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 8)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # up_x
    (
        up_x_8.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
        .parallel(yi)
    )

    # out_pyramid_2
    (
        out_pyramid_2.compute_root()
        .split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # up_x
    (
        up_x_9.compute_at(out_pyramid_2, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # out_pyramid_3
    (
        out_pyramid_3.compute_at(out_pyramid_2, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # up_x
    (
        up_x_4.compute_at(out_pyramid_2, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # up_x
    (
        up_x_3.compute_at(out_pyramid_2, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # output
    (
        output.split(x, x, xv, 32)
        .split(y, y, yi, 32)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # out_pyramid_0
    (
        out_pyramid_0.compute_at(output, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # up_x
    up_x_11.compute_at(output, y).split(x, x, xv, 16).reorder(xv, x, y).vectorize(xv)

    # out_pyramid_1
    (
        out_pyramid_1.compute_at(output, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # up_x
    (
        up_x_10.compute_at(output, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # up_x
    (
        up_x_2.compute_at(output, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )

    # up_x
    (
        up_x.compute_at(output, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y, hl._0)
        .vectorize(xv)
    )
