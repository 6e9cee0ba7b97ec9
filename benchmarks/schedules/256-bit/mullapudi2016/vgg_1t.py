# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    data = pipeline.get_func(0)
    conv_1_1 = pipeline.get_func(3)
    relu_1_1 = pipeline.get_func(4)
    conv_1_2 = pipeline.get_func(7)
    maximum = pipeline.get_func(9)
    conv_2_1 = pipeline.get_func(13)
    relu_2_1 = pipeline.get_func(14)
    conv_2_2 = pipeline.get_func(17)
    maximum_2 = pipeline.get_func(19)
    conv_3_1 = pipeline.get_func(23)
    relu_3_1 = pipeline.get_func(24)
    conv_3_2 = pipeline.get_func(27)
    relu_3_2 = pipeline.get_func(28)
    conv_3_3 = pipeline.get_func(31)
    maximum_3 = pipeline.get_func(33)
    conv_4_1 = pipeline.get_func(37)
    relu_4_1 = pipeline.get_func(38)
    conv_4_2 = pipeline.get_func(41)
    relu_4_2 = pipeline.get_func(42)
    conv_4_3 = pipeline.get_func(45)
    maximum_4 = pipeline.get_func(47)
    conv_5_1 = pipeline.get_func(51)
    relu_5_1 = pipeline.get_func(52)
    conv_5_2 = pipeline.get_func(55)
    relu_5_2 = pipeline.get_func(56)
    conv_5_3 = pipeline.get_func(59)
    maximum_5 = pipeline.get_func(61)
    dense_1 = pipeline.get_func(64)
    rectified_1 = pipeline.get_func(65)
    dense_2 = pipeline.get_func(66)
    rectified_2 = pipeline.get_func(67)
    dense_3 = pipeline.get_func(68)
    maximum_6 = pipeline.get_func(69)
    powers = pipeline.get_func(70)
    sum_2 = pipeline.get_func(71)
    softmax = pipeline.get_func(72)
    i, iv, n, ii, c, cv, ci, x, y, cu, yi = hl.vars("i iv n ii c cv ci x y cu yi")
    xi, xv = hl.vars("xi xv")
    r_3_x = dense_3.rvars(0)[0]
    r_2_x = dense_2.rvars(0)[0]
    r_1_x = dense_1.rvars(0)[0]
    square_5_x = maximum_5.rvars(0)[0]
    square_5_y = maximum_5.rvars(0)[1]
    r_5_3_x = conv_5_3.rvars(0)[0]
    r_5_3_y = conv_5_3.rvars(0)[1]
    r_5_3_z = conv_5_3.rvars(0)[2]
    r_5_2_x = conv_5_2.rvars(0)[0]
    r_5_2_y = conv_5_2.rvars(0)[1]
    r_5_2_z = conv_5_2.rvars(0)[2]
    r_5_1_x = conv_5_1.rvars(0)[0]
    r_5_1_y = conv_5_1.rvars(0)[1]
    r_5_1_z = conv_5_1.rvars(0)[2]
    square_4_x = maximum_4.rvars(0)[0]
    square_4_y = maximum_4.rvars(0)[1]
    r_4_3_x = conv_4_3.rvars(0)[0]
    r_4_3_y = conv_4_3.rvars(0)[1]
    r_4_3_z = conv_4_3.rvars(0)[2]
    r_4_2_x = conv_4_2.rvars(0)[0]
    r_4_2_y = conv_4_2.rvars(0)[1]
    r_4_2_z = conv_4_2.rvars(0)[2]
    r_4_1_x = conv_4_1.rvars(0)[0]
    r_4_1_y = conv_4_1.rvars(0)[1]
    r_4_1_z = conv_4_1.rvars(0)[2]
    square_3_x = maximum_3.rvars(0)[0]
    square_3_y = maximum_3.rvars(0)[1]
    r_3_3_x = conv_3_3.rvars(0)[0]
    r_3_3_y = conv_3_3.rvars(0)[1]
    r_3_3_z = conv_3_3.rvars(0)[2]
    r_3_2_x = conv_3_2.rvars(0)[0]
    r_3_2_y = conv_3_2.rvars(0)[1]
    r_3_2_z = conv_3_2.rvars(0)[2]
    r_3_1_x = conv_3_1.rvars(0)[0]
    r_3_1_y = conv_3_1.rvars(0)[1]
    r_3_1_z = conv_3_1.rvars(0)[2]
    square_2_x = maximum_2.rvars(0)[0]
    square_2_y = maximum_2.rvars(0)[1]
    r_2_2_x = conv_2_2.rvars(0)[0]
    r_2_2_y = conv_2_2.rvars(0)[1]
    r_2_2_z = conv_2_2.rvars(0)[2]
    r_2_1_x = conv_2_1.rvars(0)[0]
    r_2_1_y = conv_2_1.rvars(0)[1]
    r_2_1_z = conv_2_1.rvars(0)[2]
    square_1_x = maximum.rvars(0)[0]
    square_1_y = maximum.rvars(0)[1]
    r_1_2_x = conv_1_2.rvars(0)[0]
    r_1_2_y = conv_1_2.rvars(0)[1]
    r_1_2_z = conv_1_2.rvars(0)[2]
    r_1_1_x = conv_1_1.rvars(0)[0]
    r_1_1_y = conv_1_1.rvars(0)[1]
    r_1_1_z = conv_1_1.rvars(0)[2]
    r_3_xi = hl.RVar("r_3_xi")
    r_2_xi = hl.RVar("r_2_xi")
    r_1_xi = hl.RVar("r_1_xi")
    r_4_3_xi = hl.RVar("r_4_3_xi")
    r_4_2_xi = hl.RVar("r_4_2_xi")

    # softmax
    softmax.split(i, i, iv, 16).vectorize(iv).parallel(n)

    # sum
    sum_2.compute_at(softmax, n)

    # powers
    powers.compute_at(softmax, n).split(i, i, iv, 16).vectorize(iv)

    # maximum
    maximum_6.compute_at(softmax, n)

    # dense_3
    dense_3.compute_root().split(i, i, iv, 16).vectorize(iv).parallel(n)
    (
        dense_3.update(0)
        .split(r_3_x, r_3_x, r_3_xi, 512)
        .split(i, i, ii, 256)
        .split(ii, ii, iv, 16)
        .reorder(iv, ii, r_3_xi, n, r_3_x, i)
        .vectorize(iv)
        .parallel(i)
    )

    # rectified_2
    rectified_2.compute_root().split(i, i, iv, 16).vectorize(iv).parallel(n)

    # dense_2
    dense_2.compute_root().split(i, i, iv, 16).vectorize(iv).parallel(n)
    (
        dense_2.update(0)
        .split(r_2_x, r_2_x, r_2_xi, 256)
        .split(i, i, ii, 512)
        .split(ii, ii, iv, 16)
        .reorder(iv, ii, r_2_xi, n, r_2_x, i)
        .vectorize(iv)
        .parallel(i)
    )

    # rectified_1
    rectified_1.compute_at(dense_2, r_2_x).split(i, i, iv, 16).vectorize(iv)

    # dense_1
    dense_1.compute_root().split(i, i, iv, 16).vectorize(iv).parallel(n)
    (
        dense_1.update(0)
        .split(r_1_x, r_1_x, r_1_xi, 512)
        .split(i, i, ii, 256)
        .split(ii, ii, iv, 16)
        .reorder(iv, ii, r_1_xi, n, r_1_x, i)
        .vectorize(iv)
        .parallel(i)
    )

    # maximum
    maximum_5.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        maximum_5.update(0)
        .split(c, c, ci, 32)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, x, y, square_5_x, square_5_y, c, n)
        .unroll(ci)
        .vectorize(cv)
        .parallel(n)
    )

    # conv_5_3
    conv_5_3.compute_at(maximum_5, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_5_3.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 2)
        .reorder(cv, cu, r_5_3_x, x, y, r_5_3_y, r_5_3_z, c, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # relu_5_2
    (
        relu_5_2.compute_root()
        .split(c, c, ci, 32)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, x, y, c, n)
        .unroll(ci)
        .vectorize(cv)
        .parallel(n)
    )

    # conv_5_2
    conv_5_2.compute_at(relu_5_2, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_5_2.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 2)
        .reorder(cv, cu, r_5_2_x, x, y, r_5_2_y, r_5_2_z, c, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # relu_5_1
    (
        relu_5_1.compute_root()
        .split(c, c, ci, 32)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, x, y, c, n)
        .unroll(ci)
        .vectorize(cv)
        .parallel(n)
    )

    # conv_5_1
    conv_5_1.compute_at(relu_5_1, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_5_1.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 2)
        .reorder(cv, cu, r_5_1_x, x, y, r_5_1_y, r_5_1_z, c, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # maximum
    maximum_4.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        maximum_4.update(0)
        .split(c, c, ci, 32)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, square_4_x, square_4_y, c, x, y, n)
        .unroll(ci)
        .vectorize(cv)
        .parallel(n)
    )

    # conv_4_3
    conv_4_3.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        conv_4_3.update(0)
        .split(r_4_3_x, r_4_3_x, r_4_3_xi, 256)
        .split(c, c, ci, 128)
        .split(y, y, yi, 4)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, r_4_3_xi, x, yi, n, r_4_3_x, r_4_3_y, r_4_3_z, c, y)
        .vectorize(cv)
        .parallel(y)
    )

    # relu_4_2
    relu_4_2.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)

    # conv_4_2
    conv_4_2.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        conv_4_2.update(0)
        .split(r_4_2_x, r_4_2_x, r_4_2_xi, 256)
        .split(c, c, ci, 128)
        .split(y, y, yi, 4)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, r_4_2_xi, x, yi, n, r_4_2_x, r_4_2_y, r_4_2_z, c, y)
        .vectorize(cv)
        .parallel(y)
    )

    # relu_4_1
    (
        relu_4_1.compute_root()
        .split(c, c, ci, 32)
        .split(y, y, yi, 4)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, x, yi, n, c, y)
        .unroll(ci)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_4_1
    conv_4_1.compute_at(relu_4_1, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_4_1.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 2)
        .reorder(cv, cu, r_4_1_x, r_4_1_y, r_4_1_z, c, x, y, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # maximum
    maximum_3.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        maximum_3.update(0)
        .split(c, c, ci, 32)
        .split(x, x, xi, 4)
        .split(y, y, yi, 4)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, xi, yi, square_3_x, square_3_y, n, c, x, y)
        .unroll(ci)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_3_3
    conv_3_3.compute_at(maximum_3, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_3_3.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 2)
        .reorder(cv, cu, r_3_3_x, r_3_3_y, r_3_3_z, c, x, y, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # relu_3_2
    (
        relu_3_2.compute_root()
        .split(c, c, ci, 32)
        .split(x, x, xi, 8)
        .split(y, y, yi, 8)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, xi, yi, n, c, x, y)
        .unroll(ci)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_3_2
    conv_3_2.compute_at(relu_3_2, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_3_2.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 2)
        .reorder(cv, cu, r_3_2_x, r_3_2_y, r_3_2_z, c, x, y, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # relu_3_1
    (
        relu_3_1.compute_root()
        .split(c, c, ci, 128)
        .split(x, x, xi, 8)
        .split(y, y, yi, 8)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, xi, yi, n, c, x, y)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_3_1
    conv_3_1.compute_at(relu_3_1, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_3_1.update(0)
        .split(c, c, cv, 16)
        .reorder(cv, c, r_3_1_x, r_3_1_y, r_3_1_z, x, y, n)
        .vectorize(cv)
    )

    # maximum
    maximum_2.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        maximum_2.update(0)
        .split(x, x, xi, 4)
        .split(y, y, yi, 4)
        .split(c, c, cv, 16)
        .reorder(cv, square_2_x, square_2_y, c, xi, yi, n, x, y)
        .unroll(square_2_x)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_2_2
    conv_2_2.compute_at(maximum_2, x).split(c, c, cv, 16).vectorize(cv)
    (
        conv_2_2.update(0)
        .split(c, c, cv, 16)
        .reorder(cv, c, r_2_2_x, r_2_2_y, r_2_2_z, x, y, n)
        .vectorize(cv)
    )

    # relu_2_1
    (
        relu_2_1.compute_root()
        .split(c, c, ci, 64)
        .split(x, x, xi, 16)
        .split(y, y, yi, 16)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, xi, yi, n, c, x, y)
        .unroll(ci)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_2_1
    conv_2_1.compute_at(relu_2_1, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv_2_1.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 4)
        .reorder(cv, cu, r_2_1_x, r_2_1_y, r_2_1_z, c, x, y, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # maximum
    maximum.compute_root().split(c, c, cv, 16).vectorize(cv).parallel(n)
    (
        maximum.update(0)
        .split(x, x, xi, 8)
        .split(y, y, yi, 8)
        .split(c, c, cv, 16)
        .reorder(cv, square_1_x, square_1_y, c, xi, yi, n, x, y)
        .unroll(square_1_x)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_1_2
    conv_1_2.compute_at(maximum, x).split(c, c, cv, 16).vectorize(cv)
    (
        conv_1_2.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 4)
        .reorder(cv, cu, r_1_2_x, r_1_2_y, r_1_2_z, c, x, y, n)
        .unroll(cu)
        .vectorize(cv)
    )

    # relu_1_1
    (
        relu_1_1.compute_root()
        .split(x, x, xi, 16)
        .split(y, y, yi, 16)
        .split(c, c, cv, 16)
        .reorder(cv, c, xi, yi, n, x, y)
        .vectorize(cv)
        .parallel(y)
    )

    # conv_1_1
    conv_1_1.compute_at(relu_1_1, x).split(c, c, cv, 16).vectorize(cv)
    (
        conv_1_1.update(0)
        .split(c, c, cv, 16)
        .reorder(cv, r_1_1_x, r_1_1_y, r_1_1_z, c, x, y, n)
        .unroll(r_1_1_x)
        .vectorize(cv)
    )

    # data
    data.compute_at(relu_1_1, x).split(x, x, xv, 16).unroll(c, 3).vectorize(xv)
