# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(0)
    Ix = pipeline.get_func(1)
    Iy = pipeline.get_func(4)
    harris = pipeline.get_func(11)
    x, xi, y, yi, xv = hl.vars("x xi y yi xv")

    # harris
    (
        harris.split(x, x, xi, 128)
        .split(y, y, yi, 256)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, y, x)
        .vectorize(xv)
        .parallel(x)
    )

    # Iy
    Iy.compute_at(harris, y).split(x, x, xv, 16).vectorize(xv)

    # Ix
    Ix.compute_at(harris, y).split(x, x, xv, 16).vectorize(xv)

    # gray
    gray.compute_at(harris, y).split(x, x, xv, 16).vectorize(xv)
