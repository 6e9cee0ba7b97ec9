# found in 0.00 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    out = funcs['out']
    c = out.args()[0]
    ci = hl.Var('ci')
    x = out.args()[1]
    y = out.args()[2]
    (
        out
        .split(c, c, ci, 64, hl.TailStrategy.GuardWithIf)
        .vectorize(ci)
        .compute_root()
        .reorder(ci, c, x, y)
    )
