# found in 0.01 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    out = funcs['out']
    squares = funcs['squares']
    sums = funcs['sums']
    c = out.args()[2]
    ci = hl.Var('ci')
    x = out.args()[0]
    xi = hl.Var('xi')
    y = out.args()[1]
    r_x = squares.rvars(0)[0]
    r_y = squares.rvars(0)[1]
    (
        out
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, y, c)
    )
    (
        squares
        .split(c, c, ci, 16, hl.TailStrategy.RoundUp)
        .vectorize(ci)
        .compute_at(out, c)
        .reorder(ci, c)
    )
    (
        squares.update(0)
        .split(c, c, ci, 16, hl.TailStrategy.GuardWithIf)
        .vectorize(ci)
        .reorder(ci, c, r_x, r_y)
    )
    (
        sums
        .split(c, c, ci, 16, hl.TailStrategy.RoundUp)
        .vectorize(ci)
        .compute_root()
        .reorder(ci, c)
    )
    (
        sums.update(0)
        .split(c, c, ci, 16, hl.TailStrategy.GuardWithIf)
        .vectorize(ci)
        .reorder(ci, r_x, r_y, c)
    )
