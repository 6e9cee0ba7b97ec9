# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    denoised = pipeline.get_func(1)
    deinterleaved = pipeline.get_func(2)
    g_b = pipeline.get_func(6)
    b_gr = pipeline.get_func(7)
    g_r = pipeline.get_func(8)
    b_r = pipeline.get_func(9)
    blue_even = pipeline.get_func(10)
    b_gb = pipeline.get_func(11)
    blue_odd = pipeline.get_func(12)
    blue = pipeline.get_func(13)
    green_even = pipeline.get_func(14)
    green_odd = pipeline.get_func(15)
    green = pipeline.get_func(16)
    r_gr = pipeline.get_func(18)
    red_even = pipeline.get_func(19)
    r_b = pipeline.get_func(20)
    r_gb = pipeline.get_func(21)
    red_odd = pipeline.get_func(22)
    red = pipeline.get_func(23)
    matrix = pipeline.get_func(25)
    curve = pipeline.get_func(27)
    curved = pipeline.get_func(28)
    unsharp_y = pipeline.get_func(29)
    processed = pipeline.get_func(34)
    x, xi, y, yi, xv, c = hl.vars("x xi y yi xv c")

    # processed
    (
        processed.split(x, x, xi, 256)
        .split(y, y, yi, 128)
        .split(xi, xi, xv, 32)
        .reorder(xv, xi, yi, c, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # unsharp_y
    unsharp_y.compute_at(processed, x).split(x, x, xv, 64).vectorize(xv)

    # curved
    curved.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # red
    red.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # red_odd
    red_odd.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # r_gb
    r_gb.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # r_b
    r_b.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # red_even
    red_even.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # r_gr
    r_gr.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # green
    green.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # green_odd
    green_odd.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # green_even
    green_even.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # blue
    blue.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # blue_odd
    blue_odd.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # b_gb
    b_gb.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # blue_even
    blue_even.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # b_r
    b_r.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # g_r
    g_r.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # b_gr
    b_gr.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # g_b
    g_b.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # deinterleaved
    deinterleaved.compute_at(processed, x).split(x, x, xv, 16).vectorize(xv)

    # denoised
    denoised.compute_at(processed, x).split(x, x, xv, 32).vectorize(xv)

    # curve
    curve.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(x)

    # matrix
    matrix.compute_root().split(x, x, xv, 4).vectorize(xv).parallel(y)
