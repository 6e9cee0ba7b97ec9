# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    constant_exterior = pipeline.get_func(2)
    conv_1_1 = pipeline.get_func(3)
    relu_1_1 = pipeline.get_func(4)
    constant_exterior_2 = pipeline.get_func(6)
    conv_1_2 = pipeline.get_func(7)
    relu_1_2 = pipeline.get_func(8)
    maximum = pipeline.get_func(9)
    pool_1 = pipeline.get_func(10)
    constant_exterior_3 = pipeline.get_func(12)
    conv_2_1 = pipeline.get_func(13)
    relu_2_1 = pipeline.get_func(14)
    constant_exterior_4 = pipeline.get_func(16)
    conv_2_2 = pipeline.get_func(17)
    relu_2_2 = pipeline.get_func(18)
    maximum_2 = pipeline.get_func(19)
    pool_2 = pipeline.get_func(20)
    constant_exterior_5 = pipeline.get_func(22)
    conv_3_1 = pipeline.get_func(23)
    relu_3_1 = pipeline.get_func(24)
    constant_exterior_6 = pipeline.get_func(26)
    conv_3_2 = pipeline.get_func(27)
    relu_3_2 = pipeline.get_func(28)
    constant_exterior_7 = pipeline.get_func(30)
    conv_3_3 = pipeline.get_func(31)
    relu_3_3 = pipeline.get_func(32)
    maximum_3 = pipeline.get_func(33)
    pool_3 = pipeline.get_func(34)
    constant_exterior_8 = pipeline.get_func(36)
    conv_4_1 = pipeline.get_func(37)
    relu_4_1 = pipeline.get_func(38)
    constant_exterior_9 = pipeline.get_func(40)
    conv_4_2 = pipeline.get_func(41)
    relu_4_2 = pipeline.get_func(42)
    constant_exterior_10 = pipeline.get_func(44)
    conv_4_3 = pipeline.get_func(45)
    relu_4_3 = pipeline.get_func(46)
    maximum_4 = pipeline.get_func(47)
    pool_4 = pipeline.get_func(48)
    constant_exterior_11 = pipeline.get_func(50)
    conv_5_1 = pipeline.get_func(51)
    relu_5_1 = pipeline.get_func(52)
    constant_exterior_12 = pipeline.get_func(54)
    conv_5_2 = pipeline.get_func(55)
    relu_5_2 = pipeline.get_func(56)
    constant_exterior_13 = pipeline.get_func(58)
    conv_5_3 = pipeline.get_func(59)
    relu_5_3 = pipeline.get_func(60)
    maximum_5 = pipeline.get_func(61)
    pool_5 = pipeline.get_func(62)
    dense_1 = pipeline.get_func(64)
    rectified_1 = pipeline.get_func(65)
    dense_2 = pipeline.get_func(66)
    rectified_2 = pipeline.get_func(67)
    dense_3 = pipeline.get_func(68)
    maximum_6 = pipeline.get_func(69)
    powers = pipeline.get_func(70)
    sum_2 = pipeline.get_func(71)
    softmax = pipeline.get_func(72)
    filter_2_1 = pipeline.get_image(27)
    filter_2_2 = pipeline.get_image(25)
    filter_3_1 = pipeline.get_image(23)
    filter_3_2 = pipeline.get_image(21)
    filter_3_3 = pipeline.get_image(19)
    filter_4_1 = pipeline.get_image(17)
    filter_4_2 = pipeline.get_image(15)
    filter_4_3 = pipeline.get_image(13)
    filter_5_1 = pipeline.get_image(11)
    filter_5_2 = pipeline.get_image(9)
    filter_5_3 = pipeline.get_image(7)
    c, cu, x, xv, n, nu, y, cv, xu, xi, yu = hl.vars("c cu x xv n nu y cv xu xi yu")
    ci, i, iv, nv = hl.vars("ci i iv nv")
    r_1_1_x = conv_1_1.rvars(0)[0]
    r_1_1_y = conv_1_1.rvars(0)[1]
    r_1_1_z = conv_1_1.rvars(0)[2]
    r_1_2_x = conv_1_2.rvars(0)[0]
    r_1_2_y = conv_1_2.rvars(0)[1]
    r_1_2_z = conv_1_2.rvars(0)[2]
    r_2_1_x = conv_2_1.rvars(0)[0]
    r_2_1_y = conv_2_1.rvars(0)[1]
    r_2_1_z = conv_2_1.rvars(0)[2]
    square_1_x = maximum.rvars(0)[0]
    square_1_y = maximum.rvars(0)[1]
    r_2_2_x = conv_2_2.rvars(0)[0]
    r_2_2_y = conv_2_2.rvars(0)[1]
    r_2_2_z = conv_2_2.rvars(0)[2]
    r_3_1_x = conv_3_1.rvars(0)[0]
    r_3_1_y = conv_3_1.rvars(0)[1]
    r_3_1_z = conv_3_1.rvars(0)[2]
    square_2_x = maximum_2.rvars(0)[0]
    square_2_y = maximum_2.rvars(0)[1]
    r_3_2_x = conv_3_2.rvars(0)[0]
    r_3_2_y = conv_3_2.rvars(0)[1]
    r_3_2_z = conv_3_2.rvars(0)[2]
    r_3_3_x = conv_3_3.rvars(0)[0]
    r_3_3_y = conv_3_3.rvars(0)[1]
    r_3_3_z = conv_3_3.rvars(0)[2]
    square_3_x = maximum_3.rvars(0)[0]
    square_3_y = maximum_3.rvars(0)[1]
    r_4_1_x = conv_4_1.rvars(0)[0]
    r_4_1_y = conv_4_1.rvars(0)[1]
    r_4_1_z = conv_4_1.rvars(0)[2]
    r_4_2_x = conv_4_2.rvars(0)[0]
    r_4_2_y = conv_4_2.rvars(0)[1]
    r_4_2_z = conv_4_2.rvars(0)[2]
    r_4_3_x = conv_4_3.rvars(0)[0]
    r_4_3_y = conv_4_3.rvars(0)[1]
    r_4_3_z = conv_4_3.rvars(0)[2]
    square_4_x = maximum_4.rvars(0)[0]
    square_4_y = maximum_4.rvars(0)[1]
    r_5_1_x = conv_5_1.rvars(0)[0]
    r_5_1_y = conv_5_1.rvars(0)[1]
    r_5_1_z = conv_5_1.rvars(0)[2]
    r_5_2_x = conv_5_2.rvars(0)[0]
    r_5_2_y = conv_5_2.rvars(0)[1]
    r_5_2_z = conv_5_2.rvars(0)[2]
    r_5_3_x = conv_5_3.rvars(0)[0]
    r_5_3_y = conv_5_3.rvars(0)[1]
    r_5_3_z = conv_5_3.rvars(0)[2]
    square_5_x = maximum_5.rvars(0)[0]
    square_5_y = maximum_5.rvars(0)[1]
    r_1_x = dense_1.rvars(0)[0]
    r_2_x = dense_2.rvars(0)[0]
    r_3_x = dense_3.rvars(0)[0]
    classes_x = maximum_6.rvars(0)[0]

    # constant_exterior
    (
        constant_exterior.compute_root()
        .split(c, c, cu, 3)
        .split(x, x, xv, 16)
        .split(n, n, nu, 4)
        .reorder(xv, cu, nu, c, n, x, y)
        .unroll(cu)
        .vectorize(xv)
        .unroll(nu)
        .parallel(y)
    )

    # constant_exterior
    (
        constant_exterior_2.compute_root()
        .split(c, c, cv, 64)
        .split(x, x, xu, 6)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # relu_1_1
    (
        relu_1_1.compute_at(constant_exterior_2, c)
        .split(c, c, cv, 64)
        .split(x, x, xu, 6)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # conv_1_1
    (
        conv_1_1.compute_at(constant_exterior_2, c)
        .split(c, c, cv, 64)
        .split(x, x, xu, 6)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_1_1.update(0)
        .split(c, c, cv, 64)
        .split(x, x, xu, 6)
        .reorder(cv, xu, r_1_1_x, r_1_1_y, r_1_1_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # relu_1_2
    (
        relu_1_2.compute_root()
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # conv_1_2
    (
        conv_1_2.compute_at(relu_1_2, c)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_1_2.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_1_2_x, r_1_2_y, r_1_2_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # relu_2_1
    (
        relu_2_1.compute_root()
        .split(c, c, cv, 32)
        .split(x, x, xi, 8)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, xi, n, x, y)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
        .parallel(y)
    )

    # conv_2_1
    (
        conv_2_1.compute_at(relu_2_1, c)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )
    (
        conv_2_1.update(0)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, r_2_1_x, r_2_1_y, r_2_1_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )

    # constant_exterior
    (
        constant_exterior_3.compute_at(relu_2_1, x)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # pool_1
    (
        pool_1.compute_at(relu_2_1, x)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # maximum
    (
        maximum.compute_at(relu_2_1, x)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )
    (
        maximum.update(0)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, square_1_x, square_1_y, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # filter_2_1
    filter_2_1_wrapper = filter_2_1.in_(conv_2_1)

    # filter_2_1: wrapper
    (
        filter_2_1_wrapper.compute_at(relu_2_1, y)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # relu_2_2
    (
        relu_2_2.compute_root()
        .split(c, c, cv, 32)
        .split(x, x, xi, 8)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, xi, n, x, y)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
        .parallel(y)
    )

    # conv_2_2
    (
        conv_2_2.compute_at(relu_2_2, c)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )
    (
        conv_2_2.update(0)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, r_2_2_x, r_2_2_y, r_2_2_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )

    # constant_exterior
    (
        constant_exterior_4.compute_at(relu_2_2, x)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # filter_2_2
    filter_2_2_wrapper = filter_2_2.in_(conv_2_2)

    # filter_2_2: wrapper
    (
        filter_2_2_wrapper.compute_at(relu_2_2, y)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # relu_3_1
    (
        relu_3_1.compute_root()
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, x, n, y)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
        .parallel(y)
    )

    # conv_3_1
    (
        conv_3_1.compute_at(relu_3_1, c)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )
    (
        conv_3_1.update(0)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, r_3_1_x, r_3_1_y, r_3_1_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )

    # constant_exterior
    (
        constant_exterior_5.store_at(relu_3_1, n)
        .compute_at(relu_3_1, x)
        .split(c, c, cv, 16)
        .reorder(cv, c, x, y, n)
        .vectorize(cv)
    )

    # pool_2
    (
        pool_2.store_at(relu_3_1, n)
        .compute_at(relu_3_1, x)
        .split(c, c, cv, 16)
        .reorder(cv, c, x, y, n)
        .vectorize(cv)
    )

    # maximum
    (
        maximum_2.store_at(relu_3_1, n)
        .compute_at(relu_3_1, x)
        .split(c, c, cv, 16)
        .reorder(cv, c, x, y, n)
        .vectorize(cv)
    )
    (
        maximum_2.update(0)
        .split(c, c, cv, 16)
        .reorder(cv, square_2_x, square_2_y, c, x, y, n)
        .vectorize(cv)
    )

    # filter_3_1
    filter_3_1_wrapper = filter_3_1.in_(conv_3_1)

    # filter_3_1: wrapper
    (
        filter_3_1_wrapper.compute_at(relu_3_1, y)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # relu_3_2
    (
        relu_3_2.compute_root()
        .split(c, c, ci, 128)
        .split(ci, ci, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, ci, y, x, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
        .parallel(c)
    )

    # conv_3_2
    (
        conv_3_2.compute_at(relu_3_2, ci)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )
    (
        conv_3_2.update(0)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, r_3_2_x, r_3_2_y, r_3_2_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )

    # constant_exterior
    (
        constant_exterior_6.store_at(relu_3_2, n)
        .compute_at(relu_3_2, x)
        .split(c, c, cv, 16)
        .reorder(cv, c, x, y, n)
        .vectorize(cv)
    )

    # filter_3_2
    filter_3_2_wrapper = filter_3_2.in_(conv_3_2)

    # filter_3_2: wrapper
    (
        filter_3_2_wrapper.compute_at(relu_3_2, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # relu_3_3
    (
        relu_3_3.compute_root()
        .split(c, c, ci, 128)
        .split(ci, ci, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, ci, y, x, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
        .parallel(c)
    )

    # conv_3_3
    (
        conv_3_3.compute_at(relu_3_3, ci)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )
    (
        conv_3_3.update(0)
        .split(c, c, cv, 32)
        .split(y, y, yu, 14)
        .reorder(cv, yu, r_3_3_x, r_3_3_y, r_3_3_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(yu)
    )

    # constant_exterior
    (
        constant_exterior_7.store_at(relu_3_3, n)
        .compute_at(relu_3_3, x)
        .split(c, c, cv, 16)
        .reorder(cv, c, x, y, n)
        .vectorize(cv)
    )

    # filter_3_3
    filter_3_3_wrapper = filter_3_3.in_(conv_3_3)

    # filter_3_3: wrapper
    (
        filter_3_3_wrapper.compute_at(relu_3_3, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # constant_exterior
    (
        constant_exterior_8.compute_root()
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # pool_3
    (
        pool_3.store_at(constant_exterior_8, y)
        .compute_at(constant_exterior_8, x)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # maximum
    (
        maximum_3.store_at(constant_exterior_8, y)
        .compute_at(constant_exterior_8, x)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )
    (
        maximum_3.update(0)
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, square_3_x, square_3_y, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
    )

    # relu_4_1
    (
        relu_4_1.compute_root()
        .split(c, c, ci, 128)
        .split(ci, ci, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, ci, x, y, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(c)
    )

    # conv_4_1
    (
        conv_4_1.compute_at(relu_4_1, ci)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_4_1.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_4_1_x, r_4_1_y, r_4_1_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # filter_4_1
    filter_4_1_wrapper = filter_4_1.in_(conv_4_1)

    # filter_4_1: wrapper
    (
        filter_4_1_wrapper.compute_at(relu_4_1, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # constant_exterior
    (
        constant_exterior_9.compute_root()
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
        .parallel(y)
    )

    # relu_4_2
    (
        relu_4_2.compute_root()
        .split(c, c, ci, 64)
        .split(ci, ci, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, ci, x, y, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(c)
    )

    # conv_4_2
    (
        conv_4_2.compute_at(relu_4_2, ci)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_4_2.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_4_2_x, r_4_2_y, r_4_2_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # filter_4_2
    filter_4_2_wrapper = filter_4_2.in_(conv_4_2)

    # filter_4_2: wrapper
    (
        filter_4_2_wrapper.compute_at(relu_4_2, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # constant_exterior
    (
        constant_exterior_10.compute_root()
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
        .parallel(y)
    )

    # relu_4_3
    (
        relu_4_3.compute_root()
        .split(c, c, ci, 64)
        .split(ci, ci, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, ci, x, y, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(c)
    )

    # conv_4_3
    (
        conv_4_3.compute_at(relu_4_3, ci)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_4_3.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_4_3_x, r_4_3_y, r_4_3_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # filter_4_3
    filter_4_3_wrapper = filter_4_3.in_(conv_4_3)

    # filter_4_3: wrapper
    (
        filter_4_3_wrapper.compute_at(relu_4_3, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # constant_exterior
    (
        constant_exterior_11.compute_root()
        .split(c, c, cv, 64)
        .split(x, x, xu, 8)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # pool_4
    (
        pool_4.compute_at(constant_exterior_11, c)
        .split(c, c, cv, 64)
        .split(x, x, xu, 7)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # maximum
    (
        maximum_4.compute_at(constant_exterior_11, c)
        .split(c, c, cv, 64)
        .split(x, x, xu, 7)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        maximum_4.update(0)
        .split(c, c, cv, 64)
        .split(x, x, xu, 7)
        .reorder(cv, xu, square_4_x, square_4_y, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # relu_5_1
    (
        relu_5_1.compute_root()
        .split(c, c, ci, 64)
        .split(ci, ci, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, ci, x, y, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(c)
    )

    # conv_5_1
    (
        conv_5_1.compute_at(relu_5_1, ci)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_5_1.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_5_1_x, r_5_1_y, r_5_1_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # filter_5_1
    filter_5_1_wrapper = filter_5_1.in_(conv_5_1)

    # filter_5_1: wrapper
    (
        filter_5_1_wrapper.compute_at(relu_5_1, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # constant_exterior
    (
        constant_exterior_12.compute_root()
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
        .parallel(y)
    )

    # relu_5_2
    (
        relu_5_2.compute_root()
        .split(c, c, ci, 64)
        .split(ci, ci, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, ci, x, y, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(c)
    )

    # conv_5_2
    (
        conv_5_2.compute_at(relu_5_2, ci)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_5_2.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_5_2_x, r_5_2_y, r_5_2_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # filter_5_2
    filter_5_2_wrapper = filter_5_2.in_(conv_5_2)

    # filter_5_2: wrapper
    (
        filter_5_2_wrapper.compute_at(relu_5_2, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # constant_exterior
    (
        constant_exterior_13.compute_root()
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
        .parallel(y)
    )

    # relu_5_3
    (
        relu_5_3.compute_root()
        .split(c, c, ci, 64)
        .split(ci, ci, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, ci, x, y, n, c)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(c)
    )

    # conv_5_3
    (
        conv_5_3.compute_at(relu_5_3, ci)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv_5_3.update(0)
        .split(c, c, cv, 32)
        .split(x, x, xu, 14)
        .reorder(cv, xu, r_5_3_x, r_5_3_y, r_5_3_z, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
    )

    # filter_5_3
    filter_5_3_wrapper = filter_5_3.in_(conv_5_3)

    # filter_5_3: wrapper
    (
        filter_5_3_wrapper.compute_at(relu_5_3, c)
        .reorder_storage(hl._0, hl._3, hl._1, hl._2)
        .vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
    )

    # maximum
    (
        maximum_5.compute_root()
        .split(c, c, cv, 64)
        .split(x, x, xu, 4)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(n)
    )
    (
        maximum_5.update(0)
        .split(c, c, cv, 64)
        .split(x, x, xu, 4)
        .reorder(cv, xu, square_5_x, square_5_y, c, x, y, n)
        .vectorize(cv, 16)
        .unroll(cv)
        .unroll(xu)
        .parallel(n)
    )

    # pool_5
    (
        pool_5.compute_root()
        .split(c, c, cv, 16)
        .split(n, n, nu, 4)
        .reorder(cv, nu, n, c, x, y)
        .vectorize(cv)
        .unroll(nu)
        .parallel(y)
    )

    # rectified_1
    (
        rectified_1.compute_root()
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )

    # dense_1
    (
        dense_1.compute_at(rectified_1, i)
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )
    (
        dense_1.update(0)
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, r_1_x, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )

    # rectified_2
    (
        rectified_2.compute_root()
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )

    # dense_2
    (
        dense_2.compute_at(rectified_2, i)
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )
    (
        dense_2.update(0)
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, r_2_x, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )

    # dense_3
    (
        dense_3.compute_root()
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
    )
    (
        dense_3.update(0)
        .split(i, i, iv, 64)
        .split(n, n, nu, 4)
        .reorder(iv, nu, r_3_x, i, n)
        .vectorize(iv, 16)
        .unroll(iv)
        .unroll(nu)
        .parallel(i)
    )

    # maximum
    maximum_6.compute_root().split(n, n, nv, 4).reorder(nv, n).vectorize(nv)
    maximum_6.update(0).split(n, n, nv, 4).reorder(nv, classes_x, n).vectorize(nv)

    # powers
    (
        powers.compute_root()
        .split(i, i, iv, 16)
        .split(n, n, nu, 4)
        .reorder(iv, nu, n, i)
        .vectorize(iv)
        .unroll(nu)
        .parallel(i)
    )

    # sum
    sum_2.compute_root().split(n, n, nv, 4).reorder(nv, n).vectorize(nv)
    sum_2.update(0).split(n, n, nv, 4).reorder(nv, classes_x, n).vectorize(nv)

    # softmax
    (
        softmax.split(i, i, iv, 16)
        .split(n, n, nu, 4)
        .reorder(iv, nu, n, i)
        .vectorize(iv)
        .unroll(nu)
        .parallel(i)
    )
