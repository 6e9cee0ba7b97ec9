# found in 124.23 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    nl_means = funcs['nl_means']
    mean = funcs['mean']
    with_alpha = funcs['with_alpha']
    w = funcs['w']
    blur_d = funcs['blur_d']
    row = funcs['row']
    blur_d_y = funcs['blur_d_y']
    column = funcs['column']
    d = funcs['d']
    colors = funcs['colors']
    dc = funcs['dc']
    repeat_edge = funcs['repeat_edge']
    lambda_0 = funcs['lambda']
    _0 = repeat_edge.args()[0]
    _0i = hl.Var('_0i')
    _1 = repeat_edge.args()[1]
    _2 = repeat_edge.args()[2]
    c = nl_means.args()[2]
    dx = w.args()[2]
    dxi = hl.Var('dxi')
    dy = w.args()[3]
    x = nl_means.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = nl_means.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    channels_x = colors.rvars(0)[0]
    patch_x_x = row.rvars(0)[0]
    patch_y_x = column.rvars(0)[0]
    s_x = mean.rvars(0)[0]
    s_y = mean.rvars(0)[1]
    (
        nl_means
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 32, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 32, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 4, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, yii, c, xi, yi, x, y)
    )
    (
        mean
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(nl_means, xi)
        .reorder(xi, x, y, c)
    )
    (
        mean.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .reorder(xi, x, y, s_x, c, s_y)
    )
    (
        with_alpha
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(mean, c)
        .store_at(mean, s_y)
        .reorder(xi, x, y, c)
    )
    (
        w
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(mean, s_y)
        .store_at(nl_means, xi)
        .reorder(xi, x, y, dx, dy)
    )
    (
        blur_d
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(w, dx)
        .reorder(xi, x, y, dx, dy)
    )
    (
        row
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(w, dx)
        .reorder(xi, x, y, dx, dy)
    )
    (
        row.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .reorder(xi, x, y, dx, dy, patch_x_x)
    )
    (
        blur_d_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .split(dx, dx, dxi, 2, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(dxi)
        .vectorize(xi)
        .compute_at(mean, s_y)
        .reorder(xi, y, dxi, dx, x, dy)
    )
    (
        column
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(dx)
        .vectorize(xi)
        .compute_at(blur_d_y, dx)
        .reorder(xi, x, y, dx, dy)
    )
    (
        column.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(dx)
        .vectorize(xi)
        .reorder(xi, x, y, dx, dy, patch_y_x)
    )
    (
        d
        .store_in(hl.MemoryType.Stack)
        .split(y, y, yi, 5, hl.TailStrategy.RoundUp)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(yi)
        .unroll(dx)
        .vectorize(xi)
        .compute_at(blur_d_y, dx)
        .store_at(blur_d_y, x)
        .reorder(xi, x, yi, dx, y, dy)
    )
    (
        colors
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(dx)
        .vectorize(xi)
        .compute_at(d, y)
        .reorder(xi, x, y, dx, dy)
    )
    (
        colors.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(dx)
        .vectorize(xi)
        .reorder(xi, x, y, dx, channels_x, dy)
    )
    (
        dc
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(dx)
        .vectorize(xi)
        .compute_at(colors, channels_x)
        .reorder(xi, x, y, dx, dy, c)
    )
    (
        repeat_edge
        .store_in(hl.MemoryType.Stack)
        .split(_0, _0, _0i, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(nl_means, xi)
        .store_at(nl_means, x)
        .reorder(_0i, _0, _1, _2)
    )
