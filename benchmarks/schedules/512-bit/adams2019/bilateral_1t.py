# found in 0.04 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    out = funcs['out']
    repeat_edge = funcs['repeat_edge']
    _0 = repeat_edge.args()[0]
    _0i = hl.Var('_0i')
    _1 = repeat_edge.args()[1]
    x = out.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    y = out.args()[1]
    yi = hl.Var('yi')
    (
        out
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 8, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yi, x, y)
    )
    (
        repeat_edge
        .split(_0, _0, _0i, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(out, x)
        .reorder(_0i, _0, _1)
    )
