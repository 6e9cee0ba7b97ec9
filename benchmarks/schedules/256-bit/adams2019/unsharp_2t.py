# found in 12.19 s by Halide's Adams2019, for 2 thread(s)
import halide as hl


def schedule(funcs):
    unsharp = funcs['unsharp']
    ratio = funcs['ratio']
    sharpen = funcs['sharpen']
    blur_x = funcs['blur_x']
    blur_y = funcs['blur_y']
    gray = funcs['gray']
    repeat_edge = funcs['repeat_edge']
    lambda_0 = funcs['lambda']
    c = unsharp.args()[2]
    x = unsharp.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = unsharp.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    (
        unsharp
        .split(y, y, yi, 80, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 16, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, yii, c, yi, y)
        .parallel(y)
    )
    (
        ratio
        .split(x, x, xi, 192, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 64, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 8, hl.TailStrategy.ShiftInwards)
        .unroll(xii)
        .vectorize(xiii)
        .compute_at(unsharp, yi)
        .reorder(xiii, xii, xi, y, x)
    )
    (
        blur_x
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(ratio, xi)
        .reorder(xi, x, y)
    )
    (
        blur_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(ratio, xi)
        .reorder(xi, x, y)
    )
    (
        gray
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(ratio, x)
        .reorder(xi, x, y)
    )
