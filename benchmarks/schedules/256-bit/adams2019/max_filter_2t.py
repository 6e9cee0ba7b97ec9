# found in 46.55 s by Halide's Adams2019, for 2 thread(s)
import halide as hl


def schedule(funcs):
    max_filter = funcs['max_filter']
    maximum = funcs['maximum']
    reach = funcs['reach']
    sum = funcs['sum']
    columns = funcs['columns']
    slice_of = funcs['slice_of']
    powers = funcs['powers']
    repeat_edge = funcs['repeat_edge']
    lambda_0 = funcs['lambda']
    _0 = repeat_edge.args()[0]
    _0i = hl.Var('_0i')
    _1 = repeat_edge.args()[1]
    _2 = repeat_edge.args()[2]
    c = max_filter.args()[2]
    t = columns.args()[3]
    ti = hl.Var('ti')
    tii = hl.Var('tii')
    x = max_filter.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = max_filter.args()[1]
    yi = hl.Var('yi')
    dx_x = maximum.rvars(0)[0]
    dy_x = sum.rvars(0)[0]
    r_x = powers.rvars(0)[0]
    r_y = powers.rvars(0)[1]
    (
        max_filter
        .split(y, y, yi, 320, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 512, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 64, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 8, hl.TailStrategy.ShiftInwards)
        .unroll(xii)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, xi, x, yi, y, c)
        .fuse(y, c, y)
        .parallel(y)
    )
    (
        maximum
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(max_filter, xi)
        .reorder(xi, x, y, c)
    )
    (
        maximum.update(0)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .reorder(xi, x, y, c, dx_x)
    )
    (
        sum
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 8, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, x)
        .parallel(x)
    )
    (
        sum.update(0)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 8, hl.TailStrategy.GuardWithIf)
        .unroll(xi)
        .vectorize(xii)
        .reorder(xii, xi, dy_x, x)
        .parallel(x)
    )
    (
        columns
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(max_filter, x)
        .reorder(xi, x, y, c, t)
    )
    (
        slice_of
        .split(t, t, ti, 16, hl.TailStrategy.RoundUp)
        .split(ti, ti, tii, 8, hl.TailStrategy.RoundUp)
        .unroll(ti)
        .vectorize(tii)
        .compute_root()
        .reorder(tii, ti, t)
        .parallel(t)
    )
    (
        powers
        .split(x, x, xi, 800, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 2, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yi, t, y, x, c)
        .fuse(x, c, x)
        .parallel(x)
    )
    (
        powers.update(0)
        .split(x, x, xi, 800, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 16, hl.TailStrategy.GuardWithIf)
        .vectorize(xii)
        .reorder(xii, r_x, r_y, xi, x, c)
        .fuse(x, c, x)
        .parallel(x)
    )
    (
        repeat_edge
        .store_in(hl.MemoryType.Stack)
        .split(_0, _0, _0i, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(powers, y)
        .reorder(_0i, _0, _1, _2)
    )
