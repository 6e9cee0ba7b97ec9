# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(0)
    Ix = pipeline.get_func(1)
    Iy = pipeline.get_func(4)
    harris = pipeline.get_func(11)
    x, xi, xv, y, yi = hl.vars("x xi xv y yi")

    # harris
    (
        harris.split(x, x, xi, 128)
        .split(xi, xi, xv, 16)
        .split(y, y, yi, 16)
        .reorder(xv, xi, yi, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # Iy
    (
        Iy.compute_at(harris, x)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # Ix
    (
        Ix.compute_at(harris, x)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )

    # gray
    (
        gray.compute_at(harris, x)
        .align_storage(x, 16)
        .split(x, x, xv, 16)
        .reorder(xv, x, y)
        .vectorize(xv)
    )
