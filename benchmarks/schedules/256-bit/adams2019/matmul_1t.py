# found in 0.01 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    matmul = funcs['matmul']
    prod = funcs['prod']
    x = matmul.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    y = matmul.args()[1]
    yi = hl.Var('yi')
    k_x = prod.rvars(0)[0]
    (
        matmul
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 4, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 8, hl.TailStrategy.ShiftInwards)
        .unroll(xi)
        .unroll(yi)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yi, x, y)
    )
    (
        prod.update(0)
        .split(x, x, xi, 8, hl.TailStrategy.GuardWithIf)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .reorder(xi, x, y, k_x)
    )
    (
        prod
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(matmul, x)
        .reorder(xi, x, y)
    )
