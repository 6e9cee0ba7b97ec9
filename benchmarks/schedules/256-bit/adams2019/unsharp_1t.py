# found in 11.31 s by Halide's Adams2019, for 1 thread(s)
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
    (
        unsharp
        .split(x, x, xi, 256, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 16, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 64, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, c, xi, yi, x, y)
    )
    (
        ratio
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 8, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(unsharp, xi)
        .reorder(xii, xi, x, y)
    )
    (
        blur_x
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(ratio, x)
        .reorder(xi, x, y)
    )
    (
        blur_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(unsharp, xi)
        .reorder(xi, x, y)
    )
    (
        gray
        .split(x, x, xi, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(unsharp, x)
        .reorder(xi, x, y)
    )
