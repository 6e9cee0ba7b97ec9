# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    denoised = pipeline.get_func(1)
    deinterleaved = pipeline.get_func(2)
    g_b = pipeline.get_func(6)
    g_r = pipeline.get_func(8)
    curve = pipeline.get_func(27)
    curved = pipeline.get_func(28)
    processed = pipeline.get_func(34)
    x, xv, y, yi, c, cu, yu = hl.vars("x xv y yi c cu yu")

    # curved
    (
        curved.compute_root()
        .split(x, x, xv, 64)
        .split(y, y, yi, 32)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # curve
    curve.compute_at(curved, y).split(x, x, xv, 64).reorder(xv, x).vectorize(xv)

    # g_r
    g_r.compute_at(curved, y).split(x, x, xv, 32).reorder(xv, x, y).vectorize(xv)

    # g_b
    g_b.compute_at(curved, y).split(x, x, xv, 32).reorder(xv, x, y).vectorize(xv)

    # deinterleaved
    (
        deinterleaved.compute_at(curved, y)
        .split(x, x, xv, 32)
        .reorder(xv, x, y, c)
        .vectorize(xv)
    )

    # denoised
    denoised.compute_at(curved, y).split(x, x, xv, 32).reorder(xv, x, y).vectorize(xv)

    # processed
    (
        processed.split(x, x, xv, 64)
        .split(y, y, yi, 64)
        .split(yi, yi, yu, 4)
        .reorder(xv, yu, x, yi, c, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
    )
