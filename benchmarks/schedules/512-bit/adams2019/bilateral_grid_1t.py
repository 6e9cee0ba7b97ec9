# found in 159.95 s by Halide's Adams2019, for 1 thread(s)
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
    c = blur_y.args()[3]
    x = bilateral_grid.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = bilateral_grid.args()[1]
    yi = hl.Var('yi')
    z = blur_y.args()[2]
    r_x = histogram.rvars(0)[0]
    r_y = histogram.rvars(0)[1]
    (
        bilateral_grid
        .split(y, y, yi, 32, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, yi, y)
    )
    (
        blur_y
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(bilateral_grid, y)
        .reorder(xi, x, y, z, c)
    )
    (
        blur_x
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 32, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, z, xi, c, x, y)
    )
    (
        blur_z
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blur_x, xi)
        .reorder(xi, x, y, z, c)
    )
    (
        histogram
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
        .split(_0, _0, _0i, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(blur_x, x)
        .reorder(_0i, _0, _1)
    )
