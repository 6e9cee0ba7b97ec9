# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    conv = pipeline.get_func(0)
    relu = pipeline.get_func(1)
    x, xi, y, yi, c, cv, n, cu = hl.vars("x xi y yi c cv n cu")
    r_x = conv.rvars(0)[0]
    r_y = conv.rvars(0)[1]
    r_z = conv.rvars(0)[2]

    # relu
    (
        relu.split(x, x, xi, 16)
        .split(y, y, yi, 16)
        .split(c, c, cv, 16)
        .reorder(cv, c, xi, yi, n, x, y)
        .vectorize(cv)
        .parallel(y)
    )

    # conv
    conv.compute_at(relu, x).split(c, c, cv, 16).vectorize(cv)
    (
        conv.update(0)
        .split(c, c, cv, 16)
        .split(c, c, cu, 4)
        .reorder(cv, cu, r_x, r_y, r_z, c, x, y, n)
        .unroll(cu)
        .vectorize(cv)
    )
