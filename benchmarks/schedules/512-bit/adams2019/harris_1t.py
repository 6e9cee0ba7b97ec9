# found in 16.59 s by Halide's Adams2019, for 1 thread(s)
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
    xiiii = hl.Var('xiiii')
    y = harris.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    (
        harris
        .split(x, x, xi, 256, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 12, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 4, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 128, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 32, hl.TailStrategy.ShiftInwards)
        .split(xiii, xiii, xiiii, 16, hl.TailStrategy.ShiftInwards)
        .unroll(xiii)
        .vectorize(xiiii)
        .compute_root()
        .reorder(xiiii, xiii, xii, xi, yii, yi, x, y)
    )
    (
        trace
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(harris, xii)
        .reorder(xi, x, y)
    )
    (
        det
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(harris, xii)
        .reorder(xi, x, y)
    )
    (
        Syy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Iyy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yi)
        .reorder(xi, x, y)
    )
    (
        Sxy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Ixy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yi)
        .reorder(xi, x, y)
    )
    (
        Iy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yi)
        .store_at(harris, x)
        .reorder(xi, x, y)
    )
    (
        Sxx
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(harris, xi)
        .reorder(xi, x, y)
    )
    (
        Ixx
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yi)
        .reorder(xi, x, y)
    )
    (
        Ix
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(harris, yi)
        .store_at(harris, x)
        .reorder(xi, x, y)
    )
    (
        gray
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(harris, yi)
        .reorder(xi, x, y)
    )
