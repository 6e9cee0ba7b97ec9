# found in 13.79 s by Halide's Adams2019, for 2 thread(s)
import halide as hl


def schedule(funcs):
    harris = funcs['harris']
    trace = funcs['trace']
    det = funcs['det']
    Syy = funcs['Syy']
    Iyy = funcs['Iyy']
    Sxy = funcs['Sxy']
    Ixy = funcs['Ixy']
    Iy = funcs['Iy']
    Sxx = funcs['Sxx']
    Ixx = funcs['Ixx']
    Ix = funcs['Ix']
    gray = funcs['gray']
    x = harris.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = harris.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    yiii = hl.Var('yiii')
    yiiii = hl.Var('yiiii')
    (
        harris
        .split(y, y, yi, 320, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 48, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 32, hl.TailStrategy.ShiftInwards)
        .split(yii, yii, yiii, 8, hl.TailStrategy.ShiftInwards)
        .split(yiii, yiii, yiiii, 4, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 24, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 8, hl.TailStrategy.ShiftInwards)
        .unroll(xii)
        .unroll(yiiii)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, yiiii, xi, yiii, yii, x, yi, y)
        .parallel(y)
    )
    (
        trace
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, xii)
        .reorder(xi, x, y)
    )
    (
        det
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, xii)
        .reorder(xi, x, y)
    )
    (
        Syy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Iyy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Sxy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Ixy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yiii)
        .store_at(harris, yii)
        .reorder(xi, x, y)
    )
    (
        Iy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yii)
        .store_at(harris, x)
        .reorder(xi, x, y)
    )
    (
        Sxx
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(y)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Ixx
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yiii)
        .store_at(harris, yii)
        .reorder(xi, x, y)
    )
    (
        Ix
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yii)
        .store_at(harris, x)
        .reorder(xi, x, y)
    )
    (
        gray
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 8, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(harris, yii)
        .reorder(xi, x, y)
    )
