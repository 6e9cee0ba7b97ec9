# found in 1.26 s by Halide's Adams2019, for 2 thread(s)
import halide as hl


def schedule(funcs):
    blur_y = funcs['blur_y']
    blur_x = funcs['blur_x']
    x = blur_y.args()[0]
    xi = hl.Var('xi')
    y = blur_y.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    (
        blur_y
        .split(y, y, yi, 150, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 8, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, yii, yi, y)
        .parallel(y)
    )
    (
        blur_x
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(blur_y, yi)
        .reorder(xi, x, y)
    )
