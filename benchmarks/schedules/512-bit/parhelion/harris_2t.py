# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(0)
    Ix = pipeline.get_func(1)
    Iy = pipeline.get_func(4)
    harris = pipeline.get_func(11)
    x, xv, y, yi = hl.vars("x xv y yi")

    # harris
    (
        harris.split(x, x, xv, 16)
        .split(y, y, yi, 128)
        .reorder(xv, x, yi, y)
        .vectorize(xv)
        .parallel(y)
    )

    # Iy
    (
        Iy.store_at(harris, y)
        .compute_at(harris, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # Ix
    (
        Ix.store_at(harris, y)
        .compute_at(harris, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # gray
    (
        gray.store_at(harris, y)
        .compute_at(harris, yi)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
