# found in 4.09 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    out = funcs['out']
    thin = funcs['thin']
    size = funcs['size']
    gy = funcs['gy']
    gx = funcs['gx']
    blur = funcs['blur']
    rows = funcs['rows']
    repeat_edge = funcs['repeat_edge']
    _0 = repeat_edge.args()[0]
    _0i = hl.Var('_0i')
    _1 = repeat_edge.args()[1]
    x = out.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    y = out.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    yiii = hl.Var('yiii')
    (
        out
        .split(y, y, yi, 32, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 128, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 16, hl.TailStrategy.ShiftInwards)
        .split(yii, yii, yiii, 4, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 64, hl.TailStrategy.ShiftInwards)
        .unroll(xi)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yiii, yii, yi, x, y)
    )
    (
        thin
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(out, yiii)
        .store_at(out, yii)
        .reorder(xi, x, y)
    )
    (
        size
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(out, yii)
        .store_at(out, yi)
        .reorder(xi, x, y)
    )
    (
        gy
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(out, yii)
        .store_at(out, yi)
        .reorder(xi, x, y)
    )
    (
        gx
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(out, yii)
        .store_at(out, yi)
        .reorder(xi, x, y)
    )
    (
        blur
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(out, yii)
        .store_at(out, yi)
        .reorder(xi, x, y)
    )
    (
        rows
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.ShiftInwards)
        .unroll(x)
        .vectorize(xi)
        .compute_at(out, x)
        .store_at(out, y)
        .reorder(xi, x, y)
    )
    (
        repeat_edge
        .store_in(hl.MemoryType.Stack)
        .split(_0, _0, _0i, 64, hl.TailStrategy.ShiftInwards)
        .unroll(_0)
        .vectorize(_0i)
        .compute_at(rows, y)
        .reorder(_0i, _0, _1)
    )
