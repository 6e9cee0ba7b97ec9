# found in 3.32 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    output = funcs['output']
    equalized = funcs['equalized']
    cdf = funcs['cdf']
    hist = funcs['hist']
    hist_rows = funcs['hist_rows']
    Cr = funcs['Cr']
    Cb = funcs['Cb']
    Y = funcs['Y']
    c = output.args()[2]
    i = cdf.args()[0]
    ii = hl.Var('ii')
    x = output.args()[0]
    xi = hl.Var('xi')
    y = output.args()[1]
    yi = hl.Var('yi')
    b_x = cdf.rvars(0)[0]
    rx_x = hist_rows.rvars(0)[0]
    ry_x = hist.rvars(0)[0]
    ry_xi = hl.RVar('ry$xi')
    (
        output
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 64, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, yi, c, y, x)
    )
    (
        equalized
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(output, yi)
        .store_at(output, y)
        .reorder(xi, x, y)
    )
    (
        cdf
        .split(i, i, ii, 16, hl.TailStrategy.RoundUp)
        .vectorize(ii)
        .compute_root()
        .reorder(ii, i)
    )
    (
        hist
        .split(i, i, ii, 16, hl.TailStrategy.RoundUp)
        .vectorize(ii)
        .compute_root()
        .reorder(ii, i)
    )
    (
        hist.update(0)
        .split(ry_x, ry_x, ry_xi, 16, hl.TailStrategy.GuardWithIf)
        .split(i, i, ii, 16, hl.TailStrategy.RoundUp)
        .vectorize(ii)
        .reorder(ii, ry_xi, i, ry_x)
    )
    (
        hist_rows
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .vectorize(yi)
        .compute_at(hist, ry_x)
        .reorder(yi, y, i)
        .reorder_storage(y, i)
    )
    (
        hist_rows.update(0)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .vectorize(yi)
        .reorder(yi, rx_x, y)
    )
    (
        Cr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(output, y)
        .store_at(output, x)
        .reorder(xi, x, y)
    )
    (
        Cb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(output, y)
        .store_at(output, x)
        .reorder(xi, x, y)
    )
    (
        Y
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, y)
    )
