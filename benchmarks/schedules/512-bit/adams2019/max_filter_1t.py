# found in 101.27 s by Halide's Adams2019, for 1 thread(s)
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
    x = max_filter.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = max_filter.args()[1]
    dx_x = maximum.rvars(0)[0]
    dy_x = sum.rvars(0)[0]
    r_x = powers.rvars(0)[0]
    r_y = powers.rvars(0)[1]
    (
        max_filter
        .split(x, x, xi, 384, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 128, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 16, hl.TailStrategy.ShiftInwards)
        .unroll(xii)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, xi, x, y, c)
    )
    (
        maximum
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(max_filter, xi)
        .reorder(xi, x, y, c)
    )
    (
        maximum.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .reorder(xi, x, y, c, dx_x)
    )
    (
        reach
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x)
    )
    (
        sum
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x)
    )
    (
        sum.update(0)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .reorder(xi, x, dy_x)
    )
    (
        columns
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(max_filter, x)
        .reorder(xi, x, y, c, t)
    )
    (
        slice_of
        .split(t, t, ti, 16, hl.TailStrategy.RoundUp)
        .unroll(t)
        .vectorize(ti)
        .compute_root()
        .reorder(ti, t)
    )
    (
        powers
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, t, x, y, c)
    )
    (
        powers.update(0)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .reorder(xi, r_x, r_y, x, c)
    )
    (
        repeat_edge
        .split(_0, _0, _0i, 16, hl.TailStrategy.ShiftInwards)
        .unroll(_0)
        .vectorize(_0i)
        .compute_at(powers, x)
        .reorder(_0i, _0, _1, _2)
    )
