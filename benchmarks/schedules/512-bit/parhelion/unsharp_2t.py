# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(1)
    blur_y = pipeline.get_func(2)
    unsharp = pipeline.get_func(6)
    x, xv, y, yi, c, cu = hl.vars("x xv y yi c cu")

    # unsharp
    (
        unsharp.split(x, x, xv, 16)
        .split(y, y, yi, 32)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, yi, y)
        .vectorize(xv)
        .unroll(cu)
        .parallel(y)
    )

    # blur_y
    (
        blur_y.store_at(unsharp, y)
        .compute_at(unsharp, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # gray
    (
        gray.store_at(unsharp, y)
        .compute_at(unsharp, yi)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
