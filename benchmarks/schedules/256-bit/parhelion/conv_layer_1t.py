# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    conv = pipeline.get_func(0)
    relu = pipeline.get_func(1)
    c, cv, x, xu, y, n = hl.vars("c cv x xu y n")
    r_x = conv.rvars(0)[0]
    r_y = conv.rvars(0)[1]
    r_z = conv.rvars(0)[2]

    # relu
    (
        relu.split(c, c, cv, 16)
        .split(x, x, xu, 6)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 8)
        .unroll(cv)
        .unroll(xu)
    )

    # conv
    (
        conv.compute_at(relu, c)
        .split(c, c, cv, 16)
        .split(x, x, xu, 6)
        .reorder(cv, xu, c, x, y, n)
        .vectorize(cv, 8)
        .unroll(cv)
        .unroll(xu)
    )
    (
        conv.update(0)
        .split(c, c, cv, 16)
        .split(x, x, xu, 6)
        .reorder(cv, xu, r_x, r_y, r_z, c, x, y, n)
        .vectorize(cv, 8)
        .unroll(cv)
        .unroll(xu)
    )
