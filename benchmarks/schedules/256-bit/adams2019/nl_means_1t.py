# found in 147.43 s by Halide's Adams2019, for 1 thread(s)
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
    dy = w.args()[3]
    x = nl_means.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
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
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 64, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 2, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yii, c, yi, x, y)
    )
    (
        mean
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(nl_means, yi)
        .reorder(xi, x, y, c)
    )
    (
        mean.update(0)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .reorder(xi, x, y, s_x, s_y, c)
    )
    (
        with_alpha
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(mean, c)
        .reorder(xi, x, y, c)
    )
    (
        w
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(nl_means, yi)
        .reorder(xi, x, y, dx, dy)
    )
    (
        blur_d
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(w, dx)
        .reorder(xi, x, y, dx, dy)
    )
    (
        row
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(blur_d, y)
        .reorder(xi, x, y, dx, dy)
    )
    (
        row.update(0)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .reorder(xi, x, y, dx, dy, patch_x_x)
    )
    (
        blur_d_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(y)
        .vectorize(xi)
        .compute_at(w, dx)
        .reorder(xi, y, x, dx, dy)
    )
    (
        column
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(y)
        .vectorize(xi)
        .compute_at(blur_d_y, x)
        .reorder(xi, x, y, dx, dy)
    )
    (
        column.update(0)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(y)
        .vectorize(xi)
        .reorder(xi, x, y, dx, dy, patch_y_x)
    )
    (
        d
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 4, hl.TailStrategy.RoundUp)
        .unroll(yi)
        .vectorize(xi)
        .compute_at(w, dx)
        .reorder(xi, yi, x, y, dx, dy)
    )
    (
        colors
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(y)
        .vectorize(xi)
        .compute_at(d, x)
        .reorder(xi, x, y, dx, dy)
    )
    (
        colors.update(0)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(y)
        .vectorize(xi)
        .reorder(xi, x, y, dx, dy, channels_x)
    )
    (
        dc
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(y)
        .unroll(c)
        .vectorize(xi)
        .compute_at(d, x)
        .reorder(xi, x, y, dx, dy, c)
    )
    (
        repeat_edge
        .store_in(hl.MemoryType.Stack)
        .split(_0, _0, _0i, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(nl_means, yi)
        .store_at(nl_means, x)
        .reorder(_0i, _0, _1, _2)
    )
