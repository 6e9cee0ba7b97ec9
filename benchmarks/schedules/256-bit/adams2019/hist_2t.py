# found in 6.80 s by Halide's Adams2019, for 2 thread(s)
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
    iii = hl.Var('iii')
    x = output.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    xiiii = hl.Var('xiiii')
    y = output.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    b_x = cdf.rvars(0)[0]
    rx_x = hist_rows.rvars(0)[0]
    ry_x = hist.rvars(0)[0]
    (
        output
        .split(x, x, xi, 768, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 160, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 192, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 96, hl.TailStrategy.ShiftInwards)
        .split(xiii, xiii, xiiii, 32, hl.TailStrategy.ShiftInwards)
        .vectorize(xiiii)
        .compute_root()
        .reorder(xiiii, yi, c, xiii, xii, xi, x, y)
        .fuse(x, y, x)
        .parallel(x)
    )
    (
        equalized
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.ShiftInwards)
        .unroll(x)
        .vectorize(xi)
        .compute_at(output, yi)
        .store_at(output, xiii)
        .reorder(xi, x, y)
    )
    (
        cdf
        .split(i, i, ii, 8, hl.TailStrategy.RoundUp)
        .vectorize(ii)
        .compute_root()
        .reorder(ii, i)
        .parallel(i)
    )
    (
        cdf.update(0)
        .reorder(b_x)
    )
    (
        hist
        .split(i, i, ii, 64, hl.TailStrategy.RoundUp)
        .split(ii, ii, iii, 8, hl.TailStrategy.RoundUp)
        .unroll(ii)
        .vectorize(iii)
        .compute_root()
        .reorder(iii, ii, i)
        .parallel(i)
    )
    (
        hist.update(0)
        .split(i, i, ii, 64, hl.TailStrategy.RoundUp)
        .split(ii, ii, iii, 8, hl.TailStrategy.GuardWithIf)
        .unroll(ii)
        .vectorize(iii)
        .reorder(iii, ii, ry_x, i)
        .parallel(i)
    )
    (
        hist_rows
        .split(y, y, yi, 1280, hl.TailStrategy.RoundUp)
        .split(yi, yi, yii, 8, hl.TailStrategy.RoundUp)
        .vectorize(yii)
        .compute_root()
        .reorder(yii, yi, i, y)
        .parallel(y)
        .reorder_storage(y, i)
    )
    (
        hist_rows.update(0)
        .split(y, y, yi, 1280, hl.TailStrategy.GuardWithIf)
        .split(yi, yi, yii, 8, hl.TailStrategy.GuardWithIf)
        .vectorize(yii)
        .reorder(yii, rx_x, yi, y)
        .parallel(y)
    )
    (
        Cr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(output, xii)
        .reorder(xi, x, y)
    )
    (
        Cb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(output, xii)
        .store_at(output, xi)
        .reorder(xi, x, y)
    )
