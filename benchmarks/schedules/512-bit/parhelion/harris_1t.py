# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(0)
    Ix = pipeline.get_func(1)
    Iy = pipeline.get_func(4)
    harris = pipeline.get_func(11)
    x, xv, y = hl.vars("x xv y")

    # harris
    harris.split(x, x, xv, 16).reorder(xv, x, y).vectorize(xv)

    # Iy
    (
        Iy.store_root()
        .compute_at(harris, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # Ix
    (
        Ix.store_root()
        .compute_at(harris, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # gray
    (
        gray.store_root()
        .compute_at(harris, y)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
