# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(1)
    blur_y = pipeline.get_func(2)
    unsharp = pipeline.get_func(6)
    x, xv, c, cu, y = hl.vars("x xv c cu y")

    # unsharp
    (
        unsharp.split(x, x, xv, 16)
        .split(c, c, cu, 3)
        .reorder(xv, cu, c, x, y)
        .vectorize(xv)
        .unroll(cu)
    )

    # blur_y
    (
        blur_y.store_root()
        .compute_at(unsharp, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # gray
    (
        gray.store_root()
        .compute_at(unsharp, y)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
