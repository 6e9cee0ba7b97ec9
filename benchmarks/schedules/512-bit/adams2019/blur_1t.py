# found in 0.04 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    blur_y = funcs['blur_y']
    blur_x = funcs['blur_x']
    x = blur_y.args()[0]
    xi = hl.Var('xi')
    y = blur_y.args()[1]
    yi = hl.Var('yi')
    (
        blur_y
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 8, hl.TailStrategy.ShiftInwards)
        .unroll(yi)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, yi, x, y)
    )
    (
        blur_x
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .unroll(y)
        .vectorize(xi)
        .compute_at(blur_y, x)
        .reorder(xi, x, y)
    )
