# found in 166.84 s by Halide's Adams2019, for 2 thread(s)
import halide as hl


def schedule(funcs):
    bilateral_grid = funcs['bilateral_grid']
    interpolated = funcs['interpolated']
    blur_y = funcs['blur_y']
    blur_x = funcs['blur_x']
    blur_z = funcs['blur_z']
    histogram = funcs['histogram']
    repeat_edge = funcs['repeat_edge']
    lambda_0 = funcs['lambda']
    _0 = repeat_edge.args()[0]
    _0i = hl.Var('_0i')
    _1 = repeat_edge.args()[1]
    c = interpolated.args()[2]
    x = bilateral_grid.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = bilateral_grid.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    z = blur_y.args()[2]
    zi = hl.Var('zi')
    r_x = histogram.rvars(0)[0]
    r_y = histogram.rvars(0)[1]
    (
        bilateral_grid
        .split(x, x, xi, 768, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 160, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 256, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 32, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, yii, xi, yi, x, y)
        .fuse(x, y, x)
        .parallel(x)
    )
    (
        interpolated
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(bilateral_grid, xi)
        .reorder(xi, x, y, c)
    )
    (
        blur_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(interpolated, c)
        .reorder(xi, x, y, z, c)
    )
    (
        blur_x
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .split(z, z, zi, 3, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 16, hl.TailStrategy.ShiftInwards)
        .unroll(xi)
        .unroll(zi)
        .vectorize(xii)
        .compute_at(bilateral_grid, x)
        .reorder(xii, xi, zi, z, c, x, y)
    )
    (
        blur_z
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(z)
        .vectorize(xi)
        .compute_at(blur_x, z)
        .reorder(xi, x, y, z, c)
    )
    (
        histogram
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blur_x, x)
        .reorder(xi, x, y, z, c)
    )
    (
        histogram.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(c)
        .vectorize(xi)
        .reorder(xi, x, y, c, r_x, r_y)
    )
    (
        repeat_edge
        .store_in(hl.MemoryType.Stack)
        .split(_0, _0, _0i, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(blur_x, y)
        .reorder(_0i, _0, _1)
    )
