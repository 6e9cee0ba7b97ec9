# found in 76.70 s by Halide's Adams2019, for 2 thread(s)
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
    y = processed.args()[1]
    yi = hl.Var('yi')
    yii = hl.Var('yii')
    yiii = hl.Var('yiii')
    (
        processed
        .split(y, y, yi, 60, hl.TailStrategy.ShiftInwards)
        .split(x, x, xi, 512, hl.TailStrategy.ShiftInwards)
        .split(yi, yi, yii, 30, hl.TailStrategy.ShiftInwards)
        .split(yii, yii, yiii, 2, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 64, hl.TailStrategy.ShiftInwards)
        .unroll(xi)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, yiii, c, yii, yi, x, y)
        .parallel(y)
    )
    (
        sharpened
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(processed, yiii)
        .store_at(processed, c)
        .reorder(xi, x, y, c)
    )
    (
        sharpen_strength_x32
        .compute_root()
    )
    (
        mask
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(processed, yiii)
        .store_at(processed, c)
        .reorder(xi, x, y, c)
    )
    (
        unsharp
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(processed, yiii)
        .store_at(processed, c)
        .reorder(xi, x, y, c)
    )
    (
        unsharp_y
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .unroll(x)
        .vectorize(xi)
        .compute_at(processed, yiii)
        .store_at(processed, c)
        .reorder(xi, x, y, c)
    )
    (
        curve
        .split(x, x, xi, 256, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 64, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_root()
        .reorder(xii, xi, x)
        .parallel(x)
    )
    (
        corrected
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 96, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(processed, yii)
        .store_at(processed, yi)
        .reorder(xii, xi, c, x, y)
    )
    (
        matrix
        .split(x, x, xi, 32, hl.TailStrategy.GuardWithIf)
        .vectorize(xi)
        .compute_root()
        .reorder(xi, x, y)
        .parallel(y)
    )
    (
        demosaiced
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .unroll(x)
        .unroll(c)
        .vectorize(xi)
        .compute_at(corrected, c)
        .store_at(corrected, x)
        .reorder(xi, x, y, c)
    )
    (
        red
        .store_in(hl.MemoryType.Stack)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .vectorize(xii)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xii, xi, yi, x, y)
    )
    (
        red_odd
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 288, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xii, xi, x, y)
    )
    (
        r_gb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red_odd, x)
        .reorder(xi, x, y)
    )
    (
        r_b
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red_odd, y)
        .reorder(xi, x, y)
    )
    (
        red_even
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red, x)
        .reorder(xi, x, y)
    )
    (
        r_gr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(red, y)
        .reorder(xi, x, y)
    )
    (
        r_r
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        green
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .reorder(xi, x, y)
    )
    (
        green_even
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(green, x)
        .reorder(xi, x, y)
    )
    (
        blue
        .store_in(hl.MemoryType.Stack)
        .split(y, y, yi, 16, hl.TailStrategy.RoundUp)
        .split(x, x, xi, 64, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .vectorize(xii)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xii, xi, yi, x, y)
    )
    (
        blue_odd
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue, x)
        .reorder(xi, x, y)
    )
    (
        b_gb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue, y)
        .reorder(xi, x, y)
    )
    (
        blue_even
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 288, hl.TailStrategy.RoundUp)
        .split(xi, xi, xii, 32, hl.TailStrategy.RoundUp)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(blue, y)
        .store_at(processed, yi)
        .reorder(xii, xi, x, y)
    )
    (
        b_r
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue_even, x)
        .reorder(xi, x, y)
    )
    (
        g_r
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        b_gr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue_even, x)
        .reorder(xi, x, y)
    )
    (
        g_b
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        g_gr
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        g_gb
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xi, x, y)
    )
    (
        b_b
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.RoundUp)
        .vectorize(xi)
        .compute_at(blue, y)
        .store_at(processed, yi)
        .reorder(xi, x, y)
    )
    (
        denoised
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 288, hl.TailStrategy.ShiftInwards)
        .split(y, y, yi, 19, hl.TailStrategy.ShiftInwards)
        .split(xi, xi, xii, 32, hl.TailStrategy.ShiftInwards)
        .unroll(xi)
        .vectorize(xii)
        .compute_at(processed, yi)
        .store_at(processed, x)
        .reorder(xii, xi, yi, x, y)
    )
    (
        shifted
        .store_in(hl.MemoryType.Stack)
        .split(x, x, xi, 32, hl.TailStrategy.ShiftInwards)
        .vectorize(xi)
        .compute_at(denoised, yi)
        .store_at(denoised, x)
        .reorder(xi, x, y)
    )
