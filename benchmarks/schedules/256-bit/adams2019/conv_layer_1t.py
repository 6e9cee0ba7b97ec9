# found in 0.44 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    relu = funcs['relu']
    conv = funcs['conv']
    c = relu.args()[0]
    ci = hl.Var('ci')
    cii = hl.Var('cii')
    n = relu.args()[3]
    x = relu.args()[1]
    xi = hl.Var('xi')
    y = relu.args()[2]
    yi = hl.Var('yi')
    r_x = conv.rvars(0)[0]
    r_y = conv.rvars(0)[1]
    r_z = conv.rvars(0)[2]
    (
        relu
        .split(c, c, ci, 24, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 2, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 2, hl.TailStrategy.ShiftInwards)
        .split(ci, ci, cii, 8, hl.TailStrategy.ShiftInwards)
        .unroll(ci)
        .unroll(xi)
        .unroll(yi)
        .vectorize(cii)
        .compute_root()
        .reorder(cii, ci, xi, yi, c, x, y, n)
    )
    (
        conv.update(0)
        .split(c, c, ci, 8, hl.TailStrategy.GuardWithIf)
        .unroll(c)
        .unroll(x)
        .unroll(y)
        .vectorize(ci)
        .reorder(ci, c, x, y, n, r_x, r_y, r_z)
    )
    (
        conv
        .split(c, c, ci, 8, hl.TailStrategy.ShiftInwards)
        .unroll(c)
        .unroll(x)
        .unroll(y)
        .vectorize(ci)
        .compute_at(relu, c)
        .reorder(ci, c, x, y, n)
    )
