# found in 13.91 s by Halide's Adams2019, for 1 thread(s)
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
    y = unsharp.args()[1]
    (
        unsharp
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, c, y)
    )
    (
        ratio
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 128, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 16, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(unsharp, y)
        .reorder(xii, xi, x, y)
    )
    (
        blur_x
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(ratio, x)
        .reorder(xi, x, y)
    )
    (
        blur_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(ratio, x)
        .reorder(xi, x, y)
    )
    (
        gray
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(unsharp, y)
        .reorder(xi, x, y)
    )
