# found in 0.47 s by Halide's Adams2019, for 2 thread(s)
import halide as hl


def schedule(funcs):
    matmul = funcs['matmul']
    prod = funcs['prod']
    x = matmul.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    y = matmul.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    k_x = prod.rvars(0)[0]
    (
        matmul
        .split(y, y, yi, 64, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 24, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 4, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 8, hl.TailStrategy.ShiftInwards)
        .unroll(xi)
        .unroll(yii)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yii, x, yi, y)
        .parallel(y)
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
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(matmul, x)
        .reorder(xi, x, y)
    )
