# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
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
    processed = pipeline.get_func(34)
    x, xv, y, yu, yi, c, cu = hl.vars("x xv y yu yi c cu")

    # matrix
    (
        matrix.compute_root()
        .split(x, x, xv, 4)
        .split(y, y, yu, 3)
        .reorder(xv, yu, y, x)
        .vectorize(xv)
        .unroll(yu)
    )

    # processed
    (
        processed.split(x, x, xv, 64)
        .split(y, y, yi, 64)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # curved
    (
        curved.compute_at(processed, y)
        .align_storage(x, 64)
        .split(x, x, xv, 64)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # curve
    curve.compute_at(processed, y).split(x, x, xv, 64).reorder(xv, x).vectorize(xv)

    # r_gb
    (
        r_gb.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # r_b
    (
        r_b.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # r_gr
    (
        r_gr.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # b_gb
    (
        b_gb.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # b_r
    (
        b_r.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # g_r
    (
        g_r.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # b_gr
    (
        b_gr.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # g_b
    (
        g_b.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # deinterleaved
    (
        deinterleaved.compute_at(processed, y)
        .align_storage(x, 32)
        .split(x, x, xv, 32)
        .split(c, c, cu, 4)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )
