# found in 128.23 s by Halide's Adams2019, for 1 thread(s)
import halide as hl


def schedule(funcs):
    processed = funcs['processed']
    sharpened = funcs['sharpened']
    sharpen_strength_x32 = funcs['sharpen_strength_x32']
    mask = funcs['mask']
    unsharp = funcs['unsharp']
    unsharp_y = funcs['unsharp_y']
    curved = funcs['curved']
    curve = funcs['curve']
    corrected = funcs['corrected']
    matrix = funcs['matrix']
    demosaiced = funcs['demosaiced']
    red = funcs['red']
    red_odd = funcs['red_odd']
    r_gb = funcs['r_gb']
    r_b = funcs['r_b']
    red_even = funcs['red_even']
    r_gr = funcs['r_gr']
    r_r = funcs['r_r']
    green = funcs['green']
    green_odd = funcs['green_odd']
    green_even = funcs['green_even']
    blue = funcs['blue']
    blue_odd = funcs['blue_odd']
    b_gb = funcs['b_gb']
    blue_even = funcs['blue_even']
    b_r = funcs['b_r']
    g_r = funcs['g_r']
    b_gr = funcs['b_gr']
    g_b = funcs['g_b']
    g_gr = funcs['g_gr']
    g_gb = funcs['g_gb']
    b_b = funcs['b_b']
    deinterleaved = funcs['deinterleaved']
    denoised = funcs['denoised']
    shifted = funcs['shifted']
    c = processed.args()[2]
    x = processed.args()[0]
    xi = hl.Var('xi')
    xii = hl.Var('xii')
    xiii = hl.Var('xiii')
    y = processed.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    yiii = hl.Var('yiii')
    yiiii = hl.Var('yiiii')
    (
        processed
        .split(y, y, yi, 48, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 1280, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 16, hl.TailStrategy.ShiftInwards)
        .split(yii, yii, yiii, 8, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 256, hl.TailStrategy.ShiftInwards)
        .split(yiii, yiii, yiiii, 2, hl.TailStrategy.ShiftInwards)
        .split(xii, xii, xiii, 32, hl.TailStrategy.ShiftInwards)
        .vectorize(xiii)
        .compute_root()
        .reorder(xiii, xii, yiiii, xi, yiii, yii, c, yi, x, y)
    )
    (
        sharpened
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(processed, xi)
        .reorder(xi, x, y, c)
    )
    (
        sharpen_strength_x32
        .compute_root()
    )
    (
        mask
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 128, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(sharpened, y)
        .reorder(xii, xi, x, y, c)
    )
    (
        unsharp
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(mask, x)
        .reorder(xi, x, y, c)
    )
    (
        unsharp_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(sharpened, y)
        .store_at(processed, xi)
        .reorder(xi, x, y, c)
    )
    (
        curved
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 352, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 5, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(processed, yii)
        .reorder(xii, xi, yi, x, y, c)
    )
    (
        curve
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x)
    )
    (
        corrected
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 16, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(curved, yi)
        .store_at(curved, x)
        .reorder(xii, xi, x, y, c)
    )
    (
        matrix
        .split(x, x, xi, 16, hl.TailStrategy.GuardWithIf)
        .unroll(y)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, y)
    )
    (
        demosaiced
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(c)
        .vectorize(xi)
        .compute_at(corrected, x)
        .reorder(xi, x, y, c)
    )
    (
        red
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yii)
        .store_at(processed, yi)
        .reorder(xi, x, y)
    )
    (
        red_odd
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        r_gb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red_odd, y)
        .reorder(xi, x, y)
    )
    (
        r_b
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red_odd, y)
        .reorder(xi, x, y)
    )
    (
        red_even
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        r_gr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red_even, y)
        .reorder(xi, x, y)
    )
    (
        r_r
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .reorder(xi, x, y)
    )
    (
        green
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 9, hl.TailStrategy.RoundUp)
        .split(yi, yi, yii, 2, hl.TailStrategy.RoundUp)
        .unroll(yii)
        .vectorize(xi)
        .compute_at(processed, yi)
        .reorder(xi, yii, yi, x, y)
    )
    (
        green_odd
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(green, x)
        .reorder(xi, x, y)
    )
    (
        green_even
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(green, yi)
        .reorder(xi, x, y)
    )
    (
        blue
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 656, hl.TailStrategy.RoundUp)
        .split(y, y, yi, 9, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 16, hl.TailStrategy.RoundUp)
        .unroll(yi)
        .vectorize(xii)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xii, yi, xi, x, y)
    )
    (
        blue_odd
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue, xi)
        .reorder(xi, x, y)
    )
    (
        b_gb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue, x)
        .reorder(xi, x, y)
    )
    (
        blue_even
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 176, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 16, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(blue, x)
        .reorder(xii, xi, x, y)
    )
    (
        b_r
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue_even, x)
        .reorder(xi, x, y)
    )
    (
        g_r
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        b_gr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue_even, y)
        .reorder(xi, x, y)
    )
    (
        g_b
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        g_gr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .reorder(xi, x, y)
    )
    (
        g_gb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .reorder(xi, x, y)
    )
    (
        b_b
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, x)
        .store_at(processed, y)
        .reorder(xi, x, y)
    )
    (
        denoised
        .split(x, x, xi, 336, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 8, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xii)
        .compute_at(processed, x)
        .reorder(xii, xi, yi, x, y)
    )
    (
        shifted
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(denoised, x)
        .reorder(xi, x, y)
    )
