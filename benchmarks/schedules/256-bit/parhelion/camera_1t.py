# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    denoised = pipeline.get_func(1)
    deinterleaved = pipeline.get_func(2)
    g_b = pipeline.get_func(6)
    b_gr = pipeline.get_func(7)
    g_r = pipeline.get_func(8)
    b_r = pipeline.get_func(9)
    b_gb = pipeline.get_func(11)
    r_gr = pipeline.get_func(18)
    r_b = pipeline.get_func(20)
    r_gb = pipeline.get_func(21)
    matrix = pipeline.get_func(25)
    curve = pipeline.get_func(27)
    curved = pipeline.get_func(28)
    unsharp_y = pipeline.get_func(29)
    processed = pipeline.get_func(34)
    x, xv, c, cu, y, yu, yi = hl.vars("x xv c cu y yu yi")

    # deinterleaved
    (
        deinterleaved.compute_root()
        .split(x, x, xv, 16)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # denoised
    (
        denoised.store_root()
        .compute_at(deinterleaved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # matrix
    (
        matrix.compute_root()
        .split(x, x, xv, 4)
        .split(y, y, yu, 3)
        .reorder(xv, yu, y, x)
        .vectorize(xv)
        .unroll(yu)
    )

    # curve
    curve.compute_root().split(x, x, xv, 32).reorder(xv, x).vectorize(xv)

    # curved
    (
        curved.compute_root()
        .split(x, x, xv, 32)
        .split(y, y, yi, 16)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # r_gb
    (
        r_gb.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # r_b
    (
        r_b.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # r_gr
    (
        r_gr.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # b_gb
    (
        b_gb.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # b_r
    (
        b_r.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # g_r
    (
        g_r.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # b_gr
    (
        b_gr.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # g_b
    (
        g_b.compute_at(curved, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # processed
    (
        processed.split(x, x, xv, 32)
        .split(y, y, yi, 16)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # unsharp_y
    (
        unsharp_y.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )
