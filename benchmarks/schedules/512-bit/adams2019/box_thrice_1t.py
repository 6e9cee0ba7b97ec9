# found in 4.26 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    box2 = funcs['box2']
    rows2 = funcs['rows2']
    box1 = funcs['box1']
    rows1 = funcs['rows1']
    box0 = funcs['box0']
    rows0 = funcs['rows0']
    repeat_edge = funcs['repeat_edge']
    _0 = repeat_edge.args()[0]
    _0i = hl.Var('_0i')
    _1 = repeat_edge.args()[1]
    x = box2.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = box2.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    yiii = hl.Var('yiii')
    (
        box2
        .split(x, x, xi, 128, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 256, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 64, hl.TailStrategy.ShiftInwards)
        .split(yii, yii, yiii, 32, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 64, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, yiii, xi, yii, yi, x, y)
    )
    (
        rows2
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(box2, xi)
        .reorder(xi, x, y)
    )
    (
        box1
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(rows2, y)
        .reorder(xi, x, y)
    )
    (
        rows1
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(box2, yii)
        .store_at(box2, yi)
        .reorder(xi, x, y)
    )
    (
        box0
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(rows1, y)
        .reorder(xi, x, y)
    )
    (
        rows0
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 80, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 3, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xii)
        .compute_at(box2, yi)
        .store_at(box2, x)
        .reorder(xii, xi, yi, x, y)
    )
    (
        repeat_edge
        .store_in(hl.MemoryType.Stack)
        .split(_0, _0, _0i, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(_0i)
        .compute_at(rows0, x)
        .reorder(_0i, _0, _1)
    )
