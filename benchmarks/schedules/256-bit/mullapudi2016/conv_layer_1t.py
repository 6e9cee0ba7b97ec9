# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    conv = pipeline.get_func(0)
    relu = pipeline.get_func(1)
    c, ci, x, xi, y, yi, cv, n = hl.vars("c ci x xi y yi cv n")
    r_x = conv.rvars(0)[0]
    r_y = conv.rvars(0)[1]
    r_z = conv.rvars(0)[2]

    # relu
    (
        relu.split(c, c, ci, 32)
        .split(x, x, xi, 16)
        .split(y, y, yi, 16)
        .split(ci, ci, cv, 16)
        .reorder(cv, ci, xi, yi, c, x, y, n)
        .unroll(ci)
        .vectorize(cv)
        .parallel(n)
    )

    # conv
    conv.compute_at(relu, c).split(c, c, cv, 16).vectorize(cv)
    (
        conv.update(0)
        .split(c, c, cv, 16)
        .reorder(cv, c, r_x, r_y, r_z, x, y, n)
        .vectorize(cv)
    )
